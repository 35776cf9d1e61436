//! What a trace shows of a violation: names, rounds, origins, both accesses of a race and the missing link
//! between them; and the page that shows it.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_model::real::{
    self, AtomicU32, Condvar, Explorer, Memory, Mutex, Named, UnsafeCell, Verdict, Violation,
    fence, spawn, spin_loop,
};
use uncontended_testkit::Folder;

fn violation(explorer: &Explorer, body: impl Fn() + 'static) -> Box<Violation> {
    let report = explorer.explore(body).unwrap();
    match report.verdict {
        Verdict::Violated(violation) => violation,
        _ => panic!("{report}"),
    }
}

fn trace(body: impl Fn() + 'static) -> String {
    violation(&Explorer::new(Memory::C11), body).trace.text()
}

struct Slot(UnsafeCell<u32>, AtomicU32);

// SAFETY: sharing this is unsound; the test is that the checker reports it.
unsafe impl Sync for Slot {}

/// A slot handed over by a flag, with fences and these orderings.
fn hand_over(
    store: real::Ordering,
    load: real::Ordering,
    fences: [Option<real::Ordering>; 2],
) -> impl Fn() + 'static {
    move || {
        let flag = AtomicU32::new(0).named("flag");
        let slot = Arc::new(Slot(UnsafeCell::new(0).named("slot"), flag));
        let other = Arc::clone(&slot);
        let writer = spawn(move || {
            other.0.with_mut(|_| ());
            fences[0].into_iter().for_each(fence);
            other.1.store(1, store);
        });
        if slot.1.load(load) == 1 {
            fences[1].into_iter().for_each(fence);
            slot.0.with(|_| ());
        }
        writer.join().unwrap();
    }
}

/// Lines that are too long for a terminal continue in the next one.
fn unwrapped(text: &str) -> String {
    text.replace("\n     ", " ")
}

#[track_caller]
fn says(text: &str, lines: &[&str]) {
    let text = unwrapped(text);
    for line in lines {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn a_race_shows_both_accesses_and_the_link_that_is_missing() {
    let unreleased = trace(hand_over(Relaxed, Acquire, [None, None]));
    says(
        &unreleased,
        &[
            "writes slot, plain",
            "reads slot, plain",
            "no release/acquire pair orders #2 before #5",
            "#4 reads what #3 wrote after #2, but #3 (rlx) does not release",
            "flag made at real_trace.rs",
        ],
    );
    says(&trace(hand_over(Release, Relaxed, [None, None])), &["but #4 (rlx) does not acquire"]);
    says(
        &trace(hand_over(Relaxed, Relaxed, [None, None])),
        &["but #3 (rlx) does not release, #4 (rlx) does not acquire"],
    );
    says(
        &trace(hand_over(Relaxed, Relaxed, [Some(Release), None])),
        &["fence rel", "but #5 (rlx) does not acquire"],
    );
    let fenced = hand_over(Relaxed, Relaxed, [Some(Release), Some(Acquire)]);
    assert!(Explorer::new(Memory::C11).explore(fenced).unwrap().holds());
    let unlinked = trace(|| {
        let slot = Arc::new(Slot(UnsafeCell::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&slot);
        let writer = spawn(move || other.0.with_mut(|_| ()));
        slot.0.with(|_| ());
        writer.join().unwrap();
    });
    says(&unlinked, &["plain", "the cell of real_trace.rs", "nothing that leads to #"]);
}

#[test]
fn a_chain_that_breaks_in_the_middle_is_reported_there() {
    let text = trace(|| {
        let flags = [AtomicU32::new(0).named("one"), AtomicU32::new(0).named("two")];
        let shared = Arc::new((Slot(UnsafeCell::new(0), AtomicU32::new(0)), flags));
        let (first, second) = (Arc::clone(&shared), Arc::clone(&shared));
        let writer = spawn(move || {
            first.0.0.with_mut(|_| ());
            first.1[0].store(1, Release);
        });
        let between = spawn(move || {
            if second.1[0].load(Relaxed) == 1 {
                second.1[1].store(1, Release);
            }
        });
        if shared.1[1].load(Acquire) == 1 {
            shared.0.0.with(|_| ());
        }
        writer.join().unwrap();
        between.join().unwrap();
    });
    says(&text, &["one = 0x1 rlx", "(rlx) does not acquire"]);
}

/// Plain memory, two flags, and three threads: one hands it over, one passes it on, and thread 0 takes it.
fn passed_on(
    gives: impl Fn(&[AtomicU32; 2]) + Copy + Send + 'static,
    passes: impl Fn(&[AtomicU32; 2]) + Copy + Send + 'static,
    takes: impl Fn(&[AtomicU32; 2]) -> bool + 'static,
) -> impl Fn() + 'static {
    move || {
        let flags = [AtomicU32::new(0).named("one"), AtomicU32::new(0).named("two")];
        let shared = Arc::new((Slot(UnsafeCell::new(0), AtomicU32::new(0)), flags));
        let (first, second) = (Arc::clone(&shared), Arc::clone(&shared));
        let giver = spawn(move || {
            first.0.0.with_mut(|_| ());
            gives(&first.1);
        });
        let between = spawn(move || passes(&second.1));
        if takes(&shared.1) {
            shared.0.0.with(|_| ());
        }
        giver.join().unwrap();
        between.join().unwrap();
    }
}

#[test]
fn everything_missing_in_a_chain_is_reported_and_nothing_else() {
    for relaxed in 1..16u32 {
        let pick = |bit: u32, order| if relaxed >> bit & 1 == 1 { Relaxed } else { order };
        let orders = [pick(0, Release), pick(1, Acquire), pick(2, Release), pick(3, Acquire)];
        let text = trace(passed_on(
            move |flags| flags[0].store(1, orders[0]),
            move |flags| {
                if flags[0].load(orders[1]) == 1 {
                    flags[1].store(1, orders[2]);
                }
            },
            move |flags| flags[1].load(orders[3]) == 1,
        ));
        let text = unwrapped(&text);
        let lacks = ["#3 (rlx) does not release", "#4 (rlx) does not acquire"];
        let lacks =
            lacks.into_iter().chain(["#5 (rlx) does not release", "#6 (rlx) does not acquire"]);
        for (bit, lack) in lacks.enumerate() {
            assert_eq!(text.contains(lack), relaxed >> bit & 1 == 1, "{relaxed:b}: {lack}\n{text}");
        }
    }
}

#[test]
fn a_read_modify_write_in_between_carries_on_and_lacks_nothing() {
    let added = |store, add, load| {
        passed_on(
            move |flags| flags[0].store(1, store),
            move |flags| _ = flags[0].fetch_add(1, add),
            move |flags| flags[0].load(load) == 2,
        )
    };
    let right = Explorer::new(Memory::C11).explore(added(Release, Relaxed, Acquire)).unwrap();
    assert!(right.holds(), "{right}");
    for add in [Relaxed, AcqRel] {
        let text = trace(added(Relaxed, add, Acquire));
        let why = "#5 reads what #4 wrote after #2, which continues the release sequence of #3, but #3 (rlx) does not release\n";
        says(&text, &[why]);
    }
    let unread = trace(added(Release, Relaxed, Relaxed));
    says(&unread, &["#5 reads what #4 wrote after #2, but #5 (rlx) does not acquire\n"]);
    assert!(!unread.contains("#4 (rlx) does"), "{unread}");
}

#[test]
fn a_fence_that_is_there_lacks_nothing() {
    let text = trace(hand_over(Relaxed, Relaxed, [None, Some(Acquire)]));
    says(&text, &["#4 reads what #3 wrote after #2, but #3 (rlx) does not release\n"]);
}

#[test]
fn alternative_missing_orderings_are_reported() {
    let text = trace(passed_on(
        |flags| flags.iter().for_each(|flag| flag.store(1, Relaxed)),
        |_| (),
        |flags| flags.iter().all(|flag| flag.load(Acquire) == 1),
    ));
    says(&text, &["one of these would suffice: #", " (rlx) releases; or #", " (rlx) releases\n"]);
}

#[test]
fn rounds_are_shown_once_and_old_values_are_called_stale() {
    let text = trace(|| {
        let never = AtomicU32::new(0).named("never");
        while never.load(Acquire) == 0 {
            spin_loop();
        }
    });
    says(&text, &["never = 0x0 acq (initial) ×", "loops forever"]);
    assert_eq!(text.matches("never = ").count(), 1, "{text}");
    let stale = trace(|| {
        let words = Arc::new([0; 2].map(AtomicU32::new));
        let other = Arc::clone(&words);
        let writer = spawn(move || other.iter().for_each(|word| word.store(1, Relaxed)));
        let seen = words[1].load(Relaxed);
        assert!(seen == 0 || words[0].load(Relaxed) == 1, "the second without the first");
        writer.join().unwrap();
    });
    says(&stale, &["[0] = 0x0 rlx", "(initial, stale: #2 is newer)", "[1] = 0x1 rlx", "(from #3)"]);
    assert!(stale.lines().skip(1).all(|line| line.chars().count() <= 80), "{stale}");
}

#[test]
fn everything_can_have_a_name() {
    let text = trace(|| {
        let lock = Arc::new(Mutex::new(0).named("lock"));
        let count = Arc::new(AtomicU32::new(0).named("count"));
        let shared = real::Arc::new(1).named("shared");
        let pair = (Arc::clone(&lock), Arc::clone(&count), real::Arc::clone(&shared));
        let woken = Arc::new(Condvar::new().named("woken"));
        let bell = Arc::clone(&woken);
        let thread = spawn(move || {
            let held = pair.0.lock().unwrap();
            pair.1.fetch_add(1, AcqRel);
            drop(bell.wait(held));
            drop(pair.2);
        });
        thread.join().unwrap();
    });
    says(&text, &["lock: 0x0 -> 0x1", "count: 0x0 -> 0x1", "shared: 0x1 -> 0x2", "queue of woken"]);
    static KEPT: AtomicU32 = AtomicU32::new_static(0);
    says(&trace(|| assert!(KEPT.swap(1, AcqRel) == 1)), &["static: 0x0 -> 0x1"]);
}

#[test]
fn the_page_of_a_replay_says_that_it_is_one() {
    let folder = Folder::new();
    let explorer = Explorer::new(Memory::C11).html(folder.path());
    let body = || hand_over(Relaxed, Acquire, [None, None]);
    let found = violation(&explorer, body());
    assert!(found.html().contains("shrunk from") && !found.replayed);
    let report = explorer.replay(&found.schedule, body()).unwrap();
    assert!(report.to_string().starts_with("violated along the schedule given: "), "{report}");
    let page = report.violation().unwrap().html();
    assert!(page.contains("replayed along the schedule below"), "{page}");
    assert!(!page.contains("as found"), "{page}");
}

#[test]
fn a_page_is_written_where_one_is_asked_for() {
    let folder = Folder::new();
    let explorer = Explorer::new(Memory::C11).html(folder.path());
    let found = violation(&explorer, hand_over(Relaxed, Acquire, [None, None]));
    let path = found.page.as_ref().unwrap().as_ref().unwrap();
    assert!(found.to_string().contains(&format!("Drawn in {}", path.display())), "{found}");
    let page = std::fs::read_to_string(path).unwrap();
    for part in ["<svg ", "UNC_REPLAY=", "cargo test a_page_is_written_where_one_is_asked_for"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("marker-end=\"url(#reads)\"") && page.contains("color-scheme"), "{page}");
    assert_eq!(page.matches("http").count(), 1, "only the namespace of SVG: {page}");
    let nowhere = Explorer::new(Memory::C11).html("/proc/none/of/these");
    let unwritten = violation(&nowhere, hand_over(Relaxed, Acquire, [None, None]));
    assert!(unwritten.to_string().contains("It could not be drawn: /proc/none"), "{unwritten}");
    let silent = violation(&Explorer::new(Memory::C11), hand_over(Relaxed, Acquire, [None, None]));
    assert!(silent.page.is_some() == std::env::var_os("UNC_HTML").is_some());
    assert!(silent.to_string().contains("UNC_REPLAY='c11@"), "{silent}");
}

#[test]
fn a_failed_exchange_says_that_it_failed_and_with_which_ordering() {
    let failed = |memory| {
        let body = || {
            let word = AtomicU32::new(2).named("word");
            assert_eq!(word.compare_exchange(0, 1, AcqRel, Acquire), Ok(0));
        };
        violation(&Explorer::new(memory), body).trace.text()
    };
    says(&failed(Memory::C11), &["word: 0x0 -> 0x1 fails, reads 0x2 acq (initial)"]);
    says(&failed(Memory::Tso), &["word: 0x0 -> 0x1 fails, reads 0x2 (initial)"]);
    let made = trace(|| {
        let word = AtomicU32::new(0).named("word");
        word.compare_exchange(0, 1, AcqRel, Acquire).unwrap();
        panic!("made");
    });
    says(&made, &["word: 0x0 -> 0x1 acq_rel (initial)"]);
}

#[test]
fn signs_that_occur_are_explained_once_and_no_others() {
    let text = trace(hand_over(Relaxed, Acquire, [None, None]));
    says(&text, &["Signs: x := v writes v; x = v reads v; (from #n) is what row n wrote; rlx is"]);
    for absent in ["(initial)", "own buffer", "a -> b", "SeqCst", "named after its place"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    let unnamed = trace(|| {
        let words = [0; 2].map(AtomicU32::new);
        words.iter().for_each(|word| word.store(1, Relaxed));
        panic!("both have no name");
    });
    assert_eq!(unnamed.matches("is named after its place").count(), 1, "{unnamed}");
}

#[test]
fn threads_that_make_no_step_are_left_out() {
    let text = trace(|| {
        let flag = Arc::new(AtomicU32::new(0).named("flag"));
        let others = [0, 1, 2, 3].map(|thread| {
            let flag = Arc::clone(&flag);
            spawn(move || (thread % 2 == 1).then(|| flag.store(1, Relaxed)))
        });
        others.into_iter().for_each(|other| _ = other.join().unwrap());
        panic!("after all");
    });
    let head = "thread 0   | thread 2 | thread 4".split(" | ");
    head.for_each(|head| assert!(text.contains(head.trim()), "{text}"));
    says(&text, &["spawn 2, 4", "join 2, 4", "Threads 1 and 3 made no step that matters here."]);
    assert!(!text.contains("thread 1 ") && !text.contains("thread 3 "), "{text}");
}

#[test]
fn threads_that_wait_forever_are_listed_with_their_places() {
    let found = violation(&Explorer::new(Memory::C11), || {
        let locks = Arc::new([Mutex::new(0).named("one"), Mutex::new(0).named("two")]);
        let others = Arc::clone(&locks);
        let thread = spawn(move || {
            let _second = others[1].lock().unwrap();
            let _first = others[0].lock().unwrap();
            real::park();
        });
        let _first = locks[0].lock().unwrap();
        thread.join().unwrap();
    });
    assert_eq!(found.failure.to_string(), "deadlock: threads 0 and 1 wait forever");
    let text = found.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "deadlock: threads 0 and 1 wait forever thread 0 waits forever at crates/model/tests/real_trace.rs:",
        " for thread 1 to end thread 1 waits forever at crates/model/tests/real_trace.rs:",
        " for `one`, which thread 0 took at crates/model/tests/real_trace.rs:",
    ] {
        assert!(text.contains(part), "{part}: {found}");
    }
    let page = found.html();
    assert!(page.contains("<h1>deadlock: threads 0 and 1 wait forever</h1>"), "{page}");
    assert!(page.contains("for <code>one</code>, which thread 0 took"), "{page}");
    let parked = trace(real::park);
    says(&parked, &["thread 0 waits forever at", "for an unpark"]);
}

#[test]
fn a_report_fits_a_terminal_except_for_the_command() {
    let spins = || {
        let flag = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&flag);
        spawn(move || other.store(1, Release));
        while flag.load(Acquire) == 0 {
            spin_loop();
        }
    };
    let reports = [
        Explorer::new(Memory::C11).explore(spins),
        Explorer::new(Memory::Tso).sample(20, 1).explore(spins),
        Explorer::new(Memory::C11).explore(hand_over(Relaxed, Acquire, [None, None])),
    ];
    for report in reports {
        let text = report.unwrap().to_string();
        let long = text.lines().find(|line| {
            line.chars().count() > 80
                && !line.contains("UNC_REPLAY=")
                && !line.contains("UNC_HTML=")
        });
        assert_eq!(long, None, "{text}");
    }
}

#[test]
fn a_page_says_that_it_scrolls_where_it_does() {
    let page =
        violation(&Explorer::new(Memory::C11), hand_over(Relaxed, Acquire, [None, None])).html();
    let width = page.split("width=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let hidden_from = width.parse::<usize>().unwrap() + 49;
    let rule = format!("@media(max-width:{hidden_from}px){{#wide-picture{{display:block}}}}");
    assert!(page.contains(&rule), "{rule}: {page}");
    assert_eq!(page.matches("scroll it sideways").count(), 2, "{page}");
}
