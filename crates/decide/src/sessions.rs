//! The trial of two sessions that were not interleaved: runs recorded earlier, and runs of the candidate.
//!
//! # Contract
//! All runs are used, by the ratio of the sessions' quantiles. What changed between the sessions, the candidate or the
//! machine, cannot be told from them. So neither answer is given, unless the machine is trusted to be the same, or a
//! control was run in both sessions: then each run is divided by the control's run next to it, and these ratios are
//! compared. The control's own ratio between the sessions, which tells that the machine changed, has the other half
//! of the error.
//! # What is assumed
//! The runs of a session, or with a control these ratios, are independent; where they visibly are not, neither answer
//! is given. With a control: whatever the machine does slows it and the program next to it by the same factor.
//! # Why it holds
//! What slows a run and the control's next to it alike is not in their ratio, whether it lasts or not. So the ratios of
//! both sessions have one distribution if the program is the same. (A quotient of medians would not do: if some runs
//! are slowed, the medians of commands of different spread move by different factors.)
//! # Evidence
//! `crates/decide/tests/sessions.rs`, `crates/cli/tests/decide_sessions.rs`.

use crate::Failure;
use crate::costs::cost_of_run;
use crate::pairs::neighbours_resemble;
use crate::question::Compare;
use crate::ratio::{effect_of, mirror};
use crate::record::{Outcome, Run};
use crate::spread::{Spreads, Values};
use crate::trial::{self, Trial};
use crate::verdict::{
    About, Answer, Effect, Evidence, Finding, Holds, OfPairs, OfSessions, Relation,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use uncontended_figures::progress::State;
use uncontended_figures::text::several;
use uncontended_figures::{number, ratio};
use uncontended_stats::{Invalid, Margin, MaxError, QuantileRatio, Rate, paired};

/// How the runs of two sessions are compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sessions {
    /// Whether the machine is taken to be equally fast in both.
    pub trusted: bool,
    /// The command that was run in both, next to the one in question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
}

/// The numbers of the commands in the runs of two sessions.
pub const BASELINE: usize = 0;
/// The candidate.
pub const CANDIDATE: usize = 1;
/// The control, in the baseline's session.
pub const CONTROL_THEN: usize = 2;
/// The control, in the candidate's session.
pub const CONTROL_NOW: usize = 3;

/// The trial of two sessions.
#[derive(Debug, Clone)]
pub struct SessionsTrial {
    compare: Compare,
    sessions: Sessions,
    margin: Margin,
    /// Of the runs, or with a control of their ratios to it.
    judged: QuantileRatio,
    /// Of the runs.
    program: QuantileRatio,
    control: Option<Control>,
    /// By number.
    arms: Vec<Arm>,
}

/// The control.
#[derive(Debug, Clone)]
struct Control {
    ratio: QuantileRatio,
    /// Runs of each session, of the program and of the control, that wait for the one next to them.
    waiting: [[VecDeque<f64>; 2]; 2],
    /// Ratios of the program's runs to the control's, in each session.
    ratios: [Vec<f64>; 2],
}

impl Control {
    fn new(ratio: QuantileRatio) -> Control {
        Control { ratio, waiting: Default::default(), ratios: Default::default() }
    }

    /// Takes a cost of the program or of the control, and returns the ratio of two runs that belong together. One whose
    /// control was lost belongs to none.
    fn pair(&mut self, session: usize, of_control: bool, cost: f64) -> Option<f64> {
        self.waiting[session][usize::from(of_control)].push_back(cost);
        let [programs, controls] = &mut self.waiting[session];
        if programs.is_empty() || controls.is_empty() {
            return None;
        }
        let (program, control) = (programs.pop_front()?, controls.pop_front()?);
        let ratio = paired::ratio(program, control).ok().filter(|_| control.is_finite())?;
        self.ratios[session].push(ratio);
        Some(ratio)
    }
}

/// The runs of one command in one session.
#[derive(Debug, Clone, Default)]
struct Arm {
    values: Values,
    costs: Vec<f64>,
    failed: u64,
}

impl SessionsTrial {
    /// A trial without any runs yet.
    ///
    /// # Errors
    /// If the question makes no sense.
    pub fn new(compare: &Compare, sessions: &Sessions) -> Result<SessionsTrial, Failure> {
        if compare.commands.len() != 2 || compare.baseline != BASELINE {
            return Err(Failure::new("sessions are compared by one command of each", ""));
        }
        let wrong = |error: Invalid| {
            Failure::new(error.to_string(), "see `ComparePlan::margin` and `ComparePlan::quantile`")
        };
        let margin = Margin::new(compare.margin).map_err(wrong)?;
        let rate = Rate::new(compare.cost_quantile().unwrap_or(0.5)).map_err(wrong)?;
        let error = share(compare.shares()?.median, sessions);
        let ratio = || QuantileRatio::of_sessions(rate, margin, error);
        let count = if sessions.control.is_some() { 4 } else { 2 };
        Ok(SessionsTrial {
            compare: compare.clone(),
            sessions: sessions.clone(),
            margin,
            judged: ratio(),
            program: ratio(),
            control: sessions.control.as_ref().map(|_| Control::new(ratio())),
            arms: vec![Arm::default(); count],
        })
    }

    fn effect(&self, estimate: Option<f64>, interval: (f64, f64)) -> Effect {
        effect_of(estimate, interval, self.compare.higher_is_better)
    }

    /// What the runs say about the claim, whatever changed.
    fn told(&self, interval: (f64, f64)) -> Answer {
        self.margin.verdict(interval, self.compare.claim.into()).into()
    }

    /// That the machine changed, if the control says so.
    fn machine(&self) -> Option<String> {
        let control = self.control.as_ref()?;
        let effect = self.effect(control.ratio.estimate(), control.ratio.interval());
        let high = effect.high.unwrap_or(f64::INFINITY);
        (effect.low > 1.0 || high < 1.0).then(|| {
            format!(
                "the machine changed between the sessions, since the control's ratio is {}: each run is divided by the control's next to it, which is right as far as the machine slows both alike",
                ratio(effect.ratio, effect.low, high)
            )
        })
    }

    /// The evidence at the ends of the band.
    fn evidence(&self) -> Vec<Evidence> {
        let (least, most) = self.compare.band();
        let thresholds = if least == most { vec![most] } else { vec![least, most] };
        let entry = |threshold: f64| {
            let higher = self.compare.higher_is_better;
            let at = if higher { mirror(threshold, (least, most)) } else { threshold };
            let (below, above) = self.judged.log_evidence(at);
            let (below, above) = if higher { (above, below) } else { (below, above) };
            let needed = self.judged.needed();
            Evidence { threshold, above: Some(above), below: Some(below), needed }
        };
        thresholds.into_iter().map(entry).collect()
    }

    fn of_sessions(&self) -> OfSessions {
        let control = self.control.as_ref().map(|control| &control.ratio);
        OfSessions {
            told: self.told(self.judged.interval()),
            trusted: self.sessions.trusted,
            dependent: !self.dependences().is_empty(),
            baseline_runs: self.runs(BASELINE),
            measured: self.effect(self.program.estimate(), self.program.interval()),
            control: control.map(|ratio| self.effect(ratio.estimate(), ratio.interval())),
        }
    }

    /// Takes a cost: for the ratios of the sessions and, with a control, for the ratio to the run next to it.
    fn take(&mut self, arm: usize, cost: f64) -> Result<(), Invalid> {
        let session = usize::from(matches!(arm, CANDIDATE | CONTROL_NOW));
        let is_control = matches!(arm, CONTROL_THEN | CONTROL_NOW);
        let push = |ratio: &mut QuantileRatio, cost: f64| match session {
            0 => ratio.push_a(cost),
            _ => ratio.push_b(cost),
        };
        let judged = match &mut self.control {
            None => Some(cost),
            Some(control) => {
                if is_control {
                    push(&mut control.ratio, cost)?;
                }
                control.pair(session, is_control, cost)
            }
        };
        if !is_control {
            push(&mut self.program, cost)?;
        }
        judged.map_or(Ok(()), |cost| push(&mut self.judged, cost))
    }

    /// What depends on the previous runs, with its serial z.
    fn dependences(&self) -> Vec<(String, f64)> {
        let names = &self.compare.commands;
        let of = |name: String, costs: &[f64]| neighbours_resemble(costs).map(|z| (name, z));
        let found = match &self.control {
            Some(control) => {
                let [then, now] = &control.ratios;
                let ratios = |name: &String| format!("ratios of '{name}' to the control");
                [of(ratios(&names[BASELINE]), then), of(ratios(&names[CANDIDATE]), now)]
            }
            None => [BASELINE, CANDIDATE]
                .map(|arm| of(format!("runs of '{}'", names[arm]), &self.arms[arm].costs)),
        };
        found.into_iter().flatten().collect()
    }

    fn runs(&self, arm: usize) -> u64 {
        self.arms[arm].costs.len() as u64
    }
}

/// The error of each ratio.
fn share(error: MaxError, sessions: &Sessions) -> MaxError {
    if sessions.control.is_some() { error.split(2) } else { error }
}

/// Whether this many runs of each session could give any answer, if all those of one were beyond all of the other.
///
/// # Errors
/// If the question makes no sense.
pub fn could_decide(compare: &Compare, baseline: u64, candidate: u64) -> Result<bool, Failure> {
    let sessions = compare.sessions.clone().unwrap_or_default();
    let decides = |beyond: f64| {
        let mut trial = SessionsTrial::new(compare, &sessions)?;
        let then = (0..baseline).flat_map(|_| [(BASELINE, 1.0), (CONTROL_THEN, 1.0)]);
        let now = (0..candidate).flat_map(|_| [(CANDIDATE, beyond), (CONTROL_NOW, 1.0)]);
        for (arm, value) in then.chain(now) {
            if arm < trial.arms.len() {
                trial.push(&Run::of(arm, value))?;
            }
        }
        Ok(trial.is_settled())
    };
    Ok(decides(1e300)? || decides(1e-300)?)
}

impl Trial for SessionsTrial {
    fn push(&mut self, run: &Run) -> Result<(), Failure> {
        trial::check(run, self.arms.len())?;
        let value = run.value.filter(|_| run.outcome == Outcome::Ok);
        let cost = cost_of_run(value, self.compare.higher_is_better)?;
        let wrong =
            |error: Invalid| Failure::new(error.to_string(), "compare a metric that is at least 0");
        self.take(run.arm, cost).map_err(wrong)?;
        let arm = &mut self.arms[run.arm];
        arm.costs.push(cost);
        arm.values.push(value, run.usage.as_ref());
        arm.failed += u64::from(value.is_none());
        Ok(())
    }

    fn active(&self) -> Vec<usize> {
        std::iter::once(CANDIDATE).chain(self.control.as_ref().map(|_| CONTROL_NOW)).collect()
    }

    /// None unless the program's change can be told from the machine's.
    fn answer(&self) -> Answer {
        let sessions = self.of_sessions();
        if sessions.is_explained() { sessions.told } else { Answer::Undecided }
    }

    fn is_settled(&self) -> bool {
        self.told(self.judged.interval()) != Answer::Undecided
    }

    fn findings(&self) -> Vec<Finding> {
        let (interval, sessions) = (self.judged.interval(), self.of_sessions());
        let about = OfPairs {
            candidate: self.compare.commands[CANDIDATE].clone(),
            effect: self.effect(self.judged.estimate(), interval),
            relation: match sessions.is_explained() {
                true => self.margin.relation(interval).into(),
                false => Relation::Unknown,
            },
            tails: None,
            values: None,
            lost_pairs: None,
            sessions: Some(Box::new(sessions)),
            rest: None,
        };
        vec![Finding {
            verdict: self.answer(),
            n: self.runs(CANDIDATE),
            successes: self.judged.within(self.compare.band().1),
            decided_by: "quantile-ratio".to_string(),
            evidence: self.evidence(),
            interval: [0.0, 1.0],
            credible: [0.0, 1.0],
            about: About::Pairs(about),
        }]
    }

    fn findings_in_full(&self) -> Vec<Finding> {
        let spread = |arm: usize| self.arms[arm].values.spread();
        let mut findings = self.findings();
        for finding in &mut findings {
            if let About::Pairs(pairs) = &mut finding.about {
                let both = spread(BASELINE).zip(spread(CANDIDATE));
                pairs.values = both.map(|(baseline, candidate)| Spreads { baseline, candidate });
            }
        }
        findings
    }

    fn state(&self) -> State {
        let effect = self.effect(self.judged.estimate(), self.judged.interval());
        let text = format!(
            "{}, {}; neither answer is certain yet",
            several(self.runs(CANDIDATE), "run", "runs"),
            ratio(effect.ratio, effect.low, effect.high.unwrap_or(f64::INFINITY)),
        );
        State { text, found: self.compare.commands[CANDIDATE].clone(), ..State::default() }
    }

    fn error_holds(&self) -> Holds {
        if self.of_sessions().dependent { Holds::No } else { Holds::AsStated }
    }

    fn diagnoses(&self) -> Vec<String> {
        let control = self.sessions.control.as_deref().unwrap_or_default();
        let [baseline, candidate] = [BASELINE, CANDIDATE].map(|arm| &self.compare.commands[arm]);
        let names = [
            format!("'{baseline}'"),
            format!("'{candidate}'"),
            format!("the control '{control}' in the earlier session"),
            format!("the control '{control}'"),
        ];
        let mut found: Vec<String> = self.machine().into_iter().collect();
        for (arm, name) in self.arms.iter().zip(names) {
            if arm.failed > 0 {
                let (failed, runs) = (arm.failed, arm.costs.len());
                found.push(format!(
                    "{failed} of {runs} runs of {name} failed: such a run is lost, worse than any value"
                ));
            }
        }
        for (name, z) in self.dependences() {
            found.push(format!(
                "the {name} depend on the previous ones (serial z = {}): they are not independent, so the stated error does not hold",
                number(z)
            ));
        }
        found
    }
}
