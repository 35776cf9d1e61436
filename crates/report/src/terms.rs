//! The words of a report, explained: `unc help terms`.
//!
//! # Evidence
//! `tests/terms.rs`: every column of the terminal's tables is explained; every class and cause.

use uncontended_figures::text::wrap;

/// A heading, and terms with their meanings.
pub type Group = (&'static str, &'static [(&'static str, &'static str)]);

/// The terms, in the order of a report.
pub const TERMS: &[Group] = &[
    (
        "Culprits",
        &[
            (
                "gain (est.)",
                "an estimate: how much shorter the run would be if the holds of this code that threads waited for took no time (with --all-holds: its long holds too), or, if it delays a lock, what its holder waited for. All threads are taken to work for as long as they did, and locks to serve first come, first served: a change can gain more or less. Where threads hold one lock in turn, holds half as long gain at least half of this, and at most this or half of 'on path', whichever is less. ≤: a bound, since the threads may meet at another lock next. Shown if the run ended by itself",
            ),
            (
                "on path",
                "how much of that path was in these holds, or in what a holder waited for: from the end of the run back through each thread until it had waited, on in the thread that ended the wait, and from a wait for a lock back in the one that waited",
            ),
            ("share", "its share of all waiting at contended locks and gates"),
            ("total", "the waiting that it caused, summed over the threads that waited"),
            (
                "where",
                "the code that held the lock or, if it stood idle, the code that waited the most; waiting for a CPU has no line, but a sentence below",
            ),
            ("what", "what that code did (next)"),
        ],
    ),
    (
        "What a culprit did",
        &[
            ("holds #1", "it held that lock while others waited"),
            (
                "died holding #1",
                "the same, mostly of threads that died with the lock (robust mutexes)",
            ),
            (
                "delays #1",
                "others waited for that lock while its holder waited for this code: the head of the queue is to blame",
            ),
            ("arrives last at #1", "threads waited at that barrier until it came"),
            (
                "releases #1",
                "it woke threads that waited for a lock made of futexes, conditions or semaphores (Rust's, Qt's, PostgreSQL's)",
            ),
            ("passes #1 on", "it woke threads that waited for a lock made of a condition"),
            (
                "#1 stood idle",
                "the lock was free while threads waited for it; why is said after it (below)",
            ),
            (
                "f ← g",
                "f is in a library, or has no name; g is the code around it that is the program's, or has one",
            ),
            ("code not recorded", "the hold was seen, but not where it began"),
            (
                "no known cause",
                "waiting during which no hold and no idle time was seen: the holder took the lock before recording began, in a process that was not seen, or in a way that is not observed; or more than 64 threads waited for a read-write lock",
            ),
        ],
    ),
    (
        "Deadlocks and hangs",
        &[
            (
                "Deadlock",
                "threads waited for each other when the run ended, or wait so far: each for a lock that the next one held, and the last for one of the first",
            ),
            ("Cycle of waits", "the same, where a deadline will end one of the waits"),
            (
                "Still waiting",
                "waits that had lasted long when the run ended, or have so far: for locks that threads held or, if no thread of the process could go on, for anything",
            ),
            (
                "Lock order inversion",
                "threads took the same locks in different orders (--lock-order): no deadlock happened, but one may",
            ),
            (
                "its holder had died",
                "the owner of a robust mutex ended without a release; until the mutex was taken over, waiting for it is blamed on that hold",
            ),
        ],
    ),
    (
        "Calls of a function (--span), and spans",
        &[
            ("slowest", "the mean of the slowest 1 % of the calls, and of its parts"),
            ("median", "the same of as many calls in the middle"),
            (
                "where, what",
                "as for culprits: what the call's thread waited for, directly or through other threads",
            ),
            (
                "other work",
                "the rest: the threads on its path ran, slept, wanted a CPU or waited for input",
            ),
            ("between threads", "after a release or a wakeup, until the waiter went on"),
        ],
    ),
    (
        "Locks",
        &[
            (
                "lock",
                "a number for this run; everything that refers to the lock uses it. '#1+3': a row of lock #1, the one most waited for, and three more",
            ),
            (
                "pid",
                "the process; shown if several have locks. '+3': three more share the lock, which is recognised in all of them. '×3': three processes, each with locks of its own",
            ),
            (
                "locks",
                "how many locks the row stands for: those of one kind, class and site, of all processes unless they share them",
            ),
            (
                "kind",
                "mutex, read-write lock (a row of its writers and one of its readers), spin lock, condition, semaphore, barrier, futex or annotated",
            ),
            (
                "futex mutex",
                "a futex that is used as one, by the names of the functions that wait or by which threads wake it: as Rust's Mutex; likewise futex condition and futex semaphore",
            ),
            (
                "where",
                "the variable that the lock is or is a part of, if it is a global or static one, and the code that created it or, if that is unknown, the code that first took it",
            ),
            (
                "taken",
                "all acquisitions; – where only waits are seen (locks made of futexes, as Rust's and C++20's)",
            ),
            (
                "blocked",
                "the share of calls that had to wait; tries that failed are not among them (JSON: try_failed)",
            ),
            ("tries failed", "tries (trylock) that failed, if a row has many: polling, not waits"),
            (
                "slept",
                "of the calls that were blocked, the share in which the thread slept in the kernel: it gave up its CPU of its own accord; in the others it got the lock while it was still awake",
            ),
            (
                "wait",
                "from a blocked call to the acquisition, or to the end of a wait that timed out; the total is over all threads",
            ),
            (
                "of time",
                "the share of its threads' time that the process waited: total wait divided by the sum of its threads' lives (the whole run for a thread whose life was not recorded), less their waits for others to end",
            ),
            (
                "idle",
                "the time during which the lock was free while a thread waited for it; 'of wait' is its share of the waiting",
            ),
            ("hold", "from an acquisition to the release"),
            (
                "blocking hold",
                "the same, of holds that ended while a thread waited for the lock, or for a condition variable used with it; --all-holds times the others too",
            ),
            ("total", "the sum; waits of two threads at the same time both count"),
            (
                "not ended",
                "waits in progress when the run or their process ended, or so far: in no other column, but they count where rows are ranked",
            ),
            ("p50, p99", "the median and the 99th percentile"),
            ("longest", "the maximum; it grows with the number of samples"),
            (
                "in use",
                "the share of the wall time during which the lock was held (by blocking holds)",
            ),
            ("queue", "the mean number of waiting threads: total wait divided by wall time"),
            (
                "polling",
                "many failed tries (trylock), which do not wait: they use CPU time instead (a finding)",
            ),
        ],
    ),
    (
        "Classes",
        &[
            ("contention", "threads wait because others hold the lock, or pass it on late"),
            ("hand-off", "threads take turns on purpose; waiting for a turn may be intended"),
            (
                "gate",
                "the long holds of one thread cause the waiting; intended, or long work under a lock",
            ),
            ("queue", "threads wait for work"),
            (
                "unknown",
                "only the wait was seen, or the row sums many locks, of which there were too many for a row each",
            ),
        ],
    ),
    (
        "Why a lock was idle",
        &[
            (
                "woken late",
                "its waiter had not been woken yet: the wakeup takes longer than the hold",
            ),
            (
                "no CPU",
                "its waiter was awake but got no CPU: more threads than CPUs, or a neighbour",
            ),
            ("barged", "another thread took it first"),
        ],
    ),
    (
        "Seen by the kernel (`unc attach`)",
        &[
            ("until the wakeup", "the waiter slept: no thread had woken it yet"),
            ("until they ran", "it was awake but had no CPU, or was on its way out of the kernel"),
            (
                "were ended by",
                "the code that woke the waiters, each with the whole of the waits that it ended",
            ),
        ],
    ),
    (
        "Threads",
        &[
            ("thread", "its number in the kernel"),
            ("name", "its name in the kernel"),
            (
                "on CPU",
                "the time for which it ran: user, in its own code and libraries (and all, if the kernel does not divide it), and system, in the kernel",
            ),
            ("user, system", "the parts of the time on a CPU"),
            ("wanted CPU", "the time for which it was runnable but had no CPU"),
            ("locks", "its waiting at contended locks and gates, of waits that ended"),
            (
                "work",
                "its other waiting that was seen and that ended: for work, for a turn, for threads to end, and of class unknown",
            ),
            (
                "other",
                "the rest of its life: it slept, waited for I/O, or for locks that were not seen; and for a CPU, if that is unknown",
            ),
            (
                "not ended",
                "how long its wait had lasted that was in progress when the run or its process ended, or has so far: in no other column; shown if there is one",
            ),
            (
                "its time",
                "the same as a bar, as long as its life; waiting for locks has that in a deadlock too, and all other waiting is one part",
            ),
            ("blocked", "how often it waited"),
            ("own", "context switches because it slept"),
            ("forced", "context switches because it was preempted"),
        ],
    ),
    (
        "What unc survey measures",
        &[
            (
                "A/A",
                "the baseline measured against itself: how far its ratio is from 1 is the error of the method",
            ),
            ("wait", "the mean time from the call of a lock to the acquisition"),
            ("idle", "the mean time for which a lock was free while a thread wanted it"),
            ("hand-off", "the time from a release to the acquisition by a thread that had waited"),
            (
                "overtaken",
                "how often a waiter saw a thread that came later get the lock first: the 99th percentile",
            ),
            ("fast path", "the time to take and release a lock that no other thread wants"),
            (
                "no clock",
                "the ratio without the time that reading the clock adds to both of its terms",
            ),
            (
                "bystander",
                "a thread that does not use the lock: how much longer its work takes while others contend",
            ),
            ("sigma", "the share of the work that threads can only do one after the other"),
            (
                "kappa",
                "what each pair of threads costs, so that more threads in the end do less work",
            ),
            (
                "check-in",
                "a thread says that it is at a point where it holds nothing, so a heavy fence need not interrupt it",
            ),
            (
                "ticket",
                "the right to wait for a heavy fence that began after the ticket was drawn; one fence can serve many tickets",
            ),
            ("gap", "a time for which a thread that only reads the clock did not run"),
            ("steal", "a gap during which the hypervisor ran something else on the CPU"),
        ],
    ),
    (
        "Coverage",
        &[
            (
                "functions not named",
                "the file of the program or library is not the one that ran, so its names would be wrong: it has another build id (or, without one, another length, time or inode), or is gone",
            ),
            (
                "functions without names",
                "the file is the one that ran, but has no symbols, and no debug information was found for it",
            ),
            (
                "still running",
                "processes that outlived the program: what they did later is not in the report",
            ),
        ],
    ),
];

/// The terms as text of at most this many columns.
#[must_use]
pub fn text(columns: usize) -> String {
    let mut text = String::new();
    for (heading, terms) in TERMS {
        text.push_str(&format!("{heading}\n"));
        let width = terms.iter().map(|(term, _)| term.len()).max().unwrap_or(0);
        for (term, meaning) in *terms {
            text.push_str(&wrap(meaning, &format!("  {term:width$}  "), columns));
        }
        text.push('\n');
    }
    text.push_str("More: docs/reading_a_report.md.");
    text
}
