//! The verbs that watch programs, where `unc` is built without them: each says what it needs.
//!
//! # Evidence
//! `crates/cli/tests/elsewhere.rs`.

use crate::console::complain;
use std::process::ExitCode;
use uncontended_decide::Failure;

const NEEDS: &str = "This unc cannot watch programs: that needs Linux, on x86-64 or AArch64. A trace that `unc run --trace FILE` or \
`unc attach --trace FILE` kept there is read here by `unc report FILE`.

Exit status: 125.";

/// Says what `verb` needs; its exit status is that of `unc` where it fails.
fn refuse(verb: &str) -> ExitCode {
    let remedy = "keep a trace there with --trace FILE, and read it here: `unc report FILE`";
    let cause = format!("`unc {verb}` needs Linux, on x86-64 or AArch64");
    complain(&Failure::new(cause, remedy));
    ExitCode::from(125)
}

pub(super) mod run {
    use clap::Args;
    use std::ffi::OsString;
    use std::process::ExitCode;

    /// Run a program and report how long its threads waited for each lock, and why (needs Linux)
    #[derive(Debug, Args)]
    #[command(after_help = super::NEEDS)]
    pub(crate) struct Arguments {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        words: Vec<OsString>,
    }

    impl Arguments {
        pub(crate) fn execute(self) -> ExitCode {
            super::refuse("run")
        }
    }
}

pub(super) mod attach {
    use clap::Args;
    use std::ffi::OsString;
    use std::process::ExitCode;

    /// Report where the threads of running processes wait, seen from the kernel (needs Linux)
    #[derive(Debug, Args)]
    #[command(after_help = super::NEEDS)]
    pub(crate) struct Arguments {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        words: Vec<OsString>,
    }

    impl Arguments {
        pub(crate) fn execute(self) -> ExitCode {
            super::refuse("attach")
        }
    }
}
