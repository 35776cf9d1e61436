//! Languages of which a run shows less: interpreters whose scripts' functions are not shown, and runtimes whose locks
//! make no thread wait where this is seen.

use crate::run::{Coverage, Process};
use uncontended_trace::reader::Record;

const GO: &str = "Goroutines wait for locks and channels in Go's scheduler, which is not seen: only its threads' own waits are \
    above. Go's `block` and `mutex` profiles show those (runtime.SetBlockProfileRate, go tool pprof).";
const JAVA: &str = "Java's monitors and java.util.concurrent locks are the virtual machine's own: above, they are not told from its other \
    waits, and Java's functions are not shown. Flight Recorder shows them (jcmd PID JFR.start).";

const PYTHON: &str = "Functions of Python scripts are not shown, only those of the interpreter: `perf record -g` shows them of \
    `python3 -X perf` (Python 3.12 or newer).";
const NODE: &str = "Functions of JavaScript are not shown, only those of Node.js: `perf record -g` shows them of \
    `node --perf-basic-prof`.";

/// A sentence for each interpreter whose code is in the stacks of a run.
pub(super) fn scripts(record: &Record<'_>, processes: &[Process]) -> Vec<String> {
    let has = |is_its: fn(&str) -> bool| {
        let modules = record.processes.iter().flat_map(|image| &image.modules);
        let mut names = modules.filter_map(|module| module.path.rsplit('/').next());
        names.any(is_its)
    };
    let found = [
        (PYTHON, has(is_python)),
        (NODE, has(is_node)),
        (JAVA, has(|file| file == "libjvm.so")),
        (GO, processes.iter().any(is_go)),
    ]
    .into_iter();
    found.filter(|(_, is_there)| *is_there).map(|(line, _)| line.to_owned()).collect()
}

/// Whether a run is of a program with locks of its own, which it does not show.
pub(crate) fn has_own_locks(coverage: &Coverage) -> bool {
    coverage.unseen.iter().any(|line| line == GO || line == JAVA)
}

/// Whether threads of the process waited in Go's runtime.
fn is_go(process: &Process) -> bool {
    let stacks = process.locks.iter().flat_map(|lock| &lock.waited_in).map(|waits| &waits.stack);
    let mut functions = stacks.flatten().filter_map(|frame| frame.function.as_deref());
    functions.any(|function| function.starts_with("runtime.futex"))
}

/// `python3`, `python3.12`, `libpython3.12.so.1.0`.
fn is_python(file: &str) -> bool {
    let rest = file.strip_prefix("lib").unwrap_or(file).strip_prefix("python");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('3'))
}

/// `node`, `nodejs`, `libnode.so.108`.
fn is_node(file: &str) -> bool {
    file == "node" || file == "nodejs" || file.starts_with("libnode.so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_files() {
        for file in ["python3", "python3.12", "python", "libpython3.11.so.1.0"] {
            assert!(is_python(file) && !is_node(file), "{file}");
        }
        for file in ["node", "nodejs", "libnode.so.108"] {
            assert!(is_node(file) && !is_python(file), "{file}");
        }
        for file in ["nodetool", "pythonista", "libpythonic.so", "libc.so.6"] {
            assert!(!is_node(file) && !is_python(file), "{file}");
        }
    }
}
