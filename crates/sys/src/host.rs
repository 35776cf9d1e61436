//! What the kernel's files say of the machine.
//!
//! # Contract
//! Reading never fails: what the kernel does not say is absent.
//! # Sources
//! proc(5); Documentation/admin-guide/pm/cpufreq.rst of the kernel.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Host {
    /// The model of its processor.
    pub processor: Option<String>,
    /// The processor's family and model, where one name stands for several: `family 26, model 2`.
    pub model: Option<String>,
    /// The release of the kernel.
    pub kernel: Option<String>,
    /// What sets the CPUs' frequency; several if they differ.
    pub governor: Option<String>,
    /// Threads that ran or waited to run, on average over the last minute; finite.
    pub load: Option<f64>,
}

impl Host {
    /// This machine, now.
    #[must_use]
    pub fn here() -> Host {
        Host::below(Path::new("/"))
    }

    /// What the files of `proc` and `sys` below this folder say.
    #[must_use]
    pub fn below(root: &Path) -> Host {
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        Host {
            processor: read("proc/cpuinfo").and_then(|text| name(&text)),
            model: read("proc/cpuinfo").and_then(|text| model(&text)),
            kernel: read("proc/sys/kernel/osrelease").and_then(|text| said(&text)),
            governor: governor(&root.join("sys/devices/system/cpu/cpufreq")),
            load: read("proc/loadavg")
                .and_then(|text| text.split_whitespace().next()?.parse().ok())
                .filter(|load: &f64| load.is_finite()),
        }
    }
}

/// The first value of a field of `/proc/cpuinfo`.
fn field(cpuinfo: &str, field: &str) -> Option<String> {
    let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(name, _)| name.trim() == field).find_map(|(_, value)| said(value))
}

/// The processor's name; on machines without one, the numbers of its maker and part.
fn name(cpuinfo: &str) -> Option<String> {
    let of = |name| field(cpuinfo, name);
    of("model name").or_else(|| Some(format!("{} {}", of("CPU implementer")?, of("CPU part")?)))
}

/// Its family and model; x86 has them.
fn model(cpuinfo: &str) -> Option<String> {
    let of = |name| field(cpuinfo, name);
    Some(format!("family {}, model {}", of("cpu family")?, of("model")?))
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
        assert_eq!(Host::below(root), Host::default());
        file(
            root,
            "proc/cpuinfo",
            "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: Some CPU @ 2 GHz: fast\n",
        );
        file(root, "proc/sys/kernel/osrelease", "6.1.0-9-amd64\n");
        file(root, "proc/loadavg", "1.25 0.50 0.10 1/100 4242\n");
        for (policy, governor) in [(0, "performance"), (1, "powersave"), (2, "performance")] {
            let path = format!("sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor");
            file(root, &path, &format!("{governor}\n"));
        }
        let expected = Host {
            processor: Some("Some CPU @ 2 GHz: fast".to_owned()),
            model: Some("family 26, model 2".to_owned()),
            kernel: Some("6.1.0-9-amd64".to_owned()),
            governor: Some("performance, powersave".to_owned()),
            load: Some(1.25),
        };
        assert_eq!(Host::below(root), expected);
        file(root, "proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
        assert_eq!(Host::below(root).processor.as_deref(), Some("0x41 0xd0c"));
        for odd in ["", "\n", "a lot 1 2", "NaN 0 0"] {
            file(root, "proc/loadavg", odd);
            assert_eq!(Host::below(root).load, None, "{odd:?}");
        }
        assert!(Host::here().kernel.is_some(), "{:?}", Host::here());
    }
}
