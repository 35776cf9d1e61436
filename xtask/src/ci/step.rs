//! A step: a name, a limit, a line of shell, and what has to be installed for it.

use std::fmt;

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: String,
    /// The step is killed, and fails, after this many minutes.
    pub(crate) limit_min: u32,
    /// What bash runs in the workspace's root.
    pub(crate) script: String,
    /// Without this it is skipped.
    pub(crate) need: Option<&'static Need>,
    /// It keeps one CPU busy and measures nothing, so it may run at the same time as others.
    pub(crate) is_aside: bool,
    /// Folders of built files that no later step uses: a whole run removes them, since all of them would fill a disk.
    pub(crate) leaves: &'static [&'static str],
}

/// Something that a machine may lack.
#[derive(Debug)]
pub(crate) struct Need {
    /// Succeeds where it is there.
    pub(crate) have: &'static str,
    /// Tries to install it.
    pub(crate) get: &'static str,
    /// Why steps are skipped without it.
    pub(crate) otherwise: &'static str,
}

/// A step that needs nothing but the toolchain.
pub(crate) fn step(name: impl Into<String>, limit_min: u32, script: impl Into<String>) -> Step {
    let (name, script) = (name.into(), script.into());
    Step { name, limit_min, script, need: None, is_aside: false, leaves: &[] }
}

impl Step {
    pub(crate) fn needs(self, need: &'static Need) -> Self {
        Step { need: Some(need), ..self }
    }

    pub(crate) fn leaves(self, leaves: &'static [&'static str]) -> Self {
        Step { leaves, ..self }
    }

    pub(crate) fn aside(self) -> Self {
        Step { is_aside: true, ..self }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at most {} min)", self.name, self.limit_min)
    }
}
