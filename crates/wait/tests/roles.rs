//! Whether the holder of a role lives, asked where the answer is hard to get: without descriptors, and across
//! namespaces and users that hide it.
#![cfg(all(target_os = "linux", not(any(miri, unc_model))))]
#![allow(clippy::disallowed_types)] // A user's own atomics.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use uncontended_wait::Scope;
use uncontended_wait::role::{Holder, Role};

/// What the processes of a test map.
struct Shared {
    role: Role,
    step: AtomicU32,
}

/// A child has claimed the role.
const CLAIMED: u32 = 1;
/// It may end.
const SEEN: u32 = 2;
/// The kernel does not permit what the test needs.
const REFUSED: u32 = 3;
/// The checker saw what it should not.
const WRONG: u32 = 4;

fn share() -> &'static Shared {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping disturbs no other memory.
    let memory =
        unsafe { libc::mmap(std::ptr::null_mut(), size_of::<Shared>(), access, kind, -1, 0) };
    assert_ne!(memory, libc::MAP_FAILED);
    let memory = memory.cast::<Shared>();
    // SAFETY: the mapping is that large, aligned to a page, ours alone so far, and never unmapped.
    unsafe { memory.write(Shared { role: Role::new(), step: AtomicU32::new(0) }) };
    // SAFETY: what was written just now, in a mapping that stays.
    unsafe { &*memory }
}

impl Shared {
    fn reach(&self, step: u32) {
        self.step.store(step, SeqCst);
    }

    /// Waits for one of several steps.
    fn wait_for(&self, steps: &[u32]) -> u32 {
        loop {
            match self.step.load(SeqCst) {
                step if steps.contains(&step) => return step,
                _ => std::thread::yield_now(),
            }
        }
    }

    /// Claims the role, and keeps it until the others have seen that.
    fn hold(&self) {
        let claimed = self.role.claim(Scope::Shared) == Ok(());
        self.reach(if claimed { CLAIMED } else { WRONG });
        self.wait_for(&[SEEN, REFUSED, WRONG]);
    }

    /// Asks for the holder, who lives as process `pid`.
    fn finds_it_alive(&self, pid: u32) -> bool {
        let lives = Holder::Lives { pid };
        self.role.holder() == lives && self.role.take_over(Scope::Shared) == Err(lives)
    }
}

/// Runs `act` in a child, which ends after it, or with this thread.
fn fork(act: impl FnOnce()) -> u32 {
    // SAFETY: the child makes system calls and reads files, which need none of the parent's other threads.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "{}", std::io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: numbers; the call accesses no memory.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let ended = catch_unwind(AssertUnwindSafe(act));
        // SAFETY: ends the child at once, without what the parent has to do at its own end.
        unsafe { libc::_exit(i32::from(ended.is_err())) };
    }
    pid.unsigned_abs()
}

fn reap(pid: u32) {
    let mut status = 0;
    // SAFETY: `status` lives until the call returns.
    let reaped = unsafe { libc::waitpid(pid.cast_signed(), &raw mut status, 0) };
    assert_eq!((reaped, status), (pid.cast_signed(), 0));
}

/// From now on this process can open no file.
fn without_descriptors() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `none` lives until the call returns.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none) }, 0);
    assert!(fs::read("/proc/self/stat").is_err(), "it has none");
}

/// Moves this process, or its children, to new namespaces, and says whether that is permitted.
fn unshare(what: libc::c_int) -> bool {
    // SAFETY: this process has one thread, and uses nothing that it leaves behind.
    unsafe { libc::unshare(libc::CLONE_NEWUSER | what) == 0 }
}

#[test]
fn a_holder_that_could_open_no_file_is_alive_until_it_ends() {
    let shared = share();
    let pid = fork(|| {
        without_descriptors();
        shared.hold();
    });
    assert_eq!(shared.wait_for(&[CLAIMED, WRONG]), CLAIMED);
    assert!(shared.finds_it_alive(pid), "{:?}", shared.role);
    shared.reach(SEEN);
    reap(pid);
    assert_eq!(shared.role.holder(), Holder::Died { pid });
    assert_eq!(shared.role.take_over(Scope::Shared), Ok(()));
}

#[test]
fn a_process_that_can_open_no_file_tells_the_living_from_the_dead() {
    let shared = share();
    let me = std::process::id();
    let dead = fork(|| assert_eq!(shared.role.claim(Scope::Shared), Ok(())));
    reap(dead);
    let living = share();
    assert_eq!(living.role.claim(Scope::Shared), Ok(()));
    reap(fork(|| {
        without_descriptors();
        let right = living.finds_it_alive(me) && shared.role.holder() == Holder::Died { pid: dead };
        living.reach(if right { SEEN } else { WRONG });
    }));
    assert_eq!(living.wait_for(&[SEEN, WRONG]), SEEN);
}

/// The clock of the holder's time namespace differs from everyone else's, and so does its start time.
#[test]
fn a_holder_in_another_time_namespace_is_alive() {
    let shared = share();
    let parent = fork(|| {
        let is_moved = unshare(libc::CLONE_NEWTIME)
            && fs::write("/proc/self/timens_offsets", "boottime 100000 0\n").is_ok();
        match is_moved {
            true => reap(fork(|| shared.hold())),
            false => shared.reach(REFUSED),
        }
    });
    if shared.wait_for(&[CLAIMED, REFUSED, WRONG]) == REFUSED {
        uncontended_testkit::skip!("a holder in another time namespace", "no time namespaces here");
        return reap(parent);
    }
    let Holder::Lives { pid } = shared.role.holder() else { panic!("{:?}", shared.role) };
    assert!(shared.finds_it_alive(pid));
    shared.reach(SEEN);
    reap(parent);
    assert_eq!(shared.role.holder(), Holder::Died { pid });
}

/// The processes are in a new pid namespace, and `/proc` shows the old one, where others have their pids.
#[test]
fn a_holder_is_alive_where_proc_shows_another_pid_namespace() {
    let shared = share();
    let parent = fork(|| {
        if !unshare(libc::CLONE_NEWPID) {
            return shared.reach(REFUSED);
        }
        // The first one in the namespace has to outlive the others.
        let first = fork(|| {
            let holder = fork(|| shared.hold());
            shared.wait_for(&[CLAIMED, WRONG]);
            let right = shared.finds_it_alive(holder);
            shared.reach(if right { SEEN } else { WRONG });
            reap(holder);
            let died = shared.role.holder() == (Holder::Died { pid: holder });
            shared.reach(if right && died { SEEN } else { WRONG });
        });
        reap(first);
    });
    reap(parent);
    match shared.wait_for(&[SEEN, REFUSED, WRONG]) {
        REFUSED => uncontended_testkit::skip!(
            "a holder where proc shows another pid namespace",
            "no pid namespaces here"
        ),
        step => {
            assert_eq!(step, SEEN, "a living holder was taken for dead, or a dead one for alive")
        }
    }
}

/// `/proc` hides the processes of other users.
#[test]
fn a_holder_that_is_hidden_as_another_users_is_alive() {
    let shared = share();
    assert_eq!(shared.role.claim(Scope::Shared), Ok(()));
    let me = std::process::id();
    reap(fork(|| {
        if !hide_other_users() {
            return shared.reach(REFUSED);
        }
        let right = fs::metadata(format!("/proc/{me}")).is_err() && shared.finds_it_alive(me);
        shared.reach(if right { SEEN } else { WRONG });
    }));
    match shared.wait_for(&[SEEN, REFUSED, WRONG]) {
        REFUSED => uncontended_testkit::skip!(
            "a holder that is hidden as another user's",
            "only root can hide processes"
        ),
        step => assert_eq!(step, SEEN, "a living holder was taken for dead"),
    }
}

/// Mounts a `/proc` that hides other users' processes, for this process alone, and becomes another user.
fn hide_other_users() -> bool {
    let mount = |what: *const libc::c_char, at: &std::ffi::CStr, flags, options: *const _| {
        // SAFETY: the strings end in NUL and live until the call returns, or are null.
        unsafe { libc::mount(what, at.as_ptr(), what, flags, options) == 0 }
    };
    let null = std::ptr::null();
    let options = c"hidepid=2".as_ptr().cast();
    // SAFETY: this process has one thread, and the new namespace changes nothing of the old one.
    let is_apart = unsafe { libc::unshare(libc::CLONE_NEWNS) == 0 };
    is_apart
        && mount(null, c"/", libc::MS_REC | libc::MS_PRIVATE, null.cast())
        && mount(c"proc".as_ptr(), c"/proc", 0, options)
        // SAFETY: numbers; the call accesses no memory.
        && unsafe { libc::setgid(65_534) } == 0
        // SAFETY: as for the group.
        && unsafe { libc::setuid(65_534) } == 0
}
