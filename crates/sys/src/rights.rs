//! Giving up rights for good.
//!
//! # Contract
//! After [`give_up`] this thread, and what it starts, can never again do what only root may, whatever it executes. Call
//! it while the process has one thread: the kernel keeps capabilities for each.
//! # Sources
//! credentials(7), capabilities(7), prctl(2) for PR_SET_NO_NEW_PRIVS.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;

/// A user and its group, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs)]
pub struct User {
    pub user: u32,
    pub group: u32,
}

impl User {
    /// The one that this process acts as.
    pub fn current() -> User {
        // SAFETY: no arguments (L1).
        let user = unsafe { libc::geteuid() };
        // SAFETY: no arguments (L1).
        let group = unsafe { libc::getegid() };
        User { user, group }
    }

    /// The user with this name, as the system's files have it.
    ///
    /// # Errors
    /// `NotFound` if there is none; those of `getpwnam_r`.
    pub fn named(name: &str) -> io::Result<User> {
        let name = CString::new(name)?;
        let mut text = vec![0; 1 << 14];
        let mut entry = MaybeUninit::<libc::passwd>::uninit();
        let mut found = std::ptr::null_mut();
        // SAFETY: a name (L7), and room for the entry and its text, with its length (L2).
        let errno = unsafe {
            libc::getpwnam_r(
                name.as_ptr(),
                entry.as_mut_ptr(),
                text.as_mut_ptr(),
                text.len(),
                &raw mut found,
            )
        };
        match errno {
            0 if found.is_null() => Err(io::ErrorKind::NotFound.into()),
            0 => {
                // SAFETY: the call has succeeded and found one (L6).
                let entry = unsafe { entry.assume_init() };
                Ok(User { user: entry.pw_uid, group: entry.pw_gid })
            }
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

/// Becomes `user`, without other groups, capabilities, or a way to more rights by executing a file.
///
/// # Errors
/// Those of the calls: without root, only the current user is possible. Rights may be given up in part.
pub fn give_up(to: User) -> io::Result<()> {
    if User::current().user == 0 {
        // SAFETY: no groups: a null pointer (L2).
        done(unsafe { libc::setgroups(0, std::ptr::null()) })?;
        empty_bounds();
    }
    // SAFETY: numbers only (L1).
    done(unsafe { libc::setresgid(to.group, to.group, to.group) })?;
    // SAFETY: numbers only (L1).
    done(unsafe { libc::setresuid(to.user, to.user, to.user) })?;
    // SAFETY: numbers only (L1).
    done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    without_capabilities()
}

/// Runs `make`, whose files have the rights that it names: without the mask that this process has. Call it while the
/// process has one thread: the mask is the process's.
pub fn unmasked<T>(make: impl FnOnce() -> T) -> T {
    // SAFETY: a number (L1).
    let mask = unsafe { libc::umask(0) };
    let made = make();
    // SAFETY: a number (L1).
    unsafe { libc::umask(mask) };
    made
}

/// Empties the set of capabilities that a file which is executed can give. Root without the right to do so (in some
/// containers) keeps them; after PR_SET_NO_NEW_PRIVS no file gives any, so this is a second wall.
fn empty_bounds() {
    // SAFETY: numbers only (L1).
    let drop =
        |capability: &i32| unsafe { libc::prctl(libc::PR_CAPBSET_DROP, *capability, 0, 0, 0) == 0 };
    // Up to the last one that this kernel knows.
    let _ = (0..).take_while(drop).count();
}

fn without_capabilities() -> io::Result<()> {
    // `_LINUX_CAPABILITY_VERSION_3`, this thread; then three sets of 64 bits.
    let header = [0x2008_0522_u32, 0];
    let none = [0u32; 6];
    // SAFETY: a header, and the sets of the size that its version has (L2).
    let rc = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    done(if rc == 0 { 0 } else { -1 })
}

fn done(rc: i32) -> io::Result<()> {
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        assert_eq!(User::named("root").unwrap(), User { user: 0, group: 0 });
        let absent = User::named("no-such-user-here").unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
    }

    /// In a child, since it is for good.
    #[test]
    fn rights_are_gone_after_giving_them_up() {
        // SAFETY: the child makes system calls only, and ends by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let was_root = User::current().user == 0;
            let to = if was_root { User { user: 65534, group: 65534 } } else { User::current() };
            let mut code = i32::from(give_up(to).is_err());
            // SAFETY: numbers only (L1).
            if unsafe { libc::setresuid(0, 0, 0) } == 0 {
                code |= 2;
            }
            // SAFETY: numbers only (L1).
            if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, 0, 0, 0, 0) } == 0 {
                code |= 4;
            }
            // SAFETY: ends the child (L1).
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: a pointer to `status` (L2), and our own child.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 0));
    }
}
