//! A daemon in this process: what its clients see of the kernel's stamps.
//! It needs root and eBPF; the tests skip elsewhere.

#![cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, unc_model, unc_portable))))]

mod common;

use common::Running;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use uncontended_barrierd::stamps::{NoStamps, Stamps};
use uncontended_barrierd::{Daemon, Options, Refusal};
use uncontended_testkit::skip;

const LONG: Option<Duration> = Some(Duration::from_secs(30));

#[test]
fn a_fence_is_complete_when_all_cpus_have_been_quiet_since() {
    let Some(daemon) = Running::start("a_fence_is_complete", None) else { return };
    let stamps = Stamps::connect_to(&daemon.socket()).unwrap();
    assert!(stamps.facts().program_ns.is_some(), "{:?}", stamps.facts());
    for _ in 0..20 {
        let before = stamps.cpus();
        let asked = stamps.ask();
        assert_eq!(asked.wait(LONG), Ok(true));
        assert!(asked.is_past());
        for (before, after) in before.iter().zip(stamps.cpus()) {
            assert!(
                after.runs > before.runs || after.absent_ns > before.absent_ns,
                "{before:?} {after:?} {asked:?}"
            );
        }
    }
    let before = stamps.work();
    assert_eq!(stamps.ask_turns().wait(LONG), Ok(true));
    let after = stamps.work();
    assert!(after.turns >= before.turns + 2 && after.oldest_ns > before.oldest_ns, "{after:?}");
    assert!(stamps.is_alive());
}

#[test]
fn after_the_daemons_end_fences_are_completed_by_barriers() {
    let Some(mut daemon) = Running::start("after_the_daemons_end", None) else { return };
    let stamps = Stamps::connect_to(&daemon.socket()).unwrap();
    daemon.end();
    assert!(!stamps.is_alive(), "it said that it ended");
    let asked = stamps.ask();
    let began = Instant::now();
    match asked.wait(LONG) {
        Ok(done) => assert!(done && asked.is_past()),
        Err(refused) => skip!("after_the_daemons_end", "{refused}"),
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(Stamps::connect_to(&daemon.socket()).unwrap_err(), NoStamps::NotRunning);
}

#[test]
fn a_second_daemon_is_refused_and_a_later_one_takes_the_socket() {
    let Some(mut daemon) = Running::start("a_second_daemon", None) else { return };
    let options = Options { socket: daemon.socket(), cpus: None };
    let refused = Daemon::start(&options).unwrap_err();
    assert!(matches!(refused, Refusal::AnotherDaemon(_)), "{refused}");
    daemon.end();
    let later = Daemon::start(&options).unwrap();
    drop(later);
}

#[test]
fn some_cpus_alone_are_for_those_who_say_that_they_run_there() {
    let Some(daemon) = Running::start("some_cpus_alone", Some(vec![0])) else { return };
    let open = Stamps::connect_to(&daemon.socket());
    let cpus = Stamps::look(&daemon.socket(), Duration::ZERO).unwrap().facts.followed.len();
    match open {
        Err(NoStamps::Unfollowed(cpu)) => assert_eq!(cpu, 1),
        Err(error) => panic!("{error}"),
        Ok(_) => assert_eq!(cpus, 1, "a machine of one CPU"),
    }
    // SAFETY: nothing relies on the fence.
    let part = unsafe { Stamps::connect_to_part(&daemon.socket()) }.unwrap();
    assert_eq!(part.ask().wait(LONG), Ok(true));
    assert_eq!(part.cpus().len(), 1);
    let absent = Daemon::start(&Options {
        socket: daemon.folder.path().join("other"),
        cpus: Some(vec![8191]),
    });
    assert!(matches!(absent.unwrap_err(), Refusal::NoCpu(8191)));
}

#[test]
fn clients_that_misbehave_harm_no_other() {
    use std::io::{Read as _, Write as _};
    let Some(daemon) = Running::start("clients_that_misbehave", None) else { return };
    // One never reads, one floods, one writes nonsense, one comes and goes, and there are too many.
    let mute = UnixStream::connect(daemon.socket()).unwrap();
    let mut flood = UnixStream::connect(daemon.socket()).unwrap();
    flood.set_nonblocking(true).unwrap();
    let mut odd = UnixStream::connect(daemon.socket()).unwrap();
    odd.write_all(b"?").unwrap();
    let crowd: Vec<_> = (0..600).map_while(|_| UnixStream::connect(daemon.socket()).ok()).collect();
    while flood.write(&[b'w'; 4096]).is_ok() {}
    drop(crowd);
    let ours = loop {
        match Stamps::connect_to(&daemon.socket()) {
            Err(NoStamps::Full) => std::thread::sleep(Duration::from_millis(10)),
            open => break open.unwrap(),
        }
    };
    for _ in 0..20 {
        assert_eq!(ours.ask().wait(LONG), Ok(true));
    }
    assert!(ours.is_alive());
    odd.set_read_timeout(LONG).unwrap();
    let mut rest = Vec::new();
    odd.read_to_end(&mut rest).expect("the daemon closes it");
    drop(mute);
}
