//! Databases and interpreters as their distribution built them: the report gives the answer that their own
//! documentation or their own counters give. A program that is not installed is skipped with a line that says so.
//!
//! # Contract
//! Servers listen on a Unix socket in a temporary folder alone. None outlives its test, however that ends.

mod common;
use common::{Folder, compile, installed, report, status, stderr};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use uncontended_testkit::{programs::executable, skip};

/// All rows of a report.
fn locks(report: &Value) -> Vec<&Value> {
    let processes = report["processes"].as_array().unwrap();
    processes.iter().flat_map(|process| process["locks"].as_array().unwrap()).collect()
}

fn lock(report: &Value, id: &Value) -> Value {
    locks(report).into_iter().find(|lock| lock["id"] == *id).expect("a row of this id").clone()
}

/// How long threads waited for a lock.
fn waited_ns(lock: &Value) -> u64 {
    lock["wait_ns"]["total"].as_u64().unwrap_or(0)
}

/// Whether a frame of this stack is in a function with `part` in its name.
fn is_in(stack: &Value, part: &str) -> bool {
    let functions = stack.as_array().into_iter().flatten().map(|frame| frame["function"].as_str());
    functions.flatten().any(|function| function.contains(part))
}

/// Whether threads waited for the lock in a function with `part` in its name.
fn is_waited_for_in(lock: &Value, part: &str) -> bool {
    lock["waited_in"].as_array().into_iter().flatten().any(|place| is_in(&place["stack"], part))
}

/// Acquisitions of these rows, and how long they were waited for.
fn sums<'a>(rows: impl Iterator<Item = &'a Value>) -> (u64, u64) {
    let figures = rows.map(|row| (row["acquisitions"].as_u64().unwrap(), waited_ns(row)));
    figures.fold((0, 0), |sum, (taken, ns)| (sum.0 + taken, sum.1 + ns))
}

fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

/// SQLite's `btmutex.c`: connections that share a cache hold the mutex of its B-tree while they use it; if the B-tree
/// is not sharable, "no mutex is ever required".
#[test]
fn connections_that_share_a_cache_take_turns_at_its_b_tree() {
    const TEST: &str = "connections_that_share_a_cache_take_turns_at_its_b_tree";
    let folder = Folder::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/shared_cache.c");
    let source = std::fs::read_to_string(source).unwrap();
    let Some(program) = compile(&folder, &source, &["-lsqlite3"]) else {
        return skip!(TEST, "SQLite's headers are not installed");
    };
    let run = |cache: &str| {
        let (report, output) = report(&["--quiet"], &[&program, cache, &folder.file(cache)]);
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        report
    };
    let shared = run("shared");
    let culprit = &shared["culprits"][0];
    if !is_in(&culprit["stack"], "sqlite3VdbeE") {
        return skip!(TEST, "SQLite's own functions have no names here: {}", culprit["stack"]);
    }
    assert_eq!(culprit["kind"], "hold", "{culprit:#}");
    assert!(is_in(&culprit["stack"], "read_all"), "the program's own code: {culprit:#}");
    assert!(culprit["share"].as_f64() > Some(0.5), "{culprit:#}");
    let b_tree = lock(&shared, &culprit["locks"][0]);
    assert!(is_in(&b_tree["created"], "sqlite3BtreeOpen"), "{b_tree:#}");
    assert_eq!((&b_tree["kind"], &b_tree["class"]), (&"mutex".into(), &"contention".into()));
    let private = run("private");
    let entered = |lock: &&Value| is_waited_for_in(lock, "sqlite3VdbeEnter");
    assert_eq!(locks(&private).into_iter().find(entered), None);
}

/// `sys.setswitchinterval`: a thread that wants the interpreter lock asks for it after that time. So a thread that
/// computes has it, and one that answers waits.
#[test]
fn pythons_interpreter_lock_is_named() {
    const TEST: &str = "pythons_interpreter_lock_is_named";
    if !installed(TEST, "python3") {
        return;
    }
    // A manager of versions puts a script in front of it.
    let python = ["/usr/bin/python3", "python3"];
    let python =
        python.into_iter().find(|path| !path.starts_with('/') || PathBuf::from(path).exists());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/interpreter_lock.py");
    let (report, output) = report(&[], &[python.unwrap(), script, "0.005"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let named = |lock: &&Value| lock["known_as"] == "Python's interpreter lock";
    let Some(interpreter) = locks(&report).into_iter().find(named) else {
        // Its functions tell which it is; and since 3.13 there may be none.
        return skip!(TEST, "this Python's functions have no names, or it has no such lock");
    };
    assert_eq!(interpreter["class"], "contention");
    let culprits = report["culprits"].as_array().unwrap().iter();
    let of_it = |of: &&Value| of["locks"].as_array().unwrap().contains(&interpreter["id"]);
    let first = &report["culprits"][0];
    assert!(of_it(&first), "{first:#}");
    assert_eq!(first["kind"], "wake", "it is passed on: {first:#}");
    // From several places, on a busy machine.
    let share: f64 = culprits.filter(of_it).filter_map(|of| of["share"].as_f64()).sum();
    assert!(share > 0.5, "{share}: {first:#}");
    assert!(stderr(&output).contains("Python's interpreter lock"), "{}", stderr(&output));
}

/// Threads that allocate in one arena, while another one counts its free pieces under the arena's lock.
const ARENA: &str = r#"
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { PIECES = 100000, COUNTS = 150 };
static void *pieces[PIECES];
static _Atomic int done;
static void *allocate(void *unused) {
    while (!done) {
        void *volatile piece = malloc(2000);
        free(piece);
    }
    return unused;
}
int main(void) {
    mallopt(M_ARENA_MAX, 1);
    for (int i = 0; i < PIECES; i++) pieces[i] = malloc(2000 + i % 4000);
    for (int i = 0; i < PIECES; i += 2) free(pieces[i]);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, allocate, NULL);
    FILE *nowhere = fopen("/dev/null", "w");
    for (int i = 0; i < COUNTS; i++) malloc_info(0, nowhere);
    done = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
"#;

/// `mallopt(3)`: with few arenas, threads wait for each other in malloc. These locks are inside glibc, where nothing
/// can be put before them: the report says first that it did not see them, as the kernel counted the waiting.
#[test]
fn the_lock_of_an_arena_is_unseen_and_that_is_the_first_finding() {
    const TEST: &str = "the_lock_of_an_arena_is_unseen_and_that_is_the_first_finding";
    let folder = Folder::new();
    let Some(program) = compile(&folder, ARENA, &[]) else {
        return skip!(TEST, "this C library has no mallopt");
    };
    let (report, output) = report(&[], &[&program]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let coverage = &report["coverage"];
    let Some(unseen) = coverage["futex_share_unaccounted"].as_f64() else {
        return skip!(TEST, "the kernel counts futex waiting only for root");
    };
    let nothing = coverage["nothing_seen"].as_str().expect("no lock of the program's own");
    assert!(nothing.contains("called none of the C library's lock functions"), "{nothing}");
    assert_eq!(locks(&report), [] as [&Value; 0]);
    assert!(unseen > 0.2, "{coverage:#}");
    let first = &report["findings"][0];
    assert_eq!(first["rule"], "unseen", "{first:#}");
    let text = first["text"].as_str().unwrap();
    assert!(text.contains("its locks were not seen") && text.contains(" at glibc's "), "{text}");
    assert!(stderr(&output).contains("locks inside glibc (stdio, malloc"), "{}", stderr(&output));
}

/// A database server with a folder for its socket and its files.
struct Server {
    folder: Folder,
    /// The user that runs it, if that is another one: servers refuse to run as root.
    user: Option<&'static str>,
}

/// `unc`, with the server and its load: ended with it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let signal = |name| Command::new("kill").args([name, "--", &group]).status();
        for (name, seconds) in [("-TERM", 5), ("-KILL", 60)] {
            let deadline = Instant::now() + Duration::from_secs(seconds);
            while let Ok(None) = self.0.try_wait() {
                let _ = signal(name);
                if Instant::now() > deadline {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// Longer than any of these takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(150);

impl Server {
    fn new(user: Option<&'static str>) -> Self {
        let folder = Folder::new();
        if let Some(user) = user {
            let given =
                Command::new("chown").args([user, folder.path().to_str().unwrap()]).status();
            assert!(given.unwrap().success());
        }
        Server { folder, user }
    }

    /// A command as the server's user.
    fn command(&self, program: &str) -> Command {
        let mut command = match self.user {
            Some(user) => {
                let mut command = Command::new("setpriv");
                let (reuid, regid) = (format!("--reuid={user}"), format!("--regid={user}"));
                command.args([&reuid, &regid, "--clear-groups", program]);
                command
            }
            None => Command::new(program),
        };
        command.current_dir(self.folder.path()).env("HOME", self.folder.path());
        command
    }

    fn done(&self, program: &str, arguments: &[&str]) -> Output {
        let output = self.command(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{program}: {output:?}");
        output
    }

    /// What `name` in the folder has.
    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.file(name)).unwrap_or_default()
    }

    /// The report on `server` under the script `load`, which begins when the command `ready` succeeds.
    fn observed(&self, server: &[&str], ready: &str, load: &str) -> Value {
        // Another user may not get to where the tests were built.
        let unc = self.folder.file("unc");
        executable(&unc, &std::fs::read(env!("CARGO_BIN_EXE_unc")).unwrap());
        std::fs::write(self.folder.file("load"), load).unwrap();
        let flags = ["run", "--no-history", "--json", "run.json", "--report", "report.txt"];
        let out = std::fs::File::create(self.folder.file("out")).unwrap();
        let mut command = self.command(&unc);
        command.args(flags).args(["--load", "sh -e load", "--ready", ready, "--"]).args(server);
        command.stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(out).process_group(0);
        let mut running = Running(command.spawn().unwrap());
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = running.0.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "it takes too long:\n{}", self.read("out"));
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(status.success(), "the load failed:\n{}", self.read("out"));
        serde_json::from_str(&self.read("run.json")).unwrap()
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout == b"0\n"
}

/// The folder of PostgreSQL's programs, the newest if there are several.
fn postgres() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.flatten().map(|version| version.path().join("bin"));
    let has_all = |folder: &PathBuf| {
        ["postgres", "initdb", "pgbench", "psql"].iter().all(|name| folder.join(name).is_file())
    };
    folders.filter(has_all).max()
}

/// Eight clients that commit, and meanwhile what each of them waits for, as the server says.
const POSTGRES_LOAD: &str = "
export PGHOST=$PWD PGUSER=postgres PGDATABASE=postgres
$BIN/pgbench --initialize --quiet
for i in $(seq 160); do
  echo \"select 'waits: ' || coalesce(wait_event_type || ' ' || wait_event, '') from pg_stat_activity where application_name = 'pgbench';\"
  echo 'select pg_sleep(0.02);'
done >samples.sql
$BIN/pgbench --skip-some-updates --no-vacuum --client=8 --jobs=2 --time=5 &
sleep 0.5
$BIN/psql -At -f samples.sql >samples
wait $!
";

/// Makes a new database; the command of its server.
fn postgres_command(server: &Server, bin: &Path) -> Vec<String> {
    let program = |name: &str| bin.join(name).to_str().unwrap().to_owned();
    let new = ["-D", "data", "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C"];
    server.done(&program("initdb"), &new);
    let socket = format!("unix_socket_directories={}", server.folder.path().display());
    let settings = [
        "listen_addresses=",
        &socket,
        "shared_buffers=16MB",
        "autovacuum=off",
        "fsync=on",
        "commit_delay=1000",
        "commit_siblings=1",
    ];
    let mut command = vec![program("postgres"), "-D".into(), "data".into()];
    command.extend(settings.iter().flat_map(|&setting| ["-c".to_owned(), setting.to_owned()]));
    command
}

/// While a server process waits for an LWLock, it sleeps on its own semaphore, in memory that all processes share; and
/// `pg_stat_activity` says which lock that is. A commit that flushes the log makes all others wait for `WALWrite`, here
/// for a millisecond at least (`commit_delay`).
#[test]
fn postgres_waits_for_the_lock_that_pg_stat_activity_names() {
    const TEST: &str = "postgres_waits_for_the_lock_that_pg_stat_activity_names";
    let Some(bin) = postgres() else {
        return skip!(TEST, "PostgreSQL is not installed (/usr/lib/postgresql)");
    };
    let server = Server::new(is_root().then_some("postgres"));
    let command = postgres_command(&server, &bin);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let socket = server.folder.path().display();
    let ready = format!("{} -h {socket}", bin.join("pg_isready").display());
    let load = POSTGRES_LOAD.replace("$BIN", bin.to_str().unwrap());
    let report = server.observed(&command, &ready, &load);

    let samples = server.read("samples");
    let samples: Vec<&str> =
        samples.lines().filter_map(|line| line.strip_prefix("waits: ")).collect();
    let of = |wait: &str| samples.iter().filter(|sample| sample.starts_with(wait)).count() as u64;
    assert!(samples.len() > 200, "{samples:?}");
    assert!(ratio(of("LWLock WALWrite"), of("LWLock")) > 0.9, "{samples:?}");

    let processes = report["processes"].as_array().unwrap();
    let semaphores = || locks(&report).into_iter().filter(|lock| lock["kind"] == "semaphore");
    let is_flushing = |lock: &Value| lock["site"]["function"] == "XLogFlush" && waited_ns(lock) > 0;
    // A semaphore that processes share is a row of the first of them.
    let clients =
        processes.iter().filter(|process| process["threads"][0]["blocked"].as_u64() > Some(100));
    let lived = clients.clone().map(|process| process["threads"][0]["lived_ns"].as_u64().unwrap());
    let (lived_ns, all_ns) = (lived.sum::<u64>(), sums(semaphores()).1);
    assert_eq!(clients.count(), 8, "one process for each client");
    // Within a quarter of each other: a sample is one instant of eight processes, and the server's own time and
    // connecting is in no sample.
    let (seen, sampled) = (ratio(all_ns, lived_ns), ratio(of("LWLock"), samples.len() as u64));
    assert!((0.75..=1.33).contains(&(seen / sampled)), "{seen} of their time, sampled: {sampled}");

    // Those that a process only posted are rows too.
    let flushing = semaphores().filter(|lock| is_flushing(lock));
    let (waits, flushing_ns) = sums(flushing.clone());
    assert!(waits > 500 && ratio(flushing_ns, all_ns) > 0.9, "{flushing_ns} of {all_ns} ns");
    for lock in flushing {
        assert_eq!(
            (&lock["class"], &lock["like"]),
            (&"contention".into(), &"mutex".into()),
            "{lock:#}"
        );
        assert!(is_waited_for_in(lock, "LWLockAcquire"), "{lock:#}");
    }
    // Other processes posted these semaphores: their code is to blame.
    let is_log = |culprit: &Value| is_in(&culprit["stack"], "XLog");
    let culprits = report["culprits"].as_array().map_or(&[][..], |all| all);
    assert!(culprits.first().is_some_and(is_log), "{culprits:#?}");
    let first = report["findings"][0]["text"].as_str().expect("a finding");
    assert!(first.contains("XLogFlush") && first.contains("one of 8, waits take "), "{first}");
    let text = server.read("report.txt");
    let unnamed =
        text.contains("Functions without names in postgres: build it with symbols (-g), or");
    assert!(unnamed || !text.contains("postgres+0x"), "{text}");
    assert_eq!(report["load"]["exit_status"], 0);
}

/// Eight clients that commit to a log and take turns at a table whose statements last; then what the server counted.
const MARIADB_LOAD: &str = "
M='mariadb --no-defaults -S s -u root'
$M -e 'create database d; use d;
  create table row_locks (k int primary key, n int) engine=innodb; create table table_lock (n int) engine=myisam;
  insert into table_lock values (0)'
client() {
  for i in $(seq 150); do
    echo \"insert into row_locks values ($1 * 1000 + $i, 0); update table_lock set n = n + 1 + sleep(0.001);\"
  done | $M d
}
clients=
for c in $(seq 8); do client $c & clients=\"$clients $!\"; done
for c in $clients; do wait $c; done
$M -N -e \"select event_name, count_star, sum_timer_wait div 1000 from
  performance_schema.events_waits_summary_global_by_event_name where count_star > 0 and event_name like 'wait/synch/%'\" >waits
";

/// Makes a new database; the command of its server.
fn mariadb_command(server: &Server) -> Vec<String> {
    let data = format!("--datadir={}", server.folder.file("data"));
    let user: &[&str] = if is_root() { &["--user=root"] } else { &[] };
    let new =
        ["--no-defaults", &data, "--skip-test-db", "--auth-root-authentication-method=normal"];
    server.done("mariadb-install-db", &[&new, user].concat());
    let socket = format!("--socket={}", server.folder.file("s"));
    let flags = [
        "mariadbd",
        "--no-defaults",
        &data,
        &socket,
        "--skip-networking",
        "--log-bin=log",
        "--sync-binlog=1",
        "--innodb-buffer-pool-size=32M",
        "--performance-schema=ON",
        "--performance-schema-instrument=wait/synch/%=ON",
        "--performance-schema-consumer-events-waits-current=ON",
    ];
    [&flags, user].concat().iter().map(|&word| word.to_owned()).collect()
}

/// Each wait for a mutex or condition that `performance_schema` counted is one of the report's, and as long.
#[test]
fn mariadb_waits_as_performance_schema_counts() {
    const TEST: &str = "mariadb_waits_as_performance_schema_counts";
    if !installed(TEST, "mariadbd")
        || !installed(TEST, "mariadb-install-db")
        || !installed(TEST, "mariadb")
    {
        return;
    }
    let server = Server::new(None);
    let command = mariadb_command(&server);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let ready = "mariadb --no-defaults -S s -u root -e 'select 1'";
    let report = server.observed(&command, ready, MARIADB_LOAD);
    let waits = server.read("waits");
    let counted = |event: &str| {
        // What did not happen is not listed.
        let Some(line) = waits.lines().find(|line| line.starts_with(event)) else { return (0, 0) };
        let figures: Vec<u64> =
            line.split('\t').skip(1).map(|word| word.parse().unwrap()).collect();
        (figures[0], figures[1])
    };
    let waited_in = |kind: &'static str, part: &'static str| {
        let of = move |lock: &&Value| lock["kind"] == kind && is_waited_for_in(lock, part);
        locks(&report).into_iter().filter(of)
    };
    // A thread that waits for a table sleeps on its own condition. (The way back to that condition's mutex is a row of
    // its own here, and in the condition's time there.)
    let (count, ns) = counted("wait/synch/cond/mysys/my_thread_var::suspend");
    let (seen, seen_ns) = sums(waited_in("condition", "thr_multi_lock"));
    assert!(count > 800 && seen == count, "{seen} of {count} waits for the table");
    assert!((0.8..=1.02).contains(&ratio(seen_ns, ns)), "{seen_ns} of {ns} ns");
    // A commit whose group has a leader sleeps until that has written it.
    let (count, ns) = counted("wait/synch/cond/sql/THD::COND_wakeup_ready");
    let (seen, seen_ns) = sums(waited_in("condition", "write_transaction_to_binlog_events"));
    assert_eq!(
        seen, count,
        "waits for the leader of a group: on an idle machine, there may be none"
    );
    // There, a wait lasts until its thread runs again and has the mutex: of these few and short ones, that may be most.
    assert!(count == 0 || ratio(seen_ns, ns) <= 1.02, "{seen_ns} of {ns} ns");
    // The leaders' mutex. There, calls that do not wait have a time too.
    let (count, ns) = counted("wait/synch/mutex/sql/LOG::LOCK_log");
    let log =
        waited_in("mutex", "write_transaction_to_binlog_events").max_by_key(|lock| waited_ns(lock));
    let log = log.expect("a mutex that leaders waited for");
    let taken = log["acquisitions"].as_u64().unwrap();
    assert!((count..=count + count / 100 + 10).contains(&taken), "{taken}, counted: {count}");
    let least_ns = ns.saturating_sub(count * 10_000).min(ns / 10 * 8);
    assert!((least_ns..=ns).contains(&waited_ns(log)), "{} of {ns} ns", waited_ns(log));

    // Statements last a millisecond in the table's lock, so that comes first.
    let culprit = &report["culprits"][0];
    assert!(is_in(&culprit["stack"], "unlock"), "{culprit:#}");
    let table = lock(&report, &culprit["locks"][0]);
    assert!(is_waited_for_in(&table, "thr_multi_lock"), "{table:#}");
    assert_eq!((&table["class"], &table["like"]), (&"contention".into(), &"mutex".into()));
    let first = report["findings"][0]["text"].as_str().expect("a finding");
    assert!(first.contains("lock_tables") && first.contains("released it"), "{first}");
}
