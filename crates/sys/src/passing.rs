//! Passing descriptors to another process through a socket, and waiting for several.
//!
//! # Contract
//! [`connect`] waits for a limited time for a listener that does not accept. [`send`] passes bytes and descriptors as
//! one message; [`receive`] takes one. Neither waits longer than the socket's own limits, and neither raises SIGPIPE.
//! # Invariants
//! I1: room for control data begins at a multiple of eight bytes, and its length is that of the buffer.
//! # Sources
//! unix(7), SCM_RIGHTS and SO_PEERCRED; socket(7), SO_SNDTIMEO, which holds for `connect`, too; cmsg(3); recvmsg(2),
//! MSG_CTRUNC.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The most descriptors of one message.
pub const MOST: usize = 8;

/// Room for the header of control data and [`MOST`] descriptors.
type Control = [u64; WORDS];
const WORDS: usize = 2 + MOST / 2 + 1;

/// Connects to a stream socket; waits for at most `limit` for room in the queue of those that its listener has not
/// accepted yet. The limit stays that of later writes.
///
/// # Errors
/// Those of `socket` and `connect`: `WouldBlock` after `limit`, `Interrupted` by a signal.
pub fn connect(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    let path = path.as_os_str().as_bytes();
    // SAFETY: zeroed (L5).
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    if path.len() >= address.sun_path.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, &byte) in address.sun_path.iter_mut().zip(path) {
        *to = byte.cast_signed() as libc::c_char;
    }
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: numbers only (L1).
    let fd = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor (L4).
    let socket = UnixStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
    socket.set_write_timeout(Some(limit))?;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: an address, and its length (L2).
    match unsafe { libc::connect(fd, (&raw const address).cast(), length) } {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sends `bytes` and `descriptors` as one message.
///
/// # Errors
/// Those of `sendmsg`; `InvalidInput` for more than [`MOST`] descriptors or without bytes; `WriteZero` if only a part
/// of the bytes fitted.
pub fn send(socket: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    if descriptors.len() > MOST || bytes.is_empty() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let numbers: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let data = size_of_val(&numbers[..]) as u32;
    let mut control: Control = [0; WORDS];
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut message = message(&mut part, &mut control);
    // SAFETY: arithmetic on numbers (L1).
    message.msg_controllen = unsafe { libc::CMSG_SPACE(data) } as _;
    if numbers.is_empty() {
        message.msg_controllen = 0;
    } else {
        // SAFETY: the control data has room for a header (I1).
        let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
        // SAFETY: arithmetic on numbers (L1).
        let length = unsafe { libc::CMSG_LEN(data) } as _;
        // SAFETY: zeroed (L5). Some C libraries have a field of their own.
        let mut head: libc::cmsghdr = unsafe { std::mem::zeroed() };
        (head.cmsg_level, head.cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
        head.cmsg_len = length;
        // SAFETY: it lies in `control`, aligned and long enough (I1).
        unsafe { header.write(head) };
        // SAFETY: behind the header just written, in `control` (I1).
        let place = unsafe { libc::CMSG_DATA(header) };
        // SAFETY: room for `MOST` descriptors (I1), of which there are no more.
        unsafe { place.cast::<RawFd>().copy_from_nonoverlapping(numbers.as_ptr(), numbers.len()) };
    }
    // SAFETY: a message whose parts live until the call returns (L2).
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    match usize::try_from(sent) {
        Err(_) => Err(io::Error::last_os_error()),
        Ok(sent) if sent < bytes.len() => Err(io::ErrorKind::WriteZero.into()),
        Ok(_) => Ok(()),
    }
}

/// Takes one message: how many bytes were written to `bytes` (0 if the other side has closed), and its descriptors,
/// closed on exec.
///
/// # Errors
/// Those of `recvmsg`; `InvalidData` for more than [`MOST`] descriptors, which are closed.
pub fn receive(socket: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut control: Control = [0; WORDS];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut message = message(&mut part, &mut control);
    // SAFETY: a message whose parts live until the call returns (L2).
    let got =
        unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    let descriptors = descriptors(&message);
    if message.msg_flags & libc::MSG_CTRUNC != 0 || descriptors.len() > MOST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((got, descriptors))
}

/// The user who made the connection, as the kernel knows it.
///
/// # Errors
/// Those of `getsockopt`.
pub fn user(socket: &UnixStream) -> io::Result<u32> {
    let mut who = MaybeUninit::<libc::ucred>::uninit();
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: room for the answer, with its length (L2).
    let rc = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            who.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if rc != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has succeeded (L6).
    Ok(unsafe { who.assume_init() }.uid)
}

/// Waits until there is something to read from one of these, or one has ended, for at most `limit`; which. A signal
/// ends the wait, too.
///
/// # Errors
/// Those of `poll`, except for signals.
pub fn readable(of: &[BorrowedFd<'_>], limit: Option<Duration>) -> io::Result<Vec<bool>> {
    let entry =
        |fd: &BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut entries: Vec<libc::pollfd> = of.iter().map(entry).collect();
    let ms = limit
        .map_or(-1, |limit| i32::try_from(limit.as_micros().div_ceil(1000)).unwrap_or(i32::MAX));
    // SAFETY: entries and their number (L2).
    let ready = unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, ms) };
    let error = io::Error::last_os_error();
    if ready < 0 && error.kind() != io::ErrorKind::Interrupted {
        return Err(error);
    }
    Ok(entries.iter().map(|entry| ready > 0 && entry.revents != 0).collect())
}

fn message(part: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: zeroed (L5).
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(control) as _;
    message
}

/// The descriptors that a message has brought, each with one owner.
fn descriptors(message: &libc::msghdr) -> Vec<OwnedFd> {
    let mut all = Vec::new();
    // SAFETY: the kernel has set the control data's length to what it wrote, within the buffer (I1, L6).
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: a header within the control data, as the kernel wrote it (I1, L6).
        let head = unsafe { header.read() };
        if (head.cmsg_level, head.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            // SAFETY: arithmetic on numbers (L1).
            let empty = unsafe { libc::CMSG_LEN(0) } as usize;
            let count = (head.cmsg_len as usize).saturating_sub(empty) / size_of::<RawFd>();
            // SAFETY: behind a header within the control data (I1).
            let place = unsafe { libc::CMSG_DATA(header) }.cast::<RawFd>();
            for nth in 0..count {
                // SAFETY: the header's length covers this one (L6).
                let number = unsafe { place.add(nth) };
                // SAFETY: which the kernel has written (L6).
                let number = unsafe { number.read_unaligned() };
                // SAFETY: a new descriptor (L4).
                all.push(unsafe { OwnedFd::from_raw_fd(number) });
            }
        }
        // SAFETY: the same message, and a header within it (I1).
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsFd;

    #[test]
    fn what_is_sent_arrives_with_its_descriptors() {
        let (here, there) = UnixStream::pair().unwrap();
        let folder = uncontended_testkit::Folder::new();
        let mut file =
            File::options().read(true).write(true).create_new(true).open(folder.path().join("f"));
        let file = file.as_mut().unwrap();
        file.write_all(b"hidden").unwrap();
        file.rewind().unwrap();
        send(&here, b"hello", &[file.as_fd(), here.as_fd()]).unwrap();
        let mut bytes = [0; 16];
        let (got, mut descriptors) = receive(&there, &mut bytes).unwrap();
        assert_eq!((&bytes[..got], descriptors.len()), (&b"hello"[..], 2));
        let mut text = String::new();
        File::from(descriptors.remove(0)).read_to_string(&mut text).unwrap();
        assert_eq!(text, "hidden");
    }

    #[test]
    fn a_closed_side_is_an_end_or_an_error_and_no_signal() {
        let (here, there) = UnixStream::pair().unwrap();
        drop(there);
        assert_eq!(receive(&here, &mut [0; 4]).unwrap().0, 0);
        assert_eq!(send(&here, b"x", &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_listener_that_does_not_accept_is_not_waited_for() {
        let folder = uncontended_testkit::Folder::new();
        let path = folder.path().join("s");
        let connect = |path: &Path| super::connect(path, Duration::from_millis(20));
        assert_eq!(connect(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut waiting = Vec::new();
        let error = loop {
            match connect(&path) {
                Ok(socket) => waiting.push(socket),
                Err(error) => break error,
            }
            assert!(waiting.len() < 100_000);
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let long = folder.path().join("x".repeat(108));
        assert_eq!(connect(&long).unwrap_err().raw_os_error(), Some(libc::ENAMETOOLONG));
    }

    #[test]
    fn too_many_descriptors_are_refused_by_the_sender() {
        let (here, _there) = UnixStream::pair().unwrap();
        let many = vec![here.as_fd(); MOST + 1];
        assert_eq!(send(&here, b"x", &many).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(send(&here, b"", &[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn the_other_user_is_this_one() {
        let (here, _there) = UnixStream::pair().unwrap();
        // SAFETY: no arguments (L1).
        assert_eq!(user(&here).unwrap(), unsafe { libc::getuid() });
    }

    #[test]
    fn those_with_something_to_read_are_told() {
        let ((here, there), (quiet, other)) =
            (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        let both = [there.as_fd(), quiet.as_fd()];
        assert_eq!(readable(&both, Some(Duration::from_millis(1))).unwrap(), [false, false]);
        (&here).write_all(b"x").unwrap();
        assert_eq!(readable(&both, None).unwrap(), [true, false]);
        drop(other);
        assert_eq!(readable(&both, None).unwrap(), [true, true], "an end counts");
    }
}
