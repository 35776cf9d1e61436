//! How many interrupts of a kind each CPU has taken: a row of `/proc/interrupts`.
//!
//! # Sources
//! proc(5); Linux, arch/x86/kernel/irq.c: `CAL` are calls of functions by another CPU; `TLB` are those of them that
//! shot translations down.

use std::io;

/// Shootdowns of translations, on x86.
pub const SHOOTDOWNS: &str = "TLB";
/// Calls of functions by other CPUs, on x86; expedited membarriers are among them.
pub const CALLS: &str = "CAL";

/// The CPUs' numbers and counts in the row of that name.
///
/// # Errors
/// `/proc` cannot be read, or has no such row on this processor.
pub fn row(name: &str) -> io::Result<Vec<(usize, u64)>> {
    let table = std::fs::read_to_string("/proc/interrupts")?;
    parse(&table, name).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("/proc/interrupts has no row {name}"))
    })
}

/// Offline CPUs have no column, so the first line says which CPU a column is of.
fn parse(table: &str, name: &str) -> Option<Vec<(usize, u64)>> {
    let mut lines = table.lines();
    let cpus = lines.next()?.split_whitespace().map(|cpu| cpu.strip_prefix("CPU")?.parse().ok());
    let row = lines.find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    let counts = row.split_whitespace().map(|count| count.parse().ok());
    cpus.zip(counts).map(|(cpu, count)| Some((cpu?, count?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "           CPU0       CPU2       \n  8:          0          3  IO-APIC   8-edge  rtc0\n\
        CAL:     470538     440797   Function call interrupts\nTLB:         12          7   TLB shootdowns\n";

    #[test]
    fn a_row_is_read_by_the_cpus_that_are_online() {
        assert_eq!(parse(TABLE, "TLB"), Some(vec![(0, 12), (2, 7)]));
        assert_eq!(parse(TABLE, "8"), Some(vec![(0, 0), (2, 3)]));
        assert_eq!(parse(TABLE, "LOC"), None);
        assert_eq!(parse("", "TLB"), None);
        assert_eq!(parse("CPU0\nTLB: many\n", "TLB"), None);
    }

    #[test]
    fn this_machine_has_a_row_or_says_that_it_has_none() {
        match row(CALLS) {
            Ok(counts) => assert!(!counts.is_empty()),
            Err(error) => assert!(error.to_string().contains("/proc/interrupts"), "{error}"),
        }
    }
}
