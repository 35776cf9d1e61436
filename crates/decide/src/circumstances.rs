//! The settings under which commands were run, so that a later session can be told from an earlier one.
//!
//! # Contract
//! Only what was set is kept, as it was given: no other variable of the environment, and no path made absolute. Older
//! logs know none of it, which is then no difference to anything.

use crate::plan::Runs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The settings of a session that ran commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Circumstances {
    /// Environment variables that were set for the commands.
    #[serde(rename = "env", skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Their working directory.
    #[serde(rename = "dir", skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Their standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// What interprets command lines, unless that is `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Run once before all runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Run before every run: one for all commands, or one per command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<String>,
    /// Run after every run, likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conclude: Vec<String>,
    /// Warm-up runs of each command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<u64>,
}

impl Circumstances {
    /// Those of these runs.
    #[must_use]
    pub fn of(runs: &Runs) -> Circumstances {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Circumstances {
            environment: runs.environment.iter().cloned().collect(),
            directory: runs.directory.as_deref().map(text),
            input: runs.input.as_deref().map(text),
            shell: Some(runs.shell.clone()).filter(|shell| shell != "auto"),
            setup: runs.setup.clone(),
            prepare: runs.prepare.clone(),
            conclude: runs.conclude.clone(),
            warmup: Some(runs.warmup).filter(|&warmup| warmup > 0),
        }
    }

    /// Each setting's name, as in a suite, and its value, as far as they concern these commands.
    #[must_use]
    pub fn entries(&self, arms: &[usize]) -> Vec<(String, String)> {
        let one = |name: &str, value: Option<String>| Some((name.to_owned(), value?));
        let each = |name: &str, lines: &[String]| {
            let of_arm =
                |&arm: &usize| if lines.len() == 1 { lines.first() } else { lines.get(arm) };
            let mut own: Vec<&str> = arms.iter().filter_map(of_arm).map(String::as_str).collect();
            own.dedup();
            one(name, Some(own.join(" | ")).filter(|_| !own.is_empty()))
        };
        let variables = self.environment.iter();
        let variables = variables.map(|(name, value)| (format!("env {name}"), value.clone()));
        let others = [
            one("dir", self.directory.clone()),
            one("input", self.input.clone()),
            one("shell", self.shell.clone()),
            one("setup", self.setup.clone()),
            each("prepare", &self.prepare),
            each("conclude", &self.conclude),
            one("warmup", self.warmup.map(|runs| runs.to_string())),
        ];
        variables.chain(others.into_iter().flatten()).collect()
    }
}

/// Where `later` entries differ, a sentence each: "the setting dir was bench, and then not given".
#[must_use]
pub fn differences(then: &[(String, String)], later: &[(String, String)]) -> Vec<String> {
    let value = |entries: &[(String, String)], name: &str| {
        let found = entries.iter().find(|(entry, _)| entry == name);
        found.map_or_else(|| "not given".to_owned(), |(_, value)| format!("'{value}'"))
    };
    let new = later.iter().filter(|(name, _)| then.iter().all(|(known, _)| known != name));
    let names = then.iter().chain(new).map(|(name, _)| name);
    let said = names.map(|name| (name, value(then, name), value(later, name)));
    said.filter(|(_, then, now)| then != now)
        .map(|(name, then, now)| format!("the setting {name} was {then}, and then {now}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_set_is_kept_and_differs() {
        let text = r#"{"env":{"THREADS":"4"},"dir":"bench","prepare":["sync","true"]}"#;
        let kept: Circumstances = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&kept).unwrap(), text);
        assert_eq!(serde_json::from_str::<Circumstances>("{}").unwrap(), Circumstances::default());
        let [own, both] = [&[0][..], &[0, 1]].map(|arms| kept.entries(arms));
        assert_eq!(differences(&own, &own), [""; 0]);
        let found = ["the setting prepare was 'sync', and then 'sync | true'"];
        assert_eq!(differences(&own, &both), found);
        let other = Circumstances {
            directory: None,
            prepare: vec!["sync".to_owned()],
            warmup: Some(3),
            environment: BTreeMap::from([("THREADS".to_owned(), "8".to_owned())]),
            ..kept.clone()
        };
        let found = [
            "the setting env THREADS was '4', and then '8'",
            "the setting dir was 'bench', and then not given",
            "the setting warmup was not given, and then '3'",
        ];
        assert_eq!(differences(&own, &other.entries(&[0])), found);
    }
}
