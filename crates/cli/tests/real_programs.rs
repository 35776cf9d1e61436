//! Real programs as their distribution built them: their output stays the same to the byte, and their locks are seen. A
//! program that is not installed is skipped with a line that says so.

mod common;
use common::{Folder, installed, report, status, stderr, unc_run};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A file of `lines` lines that compresses moderately.
fn lines(folder: &Folder, lines: u64) -> String {
    let file = folder.file("lines");
    let line = |number: u64| {
        format!("{number:08} {:x}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30)
    };
    std::fs::write(&file, (0..lines).map(line).collect::<String>()).unwrap();
    file
}

/// Runs `program` alone and observed; its output must be the same. Returns the report.
fn same_output(program: &[&str]) -> Value {
    let plain = Command::new(program[0]).args(&program[1..]).output().unwrap();
    let (report, observed) = report(&[], program);
    assert_eq!(plain.status.code(), observed.status.code(), "{}", stderr(&observed));
    assert!(plain.stdout == observed.stdout, "{program:?} writes something else under observation");
    report
}

/// All rows of a report.
fn locks(report: &Value) -> Vec<&Value> {
    let processes = report["processes"].as_array().unwrap();
    processes.iter().flat_map(|process| process["locks"].as_array().unwrap()).collect()
}

/// Sum of a figure over the rows of one kind.
fn sum(report: &Value, kind: &str, figure: &str) -> u64 {
    locks(report)
        .iter()
        .filter(|lock| lock["kind"] == kind)
        .filter_map(|lock| lock[figure].as_u64())
        .sum()
}

#[test]
fn xz_with_two_threads() {
    if !installed("xz_with_two_threads", "xz") {
        return;
    }
    let folder = Folder::new();
    let report = same_output(&[
        "xz",
        "-T2",
        "-1",
        "--block-size=256KiB",
        "-k",
        "-c",
        &lines(&folder, 60_000),
    ]);
    assert!(sum(&report, "mutex", "acquisitions") > 10, "{report:#}");
}

#[test]
fn pigz_waits_in_queues() {
    if !installed("pigz_waits_in_queues", "pigz") {
        return;
    }
    let folder = Folder::new();
    let report = same_output(&["pigz", "-p4", "-n", "-c", &lines(&folder, 200_000)]);
    assert!(sum(&report, "mutex", "acquisitions") > 10);
    let conditions: Vec<_> =
        locks(&report).into_iter().filter(|lock| lock["kind"] == "condition").collect();
    assert!(
        !conditions.is_empty() && conditions.iter().all(|lock| lock["class"] == "queue"),
        "{conditions:#?}"
    );
}

#[test]
fn python_threads() {
    if !installed("python_threads", "python3") {
        return;
    }
    let text = "import threading\n\
        total = [0] * 4\n\
        def work(n):\n    for i in range(100000): total[n] += i\n\
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n\
        [t.start() for t in threads]; [t.join() for t in threads]; print(total)";
    let report = same_output(&["python3", "-c", text]);
    let acquired: u64 = ["mutex", "semaphore", "condition"]
        .iter()
        .map(|kind| sum(&report, kind, "acquisitions"))
        .sum();
    assert!(acquired > 10, "{report:#}");
    let unseen = report["coverage"]["unseen"].as_array().unwrap().iter();
    let of_scripts = unseen.filter(|line| line.as_str().unwrap().contains("python3 -X perf"));
    assert_eq!(of_scripts.count(), 1, "{report:#}");
}

/// Node.js with work for its pool and threads of its own. It brings its own locks' functions (libuv), and makes code.
#[test]
fn node_with_a_pool_and_workers() {
    if !installed("node_with_a_pool_and_workers", "node") {
        return;
    }
    const SCRIPT: &str = r#"
const crypto = require('crypto');
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) {
    parentPort.postMessage([...Array(1e5).keys()].reduce((sum, next) => sum + next));
} else {
    const key = number => new Promise(done => crypto.pbkdf2('word', 'salt' + number, 20000, 32, 'sha256',
        (error, key) => done(key.toString('hex'))));
    const sum = () => new Promise(done => new Worker(__filename).on('message', done));
    Promise.all([1, 2, 3, 4, 5, 6].map(key).concat([sum(), sum()])).then(all => console.log(all.join(' ')));
}
"#;
    let folder = Folder::new();
    let script = folder.file("pool.js");
    std::fs::write(&script, SCRIPT).unwrap();
    let report = same_output(&["node", &script]);
    assert!(sum(&report, "mutex", "acquisitions") > 100, "{report:#}");
    let waited =
        locks(&report).into_iter().filter(|lock| lock["wait_ns"]["total"].as_u64() > Some(0));
    let waiting = waited.flat_map(|lock| lock["waited_in"].as_array().into_iter().flatten());
    let frames = waiting.flat_map(|waited| waited["stack"].as_array().unwrap());
    let is_of_pool = |frame: &Value| {
        frame["function"].as_str().is_some_and(|name| name.contains("uv_cond_wait"))
    };
    assert!(frames.into_iter().any(is_of_pool), "the pool waits for work: {report:#}");
}

#[test]
fn sysbench_counts_what_it_was_told_to_lock() {
    if !installed("sysbench_counts_what_it_was_told_to_lock", "sysbench") {
        return;
    }
    let flags =
        ["mutex", "--threads=4", "--mutex-num=1", "--mutex-locks=5000", "--mutex-loops=100", "run"];
    let (report, output) = report(&[], &[&["sysbench"], &flags[..]].concat());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let most = locks(&report).iter().filter_map(|lock| lock["acquisitions"].as_u64()).max();
    assert_eq!(most, Some(20_000), "four threads with 5,000 each");
}

/// A server under `unc run`, ended when dropped.
struct Server {
    unc: Child,
    json: String,
    port: u16,
    folder: Folder,
}

impl Server {
    /// Starts a server; `PORT` in its arguments becomes a free one.
    fn start(program: &str, arguments: &[&str]) -> Self {
        // Not by listening: a child that another test is about to start would listen too, until its exec, and the
        // clients would be its.
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = Folder::new();
        let json = folder.file("run.json");
        let arguments =
            arguments.iter().map(|argument| argument.replace("PORT", &port.to_string()));
        let mut command = unc_run(&["--quiet", "--json", &json]);
        let errors = std::fs::File::create(folder.file("errors")).unwrap();
        command.arg(program).args(arguments).stdout(Stdio::null()).stderr(errors);
        Server { unc: command.spawn().unwrap(), json, port, folder }
    }

    fn connect(&self) -> BufReader<TcpStream> {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                // Without a server, a socket can be given the port that it connects to, and reach itself.
                Ok(stream) if stream.local_addr().unwrap().port() != self.port => {
                    return BufReader::new(stream);
                }
                Err(error) if Instant::now() > deadline => panic!("no server: {error}"),
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Ends the server as its users do and returns its report.
    fn end(mut self) -> Value {
        assert!(Command::new("kill").arg(self.unc.id().to_string()).status().unwrap().success());
        self.unc.wait().unwrap();
        let mut text = String::new();
        std::fs::File::open(&self.json).unwrap().read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

/// A test that fails says what became of its server, and leaves none behind.
impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let errors = std::fs::read_to_string(self.folder.file("errors")).unwrap_or_default();
            eprintln!("the server: {:?}\n{errors}", self.unc.try_wait());
        }
        if let Ok(None) = self.unc.try_wait() {
            let _ = Command::new("kill").arg(self.unc.id().to_string()).status();
            let _ = self.unc.wait();
        }
    }
}

/// Sends `request` and reads lines until one begins with `last`.
fn ask(connection: &mut BufReader<TcpStream>, request: &str, last: &str) -> Vec<String> {
    connection.get_mut().write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(
            connection.read_line(&mut line).unwrap(),
            0,
            "the server hung up after {answer:?}"
        );
        answer.push(line.trim_end().to_owned());
        if line.starts_with(last) {
            return answer;
        }
    }
}

#[test]
fn memcached_under_load() {
    if !installed("memcached_under_load", "memcached") {
        return;
    }
    let server = Server::start(
        "memcached",
        &["-t", "4", "-p", "PORT", "-l", "127.0.0.1", "-U", "0", "-u", "nobody"],
    );
    std::thread::scope(|scope| {
        for client in 0..4 {
            let server = &server;
            scope.spawn(move || {
                let mut connection = server.connect();
                for number in 0..500 {
                    let (key, value) =
                        (format!("key-{client}-{number}"), format!("value-{number}"));
                    let set = format!("set {key} 0 0 {}\r\n{value}\r\n", value.len());
                    assert_eq!(ask(&mut connection, &set, "STORED"), ["STORED"]);
                    let got = ask(&mut connection, &format!("get {key}\r\n"), "END");
                    assert_eq!(got[1], value);
                }
            });
        }
    });
    let report = server.end();
    // Each of 4,000 requests takes the lock of its item at least once.
    assert!(
        sum(&report, "mutex", "acquisitions") >= 4_000,
        "{}",
        sum(&report, "mutex", "acquisitions")
    );
    assert!(locks(&report).len() > 100);
}

#[test]
fn redis_with_threads_for_its_connections() {
    if !installed("redis_with_threads_for_its_connections", "redis-server") {
        return;
    }
    let server = Server::start(
        "redis-server",
        &[
            "--port",
            "PORT",
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--io-threads",
            "3",
            "--io-threads-do-reads",
            "yes",
        ],
    );
    std::thread::scope(|scope| {
        for client in 0..4 {
            let server = &server;
            scope.spawn(move || {
                let mut connection = server.connect();
                for number in 0..500 {
                    assert_eq!(
                        ask(&mut connection, &format!("SET k{client} {number}\r\n"), "+"),
                        ["+OK"]
                    );
                    assert_eq!(
                        ask(&mut connection, &format!("INCR k{client}\r\n"), ":"),
                        [format!(":{}", number + 1)]
                    );
                }
            });
        }
    });
    let report = server.end();
    assert!(sum(&report, "mutex", "acquisitions") > 10, "{report:#}");
    assert_eq!(report["coverage"]["processes_observed"], 1);
}

/// The README's finding: SQLite counts its memory under one mutex for the whole process.
#[test]
fn two_databases_share_one_mutex_until_sqlite_stops_counting() {
    const TEST: &str = "two_databases_share_one_mutex_until_sqlite_stops_counting";
    let folder = Folder::new();
    let program = folder.file("two_databases");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/two_databases.c");
    let flags = ["-O2", "-g", "-pthread", source, "-lsqlite3", "-o", &program];
    let compiled = Command::new("cc").args(flags).output().expect("a C compiler");
    if !compiled.status.success() {
        return uncontended_testkit::skip!(TEST, "SQLite's headers are not installed");
    }
    const ROWS: u64 = 2_000;
    let rows = ROWS.to_string();
    let of_both = |report: &Value| {
        let shared = |lock: &&Value| lock["threads"].as_u64() >= Some(2);
        let taken = |lock: &Value| lock["acquisitions"].as_u64().unwrap();
        locks(report).into_iter().filter(shared).max_by_key(|lock| taken(lock)).cloned()
    };
    let counting = of_both(&same_output(&[&program, &rows])).expect("a mutex of both threads");
    assert!(counting["acquisitions"].as_u64().unwrap() > 4 * ROWS, "{counting:#}");
    assert!(counting["first_taken"].to_string().contains("sqlite3"), "{counting:#}");
    let without = of_both(&same_output(&[&program, &rows, "--no-statistics"]));
    let left = without.map_or(0, |lock| lock["acquisitions"].as_u64().unwrap());
    assert!(left < ROWS, "{left} acquisitions of a shared mutex are left");
}

/// Rust's locks wait through `syscall(SYS_futex, …)`.
const RUST: &str = "
use std::sync::{Arc, Mutex};
use std::time::Duration;
fn main() {
    let shared = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..4).map(|_| {
        let shared = shared.clone();
        std::thread::spawn(move || for _ in 0..5 {
            let mut held = shared.lock().unwrap();
            std::thread::sleep(Duration::from_millis(5));
            *held += 1;
        })
    }).collect();
    for thread in threads { thread.join().unwrap(); }
    println!(\"{}\", shared.lock().unwrap());
}";

#[test]
fn a_rust_program_waits_on_futexes() {
    if !installed("a_rust_program_waits_on_futexes", "rustc") {
        return;
    }
    let folder = Folder::new();
    let (source, program) = (folder.file("locks.rs"), folder.file("locks"));
    std::fs::write(&source, RUST).unwrap();
    // Line tables have the names of inlined functions without their modules.
    for debug in ["-Cdebuginfo=2", "-Cdebuginfo=line-tables-only"] {
        let flags = [debug, "-O", "-o", &program, &source];
        let compiled = Command::new("rustc").args(flags).output().unwrap();
        assert!(compiled.status.success(), "{}", stderr(&compiled));
        names_the_code_that_has_the_lock(&same_output(&[&program]));
    }
}

fn names_the_code_that_has_the_lock(report: &Value) {
    let waits: Vec<_> = locks(report).into_iter().filter(|lock| lock["kind"] == "futex").collect();
    assert!(!waits.is_empty(), "{report:#}");
    let waited: u64 = waits.iter().filter_map(|lock| lock["wait_ns"]["total"].as_u64()).sum();
    assert!(waited >= 5_000_000, "at least one thread waited for one hold: {waited}");
    let costliest = waits.iter().max_by_key(|lock| lock["wait_ns"]["total"].as_u64()).unwrap();
    assert_eq!((&costliest["like"], &costliest["class"]), (&"mutex".into(), &"contention".into()));
    let site = &costliest["ended_by"][0]["site"];
    assert!(site["file"].as_str().is_some_and(|file| file.ends_with("locks.rs")), "{site}");
}
