//! Handmade reports, every figure of which a test can name.
#![allow(dead_code, reason = "each test uses some of the fixtures")]

pub(crate) mod rules;

use std::collections::BTreeMap;
use uncontended_report::aggregate::{Bucket, distribution};
use uncontended_report::run::*;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const US: u64 = 1_000;

/// A run of `command` that has seen nothing yet.
pub(crate) fn run(command: &[&str]) -> RunReport {
    RunReport {
        schema: SCHEMA.to_owned(),
        command: command.iter().map(|&word| word.to_owned()).collect(),
        exit_status: 0,
        signal: None,
        ended_by_limit: false,
        wall_ns: 4_213 * MS,
        cpus: None,
        so_far: false,
        load: None,
        clock: Clock { source: "tsc".to_owned(), step_ns: 0.4762 },
        processes: vec![],
        coverage: Coverage {
            processes_observed: 1,
            unseen: vec![
                "Locks inside glibc (stdio, malloc) and spinning that was inlined.".to_owned(),
            ],
            nothing_seen: None,
            not_recording: vec![],
            still_running: vec![],
            cut_short: vec![],
            symbols_mismatch: vec![],
            degraded: None,
            futex_share_unaccounted: None,
            futex_wait_ns: None,
            lost_waits: 0,
            lost_wait_ns: 0,
            futex_sites: vec![],
            more: BTreeMap::new(),
        },
        observer: Observer {
            cost_ns_per_pair: Some(11.4),
            cost_ns: None,
            cpu_share: None,
            records_dropped: 0,
            most_locks: 0,
        },
        findings: vec![],
        culprits: vec![],
        ranked_by: RankedBy::Wait,
        holds: Some(Holds::All),
        paths: vec![],
        spans: vec![],
        deadlocks: vec![],
        lock_order: None,
        source: Source::Preload,
        attached: None,
        only: None,
    }
}

/// A process of that run.
pub(crate) fn process(pid: u32, locks: Vec<Lock>, threads: Vec<Thread>) -> Process {
    Process {
        pid,
        command: vec!["program".to_owned()],
        locks,
        threads,
        joins: vec![],
        hung: None,
        ended_ns: None,
    }
}

/// A frame with a function and a line.
pub(crate) fn frame(function: &str, file: &str, line: u32) -> Frame {
    Frame {
        function: Some(function.into()),
        file: Some(format!("/src/coreutils/{file}").into()),
        line: Some(line),
        module: Some("/usr/bin/program".into()),
        address: format!("0x{:x}", 0x4000 + line).into(),
    }
}

/// A lock that no thread waited on.
pub(crate) fn lock(id: u64, kind: Kind, function: &str) -> Lock {
    Lock {
        id,
        kind,
        class: Class::Contention,
        like: None,
        known_as: None,
        site: Some(frame(function, "sort.c", 3300 + (id % 10_000) as u32)),
        created: vec![],
        first_taken: vec![],
        address: format!("0x55d0{id:08x}"),
        variable: None,
        life: 0,
        acquisitions: 100,
        blocked: 0,
        slept: None,
        slept_known: None,
        try_failed: 0,
        timed_out: None,
        threads: 1,
        waiters: 0,
        owner_changes: Some(0),
        utilisation: Some(0.001),
        mean_queue: Some(0.0),
        wait_share: None,
        wait_ns: None,
        idle_ns: None,
        idle_causes: None,
        woken: None,
        hold_ns: None,
        worst_wait: None,
        worst_idle: None,
        unfinished: None,
        hung_behind: None,
        blame: None,
        held_by: vec![],
        holders_waited: None,
        keeper: None,
        ended_by: vec![],
        waited_in: vec![],
        moments: vec![],
        shared: false,
        processes: vec![],
        owner_died: 0,
        left: None,
        herd: None,
        summed: None,
        other_side: None,
    }
}

/// The distribution of `times`, in four buckets per octave.
pub(crate) fn times(times: &[u64]) -> Option<Distribution> {
    let mut buckets: BTreeMap<u64, Bucket> = BTreeMap::new();
    for &time in times {
        let octave = 1u64 << (63 - time.max(4).leading_zeros());
        let low = octave + (time.max(octave) - octave) / (octave / 4) * (octave / 4);
        let bucket = buckets.entry(low).or_insert(Bucket { low, high: low + octave / 4, count: 0 });
        bucket.count += 1;
    }
    let buckets: Vec<Bucket> = buckets.into_values().collect();
    let mut worst = times.to_vec();
    worst.sort_unstable_by(|a, b| b.cmp(a));
    worst.truncate(4);
    distribution(&buckets, times.iter().sum(), &worst)
}

/// A thread.
pub(crate) fn thread(tid: u32, name: &str) -> Thread {
    Thread {
        tid,
        name: name.to_owned(),
        lived_ns: None,
        cpu_ns: Some(1_900 * MS),
        user_ns: Some(1_700 * MS),
        system_ns: Some(200 * MS),
        runnable_ns: Some(40 * MS),
        voluntary_switches: Some(618),
        involuntary_switches: Some(21),
        migrations: Some(3),
        blocked: Some(157),
        joined_ns: None,
        wait_ns: Some(300 * MS),
        contention_wait_ns: Some(280 * MS),
        other_wait_ns: Some(1_973 * MS),
        ..Thread::default()
    }
}

/// Waiting that the holds of a function caused.
pub(crate) fn blamed(function: &str, wait_ns: u64, share: f64) -> Blamed {
    Blamed {
        site: Some(frame(function, "sort.c", 3301)),
        stack: vec![frame("pthread_mutex_lock", "lock.c", 80), frame(function, "sort.c", 3301)],
        kind: BlamedKind::Hold,
        cause: None,
        wait_ns,
        share,
        waits: 628,
        holds: 400,
        longest_ns: 264 * MS,
        passed_on_ns: 0,
        woken_into_ns: 0,
        died_ns: 0,
        callers: Vec::new(),
        callers_wait_ns: Vec::new(),
        path_ns: None,
        gain_at_most_ns: None,
        may_move_to: Vec::new(),
        pids: vec![],
        locks: vec![],
    }
}

/// Code that waited.
pub(crate) fn waited_in(function: &str, wait_ns: u64, share: f64) -> WaitedIn {
    let Blamed { site, stack, waits, longest_ns, .. } = blamed(function, wait_ns, share);
    WaitedIn { site, stack, wait_ns, share, waits, longest_ns }
}

/// What its queue's wait was for, and where it was.
fn blame_sort(queue: &mut Lock) {
    queue.waited_in =
        vec![waited_in("queue_pop", 800 * MS, 0.74), waited_in("queue_insert", 200 * MS, 0.185)];
    queue.blame = Some(Blame {
        held_ns: 820 * MS,
        ended_ns: 0,
        idle_ns: 210 * MS,
        unknown_ns: queue.wait_ns.as_ref().unwrap().total - 1_030 * MS,
    });
    queue.held_by = vec![
        blamed("queue_pop", 700 * MS, 0.65),
        blamed("queue_insert", 115 * MS, 0.107),
        Blamed { site: None, stack: vec![], ..blamed("", 5 * MS, 0.005) },
    ];
}

/// The same over all locks.
fn sort_culprits(held_by: &[Blamed]) -> Vec<Blamed> {
    let of = |piece: &Blamed, locks: &[u64]| Blamed { locks: locks.to_vec(), ..piece.clone() };
    let free = Blamed {
        site: None,
        stack: vec![],
        kind: BlamedKind::Idle,
        holds: 0,
        ..blamed("", 210 * MS, 0.194)
    };
    vec![
        of(&held_by[0], &[1]),
        of(&free, &[1]),
        of(&held_by[1], &[1, 2, 3]),
        of(&held_by[2], &[1]),
        of(&Blamed { share: 0.001, ..held_by[2].clone() }, &[2]),
    ]
}

fn sort_moments() -> Vec<Moment> {
    let moment = |what, at, ms, tid, cause| Moment {
        what,
        at_ns: at * MS,
        ns: ms * MS,
        tid: Some(tid),
        cause,
    };
    vec![
        moment(Span::Wait, 1_000, 265, 102, None),
        moment(Span::Wait, 2_100, 120, 103, None),
        moment(Span::Hold, 1_001, 264, 101, None),
        moment(Span::Idle, 3_000, 27, 102, Some(IdleCause::NotScheduled)),
    ]
}

/// A run like that of `sort --parallel=4`: one contended mutex, one that is idle for long, a condition.
pub(crate) fn sort() -> RunReport {
    let mut report = run(&["sort", "--parallel=4", "my file.txt"]);
    let mut queue = lock(1, Kind::Mutex, "queue_insert");
    queue.variable = Some("queue+0x20".to_owned());
    queue.acquisitions = 15_700;
    queue.blocked = 628;
    queue.try_failed = 2;
    queue.threads = 5;
    queue.owner_changes = Some(3_100);
    queue.utilisation = Some(0.45);
    queue.mean_queue = Some(0.292);
    queue.wait_share = Some(0.094);
    let waits: Vec<u64> = (0..624)
        .map(|i| 2 * US + i * 3 * US)
        .chain([30 * MS, 81 * MS, 120 * MS, 265 * MS])
        .collect();
    queue.wait_ns = times(&waits);
    queue.idle_ns = times(&[900, 40 * US, 1_200 * US, 27 * MS]);
    queue.hold_ns = times(&(1..=15_700).map(|i| i * 90).chain([264 * MS]).collect::<Vec<_>>());
    let stack = |leaf: &str| {
        vec![
            frame("pthread_mutex_lock", "lock.c", 80),
            frame(leaf, "sort.c", 3301),
            frame("sortlines", "sort.c", 3515),
            frame("sortlines_thread", "sort.c", 3480),
        ]
    };
    queue.worst_wait =
        Some(WorstWait { ns: 265 * MS, waiter: stack("queue_insert"), holder: stack("queue_pop") });
    queue.worst_idle = Some(WorstIdle {
        ns: 27 * MS,
        releaser: stack("queue_pop"),
        waiter: stack("queue_insert"),
        cause: IdleCause::NotScheduled,
        on_releasers_cpu: false,
    });
    blame_sort(&mut queue);
    queue.moments = sort_moments();
    let mut nodes: Vec<Lock> = (2..6).map(|id| lock(id, Kind::Mutex, "init_node")).collect();
    for node in &mut nodes {
        node.site = Some(frame("init_node", "sort.c", 3420));
        node.blocked = 3;
        node.wait_ns = times(&[5 * US, 20 * US, node.id * 100 * US]);
        node.hold_ns = times(&[4 * US; 100]);
    }
    let mut ready = lock(9, Kind::Condition, "queue_pop");
    ready.class = Class::Queue;
    ready.owner_changes = None;
    ready.utilisation = None;
    ready.blocked = 100;
    ready.wait_ns = times(&[900 * MS; 100]);
    let locks = [vec![queue], nodes, vec![ready]].concat();
    let mut idle = thread(104, "sort");
    idle.contention_wait_ns = None;
    idle.wait_ns = None;
    idle.blocked = None;
    report.processes =
        vec![process(101, locks, vec![thread(101, "sort"), thread(102, "sort"), idle])];
    report.culprits = sort_culprits(&report.processes[0].locks[0].held_by);
    report
}

/// `locks` locks at as many sites, `threads` threads; every tenth lock was waited on.
pub(crate) fn many(locks: u64, threads: u32) -> RunReport {
    let mut report = run(&["memcached", "-t", "100"]);
    let rows = (0..locks).map(|id| {
        let mut row = lock(id, Kind::Mutex, &format!("item_lock_{id}"));
        row.acquisitions = 1_000 + id;
        row.hold_ns = times(&[US + id, 2 * US, 40 * US + id]);
        row.created =
            (0..12).map(|depth| frame(&format!("caller_{depth}"), "memcached.c", depth)).collect();
        if id % 10 == 0 {
            row.blocked = 4;
            row.wait_ns = times(&[US, 30 * US, MS, MS + id]);
            row.idle_ns = times(&[US, 3 * US]);
            let stack = row.created.clone();
            row.worst_wait = Some(WorstWait { ns: MS + id, waiter: stack.clone(), holder: stack });
            row.moments = vec![Moment {
                what: Span::Wait,
                at_ns: id * US,
                ns: MS + id,
                tid: Some(7),
                cause: None,
            }];
        }
        row
    });
    let threads = (0..threads).map(|tid| thread(1_000 + tid, &format!("worker {tid}"))).collect();
    report.processes = vec![process(7, rows.collect(), threads)];
    report
}

/// Asserts that every opened element is closed in order, and that no bracket stands alone.
pub(crate) fn well_formed(html: &str) {
    const VOID: [&str; 3] = ["meta", "!DOCTYPE", "br"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        let end = tag.find('>').expect("a tag ends");
        let inside = &tag[1..end];
        assert!(!inside.contains('<'), "{inside}");
        assert!(
            open.last() == Some(&"style")
                || open.last() == Some(&"script")
                || !before.contains('>'),
            "{before}"
        );
        let name = inside.split([' ', '/']).find(|word| !word.is_empty()).unwrap();
        if let Some(closed) = inside.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !inside.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        rest = &tag[end + 1..];
        if ["style", "script"].contains(&name) && !inside.starts_with('/') {
            rest = &rest[rest.find(&format!("</{name}>")).unwrap()..];
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

/// A mutex of four threads with these times.
pub(crate) fn contended(waits: &[u64], idles: &[u64], holds: &[u64]) -> Lock {
    let mut row = lock(1, Kind::Mutex, "push");
    row.acquisitions = holds.len() as u64;
    row.blocked = waits.len() as u64;
    row.threads = 4;
    row.waiters = 3;
    row.wait_ns = times(waits);
    row.idle_ns = times(idles);
    row.hold_ns = times(holds);
    row
}
