//! Rings between processes: streams, a second holder, one that is killed, by children that are this very program again.
#![cfg(not(unc_model))]

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Child, Command, ExitStatus};
use std::ptr::NonNull;
use uncontended_ring::PopError;
use uncontended_ring::spsc::shared::{self, RoleError, Shared};

const CHILD: &str = "UNC_RING_CHILD";
const FD: &str = "UNC_RING_FD";
const VALUES: u64 = 20_000;

/// A mapping of a file, which it keeps.
struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    _file: File,
}

// SAFETY: the memory is mapped as long as this lives, for whoever has the address (I1 of `spsc::shared`).
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: File) -> Mapping {
        let bytes = file.metadata().unwrap().len() as usize;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, at an address of the kernel's choice, disturbs no other memory.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        assert_ne!(base, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        Mapping { base: NonNull::new(base.cast()).unwrap(), bytes, _file: file }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping made above; what was kept by it is gone (I1 of `spsc::shared`).
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// A ring for `capacity` numbers in a file that children inherit.
fn ring(capacity: usize) -> (Shared<u64>, i32) {
    // SAFETY: the name ends in NUL.
    let fd = unsafe { libc::memfd_create(c"ring".as_ptr(), 0) };
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the descriptor is new, so nobody else owns it.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(shared::bytes_for::<u64>(capacity).unwrap() as u64).unwrap();
    let mapping = Mapping::new(file);
    let (base, bytes) = (mapping.base, mapping.bytes);
    // SAFETY: the mapping is kept, and a ring and nothing else (I1 of `spsc::shared`).
    (unsafe { shared::create(base, bytes, capacity, mapping) }.unwrap(), fd)
}

fn start(child: &str, fd: i32) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "as_a_child", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, child).env(FD, fd.to_string()).spawn().unwrap()
}

/// What children do; in the test's own process, nothing.
#[test]
fn as_a_child() {
    let Ok(child) = std::env::var(CHILD) else { return };
    let fd = std::env::var(FD).unwrap().parse().unwrap();
    // SAFETY: the descriptor was inherited for this, and nobody else here owns it.
    let mapping = Mapping::new(unsafe { File::from_raw_fd(fd) });
    let (base, bytes) = (mapping.base, mapping.bytes);
    // SAFETY: the mapping is kept, and a ring and nothing else (I1 of `spsc::shared`).
    let ring: Shared<u64> = unsafe { shared::attach(base, bytes, mapping) }.unwrap();
    match child.as_str() {
        "consume" => {
            let mut consumer = ring.consumer().unwrap();
            for expected in 0..VALUES {
                assert_eq!(consumer.pop_wait(), Some(expected));
            }
            assert_eq!(consumer.pop_wait(), None);
        }
        "second" => {
            // SAFETY: the call takes nothing and only returns a number.
            let parent = unsafe { libc::getppid() } as u32;
            let held = Some(RoleError::Held { pid: parent });
            assert_eq!((ring.producer().err(), ring.take_over_producer().err()), (held, held));
        }
        "die producing" => {
            let mut producer = ring.producer().unwrap();
            assert_eq!(producer.push_slice(&[1, 2]), 2);
            let mut claim = producer.claim(1).unwrap();
            claim.push(99).unwrap();
            die();
        }
        "die consuming" => {
            let mut consumer = ring.consumer().unwrap();
            assert_eq!(consumer.pop_wait(), Some(1));
            let batch = consumer.read(1).unwrap();
            assert_eq!(batch.iter().next(), Some(&2));
            die();
        }
        _ => panic!("no such child"),
    }
}

fn die() -> ! {
    // SAFETY: the signal goes to this process alone.
    unsafe { libc::raise(libc::SIGKILL) };
    unreachable!("killed")
}

fn killed(status: ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(libc::SIGKILL)
}

#[test]
fn a_stream_goes_to_another_process_and_ends() {
    for capacity in [1, 64] {
        let (ring, fd) = ring(capacity);
        let mut producer = ring.producer().unwrap();
        let mut child = start("consume", fd);
        (0..VALUES).for_each(|value| producer.push_wait(value).unwrap());
        drop(producer);
        assert!(child.wait().unwrap().success());
        assert_eq!(ring.consumer().err(), Some(RoleError::GivenUp));
    }
}

#[test]
fn a_second_producer_in_another_process_is_refused() {
    let (ring, fd) = ring(2);
    let _producer = ring.producer().unwrap();
    assert!(start("second", fd).wait().unwrap().success());
}

#[test]
fn a_producer_that_was_killed_is_found_out_and_followed() {
    let (ring, fd) = ring(4);
    let mut consumer = ring.consumer().unwrap();
    let mut child = start("die producing", fd);
    assert_eq!((consumer.pop_wait(), consumer.pop_wait()), (Some(1), Some(2)));
    let pid = child.id();
    assert!(killed(child.wait().unwrap()));
    assert_eq!(consumer.pop(), Err(PopError::Empty), "nobody closed it");
    assert_eq!(ring.producer().err(), Some(RoleError::Died { pid }));
    let mut successor = ring.take_over_producer().unwrap();
    assert_eq!(ring.producer().err(), Some(RoleError::Held { pid: std::process::id() }));
    successor.push(3).unwrap();
    drop(successor);
    assert_eq!((consumer.pop(), consumer.pop()), (Ok(3), Err(PopError::Closed)));
}

#[test]
fn a_consumer_that_was_killed_is_followed_by_one_that_reads_again_what_was_not_given_back() {
    let (ring, fd) = ring(2);
    let mut producer = ring.producer().unwrap();
    let mut child = start("die consuming", fd);
    assert_eq!(producer.push_slice(&[1, 2]), 2);
    let pid = child.id();
    assert!(killed(child.wait().unwrap()));
    assert_eq!(ring.consumer().err(), Some(RoleError::Died { pid }));
    let mut successor = ring.take_over_consumer().unwrap();
    producer.push(3).unwrap();
    drop(producer);
    assert_eq!(std::iter::from_fn(|| successor.pop_wait()).collect::<Vec<_>>(), [2, 3]);
}
