//! Barriers by changing a page's protection, where that interrupts every CPU that runs the process: on some processors.
//!
//! # Contract
//! No manual promises it. So the process tries it out before it uses it: with a thread on each CPU, store buffering
//! must never show, and the kernel must count interrupts there. A processor that can do without them is refused at
//! once: Linux may begin to later, when the process runs on more CPUs.
//!
//! # Evidence
//! tests/litmus.rs.
//! # Sources
//! folly, `synchronization/AsymmetricThreadFence.cpp`; Linux, arch/x86/mm/tlb.c (`flush_tlb_mm_range`).

use crate::reason::{Reason, Refused};

#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(any(miri, unc_model, unc_portable))
)))]
mod way {
    use super::{Reason, Refused};

    const ELSEWHERE: Refused = Refused { reason: Reason::Processor, errno: 0 };

    pub(crate) fn decide() -> Result<(), Refused> {
        Err(ELSEWHERE)
    }

    pub(crate) fn barrier() -> Result<(), Refused> {
        Err(ELSEWHERE)
    }
}

pub(crate) use way::{barrier, decide};

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]
mod way {
    use super::{Reason, Refused};
    use crate::bare;
    use std::cell::RefCell;
    use std::io;
    use std::sync::OnceLock;
    use std::thread;
    use uncontended_atomic::Ordering::Relaxed;
    use uncontended_atomic::{AtomicU32, CachePadded, spin_loop};
    use uncontended_sys::affinity;
    use uncontended_sys::interrupt_counts::{SHOOTDOWNS, row};
    use uncontended_sys::shootdown::{Page, broadcasts};

    const ROUNDS: u32 = 200;
    /// Of the rounds: a CPU that another program or a hypervisor's guest had meanwhile needs no interrupt.
    const FEWEST_INTERRUPTS: u64 = ROUNDS as u64 / 4;
    /// A CPU that was busy with others is tried again.
    const TRIES: usize = 3;

    thread_local! {
        static PAGE: RefCell<Option<Page>> = const { RefCell::new(None) };
    }

    /// Whether it is a barrier here, tried out once.
    pub(crate) fn decide() -> Result<(), Refused> {
        static DECIDED: OnceLock<Result<(), Refused>> = OnceLock::new();
        *DECIDED.get_or_init(
            || {
                if broadcasts() { Err(refused(Reason::Processor)) } else { try_out() }
            },
        )
    }

    pub(crate) fn barrier() -> Result<(), Refused> {
        let own = PAGE.try_with(|page| shoot_down(&mut page.borrow_mut()));
        // A thread that ends has no page any more.
        own.unwrap_or_else(|_| shoot_down(&mut None)).map_err(failed)
    }

    fn shoot_down(page: &mut Option<Page>) -> io::Result<()> {
        match page {
            Some(page) => page.shoot_down(),
            None => page.insert(Page::new()?).shoot_down(),
        }
    }

    fn refused(reason: Reason) -> Refused {
        Refused { reason, errno: 0 }
    }

    fn failed(error: io::Error) -> Refused {
        Refused { reason: Reason::Failed, errno: error.raw_os_error().unwrap_or(0) }
    }

    fn try_out() -> Result<(), Refused> {
        let cpus = affinity::allowed().map_err(failed)?;
        let [first, second, ..] = cpus[..] else { return Err(refused(Reason::OneCpu)) };
        for peer in cpus {
            let own = if peer == first { second } else { first };
            if !(0..TRIES).try_fold(false, |is_shown, _| Ok(is_shown || interrupts(own, peer)?))? {
                return Err(refused(Reason::NotInterrupted));
            }
        }
        Ok(())
    }

    /// Whether barriers of a thread on the CPU `own` interrupt the CPU `peer`.
    fn interrupts(own: usize, peer: usize) -> Result<bool, Refused> {
        let before = count(peer)?;
        let trial = Trial::default();
        let (there, here) = thread::scope(|threads| {
            let there = threads.spawn(|| trial.run_on(peer, |trial| trial.often()));
            let here = threads.spawn(|| trial.run_on(own, |trial| trial.seldom()));
            (there.join(), here.join())
        });
        let refused_there = there.unwrap_or(Err(refused(Reason::Failed)));
        refused_there.and(here.unwrap_or(Err(refused(Reason::Failed))))?;
        // The kernel counts in 32 bits.
        let interrupts = count(peer)?.wrapping_sub(before) & u64::from(u32::MAX);
        Ok(interrupts >= FEWEST_INTERRUPTS)
    }

    fn count(cpu: usize) -> Result<u64, Refused> {
        let unknown = refused(Reason::NotInterrupted);
        let counts = row(SHOOTDOWNS).map_err(|_| unknown)?;
        counts
            .into_iter()
            .find(|(number, _)| *number == cpu)
            .map_or(Err(unknown), |(_, count)| Ok(count))
    }

    /// Store buffering, round by round. What a side writes is the round's number. Relaxed: no word carries another one.
    #[derive(Default)]
    struct Trial {
        ready: CachePadded<AtomicU32>,
        begun: CachePadded<AtomicU32>,
        mine: CachePadded<AtomicU32>,
        theirs: CachePadded<AtomicU32>,
        /// Twice the round, and 1 if the frequent side saw the other.
        ended: CachePadded<AtomicU32>,
        is_over: AtomicU32,
    }

    impl Trial {
        fn run_on(
            &self,
            cpu: usize,
            side: impl FnOnce(&Trial) -> Result<(), Refused>,
        ) -> Result<(), Refused> {
            let result = affinity::pin(cpu).map_err(failed).and_then(|()| side(self));
            self.is_over.fetch_or(u32::from(result.is_err()), Relaxed);
            result
        }

        /// The word once it is at least that; nothing if the other side has given up.
        fn await_other(&self, word: &AtomicU32, least: u32) -> Option<u32> {
            loop {
                match word.load(Relaxed) {
                    value if value >= least => return Some(value),
                    _ if self.is_over.load(Relaxed) != 0 => return None,
                    _ => spin_loop(),
                }
            }
        }

        fn often(&self) -> Result<(), Refused> {
            for round in 1..=ROUNDS {
                self.ready.store(round, Relaxed);
                if self.await_other(&self.begun, round).is_none() {
                    break;
                }
                self.mine.store(round, Relaxed);
                bare::light();
                let is_seen = self.theirs.load(Relaxed) == round;
                self.ended.store(2 * round + u32::from(is_seen), Relaxed);
            }
            Ok(())
        }

        fn seldom(&self) -> Result<(), Refused> {
            for round in 1..=ROUNDS {
                if self.await_other(&self.ready, round).is_none() {
                    break;
                }
                self.begun.store(round, Relaxed);
                self.theirs.store(round, Relaxed);
                barrier()?;
                let is_seen = self.mine.load(Relaxed) == round;
                if !is_seen && self.await_other(&self.ended, 2 * round) == Some(2 * round) {
                    return Err(refused(Reason::Unordered));
                }
            }
            Ok(())
        }
    }
}
