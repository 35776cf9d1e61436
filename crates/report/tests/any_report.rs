//! Every form can be made of any report: no panic, a well-formed page, lines that fit, JSON that round-trips.
//! `UNC_DEPTH=full` tries fifty times as many reports.

mod common;

use common::*;
use uncontended_report::run::*;
use uncontended_report::terminal::{self, Options};
use uncontended_report::{findings, folded, history, html, json, perfetto};
use uncontended_testkit::{Random, repetitions};

/// Reports of every kind.
struct Dice(Random);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0.next()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// Numbers of every size, with the extremes often.
    fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            _ => self.next() >> self.below(64),
        }
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(3) > 0).then(|| make(self))
    }

    fn share(&mut self) -> f64 {
        [0.0, 1.0, 1e-12, 1e300, f64::MIN_POSITIVE, 0.3][self.below(6) as usize]
    }

    fn text(&mut self) -> String {
        const PARTS: [&str; 10] = [
            "",
            "a",
            "<b>&'\"",
            "\u{1b}[2J",
            "\u{202e}",
            "線程",
            "e\u{301}",
            "\n",
            "/",
            "std::vec::Vec<T>",
        ];
        (0..self.below(5)).map(|_| PARTS[self.below(10) as usize]).collect()
    }

    fn frame(&mut self) -> Frame {
        Frame {
            function: self.maybe(Dice::text).map(Into::into),
            file: self.maybe(Dice::text).map(Into::into),
            line: self.maybe(|random| random.next() as u32),
            module: self.maybe(Dice::text).map(Into::into),
            address: self.text().into(),
        }
    }

    fn stack(&mut self) -> Vec<Frame> {
        (0..self.below(20)).map(|_| self.frame()).collect()
    }

    fn unfinished(&mut self) -> Unfinished {
        Unfinished {
            count: self.number(),
            longest_ns: self.number(),
            total_ns: self.number(),
            held_ns: self.maybe(Dice::number),
            holder: self.maybe(|random| random.next() as u32),
            holder_ended: self.below(2) == 0,
            waiters_ended: self.below(2) == 0,
        }
    }

    fn head(&mut self) -> Head {
        Head {
            tid: self.next() as u32,
            name: self.text(),
            lock: self.below(4),
            taken: self.stack(),
            held_ns: self.maybe(Dice::number),
            through: self.below(3) as u32,
            behind: self.next() as u32,
            is_asleep: self.below(2) == 0,
        }
    }

    fn keeper(&mut self) -> Keeper {
        Keeper {
            tid: self.next() as u32,
            wait_ns: self.number(),
            share: self.share(),
            holds: self.number(),
            hold_ns: self.maybe(Dice::number),
            longest_ns: self.maybe(Dice::number),
        }
    }

    fn holders_waited(&mut self) -> HoldersWaited {
        let on = |random: &mut Dice| WaitedOn {
            lock: random.maybe(|random| random.below(4)),
            site: random.maybe(Dice::frame),
            wait_ns: random.number(),
        };
        let on = (0..self.below(4)).map(|_| on(self)).collect();
        HoldersWaited { wait_ns: self.number(), waited_ns: self.number(), on }
    }

    fn times(&mut self) -> Distribution {
        let mut worst: Vec<u64> = (0..self.below(5)).map(|_| self.number()).collect();
        worst.sort_unstable_by(|a, b| b.cmp(a));
        let buckets = (0..self.below(6))
            .map(|_| (self.number(), self.number(), self.number() >> 4))
            .collect();
        Distribution {
            count: self.number(),
            total: self.number(),
            p50: self.number(),
            p90: self.number(),
            p99: self.number(),
            p999: self.number(),
            max: self.number(),
            worst,
            buckets,
        }
    }

    fn lock(&mut self) -> Lock {
        let kinds = [
            Kind::Mutex,
            Kind::RwlockRead,
            Kind::RwlockWrite,
            Kind::Spin,
            Kind::Condition,
            Kind::Annotated,
        ];
        let classes = [
            Class::Contention,
            Class::Contention,
            Class::Gate,
            Class::HandOff,
            Class::Queue,
            Class::Unknown,
        ];
        let causes =
            [IdleCause::NotWoken, IdleCause::NotScheduled, IdleCause::Barged, IdleCause::Unknown];
        Lock {
            class: classes[self.below(6) as usize],
            like: self.maybe(|dice| {
                [Like::Mutex, Like::Condition, Like::Semaphore][dice.below(3) as usize]
            }),
            known_as: self.maybe(Dice::text),
            site: self.maybe(Dice::frame),
            created: self.stack(),
            address: self.text(),
            acquisitions: self.number(),
            blocked: self.number(),
            slept: self.maybe(Dice::number),
            slept_known: self.maybe(Dice::number),
            try_failed: self.number(),
            timed_out: self.maybe(Dice::timed_out),
            threads: self.next() as u32,
            owner_changes: self.maybe(Dice::number),
            utilisation: self.maybe(Dice::share),
            mean_queue: self.maybe(Dice::share),
            wait_share: self.maybe(Dice::share),
            wait_ns: self.maybe(Dice::times),
            idle_ns: self.maybe(Dice::times),
            hold_ns: self.maybe(Dice::times),
            worst_wait: self.maybe(|random| WorstWait {
                ns: random.number(),
                waiter: random.stack(),
                holder: random.stack(),
            }),
            worst_idle: self.maybe(|random| WorstIdle {
                ns: random.number(),
                releaser: random.stack(),
                waiter: random.stack(),
                cause: causes[random.below(4) as usize],
                on_releasers_cpu: random.below(2) == 1,
            }),
            blame: self.maybe(Dice::blame),
            held_by: (0..self.below(4)).map(|_| self.blamed()).collect(),
            holders_waited: self.maybe(Dice::holders_waited),
            keeper: self.maybe(Dice::keeper),
            left: self.maybe(|random| Left { tid: random.next() as u32, wait_ns: random.number() }),
            herd: self.maybe(Dice::herd),
            unfinished: self.maybe(Dice::unfinished),
            hung_behind: self.maybe(Dice::head),
            ended_by: (0..self.below(4)).map(|_| self.blamed()).collect(),
            waited_in: (0..self.below(4)).map(|_| self.waited_in()).collect(),
            moments: (0..self.below(5)).map(|_| self.moment(causes)).collect(),
            ..lock(self.number(), kinds[self.below(6) as usize], "f")
        }
    }

    fn moment(&mut self, causes: [IdleCause; 4]) -> Moment {
        Moment {
            what: [Span::Wait, Span::Idle, Span::Hold][self.below(3) as usize],
            at_ns: self.number(),
            ns: self.number(),
            tid: self.maybe(|random| random.next() as u32),
            cause: self.maybe(|random| causes[random.below(4) as usize]),
        }
    }

    fn herd(&mut self) -> Herd {
        Herd {
            wakeups: self.number(),
            for_nothing: self.number(),
            wait_ns: self.number(),
            mutex: self.maybe(Dice::number),
        }
    }

    fn timed_out(&mut self) -> TimedOut {
        TimedOut { count: self.number(), total: self.number(), max: self.number() }
    }

    fn blame(&mut self) -> Blame {
        Blame {
            held_ns: self.number(),
            ended_ns: self.number(),
            idle_ns: self.number(),
            unknown_ns: self.number(),
        }
    }

    fn waited_in(&mut self) -> WaitedIn {
        let Blamed { site, stack, wait_ns, share, waits, longest_ns, .. } = self.blamed();
        WaitedIn { site, stack, wait_ns, share, waits, longest_ns }
    }

    fn blamed(&mut self) -> Blamed {
        let kinds = [BlamedKind::Hold, BlamedKind::Wake, BlamedKind::Idle];
        Blamed {
            site: self.maybe(Dice::frame),
            stack: self.stack(),
            callers: self.stack(),
            callers_wait_ns: (0..self.below(3)).map(|_| self.below(9)).collect(),
            kind: kinds[self.below(3) as usize],
            cause: self.maybe(|random| {
                [IdleCause::NotWoken, IdleCause::Barged, IdleCause::Unknown]
                    [random.below(3) as usize]
            }),
            wait_ns: self.number(),
            share: self.share(),
            waits: self.number(),
            holds: self.number(),
            longest_ns: self.number(),
            passed_on_ns: self.number(),
            woken_into_ns: self.number(),
            died_ns: self.number(),
            path_ns: self.maybe(Dice::number),
            gain_at_most_ns: self.maybe(Dice::number),
            may_move_to: Vec::new(),
            pids: (0..self.below(3)).map(|_| self.next() as u32).collect(),
            locks: (0..self.below(3)).map(|_| self.number()).collect(),
        }
    }

    fn spans(&mut self) -> Spans {
        let group = |random: &mut Self| SpanGroup {
            count: random.number(),
            ns: random.number(),
            parts: (0..random.below(4)).map(|_| random.span_part()).collect(),
            own_ns: random.number(),
            handed_over_ns: random.number(),
            unknown_ns: random.number(),
        };
        Spans {
            name: self.text(),
            kind: [SpanKind::Function, SpanKind::Annotation][self.below(2) as usize],
            count: self.number(),
            not_kept: self.number(),
            lost: self.number(),
            cost_ns: self.maybe(Dice::number),
            p50_ns: self.number(),
            p99_ns: self.number(),
            max_ns: self.number(),
            slowest: group(self),
            median: group(self),
        }
    }

    fn span_part(&mut self) -> SpanPart {
        let Blamed { site, kind, wait_ns: ns, .. } = self.blamed();
        let culprit = Some(self.below(9)).filter(|&nth| nth < 8);
        SpanPart { culprit, site, kind, ns }
    }

    fn path(&mut self, pid: u32) -> PathTaken {
        PathTaken {
            pid,
            from_ns: self.number(),
            until_ns: self.number(),
            outside_ns: self.number(),
            own_ns: self.number(),
            asleep_ns: self.number(),
            handed_over_ns: self.number(),
            handovers: self.number(),
            unknown_ns: self.number(),
            mainly: Some(OnPath {
                tid: self.below(4) as u32,
                own_ns: self.number(),
                body: self.blamed().site,
            }),
        }
    }

    fn deadlock(&mut self) -> Deadlock {
        let thread = |random: &mut Self| Stuck {
            tid: random.below(4) as u32,
            name: random.text(),
            lock: random.maybe(|random| random.below(8)),
            shared: random.below(2) == 0,
            has_deadline: random.below(2) == 0,
            wait_ns: random.number(),
            stack: random.stack(),
            holder: random.below(4) as u32,
            holds: random.below(2) == 0,
            taken: random.stack(),
            held_ns: random.maybe(Dice::number),
        };
        let threads = (0..self.below(9)).map(|_| thread(self)).collect();
        Deadlock { pid: self.next() as u32, threads, behind: self.next() as u32 }
    }

    fn report(&mut self) -> RunReport {
        let mut report = run(&["p"]);
        report.command = (0..self.below(4)).map(|_| self.text()).collect();
        report.wall_ns = self.number();
        report.exit_status = self.next() as i32;
        report.signal = self.maybe(|random| random.below(70) as i32 - 2);
        report.processes = (0..self.below(3))
            .map(|_| {
                let locks = (0..self.below(8)).map(|_| self.lock()).collect();
                let threads = (0..self.below(4))
                    .map(|_| Thread {
                        name: self.text(),
                        lived_ns: self.maybe(Dice::number),
                        user_ns: self.maybe(Dice::number),
                        system_ns: self.maybe(Dice::number),
                        other_wait_ns: self.maybe(Dice::number),
                        unfinished_wait_ns: self.maybe(Dice::number),
                        unfinished_lock: self.maybe(Dice::number),
                        cpu_ns: self.maybe(Dice::number),
                        runnable_ns: self.maybe(Dice::number),
                        wait_ns: self.maybe(Dice::number),
                        ..thread(self.next() as u32, "")
                    })
                    .collect();
                process(self.next() as u32, locks, threads)
            })
            .collect();
        report.culprits = (0..self.below(7)).map(|_| self.blamed()).collect();
        report.ranked_by = [RankedBy::Wait, RankedBy::Gain][self.below(2) as usize];
        let pids: Vec<u32> = report.processes.iter().map(|process| process.pid).collect();
        report.spans = (0..self.below(3)).map(|_| self.spans()).collect();
        report.paths = pids.into_iter().map(|pid| self.path(pid)).collect();
        report.deadlocks = (0..self.below(3)).map(|_| self.deadlock()).collect();
        report.coverage.unseen.push(self.text());
        report.coverage.futex_share_unaccounted = self.maybe(Dice::share);
        report.coverage.futex_sites = (0..self.below(3))
            .map(|_| FutexSite {
                stack: self.stack(),
                waits: self.number(),
                total_ns: self.number(),
            })
            .collect();
        report.observer.records_dropped = self.number();
        report
    }
}

#[test]
fn every_form_of_any_report() {
    let rounds = repetitions("reports", 200, 10_000);
    let mut random = Dice(Random(1));
    let mut last = run(&["p"]);
    for round in 0..rounds {
        let mut report = random.report();
        report.findings = findings::find(&report);
        assert!(report.findings.len() <= findings::MOST);
        let options = Options {
            top: random.below(5) as usize,
            colour: false,
            width: random.below(150) as usize,
            utf8: random.below(2) == 0,
        };
        let text = terminal::render(&report, &options);
        let steers = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(steers) && !text.contains('\u{202e}'), "round {round}: {text:?}");
        well_formed(&html::run_page(&report));
        let back: RunReport = serde_json::from_slice(&json::text(&report).unwrap()).unwrap();
        assert_eq!(back, report, "round {round}");
        assert_eq!(
            folded::render(&report).lines().filter(|line| !line.contains(' ')).count(),
            0,
            "round {round}"
        );
        perfetto::render(&report, &[]);
        history::diff(&last, &report);
        last = report;
    }
}
