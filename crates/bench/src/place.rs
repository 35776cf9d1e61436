//! Where the threads of a block run.
//!
//! # Contract
//! [`Place::pinning`] names a CPU for every thread, or says why this machine has no such place. It names only CPUs that
//! the process may use, and reads nothing about others.
//! # Evidence
//! The tests below, with invented machines; tests/engine.rs: a skipped place stays visible.
//! # Sources
//! Linux, Documentation/admin-guide/cputopology.rst.

use std::fmt;
use std::io;

use uncontended_sys::affinity;

/// Where the threads of a block run, relative to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// All on one CPU, taking turns.
    OneCpu,
    /// On two CPUs, of different cores if possible; more threads than that take turns.
    TwoCpus,
    /// On the two hardware threads of one core.
    SmtSiblings,
    /// On two CPUs of different packages (sockets).
    TwoPackages,
    /// Wherever the scheduler puts them.
    Free,
}

impl Place {
    /// Every place, in the order of tables.
    pub const ALL: [Place; 5] =
        [Place::OneCpu, Place::SmtSiblings, Place::TwoCpus, Place::TwoPackages, Place::Free];

    /// Its name as a value of the flag.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Place::OneCpu => "one-cpu",
            Place::TwoCpus => "two-cpus",
            Place::SmtSiblings => "smt-siblings",
            Place::TwoPackages => "two-packages",
            Place::Free => "free",
        }
    }

    /// The place with that name.
    ///
    /// ```
    /// use uncontended_bench::Place;
    /// assert_eq!(Place::parse("two-cpus"), Some(Place::TwoCpus));
    /// ```
    #[must_use]
    pub fn parse(key: &str) -> Option<Place> {
        Place::ALL.into_iter().find(|place| place.key() == key)
    }

    /// The former name of [`Place::pinning`].
    ///
    /// # Errors
    /// As there.
    #[deprecated(note = "use `Place::pinning`")]
    pub fn seats(self, cpus: &[Cpu]) -> Result<Pinning, String> {
        self.pinning(cpus)
    }

    /// The CPUs of its threads, in order.
    ///
    /// # Errors
    /// Why `cpus` have no such place, as a clause.
    pub fn pinning(self, cpus: &[Cpu]) -> Result<Pinning, String> {
        let pair = |fits: &dyn Fn(&Cpu, &Cpu) -> bool| {
            cpus.iter().enumerate().find_map(|(at, a)| {
                let b = cpus[at + 1..].iter().find(|b| fits(a, b))?;
                Some(Pinning(vec![a.number, b.number]))
            })
        };
        match self {
            Place::Free => Ok(Pinning(Vec::new())),
            Place::OneCpu => cpus
                .last()
                .map(|cpu| Pinning(vec![cpu.number]))
                .ok_or("no CPU is allowed".to_owned()),
            Place::TwoCpus => pair(&|a, b| !a.shares_core(b))
                .or_else(|| pair(&|_, _| true))
                .ok_or("only one CPU is allowed".to_owned()),
            Place::SmtSiblings => {
                pair(&|a, b| a.shares_core(b)).ok_or("no two allowed CPUs share a core".to_owned())
            }
            Place::TwoPackages => pair(&|a, b| a.package != b.package)
                .ok_or("all allowed CPUs are in one package".to_owned()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::OneCpu => "one CPU",
            Place::TwoCpus => "two CPUs",
            Place::SmtSiblings => "two threads of one core",
            Place::TwoPackages => "two packages",
            Place::Free => "not pinned",
        })
    }
}

/// The former name of [`Pinning`].
#[deprecated(note = "use `Pinning`")]
pub type Seats = Pinning;

/// A CPU, by the kernel's number, and its position in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number.
    pub number: usize,
    /// The number of its core within its package.
    pub core: usize,
    /// The number of its package.
    pub package: usize,
}

impl Cpu {
    fn shares_core(&self, other: &Cpu) -> bool {
        (self.package, self.core) == (other.package, other.core)
    }

    /// The CPUs that this thread may run on. If the kernel does not report the topology of a CPU, it counts as a core
    /// of its own in package 0.
    ///
    /// # Errors
    /// Those of `sched_getaffinity`.
    pub fn allowed() -> io::Result<Vec<Cpu>> {
        let part = |number: usize, file: &str| {
            let path = format!("/sys/devices/system/cpu/cpu{number}/topology/{file}");
            std::fs::read_to_string(path).ok()?.trim().parse().ok()
        };
        Ok(affinity::allowed()?
            .into_iter()
            .map(|number| Cpu {
                number,
                core: part(number, "core_id").unwrap_or(number),
                package: part(number, "physical_package_id").unwrap_or(0),
            })
            .collect())
    }
}

/// The CPUs of a block's threads; none if the scheduler places them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pinning(Vec<usize>);

impl Pinning {
    /// The CPUs, in order.
    #[must_use]
    pub fn cpus(&self) -> &[usize] {
        &self.0
    }

    /// The former name of [`Pinning::pin`].
    #[deprecated(note = "use `Pinning::pin`")]
    pub fn take(&self, number: usize) {
        self.pin(number);
    }

    /// Pins the calling thread to the CPU of thread `number` (from 0), if it has one.
    ///
    /// # Panics
    /// Panics if the CPU is no longer allowed: the figures would be labelled with the wrong CPU.
    pub fn pin(&self, number: usize) {
        if !self.0.is_empty() {
            let cpu = self.0[number % self.0.len()];
            affinity::pin(cpu)
                .unwrap_or_else(|error| panic!("cannot pin a thread to CPU {cpu}: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(parts: &[(usize, usize)]) -> Vec<Cpu> {
        let cpu = |(number, &(package, core))| Cpu { number, core, package };
        parts.iter().enumerate().map(cpu).collect()
    }

    #[test]
    fn places_are_found_where_the_machine_has_them() {
        let server = cpus(&[(0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 0)]);
        let pinning = |place: Place, cpus: &[Cpu]| place.pinning(cpus).map(|pinning| pinning.0);
        assert_eq!(pinning(Place::OneCpu, &server), Ok(vec![5]));
        assert_eq!(pinning(Place::SmtSiblings, &server), Ok(vec![0, 1]));
        assert_eq!(pinning(Place::TwoCpus, &server), Ok(vec![0, 2]));
        assert_eq!(pinning(Place::TwoPackages, &server), Ok(vec![0, 4]));
        assert_eq!(pinning(Place::Free, &server), Ok(vec![]));
        let small = cpus(&[(0, 0), (0, 1)]);
        assert!(pinning(Place::SmtSiblings, &small).unwrap_err().contains("share a core"));
        assert!(pinning(Place::TwoPackages, &small).unwrap_err().contains("one package"));
        let one_core = cpus(&[(0, 0), (0, 0)]);
        assert_eq!(pinning(Place::TwoCpus, &one_core), Ok(vec![0, 1]), "better than none");
        assert!(pinning(Place::TwoCpus, &cpus(&[(0, 0)])).unwrap_err().contains("only one CPU"));
    }

    #[test]
    fn this_machine_is_read_and_names_come_back() {
        assert!(!Cpu::allowed().unwrap().is_empty());
        assert!(Place::ALL.iter().all(|&place| Place::parse(place.key()) == Some(place)));
    }
}
