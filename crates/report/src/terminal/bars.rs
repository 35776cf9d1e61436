//! Where the time of a thread went, as a bar of characters.
//!
//! # Contract
//! A bar is as long as the thread's life, or as the sum of its parts if that is longer: a wait may contain time on
//! a CPU. Of a thread of which only its time on CPUs is known, there is none. What no part explains is left blank.
//! Parts are rounded so that their sum is that of the whole; one that was not measured has no cells.

use crate::run::Thread;

/// Cells of a bar.
pub(super) const CELLS: usize = 10;

/// A part of a thread's time: its name, and its characters with and without UTF-8.
struct Part {
    name: &'static str,
    cell: char,
    plain: char,
}

const PARTS: [Part; 5] = [
    Part { name: "user", cell: '█', plain: '#' },
    Part { name: "system", cell: '▓', plain: '=' },
    Part { name: "wanted CPU", cell: '░', plain: '-' },
    Part { name: "waited for locks", cell: '×', plain: 'x' },
    Part { name: "waited otherwise", cell: '·', plain: '.' },
];

impl Part {
    fn char(&self, utf8: bool) -> char {
        if utf8 { self.cell } else { self.plain }
    }
}

/// What the characters of these bars stand for, in a line.
pub(super) fn legend<'b>(bars: impl Iterator<Item = &'b str> + Clone, utf8: bool) -> String {
    let is_shown = |part: &&Part| bars.clone().any(|bar| bar.contains(part.char(utf8)));
    let parts = PARTS.iter().filter(is_shown);
    let parts: Vec<String> =
        parts.map(|part| format!("{} {}", part.char(utf8), part.name)).collect();
    parts.join(", ")
}

/// The bar of a thread.
pub(super) fn bar(thread: &Thread, utf8: bool) -> String {
    let of = |ns: Option<u64>| ns.unwrap_or(0);
    let [stuck_ns, waits_ns] = thread.unfinished().map(of);
    let waited = [of(thread.work_wait_ns()), of(thread.other_wait_ns), waits_ns];
    let parts = [
        of(thread.user_ns.or(thread.cpu_ns)),
        of(thread.system_ns),
        of(thread.runnable_ns),
        of(thread.held_up_ns()).saturating_add(stuck_ns),
        crate::aggregate::sum(waited),
    ];
    if thread.lived_ns.is_none() && parts[3] == 0 && parts[4] == 0 {
        return String::new();
    }
    let cells = cells(parts.map(|ns| ns as f64), of(thread.lived_ns) as f64);
    let drawn = PARTS.iter().zip(cells);
    drawn.map(|(part, cells)| part.char(utf8).to_string().repeat(cells)).collect()
}

/// How many of [`CELLS`] each part gets: its share rounded down, and the cells that are left over to those
/// that lost most by that.
fn cells(parts: [f64; PARTS.len()], life: f64) -> [usize; PARTS.len()] {
    let whole = parts.iter().sum::<f64>().max(life).max(1.0);
    let exact = parts.map(|part| part / whole * CELLS as f64);
    let mut cells = exact.map(|exact| exact as usize);
    let all = exact.iter().sum::<f64>().round() as usize;
    let lost = |cells: &[usize; PARTS.len()], nth: usize| exact[nth] - cells[nth] as f64;
    while cells.iter().sum::<usize>() < all {
        let most = (0..PARTS.len())
            .max_by(|&one, &other| lost(&cells, one).total_cmp(&lost(&cells, other)));
        cells[most.unwrap_or(0)] += 1;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread() -> Thread {
        Thread {
            lived_ns: Some(1_000),
            cpu_ns: Some(300),
            user_ns: Some(200),
            system_ns: Some(100),
            runnable_ns: Some(100),
            wait_ns: Some(300),
            contention_wait_ns: Some(300),
            ..Thread::default()
        }
    }

    #[test]
    fn a_bar_shows_each_part_and_leaves_the_unknown_blank() {
        let half = Thread { other_wait_ns: Some(150), ..thread() };
        for (thread, expected, plain) in [
            (Thread { other_wait_ns: Some(300), ..thread() }, "██▓░×××···", "##=-xxx..."),
            (half, "██▓░×××··", "##=-xxx.."),
            (Thread { unfinished_wait_ns: Some(300), ..thread() }, "██▓░×××···", "##=-xxx..."),
            (Thread { user_ns: None, system_ns: None, ..thread() }, "███░×××", "###-xxx"),
            (Thread::default(), "", ""),
            // A wait that was spent spinning counts twice.
            (Thread { lived_ns: None, cpu_ns: Some(9), ..Thread::default() }, "", ""),
            (Thread { lived_ns: Some(500), ..thread() }, "███▓░░××××", "###=--xxxx"),
        ] {
            assert_eq!(bar(&thread, true).chars().count(), expected.chars().count());
            assert_eq!(bar(&thread, true), expected);
            assert_eq!(bar(&thread, false), plain);
        }
        let stuck = Thread { unfinished_wait_ns: Some(300), unfinished_lock: Some(1), ..thread() };
        assert_eq!(bar(&stuck, true), "██▓░××××××");
    }

    #[test]
    fn a_legend_names_what_is_shown() {
        assert_eq!(legend(["██×", "▓"].into_iter(), true), "█ user, ▓ system, × waited for locks");
        assert_eq!(legend(["#."].into_iter(), false), "# user, . waited otherwise");
    }

    #[test]
    fn no_bar_is_longer_than_its_cells() {
        let mut rng = uncontended_testkit::Random(3);
        for _ in 0..10_000 {
            let mut some = || Some(rng.next() >> (rng.next() % 64));
            let thread = Thread {
                lived_ns: some(),
                cpu_ns: some(),
                user_ns: some(),
                system_ns: some(),
                runnable_ns: some(),
                wait_ns: some(),
                contention_wait_ns: some(),
                other_wait_ns: some(),
                ..Thread::default()
            };
            assert!(bar(&thread, true).chars().count() <= CELLS, "{thread:?}");
        }
    }
}
