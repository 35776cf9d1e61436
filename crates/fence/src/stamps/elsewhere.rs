//! What stands for a connection where there is none: other systems and processors, the interpreter, the checker.

use super::{Asked, NoStamps};
use crate::reason::Refused;
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

/// The stamps of a running daemon; here there are none.
#[derive(Debug)]
pub struct Stamps {
    none: Infallible,
}

impl Stamps {
    /// Refuses.
    ///
    /// # Errors
    /// [`NoStamps::Elsewhere`].
    pub fn connect() -> Result<Stamps, NoStamps> {
        Err(NoStamps::Elsewhere)
    }

    /// Refuses.
    ///
    /// # Errors
    /// [`NoStamps::Elsewhere`].
    pub fn connect_to(_: &Path) -> Result<Stamps, NoStamps> {
        Err(NoStamps::Elsewhere)
    }

    pub(crate) fn ask(&self) -> Asked {
        match self.none {}
    }

    pub(crate) fn is_past(&self, _: Asked) -> bool {
        match self.none {}
    }

    pub(crate) fn poll(&self, _: Asked) -> Result<bool, Refused> {
        match self.none {}
    }

    pub(crate) fn wait(&self, _: Asked, _: Option<Duration>) -> Result<bool, Refused> {
        match self.none {}
    }

    /// Nothing, since there are no stamps.
    pub fn ask_turns(&self) -> u64 {
        match self.none {}
    }

    /// Nothing, since there are no stamps.
    pub fn wait_turns(&self, _: u64, _: Duration) -> bool {
        match self.none {}
    }
}
