//! Why there are no stamps.

use std::fmt;

/// Why [`Stamps::connect`](super::Stamps::connect) fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoStamps {
    /// No daemon listens at the socket.
    NotRunning,
    /// The socket may not be used, or its folder not be entered.
    Forbidden,
    /// The daemon closed the connection without a word: it has as many clients as it takes, or has just ended.
    Full,
    /// What listens at the socket did not take the connection, or sent no message, within two seconds.
    Silent,
    /// The daemon is that user's, neither root's nor this process's.
    Untrusted(u32),
    /// The daemon speaks another version.
    Version(u64),
    /// The daemon's message or page is not what a daemon writes.
    Malformed(&'static str),
    /// The daemon does not follow this CPU, and threads may run there.
    Unfollowed(usize),
    /// The stamps' argument holds on Linux on x86-64, and this program is built for something else.
    Elsewhere,
    /// Membarrier, which takes over when the daemon dies, is refused with this error number.
    NoBarrier(i32),
    /// A system call failed with this error number.
    Failed(i32),
}

impl fmt::Display for NoStamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoStamps::NotRunning => f.write_str("no barrierd listens there"),
            NoStamps::Forbidden => f.write_str("barrierd's socket may not be used by this user"),
            NoStamps::Full => f.write_str("barrierd takes no more clients, or has just ended"),
            NoStamps::Silent => f.write_str("what listens at barrierd's socket does not answer"),
            NoStamps::Untrusted(user) => {
                write!(
                    f,
                    "the daemon at barrierd's socket is user {user}'s, neither root's nor ours"
                )
            }
            NoStamps::Version(version) => {
                write!(
                    f,
                    "barrierd speaks version {version}; this program, {}",
                    super::layout::VERSION
                )
            }
            NoStamps::Malformed(what) => write!(f, "what the daemon sent is refused: {what}"),
            NoStamps::Unfollowed(cpu) => write!(f, "barrierd does not follow CPU {cpu}"),
            NoStamps::Elsewhere => f.write_str("stamps are for programs on Linux on x86-64"),
            NoStamps::NoBarrier(errno) => {
                write!(
                    f,
                    "membarrier, which takes over when barrierd dies, is refused with error {errno}"
                )
            }
            NoStamps::Failed(errno) => write!(f, "a system call failed with error {errno}"),
        }
    }
}

impl std::error::Error for NoStamps {}
