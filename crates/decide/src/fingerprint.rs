//! What is known of the machine on which runs are made, so that two sessions can be told apart.
//!
//! # Contract
//! Reading never fails: what the kernel does not say is absent, and is then no difference to anything. Two fingerprints
//! that agree do not prove that it was one machine, or that it was equally fast.

use serde::{Deserialize, Serialize};
use uncontended_figures::given_number;
use uncontended_figures::text::several;
use uncontended_sys::host::Host;

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
        let Host { processor, kernel, governor, load, .. } = Host::here();
        Fingerprint { cpu: processor, cpus, kernel, governor, load }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_known_of_this_machine() {
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
