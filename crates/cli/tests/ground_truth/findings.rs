//! What the findings say of programs that know why their threads waited.

use super::{check_by, check_killed, check_unmet, check_with, rows};
use serde_json::Value;

fn texts(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("findings").iter();
    findings.filter_map(|of| of["text"].as_str()).collect()
}

/// Advice follows what filled the holds: a holder that waits is not told to do less.
#[test]
fn a_holder_that_waits_is_not_told_to_do_less() {
    for (mode, what) in [
        ("condition", "the condition #"),
        ("reader", "the rwlock read #"),
        ("join", "another thread's end"),
        ("semaphore", "the semaphore #"),
        ("barrier", "the barrier #"),
        ("deadline", "the condition #"),
        ("work", ""),
    ] {
        let report = check_with("holder_waits", &[mode], 0);
        let mut texts = texts(&report);
        texts.retain(|text| text.contains("hold_outer ")); // The holder's own wait may be for a lock.
        let says = |words: &str| texts.iter().any(|text| text.contains(words));
        let of_work = ["do less while", "rare long work", "lost its CPU", "long work out of"];
        let is_of_work = of_work.iter().any(|words| says(words));
        if mode == "work" {
            assert!(!says("its holder itself waited"), "{texts:#?}");
        } else {
            assert!(says(&format!("its holder itself waited, for {what}")), "{mode}: {texts:#?}");
            assert!(!is_of_work, "{mode}: {texts:#?}");
            let is_by_deadline =
                says("these waits end by their deadlines, and no wakeup ends them");
            assert_eq!(is_by_deadline, mode == "deadline", "{texts:#?}");
            assert_eq!(!says("that the culprits name"), mode == "deadline", "{texts:#?}");
        }
    }
}

/// A class follows from what was waited for, whatever holds are recorded.
#[test]
fn the_same_lock_has_one_class() {
    for kind in ["mutex", "semaphore", "rwlock", "spin"] {
        for flags in [&[][..], &["--all-holds"]] {
            let report = check_by(flags, "gate", &[kind], 0);
            let texts = texts(&report);
            let words = "of the waiting is for the holds of one thread, in keep gate.c";
            assert!(texts.iter().any(|text| text.contains(words)), "{kind}: {texts:#?}");
        }
    }
    // Without holds it may be told from no gate, but a semaphore in use as a lock is not a queue.
    let program = check_unmet(&["--no-hold"], "gate", &["semaphore"]);
    let locks = program["processes"][0]["locks"].as_array().expect("locks").iter();
    let classes: Vec<&Value> =
        locks.filter(|lock| lock["kind"] == "semaphore").map(|lock| &lock["class"]).collect();
    assert!(classes.len() == 1 && ["gate", "contention"].contains(&classes[0].as_str().unwrap()));
}

/// Both sides of a read-write lock have a finding, with the holds of the other side, for which they waited.
#[test]
fn each_side_waits_for_the_other() {
    let report = check_with("blame_rwlock", &[], 0);
    let texts = texts(&report);
    for function in ["read_for_long", "write_for_long"] {
        let words = format!(" in {function}: do less while");
        assert!(texts.iter().any(|text| text.contains(&words)), "{texts:#?}");
    }
}

/// What threads waited for one that died with the lock is said to be that, and not to be its work.
#[test]
fn a_thread_that_dies_with_a_lock_is_named() {
    let report = check_with("blame_dies", &[], 0);
    let texts = texts(&report);
    let about: Vec<&&str> = texts.iter().filter(|text| text.contains("die blame_dies.c")).collect();
    let [text] = about[..] else { panic!("{texts:#?}") };
    assert!(text.contains("threads died while they held it, 1 time, and "), "{texts:#?}");
}

/// Neither is the waiting said to be unfair where the dead one's hold was far longer than all others.
#[test]
fn the_heirs_of_a_dead_thread_are_not_passed_over() {
    let report = check_with("blame_dies", &["short"], 0);
    let texts = texts(&report);
    let [text] = texts[..] else { panic!("{texts:#?}") };
    assert!(text.contains("died while they held it, 1 time"), "{texts:#?}");
}

/// What no thread holds is named by the code that ended the waits.
#[test]
fn the_last_to_arrive_is_named() {
    for (how, words) in [("barrier", "ended when come_late"), ("futex", "ended when come_late")] {
        let report = check_with("last_arrival", &[how], 0);
        let texts = texts(&report);
        assert!(texts.iter().any(|text| text.contains(words)), "{how}: {texts:#?}");
        let (main, share) =
            (format!(", thread {})", report["processes"][0]["pid"]), "(for 100 % of it");
        let is_named = texts.iter().any(|text| text.contains(&main) && text.contains(share));
        assert_eq!(is_named, how == "barrier", "{how}: {texts:#?}");
    }
}

/// A hang that is a chain and no cycle: the last thread of it is named, and its code.
#[test]
fn a_hang_is_followed_to_its_head() {
    let report = check_killed("hung_chain");
    let texts = texts(&report);
    assert_eq!(texts.len(), 1, "{texts:#?}");
    assert!(texts[0].contains("which it took in hold_for_ever"), "{texts:#?}");
    assert!(texts[0].contains("2 more wait behind these"), "{texts:#?}");
    let threads = report["processes"][0]["threads"].as_array().expect("threads").iter();
    let stuck = threads.filter(|thread| !thread["unfinished_lock"].is_null());
    let all_wait = |thread: &Value| thread["unfinished_wait_ns"].as_u64() >= Some(1_300_000_000);
    assert_eq!(stuck.clone().count(), 3);
    assert!(stuck.clone().all(all_wait), "{:#?}", stuck.collect::<Vec<_>>());
}

/// A hang without a deadlock: each thread's wait is shown, and the finding names what it is for.
#[test]
fn threads_that_wait_for_what_never_comes() {
    for (how, object) in [
        ("condition", "2 threads for a signal of condition #"),
        ("barrier", "2 threads for the last to arrive at barrier #"),
        ("semaphore", "2 threads for a post to semaphore #"),
    ] {
        let report = check_with("lost_signal", &[how], 128 + 14);
        let texts = texts(&report);
        let first = texts.first().map_or("", |text| &text[..]);
        assert!(first.contains("all of its 3 threads have waited"), "{how}: {texts:#?}");
        assert!(first.contains(object) && first.contains("wait_for_ever"), "{how}: {texts:#?}");
        let process = &report["processes"][0];
        assert_eq!(process["hung"]["threads"], 3, "{how}");
        let threads = process["threads"].as_array().expect("threads").iter();
        let (main, others): (Vec<&Value>, Vec<&Value>) =
            threads.partition(|thread| thread["tid"] == process["pid"]);
        let has = |thread: &Value, function: &str| {
            let stack = thread["unfinished_stack"].as_array().expect("a stack");
            stack.iter().any(|frame| frame["function"] == function)
        };
        assert!(has(main[0], "main") && others.iter().all(|thread| has(thread, "wait_for_ever")));
        let joined = &main[0]["unfinished_join"];
        assert!(others.iter().any(|thread| thread["tid"] == *joined), "{how}: {joined}");
        let object = &others[0]["unfinished_object"];
        assert!(object.is_u64() && others[0]["unfinished_lock"].is_null(), "{how}: {object}");
    }
    for how in ["busy", "timed"] {
        let report = check_with("lost_signal", &[how], 128 + 14);
        assert!(report["processes"][0]["hung"].is_null() && texts(&report).is_empty(), "{how}");
    }
}

/// The taker of an event does not hold the semaphore: before its first post, no thread is accused.
#[test]
fn no_thread_holds_a_semaphore_that_was_never_posted() {
    for mode in ["self", "several", "shared"] {
        let report = check_with("event_semaphore", &[mode], 128 + 9);
        assert!(report["deadlocks"].is_null() && texts(&report).is_empty(), "{mode}: {report:#}");
    }
    check_with("event_semaphore", &["timed"], 0);
}

/// Waits that did not end count, too: the code that held the lock is to blame, or the head of the chain.
#[test]
fn a_lock_that_is_held_to_the_end() {
    for mode in ["once", "after", "chain"] {
        let report = check_with("held_to_the_end", &[mode], 0);
        let none = &report["findings"];
        assert_eq!(none.as_array().map(Vec::len), Some(0), "{mode}: {none:#}");
    }
}

/// A program that another one of its process executed has used only what it used itself.
#[test]
fn what_a_process_ran_before_is_not_the_programs() {
    let report = check_with("executed_late", &["first"], 0);
    let processes = report["processes"].as_array().unwrap();
    let second = processes.iter().find(|process| process["locks"][0].is_object()).unwrap();
    let of = |name: &str| second["threads"][0][name].as_u64();
    let [lived, ran, wanted] = ["lived_ns", "cpu_ns", "runnable_ns"].map(of);
    assert!(lived >= Some(30_000_000), "{second:#}");
    assert!(ran.unwrap() + wanted.unwrap_or(0) <= lived.unwrap(), "{second:#}");
    assert_eq!(of("user_ns").unwrap() + of("system_ns").unwrap(), ran.unwrap(), "{second:#}");
}

#[test]
fn rare_hold() {
    let report = check_with("rare_hold", &[], 0);
    let lock = &report["processes"][0]["locks"][0];
    let found = report["findings"].as_array().unwrap();
    let finding = found.iter().find(|finding| finding["lock"] == lock["id"]);
    let share = finding.unwrap_or_else(|| panic!("{found:#?}"))["wait_share"].as_f64().unwrap();
    assert_eq!(Some(share), lock["wait_share"].as_f64());
    let threads = report["processes"][0]["threads"].as_array().unwrap();
    let lived_ns: Vec<u64> =
        threads.iter().map(|thread| thread["lived_ns"].as_u64().unwrap()).collect();
    let wall_ns = report["wall_ns"].as_u64().unwrap();
    assert!(lived_ns.iter().all(|&ns| ns > 0 && ns <= wall_ns), "{lived_ns:?} of {wall_ns}");
    let own_ns = |thread: &Value| {
        let of = |name: &str| thread[name].as_u64().unwrap_or(0);
        of("lived_ns").saturating_sub(of("joined_ns"))
    };
    let waited_ns = lock["wait_ns"]["total"].as_u64().unwrap() as f64;
    assert_eq!(share, waited_ns / threads.iter().map(own_ns).sum::<u64>() as f64);
    let ended = threads.iter().filter(|thread| !thread["user_ns"].is_null());
    for thread in ended.clone() {
        let of = |name: &str| thread[name].as_u64().unwrap();
        assert_eq!(of("user_ns") + of("system_ns"), of("cpu_ns"), "{thread:#}");
        let parts = ["cpu_ns", "wait_ns", "joined_ns", "other_wait_ns"].map(of);
        assert!(parts[3] <= of("lived_ns") && parts[3] + parts[0] <= of("lived_ns"), "{thread:#}");
    }
    assert_eq!(ended.count(), threads.len(), "also the main thread: {threads:#?}");
}

/// Waking several threads for one job has a finding where it costs much.
#[test]
fn a_herd_is_told_from_threads_that_are_needed() {
    for how in ["all", "one", "seldom", "meant"] {
        let report = check_with("herd", &[how], 0);
        let texts = texts(&report);
        let is_said =
            texts.iter().any(|text| text.contains("wakeups were for nothing, most by tell"));
        let herds: Vec<&Value> = rows(&report).map(|row| &row["herd"]).collect();
        assert_eq!(is_said, how == "all", "{how}: {herds:?} {texts:#?}");
    }
}

/// Waits that time out since the holder has ended are not said to be too short.
#[test]
fn a_thread_that_ended_with_a_lock_is_named() {
    for (how, words) in [
        ("dead", "had taken it, in take_and_end dies_with_it.c:8, and had ended without a release"),
        ("alive", "their timeouts are shorter than the wait for the lock"),
    ] {
        let report = check_with("dies_with_it", &[how], 0);
        let texts = texts(&report);
        assert!(texts.iter().any(|text| text.contains(words)), "{how}: {texts:#?}");
    }
}
