//! `unc barrierd` as a process: what it gives up, what it refuses, and what becomes of its clients when it stops or
//! when something else pretends to be it. Most of it needs root and eBPF, and skips elsewhere.

#![cfg(all(target_os = "linux", target_arch = "x86_64", not(unc_portable)))]

mod common;

use common::{Folder, status, stderr, stdout, unc};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use uncontended_barrierd::stamps::layout::{MAGIC, VERSION, page_words};
use uncontended_barrierd::stamps::{HELLO_WORDS, NoStamps, Stamps};
use uncontended_sys::rights::User;
use uncontended_sys::{filter, memfd, passing};
use uncontended_testkit::skip;

/// The number of `bpf` on x86-64.
const SYS_BPF: i64 = 321;
const LONG: Option<Duration> = Some(Duration::from_secs(30));
/// A client that the daemon leaves in the lurch is served within this time.
const DEADLINE: Duration = Duration::from_secs(10);

struct Daemon {
    child: Child,
    folder: Folder,
}

impl Daemon {
    /// One that serves; nothing where it may not run.
    fn start(test: &str) -> Option<Daemon> {
        let folder = Folder::new();
        let mut daemon = Daemon { child: spawn(&folder.path().join("socket")), folder };
        while Stamps::connect_to(&daemon.socket()).is_err() {
            if let Some(status) = daemon.child.try_wait().unwrap() {
                assert_eq!(status.code(), Some(2));
                skip!(test, "`unc barrierd` does not run here");
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(daemon)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(socket: &Path) -> Child {
    let mut command = unc();
    command.arg("barrierd").arg("--socket").arg(socket);
    command.stderr(Stdio::null()).spawn().unwrap()
}

fn look(socket: &Path) -> std::process::Output {
    unc().args(["barrierd", "--status", "--json", "-", "--socket"]).arg(socket).output().unwrap()
}

#[test]
fn a_daemon_has_no_rights_serves_and_ends_cleanly() {
    let Some(mut daemon) = Daemon::start("a_daemon_has_no_rights") else { return };
    let stamps = Stamps::connect_to(&daemon.socket()).unwrap();
    assert_eq!(stamps.ask().wait(LONG), Ok(true));
    let facts = std::fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
    let fact = |name: &str| {
        let line = facts.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_matches([':', '\t', ' ']).to_owned()
    };
    assert_eq!((fact("CapEff"), fact("CapPrm")), ("0".repeat(16), "0".repeat(16)));
    assert_eq!((fact("NoNewPrivs"), fact("Seccomp")), ("1".to_owned(), "2".to_owned()));
    assert_eq!((fact("CapBnd"), fact("CapAmb")), ("0".repeat(16), "0".repeat(16)));
    assert!(!fact("Uid").split('\t').any(|user| user == "0"), "{facts}");

    let seen = look(&daemon.socket());
    let json: serde_json::Value = serde_json::from_str(&stdout(&seen)).unwrap();
    assert_eq!(json["schema"], "uncontended.barrierd/1");
    assert_eq!(json["pid"], daemon.child.id());
    assert!(json["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()), "{json}");
    assert!(stderr(&seen).contains("stamped ago"), "{}", stderr(&seen));

    let second = unc().args(["barrierd", "--socket"]).arg(daemon.socket()).output().unwrap();
    assert_eq!(status(&second), 2);
    assert!(stderr(&second).contains("another barrierd has the socket"), "{}", stderr(&second));

    daemon.signal("-TERM");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
    assert!(!stamps.is_alive(), "it says that it has ended");
    let none = look(&daemon.socket());
    assert_eq!(status(&none), 2);
    assert!(stderr(&none).contains("no barrierd listens"), "{}", stderr(&none));
}

/// A fence that is asked for now is complete in time, by a barrier, and not before the daemon is known to be silent.
fn is_served_all_the_same(stamps: &Stamps) {
    let (asked, began) = (stamps.ask(), Instant::now());
    match asked.wait(LONG) {
        Ok(is_complete) => assert!(is_complete && asked.is_past()),
        Err(refused) => return skip!("is_served_all_the_same", "{refused}"),
    }
    assert!(began.elapsed() < DEADLINE, "{:?}", began.elapsed());
}

#[test]
fn clients_of_a_killed_daemon_step_down_and_a_new_one_takes_over() {
    let Some(mut daemon) = Daemon::start("clients_of_a_killed_daemon") else { return };
    let stamps = Stamps::connect_to(&daemon.socket()).unwrap();
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    let frozen = stamps.cpus();
    let asked = stamps.ask();
    std::thread::sleep(Duration::from_millis(50));
    assert!(!asked.is_past(), "frozen stamps say nothing of later");
    assert_eq!(stamps.cpus(), frozen, "no program writes them");
    is_served_all_the_same(&stamps);

    let generation = stamps.facts().generation;
    daemon.child = spawn(&daemon.socket());
    let began = Instant::now();
    let again = loop {
        match Stamps::connect_to(&daemon.socket()) {
            Ok(stamps) => break stamps,
            Err(error) => assert!(began.elapsed() < DEADLINE, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_ne!(again.facts().generation, generation);
    let before = stamps.ask();
    assert_eq!((stamps.renew(), stamps.facts().generation), (Ok(true), again.facts().generation));
    assert_eq!(stamps.renew(), Ok(false), "it is connected");
    assert_eq!(before.wait(LONG), Ok(true), "by a barrier: its daemon is dead");
    assert_eq!(stamps.ask().wait(LONG), Ok(true));
    assert_eq!(again.ask().wait(LONG), Ok(true));
}

#[test]
fn clients_of_a_stopped_daemon_do_not_hang_and_come_back() {
    let Some(daemon) = Daemon::start("clients_of_a_stopped_daemon") else { return };
    let stamps = Stamps::connect_to(&daemon.socket()).unwrap();
    daemon.signal("-STOP");
    for _ in 0..5 {
        is_served_all_the_same(&stamps);
    }
    daemon.signal("-CONT");
    let began = Instant::now();
    while !stamps.is_alive() {
        assert!(began.elapsed() < DEADLINE, "its heartbeat comes back");
        assert_eq!(stamps.ask().wait(LONG), Ok(true));
    }
}

#[test]
fn a_daemon_that_may_not_run_says_why() {
    let folder = Folder::new();
    let socket = folder.path().join("socket");
    let run = |command: &mut Command, flags: &[&str]| {
        command.args(["barrierd", "--socket"]).arg(&socket).args(flags);
        let output = command.output().unwrap();
        assert_eq!(status(&output), 2, "{}", stderr(&output));
        assert!(stderr(&output).lines().count() >= 2, "a cause and a remedy: {}", stderr(&output));
        stderr(&output)
    };
    assert!(
        run(&mut unc(), &["--cpus", "8191"]).contains("no CPU 8191") || User::current().user != 0
    );
    assert!(run(&mut unc(), &["--cpus", "a-b"]).contains("not a list of CPUs"));
    if User::current().user != 0 {
        assert!(run(&mut unc(), &[]).contains("root alone"));
        return skip!("a_daemon_that_may_not_run", "the rest needs root");
    }
    assert!(run(&mut unc(), &["--user", "no-such-user-here"]).contains("no user"));
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).unwrap();
    if let Some(program) = readable_by_all(&folder) {
        assert!(run(Command::new(program).uid(65534).gid(65534), &[]).contains("root alone"));
    }
    // A filter holds for what a thread starts.
    let without = std::thread::scope(|threads| {
        let run = threads.spawn(|| filter::forbid(SYS_BPF, 1).map(|()| run(&mut unc(), &[])));
        run.join().unwrap()
    });
    match without {
        Ok(said) => assert!(said.contains("forbids eBPF"), "{said}"),
        Err(error) => skip!("a_daemon_without_ebpf", "no filters here: {error}"),
    }
}

#[test]
fn what_once_shows_is_of_the_cpus_that_it_follows() {
    let folder = Folder::new();
    let mut command = unc();
    command.args(["barrierd", "--once", "--cpus", "0", "--json", "-", "--socket"]);
    let seen = command.arg(folder.path().join("socket")).output().unwrap();
    if status(&seen) == 2 && !stderr(&seen).contains("fence") {
        return skip!("what_once_shows", "`unc barrierd` does not run here");
    }
    assert_eq!(status(&seen), 0, "{}", stderr(&seen));
    let json: serde_json::Value = serde_json::from_str(&stdout(&seen)).unwrap();
    assert_eq!(json["cpus"].as_array().map(Vec::len), Some(1), "{json}");
    assert!(json["fences_ns"].as_array().is_some_and(|fences| fences.len() > 1), "{json}");
}

#[test]
fn json_is_refused_where_nothing_is_shown() {
    let refused = unc().args(["barrierd", "--json", "-"]).output().unwrap();
    assert_eq!(status(&refused), 2);
    assert!(stderr(&refused).contains("--status"), "{}", stderr(&refused));
}

/// One user fills all places that it may have; another one, root, is served.
#[test]
fn one_user_does_not_take_all_places() {
    const TEST: &str = "one_user_does_not_take_all_places";
    let Some(daemon) = Daemon::start(TEST) else { return };
    let ours: Vec<_> = (0..600).map_while(|_| UnixStream::connect(daemon.socket()).ok()).collect();
    let began = Instant::now();
    while Stamps::connect_to(&daemon.socket()).err() != Some(NoStamps::Full) {
        assert!(began.elapsed() < DEADLINE, "it has taken all of {}", ours.len());
    }
    let theirs = Folder::new();
    std::os::unix::fs::chown(daemon.folder.path(), Some(65534), Some(65534)).unwrap();
    std::os::unix::fs::chown(theirs.path(), Some(65534), Some(65534)).unwrap();
    let Some(program) = readable_by_all(&theirs) else { return };
    let mut other = Command::new(program);
    other.uid(65534).gid(65534).args(["barrierd", "--status", "--socket"]).arg(daemon.socket());
    let seen = other.output().unwrap();
    assert_eq!(status(&seen), 0, "{}", stderr(&seen));
}

/// It has descriptors for a few clients only. It says so once, and does not spin.
#[test]
fn a_daemon_without_descriptors_waits_for_some() {
    const TEST: &str = "a_daemon_without_descriptors";
    let folder = Folder::new();
    let (socket, said) = (folder.path().join("socket"), folder.path().join("said"));
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 32; exec 9</dev/null; exec \"$0\" barrierd --socket \"$1\""]);
    command.arg(unc().get_program()).arg(&socket).stderr(File::create(&said).unwrap());
    let mut daemon = Daemon { child: command.spawn().unwrap(), folder };
    let first = loop {
        match Stamps::connect_to(&socket) {
            Ok(stamps) => break stamps,
            Err(_) if daemon.child.try_wait().unwrap().is_none() => {}
            Err(_) => return skip!(TEST, "`unc barrierd` does not run here"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let inherited = format!("/proc/{}/fd/9", daemon.child.id());
    let is_ours = |path: PathBuf| path.as_os_str() == "/dev/null";
    assert!(!std::fs::read_link(inherited).is_ok_and(is_ours), "it closes what it inherits");
    let mut crowd = Vec::new();
    let full = loop {
        match Stamps::connect_to(&socket) {
            Ok(stamps) => crowd.push(stamps),
            Err(full) => break full,
        }
    };
    assert_eq!(full, NoStamps::Silent, "after {}", crowd.len());
    let (busy_ns, began) = (first.work().busy_ns, Instant::now());
    assert_eq!(first.ask().wait(LONG), Ok(true), "others are served");
    std::thread::sleep(Duration::from_secs(2));
    let busy_ns = first.work().busy_ns - busy_ns;
    assert!(u128::from(busy_ns) < began.elapsed().as_nanos() / 4, "it spins: {busy_ns} ns");
    assert_eq!(std::fs::read_to_string(&said).unwrap().matches("no new clients").count(), 1);
    drop(crowd);
    let began = Instant::now();
    while let Err(error) = Stamps::connect_to(&socket) {
        assert!(began.elapsed() < DEADLINE, "{error}");
    }
}

/// `unc` where another user may execute it.
fn readable_by_all(folder: &Folder) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.path().join("unc");
    std::fs::copy(env!("CARGO_BIN_EXE_unc"), &path).ok()?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).ok()?;
    Some(path)
}

/// Something else listens at the socket, and sends this to one client.
fn pretender(message: &[u64], descriptors: &[BorrowedFd<'_>]) -> NoStamps {
    let folder = Folder::new();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let bytes: Vec<u8> = message.iter().flat_map(|word| word.to_ne_bytes()).collect();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let (client, _) = listener.accept().unwrap();
            if !bytes.is_empty() {
                passing::send(&client, &bytes, descriptors).unwrap();
            }
        });
        Stamps::connect_to(&path).unwrap_err()
    })
}

#[test]
fn what_does_not_answer_is_not_waited_for() {
    let folder = Folder::new();
    let _listener = UnixListener::bind(folder.path().join("socket")).unwrap();
    assert_eq!(Stamps::connect_to(&folder.path().join("socket")).unwrap_err(), NoStamps::Silent);
}

fn hello(version: u64, cpus: u64) -> [u64; HELLO_WORDS] {
    [MAGIC, version, cpus, 0, 0, 0, 0, 0]
}

#[test]
fn forged_and_truncated_memory_is_refused() {
    let file = memfd::create_sized(c"forged", 4096).unwrap();
    let short = memfd::create_sized(c"short", 8).unwrap();
    for file in [&file, &short] {
        memfd::seal_for_others(file).unwrap();
    }
    let folder = Folder::new();
    let mut plain = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(folder.path().join("f"))
        .unwrap();
    plain.write_all(&[0; 4096]).unwrap();
    let is_malformed =
        |refused: NoStamps| assert!(matches!(refused, NoStamps::Malformed(_)), "{refused}");
    assert_eq!(pretender(&[], &[]), NoStamps::Full);
    assert_eq!(
        pretender(&hello(VERSION + 1, 2), &[]),
        NoStamps::Version(VERSION + 1),
        "an old or new one"
    );
    is_malformed(pretender(&[1, 2, 3], &[]));
    is_malformed(pretender(&[0; HELLO_WORDS], &[]));
    is_malformed(pretender(&hello(VERSION, 0), &[]));
    is_malformed(pretender(&hello(VERSION, u64::MAX), &[]));
    is_malformed(pretender(&hello(VERSION, 2), &[]));
    is_malformed(pretender(&hello(VERSION, 2), &[file.as_fd()]));
    is_malformed(pretender(&hello(VERSION, 2), &[file.as_fd(), file.as_fd(), file.as_fd()]));
    // Files that could become shorter, or that others could write.
    is_malformed(pretender(&hello(VERSION, 2), &[plain.as_fd(), plain.as_fd()]));
    is_malformed(pretender(&hello(VERSION, 2), &[file.as_fd(), file.as_fd()]));
    let Some(map) = frozen_array("forged_and_truncated") else { return };
    is_malformed(pretender(&hello(VERSION, 2), &[map.as_fd(), plain.as_fd()]));
    is_malformed(pretender(&hello(VERSION, 2), &[map.as_fd(), short.as_fd()]));
    is_malformed(pretender(&hello(VERSION, 2), &[map.as_fd(), file.as_fd()]));
    let many = (page_words(2) * 8) as u64;
    is_malformed(pretender(&hello(VERSION, many), &[map.as_fd(), file.as_fd()]));
}

/// What the stamps' memory is, of two CPUs.
fn frozen_array(test: &str) -> Option<uncontended_sys::bpf::Map> {
    let map = uncontended_sys::bpf::Map::mappable(64, 2).and_then(|map| map.freeze().map(|()| map));
    map.map_err(|error| skip!(test, "no maps here: {error}")).ok()
}

/// Its clock is another one, by which the daemon's times lie in the future.
#[test]
fn in_a_time_namespace_fences_are_complete_all_the_same() {
    const TEST: &str = "in_a_time_namespace";
    let Some(daemon) = Daemon::start(TEST) else { return };
    let inside = |arguments: &[&str], socket: &Path| {
        let mut command = Command::new("unshare");
        command.args(["--time", "--monotonic", "-1000", "--fork"]).arg(unc().get_program());
        command.arg("barrierd").args(arguments).arg("--socket").arg(socket).output().unwrap()
    };
    let made = Command::new("unshare").args(["--time", "--fork", "true"]).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip!(TEST, "unshare(1) makes no time namespace here");
    }
    let seen = inside(&["--status"], &daemon.socket());
    assert_eq!(status(&seen), 0, "{}", stderr(&seen));
    // Its daemon and its client are both inside, and the kernel's program is not.
    let other = inside(&["--once", "--json", "-"], &daemon.folder.path().join("other"));
    assert_eq!(status(&other), 0, "{}", stderr(&other));
    let json: serde_json::Value = serde_json::from_str(&stdout(&other)).unwrap();
    assert!(json["fences_ns"].as_array().is_some_and(|fences| fences.len() > 1), "{json}");
}
