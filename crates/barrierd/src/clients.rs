//! The socket and the clients that have connected.
//!
//! # Contract
//! A client gets one message and may then write [`WAITS`]. One that writes anything else is dropped; descriptors that
//! it sends are closed by the kernel, since they are not asked for. No client makes the daemon wait: the message fits
//! into an empty socket, and later the daemon writes nothing. There are [`MOST`] places, of which one user has
//! [`OF_A_USER`] at most.

use crate::refusal::Refusal;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, OpenOptionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;
use uncontended_fence::stamps::layout::{MAGIC, VERSION};
use uncontended_fence::stamps::{HELLO_WORDS, WAITS};
use uncontended_sys::{filelock, passing, rights};

/// The most clients.
pub(crate) const MOST: usize = 512;
/// The most of one user, so that none takes all places.
const OF_A_USER: usize = MOST / 4;
/// The most that are accepted before the daemon does its other work.
const AT_ONCE: usize = 16;

#[derive(Debug)]
pub(crate) struct Clients {
    listener: UnixListener,
    all: Vec<Client>,
    /// Locked as long as the daemon lives.
    _lock: File,
}

#[derive(Debug)]
struct Client {
    socket: UnixStream,
    user: u32,
}

impl Clients {
    /// Listens at `path`, which any user may connect to.
    pub(crate) fn listen(path: &Path) -> Result<Clients, Refusal> {
        let failed = |error| Refusal::Socket(path.to_owned(), error);
        SocketAddr::from_pathname(path).map_err(failed)?; // Too long a path leaves nothing behind.
        // No lock next to a file that is not ours: others may take it for theirs.
        if fs::symlink_metadata(path).is_ok_and(|there| !there.file_type().is_socket()) {
            return Err(Refusal::NotASocket(path.to_owned()));
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let make = || DirBuilder::new().mode(0o755).create(folder);
            match rights::unmasked(make) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(failed(error));
                }
                _ => {}
            }
        }
        let mut lock_path = path.as_os_str().to_owned();
        lock_path.push(".lock");
        // No other user may lock it, or have this follow a link of theirs.
        let mut options = File::options();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.custom_flags(libc::O_NOFOLLOW).open(lock_path).map_err(failed)?;
        if !filelock::exclusive(&lock, Duration::ZERO).map_err(failed)? {
            return Err(Refusal::AnotherDaemon(path.to_owned()));
        }
        remove_stale(path).map_err(failed)?;
        let listener = rights::unmasked(|| UnixListener::bind(path)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Clients { listener, all: Vec::new(), _lock: lock })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.all.iter().map(|client| client.socket.as_fd())
    }

    /// Takes new clients, and sends them what they need.
    ///
    /// # Errors
    /// No client can be taken, for want of descriptors or memory. Those that ask remain in the queue.
    pub(crate) fn accept(
        &mut self,
        cpus: usize,
        descriptors: [BorrowedFd<'_>; 2],
    ) -> io::Result<()> {
        let mut words = [0; HELLO_WORDS];
        words[..3].copy_from_slice(&[MAGIC, VERSION, cpus as u64]);
        let message: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
        for _ in 0..AT_ONCE {
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) => return if is_passing(&error) { Ok(()) } else { Err(error) },
            };
            let Ok(user) = passing::user(&socket) else { continue };
            let is_set = self.has_room(user) && socket.set_nonblocking(true).is_ok();
            if is_set && passing::send(&socket, &message, &descriptors).is_ok() {
                self.all.push(Client { socket, user });
            }
        }
        Ok(())
    }

    fn has_room(&self, user: u32) -> bool {
        let theirs = self.all.iter().filter(|client| client.user == user).count();
        self.all.len() < MOST && theirs < OF_A_USER
    }

    /// Hears all clients; whether any waits. Those that have gone, or write something else, are dropped.
    pub(crate) fn hear(&mut self) -> bool {
        let mut is_wanted = false;
        self.all.retain_mut(|client| {
            let mut bytes = [0; 64];
            match client.socket.read(&mut bytes) {
                Ok(length) => {
                    let waits = length > 0 && bytes[..length].iter().all(|&byte| byte == WAITS);
                    is_wanted |= waits;
                    waits
                }
                Err(error) => is_passing(&error),
            }
        });
        is_wanted
    }
}

/// Whether to try again when the socket is ready.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted
    )
}

/// Removes the socket of a daemon that has ended.
fn remove_stale(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        there => there?,
    };
    let is_dead = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
    if there.file_type().is_socket() && UnixStream::connect(path).is_err_and(is_dead) {
        fs::remove_file(path)
    } else {
        Err(ErrorKind::AlreadyExists.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use uncontended_testkit::Folder;

    #[test]
    fn what_is_no_dead_socket_is_left_alone() {
        let folder = Folder::new();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "precious").unwrap();
        assert!(matches!(Clients::listen(&at("file")), Err(Refusal::NotASocket(_))));
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "precious");
        assert!(!at("file.lock").exists());

        let theirs = UnixListener::bind(at("theirs")).unwrap();
        assert!(matches!(Clients::listen(&at("theirs")), Err(Refusal::Socket(..))));
        drop(theirs);
        let ours = Clients::listen(&at("theirs")).unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(at("theirs")), mode(at("theirs.lock"))), (0o777, 0o600));
        assert!(matches!(Clients::listen(&at("theirs")), Err(Refusal::AnotherDaemon(_))));
        drop(ours);
    }

    #[test]
    fn a_lock_is_not_made_through_a_link() {
        let folder = Folder::new();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(at("target"), at("s.lock")).unwrap();
        assert!(matches!(Clients::listen(&at("s")), Err(Refusal::Socket(..))));
        assert!(!at("target").exists());
    }
}
