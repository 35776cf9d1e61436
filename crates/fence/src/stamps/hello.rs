//! How a client comes by the daemon's memory: the socket's first and only message.

use super::layout::{MAGIC, MOST_CPUS, VERSION};
use super::{HELLO_WORDS, NoStamps};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use uncontended_sys::{passing, rights};

/// How long to wait for the daemon to take the connection, and again for its message.
const LIMIT: Duration = Duration::from_secs(2);
/// The number of every user that this user namespace does not know.
const UNMAPPED: u32 = 65534;

/// A connection, the number of CPUs, and the descriptors of the stamps and of the page.
pub(super) fn hello(path: &Path) -> Result<(UnixStream, usize, [OwnedFd; 2]), NoStamps> {
    let socket = unless_interrupted(|| passing::connect(path, LIMIT)).map_err(refused)?;
    let user = passing::user(&socket).map_err(failed)?;
    let is_ours = user == rights::User::current().user && user != UNMAPPED;
    if user != 0 && !is_ours {
        return Err(NoStamps::Untrusted(user));
    }
    socket.set_read_timeout(Some(LIMIT)).map_err(failed)?;
    let (cpus, descriptors) = message(&socket)?;
    socket.set_nonblocking(true).map_err(failed)?;
    Ok((socket, cpus, descriptors))
}

fn message(socket: &UnixStream) -> Result<(usize, [OwnedFd; 2]), NoStamps> {
    let mut bytes = [0; HELLO_WORDS * 8];
    let received = unless_interrupted(|| passing::receive(socket, &mut bytes));
    let (length, descriptors) = received.map_err(refused)?;
    if length == 0 {
        return Err(NoStamps::Full);
    }
    let word = |nth: usize| {
        let bytes = bytes[8 * nth..8 * nth + 8].try_into().expect("eight bytes");
        u64::from_ne_bytes(bytes)
    };
    if length != bytes.len() || word(0) != MAGIC {
        return Err(NoStamps::Malformed("the message is not barrierd's"));
    }
    if word(1) != VERSION {
        return Err(NoStamps::Version(word(1)));
    }
    let cpus = usize::try_from(word(2)).unwrap_or(usize::MAX);
    if !(1..=MOST_CPUS).contains(&cpus) {
        return Err(NoStamps::Malformed("the message's number of CPUs is impossible"));
    }
    let descriptors = <[OwnedFd; 2]>::try_from(descriptors);
    let both =
        descriptors.map_err(|_| NoStamps::Malformed("the message has not two descriptors"))?;
    Ok((cpus, both))
}

/// Calls again after a signal.
fn unless_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Why there is no connection.
fn refused(error: io::Error) -> NoStamps {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => NoStamps::NotRunning,
        ErrorKind::PermissionDenied => NoStamps::Forbidden,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => {
            NoStamps::Full
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => NoStamps::Silent,
        ErrorKind::InvalidData => NoStamps::Malformed("the message has too many descriptors"),
        _ => failed(error),
    }
}

pub(super) fn failed(error: io::Error) -> NoStamps {
    NoStamps::Failed(error.raw_os_error().unwrap_or(0))
}
