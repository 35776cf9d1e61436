//! What processes are called where their whole command would be too long.

use crate::run::RunReport;
use crate::terminal::command_line;
use std::collections::BTreeMap;
use uncontended_figures::text::{clean, some_of};

/// The name of the program of a command: without its folder, and without the arguments of one that writes them all into
/// its first word; `?` if there is none.
pub(crate) fn program(command: &[String]) -> String {
    let first = command.first().map_or("", String::as_str);
    let path = first.split(" -").next().unwrap_or(first);
    // A title such as `sshd: root@pts/0` is not a path.
    let name = if path.contains(": ") { path } else { path.rsplit('/').next().unwrap_or(path) };
    let name = clean(name.trim());
    if name.is_empty() { "?".to_owned() } else { name }
}

/// The processes of these commands, by name and number: `server (12)`.
pub(crate) fn numbered<'c>(of: impl Iterator<Item = (&'c [String], u32)>) -> Vec<String> {
    of.map(|(command, pid)| format!("{} ({pid})", program(command))).collect()
}

/// How many programs a title names.
const NAMED: usize = 4;

/// What a report is on: the command, or the programs of the processes that were attached to, if there are several.
pub(crate) fn title(report: &RunReport) -> String {
    let pids = report.attached.as_ref().map_or(&[][..], |attached| &attached.pids);
    if pids.len() < 2 {
        return command_line(&report.command);
    }
    let mut by_name: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for &pid in pids {
        let process = report.processes.iter().find(|process| process.pid == pid);
        let name = process.map_or_else(|| "?".to_owned(), |process| program(&process.command));
        by_name.entry(name).or_default().push(pid);
    }
    let named = by_name.into_iter().map(|(name, pids)| {
        let all: Vec<String> = pids.iter().map(u32::to_string).collect();
        format!("{name} ({})", some_of(&all, all.len(), NAMED))
    });
    let named: Vec<String> = named.collect();
    some_of(&named, named.len(), NAMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_by_its_name() {
        let named = |words: &[&str]| {
            program(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(named(&["/usr/lib/chromium/chromium", "--headless"]), "chromium");
        let title = "/usr/lib/chromium/chromium --type=zygote --user-data-dir=/root/x";
        assert_eq!(named(&[title]), "chromium");
        assert_eq!(named(&["sshd: root@pts/0"]), "sshd: root@pts/0");
        assert_eq!(named(&["nginx: worker process"]), "nginx: worker process");
        assert_eq!([named(&[]), named(&[""])], ["?", "?"]);
    }
}
