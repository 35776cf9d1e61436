//! Locks of files between processes: flock(2).
//!
//! # Contract
//! A lock belongs to the open file, and ends when its last descriptor is closed, by an exit or a crash too. It binds
//! only processes that ask for it. A file system without such locks gives an error.
//! # Sources
//! flock(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait between two tries: the kernel has no lock with a time limit.
const APART: Duration = Duration::from_millis(5);

/// Locks the file for this descriptor alone; false if another had it all the time that this was to wait.
///
/// # Errors
/// Those of flock(2), except for interrupts.
pub fn exclusive(file: impl AsFd, wait: Duration) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        // SAFETY: L1.
        let done = unsafe { libc::flock(file.as_fd().as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        if done == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock if began.elapsed() >= wait => return Ok(false),
            io::ErrorKind::WouldBlock => sleep(APART),
            io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use uncontended_testkit::Folder;

    #[test]
    fn one_has_it_until_it_closes_the_file() {
        let folder = Folder::new();
        let path = folder.path().join("file");
        let (first, second) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        assert!(exclusive(&first, Duration::ZERO).unwrap());
        assert!(exclusive(&first, Duration::ZERO).unwrap(), "it has it already");
        let began = Instant::now();
        assert!(!exclusive(&second, Duration::from_millis(20)).unwrap());
        assert!(began.elapsed() >= Duration::from_millis(20));
        let closes = std::thread::spawn(move || {
            sleep(Duration::from_millis(20));
            drop(first);
        });
        assert!(exclusive(&second, Duration::from_secs(30)).unwrap());
        closes.join().unwrap();
    }
}
