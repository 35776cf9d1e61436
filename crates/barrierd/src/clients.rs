//! The socket and the clients that have connected.
//!
//! # Contract
//! A client gets one message and may then write [`WAITS`]. One that writes anything else is dropped; descriptors that
//! it sends are closed by the kernel, since they are not asked for. No client makes the daemon wait: the message fits
//! into an empty socket, and later the daemon writes nothing.

use crate::refusal::Refusal;
use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;
use uncontended_fence::stamps::layout::{MAGIC, VERSION};
use uncontended_fence::stamps::{HELLO_WORDS, WAITS};
use uncontended_sys::{filelock, passing};

/// The most clients at once.
pub(crate) const MOST: usize = 512;

#[derive(Debug)]
pub(crate) struct Clients {
    listener: UnixListener,
    all: Vec<UnixStream>,
    /// Locked as long as the daemon lives.
    _lock: File,
}

impl Clients {
    /// Listens at `path`, which any user may connect to.
    pub(crate) fn listen(path: &Path) -> Result<Clients, Refusal> {
        let failed = |error| Refusal::Socket(path.to_owned(), error);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut lock_path = path.as_os_str().to_owned();
        lock_path.push(".lock");
        let lock = File::options().write(true).create(true).truncate(false).open(lock_path);
        let lock = lock.map_err(failed)?;
        if !filelock::exclusive(&lock, Duration::ZERO).map_err(failed)? {
            return Err(Refusal::AnotherDaemon(path.to_owned()));
        }
        // What is there is of a daemon that has ended.
        let _ = fs::remove_file(path);
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o666)).map_err(failed)?;
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
        self.all.iter().map(|client| client.as_fd())
    }

    /// Takes new clients, and sends them what they need.
    pub(crate) fn accept(&mut self, cpus: usize, descriptors: [BorrowedFd<'_>; 2]) {
        let mut words = [0; HELLO_WORDS];
        words[..3].copy_from_slice(&[MAGIC, VERSION, cpus as u64]);
        let message: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
        // One that cannot be accepted, for want of descriptors, is tried again at the next turn.
        while let Ok((client, _)) = self.listener.accept() {
            let is_set = self.all.len() < MOST && client.set_nonblocking(true).is_ok();
            if is_set && passing::send(&client, &message, &descriptors).is_ok() {
                self.all.push(client);
            }
        }
    }

    /// Hears all clients; whether any waits. Those that have gone, or write something else, are dropped.
    pub(crate) fn hear(&mut self) -> bool {
        let mut is_wanted = false;
        self.all.retain_mut(|client| {
            let mut bytes = [0; 64];
            match client.read(&mut bytes) {
                Ok(length) => {
                    let waits = length > 0 && bytes[..length].iter().all(|&byte| byte == WAITS);
                    is_wanted |= waits;
                    waits
                }
                Err(error) => {
                    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
                }
            }
        });
        is_wanted
    }
}
