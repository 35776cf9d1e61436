//! Copies standard input to standard output through a ring, so that a slow reader and a slow writer overlap:
//!
//!     tar c folder | cargo run --release -p uncontended --example buffered_copy | gzip > folder.tar.gz
//!
//! The bytes are not copied within the process: `read` fills the ring, and `writev` empties it. At the end it prints on
//! standard error how many bytes passed, and in how many calls.

use std::error::Error;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::thread;
use uncontended::ring::ClaimError;
use uncontended::ring::spsc::{Consumer, Producer, blocking};
use uncontended::wait::Sleepers;

const RING_BYTES: usize = 1 << 20;
/// Room for a read.
const READ_BYTES: usize = RING_BYTES / 16;

unsafe extern "C" {
    fn read(descriptor: i32, buffer: *mut MaybeUninit<u8>, len: usize) -> isize;
}

fn main() -> Result<(), Box<dyn Error>> {
    let (producer, consumer) = blocking(RING_BYTES)?;
    let reader = thread::spawn(move || fill(producer));
    let (bytes, writes) = empty(consumer)?;
    let (bytes_read, reads) = reader.join().expect("the reader does not panic")?;
    // The writer stopped at the end of the ring, which comes when the reader has ended.
    assert_eq!(bytes, bytes_read);
    eprintln!("{bytes} bytes in {reads} reads and {writes} writes");
    Ok(())
}

/// Reads standard input into the ring until its end; returns the numbers of bytes and of reads.
fn fill(mut ring: Producer<u8, Sleepers>) -> io::Result<(u64, u64)> {
    let mut done = (0, 0);
    loop {
        let mut claim = match ring.claim_wait(READ_BYTES) {
            Ok(claim) => claim,
            Err(ClaimError::Closed) => return Ok(done), // The writer failed, and says why.
            Err(error) => unreachable!("{error}"),
        };
        let (room, _) = claim.as_uninit();
        // SAFETY: the memory is the claim's, and `room.len()` bytes long.
        let count = unsafe { read(0, room.as_mut_ptr(), room.len()) };
        let count = match usize::try_from(count) {
            Ok(0) => return Ok(done),
            Ok(count) => count,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => 0,
                error => return Err(error),
            },
        };
        // SAFETY: `read` wrote that many bytes at the start of the room.
        unsafe { claim.assume_written(count) };
        claim.publish();
        done = (done.0 + count as u64, done.1 + 1);
    }
}

/// Writes the ring to standard output until its end; returns the numbers of bytes and of writes.
fn empty(mut ring: Consumer<u8, Sleepers>) -> io::Result<(u64, u64)> {
    // Without the buffer of `Stdout`.
    let mut out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut done = (0, 0);
    while let Some(batch) = ring.read_wait(RING_BYTES) {
        let (one, two) = batch.as_slices();
        let count = match out.write_vectored(&[IoSlice::new(one), IoSlice::new(two)]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            written => written?,
        };
        batch.release_first(count);
        done = (done.0 + count as u64, done.1 + 1);
    }
    Ok(done)
}
