//! The report against programs that know the truth about their own locks (`tests/programs/*.c`).
//!
//! Each program prints `expect PID KIND ADDRESS FIELD OP VALUE` lines, each of which must hold in the JSON of `unc
//! run`: of all locks of the kind if the address is `(nil)`; of kind `culprit`, in the site of the first culprit, or in
//! the path's figures of the function in brackets. Needs a C compiler, as linking Rust does.

#[path = "ground_truth/division.rs"]
mod division;
#[path = "ground_truth/ends.rs"]
mod ends;
#[path = "ground_truth/findings.rs"]
mod findings;
#[path = "ground_truth/handlers.rs"]
mod handlers;
#[path = "ground_truth/harmless.rs"]
mod harmless;
#[path = "ground_truth/helpers.rs"]
mod helpers;
#[path = "ground_truth/lock_order.rs"]
mod lock_order;
#[path = "ground_truth/many.rs"]
mod many;
#[path = "ground_truth/paths.rs"]
mod paths;
#[path = "ground_truth/shared.rs"]
mod shared;

use serde_json::Value;
use std::process::{Command, Output};
use uncontended_testkit::programs::Program;

/// One statement by a program about one of its locks.
#[derive(Debug)]
struct Expectation {
    pid: u64,
    kind: String,
    life: Option<u64>,
    address: String,
    field: String,
    operator: String,
    value: String,
}

impl Expectation {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.strip_prefix("expect ")?.split_whitespace().collect();
        let [pid, kind, address, field, operator, value] = words[..] else {
            panic!("malformed: {line}")
        };
        let (kind, life) =
            kind.split_once('#').map_or((kind, None), |(kind, life)| (kind, Some(life)));
        Some(Expectation {
            pid: pid.parse().expect("a process id"),
            kind: kind.to_owned(),
            life: life.map(|life| life.parse().expect("the number of a life")),
            address: address.to_owned(),
            field: field.to_owned(),
            operator: operator.to_owned(),
            value: value.to_owned(),
        })
    }

    /// Why the report does not meet this expectation.
    fn unmet(&self, report: &Value) -> Option<String> {
        if self.kind == "culprit" {
            let found = match self.field.strip_suffix(')').and_then(|field| field.split_once('(')) {
                Some((figure, function)) => of_path(report, figure, function),
                None => report["culprits"][0]["site"][&self.field].clone(),
            };
            return (!self.holds(&found)).then(|| format!("{self:?}: the report says {found}"));
        }
        let rows = self.rows(report);
        let found = match self.field.as_str() {
            "rows" => Value::from(rows.len()),
            "acquisitions+dropped" => {
                let dropped = report["observer"]["records_dropped"].as_u64().unwrap_or(0);
                Value::from(
                    rows.iter().filter_map(|row| row["acquisitions"].as_u64()).sum::<u64>()
                        + dropped,
                )
            }
            field => {
                let [row] = rows[..] else {
                    return Some(format!("{self:?}: {} rows instead of one", rows.len()));
                };
                match field.strip_suffix(')').and_then(|field| field.split_once('(')) {
                    Some((list, function)) => waiting_of(row, list, function),
                    None => row
                        .pointer(&format!("/{}", field.replace('.', "/")))
                        .cloned()
                        .unwrap_or(Value::Null),
                }
            }
        };
        (!self.holds(&found)).then(|| format!("{self:?}: the report says {found}"))
    }

    fn rows<'r>(&self, report: &'r Value) -> Vec<&'r Value> {
        let processes = report["processes"].as_array().expect("processes").iter();
        let locks = processes
            .filter(|p| p["pid"] == self.pid)
            .flat_map(|p| p["locks"].as_array().expect("locks"));
        let address = |row: &Value| {
            row["address"].as_str().expect("an address").trim_start_matches("0x").to_owned()
        };
        let (own, is_any) = (self.address.trim_start_matches("0x"), self.address == "(nil)");
        let mut rows: Vec<&Value> = locks
            .filter(|row| row["kind"] == *self.kind && (is_any || address(row) == *own))
            .collect();
        rows.sort_by_key(|row| row["life"].as_u64());
        match self.life {
            Some(life) => rows.into_iter().skip(life as usize).take(1).collect(),
            None => rows,
        }
    }

    fn holds(&self, found: &Value) -> bool {
        match self.operator.as_str() {
            "~" => found.as_array().is_some_and(|stack| {
                let function = |frame: &Value| frame["function"].as_str().map(str::to_owned);
                stack.iter().filter_map(function).any(|name| name == self.value)
            }),
            "=" if found.is_string() => *found == *self.value,
            "=" if found.is_null() => self.value == "null",
            "=" if found.is_boolean() => found.as_bool() == self.value.parse().ok(),
            operator => {
                let (Some(found), Ok(value)) = (found.as_i64(), self.value.parse::<i64>()) else {
                    return false;
                };
                match operator {
                    "=" => found == value,
                    ">=" => found >= value,
                    "<=" => found <= value,
                    _ => panic!("unknown operator {operator}"),
                }
            }
        }
    }
}

/// The gain, the time on the path, or the waiting caused, of the culprit that is this function's holds or wakeups.
fn of_path(report: &Value, figure: &str, function: &str) -> Value {
    let field = match figure {
        "gain" => "gain_at_most_ns",
        "path" => "path_ns",
        _ => "wait_ns",
    };
    let culprits = report["culprits"].as_array().into_iter().flatten();
    let is_its =
        |culprit: &&Value| culprit["site"]["function"] == *function && culprit["kind"] != "idle";
    culprits.filter(is_its).map(|culprit| culprit[field].clone()).next().unwrap_or(Value::Null)
}

/// Culprits whose gain is more than their part of the path, or that part more than all paths.
fn off_the_path(report: &Value) -> Vec<&Value> {
    let ns = |value: &Value, field: &str| value[field].as_u64().unwrap_or(0);
    let paths = report["paths"].as_array().into_iter().flatten();
    let length: u64 = paths.map(|path| ns(path, "until_ns") - ns(path, "from_ns")).sum();
    let is_wrong = |culprit: &&Value| {
        let (gain, path) = (ns(culprit, "gain_at_most_ns"), ns(culprit, "path_ns"));
        gain > path || path > length
    };
    report["culprits"].as_array().into_iter().flatten().filter(is_wrong).collect()
}

/// The waiting that a function caused, or in which it waited, by `held_by`, `ended_by` or `waited_in`.
fn waiting_of(row: &Value, list: &str, function: &str) -> Value {
    let pieces = row[list].as_array().into_iter().flatten();
    let of = pieces.filter(|piece| piece["site"]["function"] == *function);
    Value::from(of.filter_map(|piece| piece["wait_ns"].as_u64()).sum::<u64>())
}

/// The rows of all processes.
fn rows(report: &Value) -> impl Iterator<Item = &Value> {
    let processes = report["processes"].as_array().into_iter().flatten();
    processes.flat_map(|process| process["locks"].as_array().into_iter().flatten())
}

/// Rows whose blame does not sum to their waiting, or is not sorted.
fn wrongly_blamed(report: &Value) -> Vec<&Value> {
    let is_wrong = |row: &&Value| {
        let none = row["held_by"].is_null() && row["ended_by"].is_null();
        let Some(blame) = row["blame"].as_object() else { return !none };
        let parts = ["held_ns", "ended_ns", "idle_ns", "unknown_ns"];
        let sum: u64 = parts.iter().filter_map(|part| blame[*part].as_u64()).sum();
        let deadlines = row["timed_out"]["total"].as_u64().unwrap_or(0);
        let is_wrong = |[list, part]: [&str; 2]| {
            let pieces = row[list].as_array().into_iter().flatten();
            let waits: Vec<u64> = pieces.filter_map(|piece| piece["wait_ns"].as_u64()).collect();
            !waits.is_sorted_by(|a, b| a >= b)
                || waits.iter().sum::<u64>() + deadlines < blame[part].as_u64().unwrap_or(0)
        };
        sum != row["wait_ns"]["total"].as_u64().unwrap_or(0)
            || [["held_by", "held_ns"], ["ended_by", "ended_ns"]].into_iter().any(is_wrong)
    };
    rows(report).filter(is_wrong).collect()
}

/// Programs that know how often, or how long, they held a lock that no thread waited for.
const ALL_HOLDS: &str = "\
    annotated c11 conditions fork_held holder_sleeps killed quiet_release random_schedule \
    readers_starve_writer semaphore_lock shared_by_many signal_jumps_out stepped trylock_loop types";

/// Programs all of whose holders are seen.
const KNOWN: &str = "\
    barger blame_convoy blame_gives_up blame_many_places blame_many_waiters blame_one_long blame_rwlock \
    blame_rwlock_timed blame_signals blame_turns blame_two_holders blame_wrapped conditions free_but_off_cpu \
    held_for_life holder_sleeps passed_on random_blame readers_starve_writer waiters_in_turn";

/// How long a thread of a busy machine may be without a CPU.
const WITHOUT_CPU_NS: u64 = 15_000_000;

/// Rows of which more than 5 % of the waiting is blamed on nothing, with their blame. Beyond that, a thread that loses
/// its CPU between its looks at the waiters leaves unknown what passes until it has one again, on a busy machine.
fn much_unknown(report: &Value) -> Vec<String> {
    let is_unknown = |row: &&Value| {
        let total = row["wait_ns"]["total"].as_u64().unwrap_or(0);
        let unknown = row["blame"]["unknown_ns"].as_u64().unwrap_or(0);
        unknown > total / 20 + WITHOUT_CPU_NS
    };
    let words = |row: &Value| format!("{} {}: {}", row["kind"], row["address"], row["blame"]);
    rows(report).filter(is_unknown).map(words).collect()
}

/// Runs a program under the observer and checks the report against all of its statements.
fn check_with(name: &str, arguments: &[&str], status: i32) -> Value {
    check_by(&[], name, arguments, status)
}

fn is_in(names: &str, name: &str) -> bool {
    names.split(' ').any(|of| of == name)
}

/// The same with flags of `unc run`.
fn check_by(flags: &[&str], name: &str, arguments: &[&str], status: i32) -> Value {
    let (report, unmet) = run_by(flags, name, arguments, status);
    assert!(
        unmet.is_empty(),
        "{name}:\n{}\n{}",
        unmet.join("\n"),
        serde_json::to_string_pretty(&report).unwrap()
    );
    report
}

/// The same with flags under which not all of its statements need to hold.
fn check_unmet(flags: &[&str], name: &str, arguments: &[&str]) -> Value {
    run_by(flags, name, arguments, 0).0
}

/// The report on a program, and which of its statements do not hold.
fn run_by(flags: &[&str], name: &str, arguments: &[&str], status: i32) -> (Value, Vec<String>) {
    let (report, said) = observed(flags, name, arguments, status);
    let unmet = unmet(&report, &said);
    (report, unmet)
}

/// Which of a program's statements do not hold.
fn unmet(report: &Value, said: &str) -> Vec<String> {
    let expectations: Vec<Expectation> = said.lines().filter_map(Expectation::parse).collect();
    assert!(!expectations.is_empty(), "the program says nothing about its locks: {said}");
    expectations.iter().filter_map(|expectation| expectation.unmet(report)).collect()
}

/// The report on a program, and what the program said.
fn observed(flags: &[&str], name: &str, arguments: &[&str], status: i32) -> (Value, String) {
    let program = Program::compile(name, &["-O1", "-rdynamic"]);
    let json = program.folder().file("run.json");
    let Output { status: ended, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_unc"))
        .args(["run", "--quiet", "--no-history"])
        .args(is_in(ALL_HOLDS, name).then_some("--all-holds"))
        .args(flags)
        .arg("--json")
        .arg(&json)
        .arg("--")
        .arg(program.path())
        .args(arguments)
        .output()
        .expect("unc can be started");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(ended.code(), Some(status), "{name}: {stderr}");
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(&json).expect("a report")).expect("JSON");
    assert_eq!(wrongly_blamed(&report), Vec::<&Value>::new(), "{name}");
    assert_eq!(off_the_path(&report), Vec::<&Value>::new(), "{name}");
    if is_in(KNOWN, name) {
        assert_eq!(much_unknown(&report), Vec::<String>::new(), "{name}");
    }
    (report, stdout.into_owned())
}

/// A test for each program that ends with status 0.
macro_rules! programs {
    ($($name:ident)*) => { $(#[test] fn $name() { check_with(stringify!($name), &[], 0); })* };
}

programs! {
    address_reuse annotated barger barrier_rounds blame_chain_of_futexes blame_convoy blame_dies blame_gives_up
    blame_many_places
    blame_one_long blame_rwlock blame_rwlock_timed blame_signals blame_turns blame_two_holders blame_wrapped c11
    cancelled_in_semaphore computes conditions constructor_waits coroutine fork_held fork_in_wait
    forked_bare free_but_off_cpu full_record futex held_for_life holder_sleeps late_destructors many many_keys
    no_frame_information own_close own_malloc parked_workers passed_on plugin quiet_release readers_starve_writer
    same_results sandbox semaphore_lock semaphore_pool signal_handler_locks signal_jumps_out signal_many_locks
    signals_in_a_row slept small_stack spin_and_barrier timed_out trylock_loop types variable_in_an_array vfork_exec
    wait_moves waiters_in_turn way_back
}

/// A program that is killed for a system call too many lives, and all that it does is seen, or said not to be.
#[test]
fn a_sandbox_has_nothing_to_punish() {
    for (mode, is_whole) in [("first", true), ("warm", true), ("threads", true), ("strict", false)]
    {
        let report = check_with("sandbox_kills", &[mode], 9);
        assert_eq!(report["observer"]["records_dropped"] == 0, is_whole, "{mode}");
        let said = report["coverage"].to_string().contains("forbids itself system calls");
        assert_eq!(said, !is_whole, "{mode}: {}", report["coverage"]);
    }
}

/// A program that limits its own address space has all of it, except for what the record needs.
#[test]
fn a_limit_of_memory_is_the_programs() {
    for mode in ["setrlimit", "prlimit", "call"] {
        check_with("limits_itself", &[mode], 0);
    }
}

#[test]
fn a_waiter_without_a_cpu_waits_for_that_of_the_releaser_or_for_another() {
    check_with("releasers_cpu", &["same"], 0);
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return uncontended_testkit::skip!("releasers_cpu apart", "it needs two CPUs");
    }
    check_with("releasers_cpu", &["apart"], 0);
}

/// The waiting for a thread that waits for the head is the head's: a crowd's, and for both sides of a read-write lock.
#[test]
fn the_head_of_a_convoy_is_to_blame() {
    for mode in ["long", "write", "read"] {
        check_with("blame_convoy", &[mode], 0);
    }
}

/// Also where it holds no lock, or only one of the two locks is made of futexes.
#[test]
fn the_head_of_a_chain_is_who_ends_the_holders_wait() {
    for mode in ["condition", "broadcast", "polled", "barrier", "semaphore", "join", "reader"] {
        check_with("blame_chain_condition", &[mode], 0);
    }
    for mode in ["mutex", "futex"] {
        check_with("blame_chain_mixed", &[mode], 0);
    }
}

/// A holder that waits for what does not come is to blame itself.
#[test]
fn a_holder_whose_time_runs_out_keeps_the_blame() {
    check_with("blame_chain_condition", &["timeout"], 0);
}

/// A cancelled wait ended without what it was for: also its thread has waited, which may die with the mutex.
#[test]
fn a_cancelled_wait_ends_then() {
    for mode in ["forever", "timed", "works", "behind", "kept"] {
        let report = check_with("cancelled_mid_wait", &[mode], 0);
        let threads = report["processes"][0]["threads"].as_array().unwrap();
        let waited = threads.iter().filter(|thread| thread["tid"] != report["processes"][0]["pid"]);
        let waited: Vec<_> = waited.filter_map(|thread| thread["wait_ns"].as_u64()).collect();
        assert!(matches!(waited[..], [ns] if ns >= 50_000_000), "{mode}: {waited:?}");
    }
    let (report, said) = observed(&[], "cancelled_in_join", &[], 0);
    assert_eq!(unmet(&report, &said), Vec::<String>::new());
    let waiter: u64 =
        said.lines().find_map(|line| line.strip_prefix("waiter ")).unwrap().parse().unwrap();
    let mut threads = report["processes"][0]["threads"].as_array().unwrap().iter();
    let thread = threads.find(|thread| thread["tid"] == waiter).unwrap();
    assert!(thread["joined_ns"].as_u64() >= Some(50_000_000), "{thread:#}");
}

/// A hold in which waits run out is one hold, of its whole length, whether or not a thread waits for it to the end.
#[test]
fn waits_that_run_out_in_one_hold_count_one() {
    for mode in ["reader", "alone"] {
        for flags in [&[][..], &["--all-holds"]] {
            check_by(flags, "blame_gives_up", &[mode], 0);
        }
    }
}

#[test]
fn one_hold_costs_each_of_many_waiters() {
    for waiters in [1, 2, 9, 64, 200] {
        let report = check_with("blame_many_waiters", &[&waiters.to_string()], 0);
        let unknown = much_unknown(&report);
        assert!(unknown.is_empty(), "{waiters}: {unknown:#?}");
    }
}

/// A program that ends itself by SIGKILL.
fn check_killed(name: &str) -> Value {
    let report = check_with(name, &[], 128 + 9);
    assert_eq!(report["signal"], 9);
    assert_eq!(report["exit_status"], 137);
    report
}

#[test]
fn killed() {
    check_killed("killed");
}

#[test]
fn stuck_behind_the_dead() {
    let report = check_killed("stuck_behind_the_dead");
    let text = report["findings"][0]["text"].as_str().unwrap();
    assert!(text.contains(", which has ended, had held it for"), "{text}");
    assert!(text.contains(", which it took in die_holding"), "{text}");
}

#[test]
fn stuck() {
    let report = check_killed("stuck");
    // With root: the waits that never ended are accounted for.
    let share = report["coverage"]["futex_share_unaccounted"].as_f64();
    assert!(share.is_none_or(|share| share < 0.5), "{share:?} of the waiting is unaccounted for");
}

/// The functions in which the threads of the only deadlock wait, and in which the locks were taken; their locks' kinds.
fn deadlock(mode: &str) -> Option<Value> {
    let report = check_with("deadlock", &[mode], 128 + 9);
    let found = report["deadlocks"].as_array().cloned().unwrap_or_default();
    assert!(found.len() <= 1, "{mode}: {found:#?}");
    let rules = report["findings"].as_array().unwrap().iter().map(|finding| &finding["rule"]);
    let first = rules.clone().next().is_some_and(|rule| rule == "deadlock");
    assert_eq!(rules.filter(|&rule| rule == "deadlock").count(), found.len(), "{mode}");
    assert_eq!(first, !found.is_empty(), "{mode}");
    found.into_iter().next()
}

#[test]
fn deadlocks() {
    let has = |stack: &Value, function: &str| {
        stack.as_array().unwrap().iter().any(|frame| frame["function"] == function)
    };
    for (mode, threads, behind, wait, taken) in [
        ("two", 2, 1, "take_second", "take_first"),
        ("three", 3, 0, "take_second", "take_first"),
        ("self", 1, 0, "take_second", "take_first"),
        ("readers", 2, 0, "write_second", "read_first"),
        ("upgrade", 1, 0, "write_second", "read_first"),
        ("deadline", 2, 0, "gives_up", "take_first"),
        ("semaphores", 2, 0, "take_semaphore", "take_semaphore"),
        ("sometimes", 2, 0, "tokens_for_a_time", "take_semaphore"),
    ] {
        let found = deadlock(mode).unwrap_or_else(|| panic!("{mode}: no deadlock"));
        let cycle = found["threads"].as_array().unwrap();
        assert_eq!(
            (cycle.len(), &found["behind"]),
            (threads, &Value::from(behind)),
            "{mode}: {found:#}"
        );
        for (nth, thread) in cycle.iter().enumerate() {
            let next = &cycle[(nth + 1) % threads];
            assert_eq!(thread["holder"], next["tid"], "{mode}");
            assert!(thread["wait_ns"].as_u64() >= Some(200_000_000), "{mode}: {thread:#}");
            assert!(thread["held_ns"].as_u64() >= thread["wait_ns"].as_u64(), "{mode}: {thread:#}");
            assert!(
                has(&thread["stack"], wait) && has(&thread["taken"], taken),
                "{mode}: {thread:#}"
            );
            assert_eq!(thread["has_deadline"], ["deadline", "sometimes"].contains(&mode));
            assert_eq!(
                (&thread["shared"], &thread["holds"]),
                (&Value::from(false), &Value::from(true))
            );
        }
        let mut locks: Vec<u64> =
            cycle.iter().map(|thread| thread["lock"].as_u64().unwrap()).collect();
        locks.sort_unstable();
        locks.dedup();
        assert_eq!(locks.len(), threads, "{mode}");
    }
}

/// A thread that waits for the end of one that wants a lock it holds.
#[test]
fn deadlock_of_a_join_and_a_lock() {
    let found = deadlock("join").expect("a deadlock");
    let cycle = found["threads"].as_array().unwrap();
    assert_eq!((cycle.len(), &found["behind"]), (2, &Value::from(0)), "{found:#}");
    let (joins, locks): (Vec<&Value>, Vec<&Value>) =
        cycle.iter().partition(|thread| thread["lock"].is_null());
    let ([joiner], [waiter]) = (&joins[..], &locks[..]) else { panic!("{found:#}") };
    let has = |stack: &Value, function: &str| {
        stack.as_array().unwrap().iter().any(|frame| frame["function"] == function)
    };
    assert!(has(&joiner["stack"], "wait_for_its_end") && joiner["holds"] == false, "{found:#}");
    assert!(has(&waiter["stack"], "take_second") && has(&waiter["taken"], "take_first"));
    assert_eq!((&joiner["holder"], &waiter["holder"]), (&waiter["tid"], &joiner["tid"]));
}

/// A reader that reads again waits for a writer, which waits for the reader.
#[test]
fn deadlock_of_a_reader_and_a_writer() {
    let found = deadlock("reads-twice").expect("a deadlock");
    let cycle = found["threads"].as_array().unwrap();
    let reader = cycle.iter().find(|thread| thread["shared"] == true).expect("a reader");
    let writer = cycle.iter().find(|thread| thread["shared"] == false).expect("a writer");
    assert_eq!((&reader["holds"], &writer["holds"]), (&Value::from(false), &Value::from(true)));
    assert_eq!((&reader["holder"], &writer["holder"]), (&writer["tid"], &reader["tid"]));
}

#[test]
fn no_deadlocks() {
    for mode in ["recovers", "jumps", "waits", "signals", "events"] {
        assert_eq!(deadlock(mode), None, "{mode}");
    }
}

#[test]
fn joins() {
    let report = check_with("joins", &[], 0);
    let process = &report["processes"][0];
    let threads = process["threads"].as_array().unwrap();
    let longest = threads.iter().filter_map(|thread| thread["joined_ns"].as_u64()).max();
    assert!(longest >= Some(50_000_000), "main waits for a thread that sleeps 50 ms: {threads:#?}");
    let joins = process["joins"].as_array().unwrap();
    let all = [("sleeps", 60_000_000), ("takes_no_lock", 20_000_000)];
    assert_eq!(joins.len(), all.len(), "{process:#}");
    for (function, least_ns) in all {
        let join = joins.iter().find(|join| join["body"]["function"] == function);
        let join = join.unwrap_or_else(|| panic!("{function}: {joins:#?}"));
        assert_eq!(join["tid"], process["pid"]);
        assert!(join["wait_ns"].as_u64() >= Some(least_ns), "{join}");
        assert!(join["of"] != process["pid"], "{join}");
    }
    let share = report["coverage"]["futex_share_unaccounted"].as_f64();
    assert!(share.is_none_or(|share| share < 0.5), "{share:?} of the waiting is unaccounted for");
}

#[test]
fn private_locks() {
    let report = check_with("private_locks", &[], 0);
    assert_eq!(report["findings"], serde_json::json!([]));
}

#[test]
fn a_handler_may_come_after_any_instruction() {
    let stride = if uncontended_testkit::all_of("a_handler_may_come_after_any_instruction") {
        "1"
    } else {
        "5"
    };
    check_with("stepped", &[stride], 0);
    check_with("stepped", &[stride, "forks"], 0);
}

#[test]
fn random_schedules_are_counted_exactly() {
    let schedules = uncontended_testkit::repetitions("random schedules", 8, 200);
    for seed in 0..schedules {
        check_with("random_schedule", &[&seed.to_string()], 0);
    }
}
