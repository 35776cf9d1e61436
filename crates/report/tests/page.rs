//! The page of a run is well-formed, makes no request, and is unaffected by hostile names.
//! `UNC_PAGES=DIR` keeps the pages for inspection.

mod common;

use common::*;
use uncontended_report::findings;
use uncontended_report::html::run_page;
use uncontended_report::run::*;

fn page(name: &str, mut report: RunReport) -> String {
    report.findings = findings::find(&report);
    let html = run_page(&report);
    if let Some(folder) = std::env::var_os("UNC_PAGES") {
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.html")), &html).unwrap();
    }
    well_formed(&html);
    for request in ["http://", "https://", "src=", "@import", "url(", "<link", "fetch("] {
        assert!(!html.contains(request), "{name}: {request}");
    }
    html
}

#[test]
fn a_run_shows_its_parts() {
    let html = page("sort", sort());
    for part in ["Locks", "Timeline", "Percentiles and worst cases", "Threads", "Coverage"] {
        assert!(html.contains(&format!("<h2>{part}</h2>")), "{part}");
    }
    assert!(html.contains("queue_insert sort.c:3301") && html.contains("265 ms"));
    assert!(html.contains("waited for 265 ms at 1.00 s, thread 102 sort"));
}

/// A narrow screen shows each row as a block: there, each cell has its column's heading with it. Columns that are the
/// same in every row take no room.
#[test]
fn every_cell_knows_its_column() {
    let html = page("cells", sort());
    let cells = html.matches("<td").count();
    assert!(cells > 20 && html.matches(" data-h=\"").count() == cells);
    assert!(html.contains("thead{display:none}") && html.contains("content:attr(data-h)"));
    let titles = |locks: Vec<Lock>| {
        let mut report = run(&["program"]);
        report.processes = vec![process(7, locks, vec![]), process(8, vec![], vec![])];
        let html = page("titles", report);
        let (_, section) = html.split_once("<h2>Locks</h2>").unwrap();
        section.split_once("</thead>").unwrap().0.to_owned()
    };
    let locks = || vec![lock(1, Kind::Mutex, "one"), lock(2, Kind::Mutex, "two")];
    let same = titles(locks());
    assert!(same.contains(">lock<") && same.contains(">queue<"), "{same}");
    assert!([">pid<", ">class<", ">locks<"].iter().all(|title| !same.contains(title)), "{same}");
    let mut mixed = locks();
    mixed[0].class = Class::Queue;
    assert!(titles(mixed).contains(">class<"));
}

/// A thread that still waits for a lock when the run ends waited for a lock.
#[test]
fn a_wait_that_has_not_ended_is_shown_as_one_for_a_lock() {
    let mut report = run(&["bank"]);
    let thread = |tid, unfinished_lock| Thread {
        unfinished_wait_ns: Some(700 * MS),
        unfinished_lock,
        wait_ns: None,
        contention_wait_ns: None,
        ..thread(tid, "t")
    };
    let threads = vec![thread(11, Some(1)), thread(12, None)];
    report.processes = vec![process(1, vec![lock(1, Kind::Mutex, "one")], threads)];
    let html = page("stuck", report);
    assert_eq!(html.matches("waited for locks: 700 ms").count(), 1);
    assert!(html.contains(">waiting, not ended<"));
}

/// Both sides of a lock have all of its waiting: what no place and no culprit has stands elsewhere, or is unknown.
#[test]
fn waiters_and_culprits_are_divided_apart() {
    let html = page("ends", sort());
    let (_, section) = html.split_once("<h2>Waiters and culprits</h2>").unwrap();
    let (section, _) = section.split_once("</svg>").unwrap();
    let queue = sort().processes[0].locks.iter().find(|lock| lock.id == 1).cloned().unwrap();
    let total = queue.wait_ns.unwrap().total;
    let shown = |name: &str, ns: u64| {
        let words = format!("{name}: {}", uncontended_figures::duration(ns));
        section.contains(&words)
    };
    for (name, ns) in [
        ("queue_pop", 800 * MS),
        ("queue_insert", 200 * MS),
        ("elsewhere", total - 1_000 * MS),
        ("queue_pop", 700 * MS),
        ("idle", 210 * MS),
        ("unknown", total - 1_030 * MS),
    ] {
        assert!(shown(name, ns), "{name} {ns}: {section}");
    }
}

#[test]
fn a_run_that_saw_nothing_says_so() {
    let mut report = run(&["go-program"]);
    report.coverage.nothing_seen =
        Some("The program is static: no library could be loaded into it.".to_owned());
    let html = page("nothing", report);
    assert!(html.contains("<h2>Nothing was seen</h2>") && !html.contains("<h2>Locks</h2>"));
}

/// A command is not broken after its dashes; a backtick without a partner, and what is hostile between two, stay text.
#[test]
fn commands_in_sentences_are_set_as_such() {
    let html = |text: &str| {
        let mut report = run(&["program"]);
        report.coverage.nothing_seen = Some(text.to_owned());
        page("commands", report)
    };
    assert!(html("`unc attach PID` shows it.").contains("<code>unc attach PID</code> shows it."));
    assert!(html("`a` or `<b>`.").contains("<code>a</code> or <code>&lt;b&gt;</code>."));
    assert!(html("A ` alone.").contains("A ` alone."));
}

#[test]
fn hostile_names_stay_text() {
    const BAD: &str = "</script><script>alert(1)</script><img src=x onerror=\"alert('2')\">&";
    let mut report = sort();
    report.command = vec![BAD.to_owned()];
    let process = &mut report.processes[0];
    process.threads[0].name = BAD.to_owned();
    process.locks[0].address = BAD.to_owned();
    process.locks[0].site.as_mut().unwrap().function = Some(BAD.into());
    process.locks[0].worst_wait.as_mut().unwrap().holder[0].file = Some(BAD.into());
    report.coverage.unseen.push(BAD.to_owned());
    report.clock.source = BAD.to_owned();
    let mut html = run_page(&report);
    well_formed(&html);
    html = html.replace("<script>document", "").to_owned();
    assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("onerror=\""));
}

#[test]
fn huge_and_many() {
    let mut report = many(3_000, 300);
    report.wall_ns = u64::MAX;
    let row = &mut report.processes[0].locks[10];
    let most = Distribution {
        count: u64::MAX,
        total: u64::MAX,
        max: u64::MAX,
        worst: vec![u64::MAX; 4],
        buckets: vec![(0, u64::MAX, u64::MAX)],
        ..Default::default()
    };
    (row.wait_ns, row.idle_ns, row.hold_ns) = (Some(most.clone()), Some(most.clone()), Some(most));
    row.moments = vec![Moment {
        what: Span::Wait,
        at_ns: u64::MAX - 5,
        ns: u64::MAX,
        tid: None,
        cause: None,
    }];
    assert!(page("huge", report).contains("more rows"));
    assert!(page("many", many(400, 100)).contains("And 200 more rows"));
}

#[test]
fn the_worst_minute_of_an_hour_is_found() {
    let mut report = sort();
    report.wall_ns = 3_600_000 * MS;
    let wait = |at_s: u64, ns| Moment {
        what: Span::Wait,
        at_ns: at_s * 1_000 * MS,
        ns,
        tid: None,
        cause: None,
    };
    report.processes[0].locks[0].moments =
        vec![wait(100, 900 * MS), wait(2_000, 500 * MS), wait(2_030, 600 * MS)];
    let queue =
        report.processes[0].locks.iter_mut().find(|lock| lock.class == Class::Queue).unwrap();
    queue.moments = vec![wait(100, 50_000 * MS)];
    let html = page("hour", report);
    assert!(html.contains("waited for 600 ms") && html.contains("waited for 500 ms"));
    assert!(!html.contains("waited for 900 ms"));
    // Holds without waiters make no minute the worst.
    let mut calm = sort();
    calm.processes[0].locks[0].moments.retain(|moment| moment.what == Span::Hold);
    assert!(!page("calm", calm).contains("Timeline"));
}

#[test]
fn what_is_not_known_of_an_idle_lock_is_no_zero() {
    let mut report = sort();
    let mut idle = report.culprits[0].clone();
    (idle.kind, idle.longest_ns) = (BlamedKind::Idle, 0);
    report.culprits = vec![idle];
    report.processes[0].locks.iter_mut().for_each(|lock| lock.worst_idle = None);
    let html = page("idle", report);
    assert!(html.contains("stood idle<"));
    assert!(!html.contains(r#"data-h="longest" data-v="0">"#));
}
