//! The plan of a broadcast: its stages and their order, checked before anything runs.

use crate::CapacityError;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The plan of a broadcast: its capacity and its stages.
///
/// The producer waits for every consumer of the plan, also for one that was not taken from
/// [`Consumers`](super::Consumers) yet.
///
/// ```
/// use uncontended_ring::broadcast::{Plan, PlanError};
///
/// let plan = Plan::new(64).consumer("journal", &[]).group("workers", 2, &["journal"]);
/// assert!(plan.polling::<u64>().is_ok());
/// let plan = Plan::new(64).consumer("hen", &["egg"]).consumer("egg", &["hen"]);
/// assert_eq!(plan.polling::<u64>().err(), Some(PlanError::Cycle("hen".into())));
/// ```
#[derive(Clone, Debug)]
#[doc(alias("bounded", "channel"))]
pub struct Plan {
    pub(super) capacity: usize,
    stages: Vec<Planned>,
}

/// A stage as planned.
#[derive(Clone, Debug)]
struct Planned {
    name: String,
    readers: Readers,
    after: Vec<String>,
}

/// The consumers of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Readers {
    /// A single consumer, which sees every value.
    One,
    /// This many consumers, which share the values.
    Group(usize),
}

/// A stage after the check.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) name: String,
    pub(super) readers: Readers,
    /// The stages that this one follows, by index.
    pub(super) after: Box<[usize]>,
    /// Whether another stage follows this one.
    pub(super) is_followed: bool,
}

/// The most members of a group: more than any program has threads, and few enough to be allocated.
pub const MAX_MEMBERS: usize = 1 << 16;

/// Why a plan is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PlanError {
    /// The capacity is zero or too large.
    Capacity(CapacityError),
    /// The plan has no stage.
    NoStage,
    /// Two stages have this name.
    Twice(String),
    /// The group of this name has no members.
    NoMember(String),
    /// The group of this name has more than [`MAX_MEMBERS`] members.
    TooManyMembers(String),
    /// A stage follows one that is not in the plan.
    Unknown {
        /// The stage.
        stage: String,
        /// The missing name.
        after: String,
    },
    /// The stage of this name follows itself, directly or through others.
    Cycle(String),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Capacity(error) => error.fmt(f),
            PlanError::NoStage => f.write_str("a broadcast needs at least one stage"),
            PlanError::Twice(name) => write!(f, "two stages are named {name:?}"),
            PlanError::NoMember(name) => write!(f, "the group {name:?} has no members"),
            PlanError::TooManyMembers(name) => {
                write!(f, "the group {name:?} has more than {MAX_MEMBERS} members")
            }
            PlanError::Unknown { stage, after } => {
                write!(f, "stage {stage:?} follows {after:?}, which is not in the plan")
            }
            PlanError::Cycle(name) => {
                write!(f, "stage {name:?} follows itself, perhaps through others")
            }
        }
    }
}

impl core::error::Error for PlanError {}

impl Plan {
    /// Starts a plan for a ring of at most `capacity` values, without stages.
    #[must_use]
    pub fn new(capacity: usize) -> Plan {
        Plan { capacity, stages: Vec::new() }
    }

    /// Adds a single consumer. It sees every value, once all stages in `after` have released it.
    #[must_use]
    pub fn consumer(self, name: &str, after: &[&str]) -> Plan {
        self.stage(name, Readers::One, after)
    }

    /// Adds a group of consumers that share: each value goes to one of them, once all stages in `after` have released
    /// it.
    #[must_use]
    pub fn group(self, name: &str, members: usize, after: &[&str]) -> Plan {
        self.stage(name, Readers::Group(members), after)
    }

    fn stage(mut self, name: &str, readers: Readers, after: &[&str]) -> Plan {
        let after = after.iter().map(|&name| String::from(name)).collect();
        self.stages.push(Planned { name: String::from(name), readers, after });
        self
    }

    /// Checks the stages and resolves their names.
    pub(super) fn check(&self) -> Result<Vec<Checked>, PlanError> {
        if self.stages.is_empty() {
            return Err(PlanError::NoStage);
        }
        let mut checked = Vec::with_capacity(self.stages.len());
        for (index, stage) in self.stages.iter().enumerate() {
            if self.index(&stage.name) != Some(index) {
                return Err(PlanError::Twice(stage.name.clone()));
            }
            if stage.readers == Readers::Group(0) {
                return Err(PlanError::NoMember(stage.name.clone()));
            }
            if matches!(stage.readers, Readers::Group(members) if members > MAX_MEMBERS) {
                return Err(PlanError::TooManyMembers(stage.name.clone()));
            }
            let unknown = |after: &String| PlanError::Unknown {
                stage: stage.name.clone(),
                after: after.clone(),
            };
            let after: Result<_, _> = stage
                .after
                .iter()
                .map(|name| self.index(name).ok_or_else(|| unknown(name)))
                .collect();
            let is_followed = self.stages.iter().any(|other| other.after.contains(&stage.name));
            let (name, readers) = (stage.name.clone(), stage.readers);
            checked.push(Checked { name, readers, after: after?, is_followed });
        }
        match on_a_cycle(&checked) {
            Some(stage) => Err(PlanError::Cycle(checked[stage].name.clone())),
            None => Ok(checked),
        }
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.stages.iter().position(|stage| stage.name == name)
    }
}

/// The first stage that follows itself, or follows one that does.
fn on_a_cycle(stages: &[Checked]) -> Option<usize> {
    let mut is_settled = vec![false; stages.len()];
    // Each round settles at least one more stage, if any can be.
    for _ in stages {
        for (index, stage) in stages.iter().enumerate() {
            is_settled[index] |= stage.after.iter().all(|&before| is_settled[before]);
        }
    }
    is_settled.iter().position(|&settled| !settled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(plan: Plan) -> PlanError {
        plan.check().expect_err("an invalid plan")
    }

    #[test]
    fn invalid_plans_are_refused() {
        let plan = || Plan::new(4);
        assert_eq!(error(plan()), PlanError::NoStage);
        assert_eq!(error(plan().group("a", 0, &[])), PlanError::NoMember("a".into()));
        for members in [MAX_MEMBERS + 1, usize::MAX] {
            let crowd = plan().group("a", members, &[]);
            assert_eq!(error(crowd), PlanError::TooManyMembers("a".into()));
        }
        let twice = plan().consumer("a", &[]).group("a", 1, &[]);
        assert_eq!(error(twice), PlanError::Twice("a".into()));
        let unknown = PlanError::Unknown { stage: "a".into(), after: "b".into() };
        assert_eq!(error(plan().consumer("a", &["b"])), unknown);
        assert_eq!(error(plan().consumer("a", &["a"])), PlanError::Cycle("a".into()));
        let long = plan().consumer("z", &[]).consumer("a", &["z", "c"]);
        let long = long.consumer("b", &["a"]).consumer("c", &["b"]);
        assert_eq!(error(long), PlanError::Cycle("a".into()));
    }

    #[test]
    fn stages_may_be_named_before_they_are_planned() {
        let plan = Plan::new(4).consumer("late", &["early", "first"]);
        let checked = plan.group("early", 2, &["first"]).consumer("first", &[]).check().unwrap();
        let after: Vec<&[usize]> = checked.iter().map(|stage| &*stage.after).collect();
        assert_eq!(after, [&[1, 2][..], &[2], &[]]);
        let followed: Vec<bool> = checked.iter().map(|stage| stage.is_followed).collect();
        assert_eq!(followed, [false, true, true]);
    }
}
