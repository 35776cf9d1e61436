//! What is known of the machine on which runs are made, so that two sessions can be told apart.
//!
//! # Contract
//! Reading never fails: what the kernel does not say is absent, and is then no difference to anything. Two fingerprints
//! that agree do not prove that it was one machine, or that it was equally fast.
//! # Sources
//! proc(5); Documentation/admin-guide/pm/cpufreq.rst of the kernel.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use uncontended_figures::given_number;
use uncontended_figures::text::several;

/// A machine at the start of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The model of its processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// How many CPUs this process may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u64>,
    /// The release of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// What sets the CPUs' frequency; several if they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Threads that ran or waited to run, on average over the last minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
}

/// The load has changed if it differs by more than this share of the CPUs.
const LOAD_SHARE: f64 = 0.25;

impl Fingerprint {
    /// This machine, now.
    #[must_use]
    pub fn here() -> Fingerprint {
        let cpus = std::thread::available_parallelism().ok();
        let cpus = cpus.and_then(|cpus| u64::try_from(cpus.get()).ok());
        Fingerprint { cpus, ..Fingerprint::below(Path::new("/")) }
    }

    /// What the files of `proc` and `sys` below this folder say.
    fn below(root: &Path) -> Fingerprint {
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        Fingerprint {
            cpu: read("proc/cpuinfo").and_then(|text| model(&text)),
            cpus: None,
            kernel: read("proc/sys/kernel/osrelease").and_then(|text| said(&text)),
            governor: governor(&root.join("sys/devices/system/cpu/cpufreq")),
            load: read("proc/loadavg")
                .and_then(|text| text.split_whitespace().next()?.parse().ok())
                .filter(|load: &f64| load.is_finite()),
        }
    }

    /// Where `later` differs, a sentence each: "the kernel was 6.1.0, and then 6.6.2".
    #[must_use]
    pub fn differences(&self, later: &Fingerprint) -> Vec<String> {
        let cpus = |machine: &Fingerprint| machine.cpus.map(|cpus| several(cpus, "CPU", "CPUs"));
        let words = [
            ("the processor was", self.cpu.clone(), later.cpu.clone()),
            ("the runs could use", cpus(self), cpus(later)),
            ("the kernel was", self.kernel.clone(), later.kernel.clone()),
            ("the frequency governor was", self.governor.clone(), later.governor.clone()),
        ];
        let mut found: Vec<String> = words
            .into_iter()
            .filter_map(|(what, then, now)| Some((what, then?, now?)))
            .filter(|(_, then, now)| then != now)
            .map(|(what, then, now)| format!("{what} {then}, and then {now}"))
            .collect();
        if let (Some(then), Some(now)) = (self.load, later.load) {
            let cpus = self.cpus.or(later.cpus).unwrap_or(1) as f64;
            if (then - now).abs() > LOAD_SHARE * cpus {
                let (then, now) = (given_number(then), given_number(now));
                found.push(format!("the load at the start was {then}, and then {now}"));
            }
        }
        found
    }
}

/// The processor's name; on machines without one, the numbers of its maker and part.
fn model(cpuinfo: &str) -> Option<String> {
    let of = |field: &str| {
        let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(name, _)| name.trim() == field).find_map(|(_, value)| said(value))
    };
    of("model name").or_else(|| Some(format!("{} {}", of("CPU implementer")?, of("CPU part")?)))
}

/// The governors of all frequency domains.
fn governor(cpufreq: &Path) -> Option<String> {
    let policies = fs::read_dir(cpufreq).ok()?.flatten();
    let read = |path: &Path| fs::read_to_string(path.join("scaling_governor")).ok();
    let governors: BTreeSet<String> =
        policies.filter_map(|policy| said(&read(&policy.path())?)).collect();
    let governors: Vec<String> = governors.into_iter().collect();
    (!governors.is_empty()).then(|| governors.join(", "))
}

/// A file's text, unless it says nothing.
fn said(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_testkit::Folder;

    fn file(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn it_is_what_the_kernel_says() {
        let folder = Folder::new();
        let root = folder.path();
        assert_eq!(Fingerprint::below(root), Fingerprint::default());
        file(root, "proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz: fast\n");
        file(root, "proc/sys/kernel/osrelease", "6.1.0-9-amd64\n");
        file(root, "proc/loadavg", "1.25 0.50 0.10 1/100 4242\n");
        for (policy, governor) in [(0, "performance"), (1, "powersave"), (2, "performance")] {
            let path = format!("sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor");
            file(root, &path, &format!("{governor}\n"));
        }
        let expected = Fingerprint {
            cpu: Some("Some CPU @ 2 GHz: fast".to_owned()),
            cpus: None,
            kernel: Some("6.1.0-9-amd64".to_owned()),
            governor: Some("performance, powersave".to_owned()),
            load: Some(1.25),
        };
        assert_eq!(Fingerprint::below(root), expected);
        file(root, "proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
        assert_eq!(Fingerprint::below(root).cpu.as_deref(), Some("0x41 0xd0c"));
        for odd in ["", "\n", "a lot 1 2", "NaN 0 0"] {
            file(root, "proc/loadavg", odd);
            assert_eq!(Fingerprint::below(root).load, None, "{odd:?}");
        }
        let here = Fingerprint::here();
        assert!(here.cpus >= Some(1) && here.kernel.is_some(), "{here:?}");
    }

    #[test]
    fn only_what_both_know_is_a_difference() {
        let machine = Fingerprint {
            cpu: Some("A".to_owned()),
            cpus: Some(8),
            kernel: Some("6.1".to_owned()),
            governor: None,
            load: Some(0.5),
        };
        let none: [String; 0] = [];
        assert_eq!(machine.differences(&machine), none);
        assert_eq!(machine.differences(&Fingerprint::default()), none);
        let busier = |load| Fingerprint { load: Some(load), ..machine.clone() };
        assert_eq!(machine.differences(&busier(2.5)), none, "a quarter of the CPUs");
        let other = Fingerprint {
            cpus: Some(1),
            governor: Some("powersave".to_owned()),
            kernel: Some("6.6".to_owned()),
            ..busier(2.75)
        };
        let found = [
            "the runs could use 8 CPUs, and then 1 CPU",
            "the kernel was 6.1, and then 6.6",
            "the load at the start was 0.5, and then 2.75",
        ];
        assert_eq!(machine.differences(&other), found);
        let text = serde_json::to_string(&machine).unwrap();
        assert_eq!(text, r#"{"cpu":"A","cpus":8,"kernel":"6.1","load":0.5}"#);
        assert_eq!(serde_json::from_str::<Fingerprint>(&text).unwrap(), machine);
    }
}
