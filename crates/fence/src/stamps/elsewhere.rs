//! What stands for a connection where there is none: other systems and processors, the interpreter, the checker.

use super::NoStamps;
use crate::reason::Refused;
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

/// The stamps of a running daemon; here there are none.
#[derive(Debug)]
pub struct Stamps {
    none: Infallible,
}

/// A heavy fence that was asked for; here there are none.
#[derive(Clone, Debug)]
pub struct Asked {
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

    /// Nothing, since there are no stamps.
    pub fn ask_turns(&self) -> Asked {
        match self.none {}
    }
}

impl Asked {
    pub(crate) fn is_past(&self) -> bool {
        match self.none {}
    }

    pub(crate) fn poll(&self) -> Result<bool, Refused> {
        match self.none {}
    }

    /// Nothing, since there are no stamps.
    ///
    /// # Errors
    /// None.
    pub fn wait(&self, _: Option<Duration>) -> Result<bool, Refused> {
        match self.none {}
    }
}
