//! A session: what its log holds by the time a run is judged, and that the log's runs give the verdict again.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;
use uncontended_decide::progress::{Progress, Silent};
use uncontended_decide::question::{Bound, Decider, Question, Side, Slo};
use uncontended_decide::record::{self, Run, Stop};
use uncontended_decide::session::{Session, Setting};
use uncontended_decide::trial;
use uncontended_figures::progress::State;
use uncontended_testkit::Folder;

fn slo() -> Question {
    Question::Slo(Slo {
        metric: "wall".to_string(),
        unit: "ns".to_string(),
        bound: Some(Bound { side: Side::AtMost, threshold: 10.0 }),
        rate: 0.5,
        or_below: None,
        max_error: 0.01,
        method: Decider::OneSided,
        bursts: None,
        set: None,
        quantile: Some(0.5),
        command: None,
    })
}

/// A question that 3 runs cannot decide.
fn undecided(setting: Setting) -> Session {
    let mut session = Session::open(slo(), setting, Box::new(Silent)).unwrap();
    for value in [1.0, 100.0, 1.0] {
        assert_eq!(session.stop(), None);
        session.push(Run::of(0, value)).unwrap();
    }
    session
}

#[test]
fn a_session_stops_when_its_budget_is_spent_and_not_before() {
    let runs = |most| Setting { most_runs: Some(most), ..Setting::default() };
    assert_eq!(undecided(runs(4)).stop(), None);
    assert_eq!(undecided(runs(3)).stop(), Some(Stop::MaxRuns));
    let time = |most| Setting { most_time: Some(most), ..Setting::default() };
    assert_eq!(undecided(time(Duration::from_secs(3_600))).stop(), None);
    let session = Session::open(slo(), time(Duration::ZERO), Box::new(Silent)).unwrap();
    assert_eq!(session.stop(), Some(Stop::MaxTime));
}

#[test]
fn a_run_that_has_no_meaning_for_the_question_is_refused() {
    let mut trial = slo().asked().trial(None).unwrap();
    let refused = |run: &Run, trial: &mut dyn trial::Trial| trial.push(run).unwrap_err().cause;
    let told = refused(&Run::of(1, 5.0), trial.as_mut());
    assert_eq!(told, "there is no command number 1");
    let told = refused(&Run::of(0, f64::NAN), trial.as_mut());
    assert_eq!(told, "a run of command number 0 has a value that is not a number");
    trial.push(&Run::of(0, f64::INFINITY)).unwrap();
}

#[test]
fn every_run_is_in_the_log_before_it_is_judged_and_the_log_gives_the_verdict_again() {
    let folder = Folder::new();
    let path = folder.file("log");
    let log = Path::new(&path);
    let setting = Setting { log: Some(log), keep_runs: true, ..Setting::default() };
    let mut session = Session::open(slo(), setting, Box::new(Silent)).unwrap();
    let mut lines = 1;
    while session.stop().is_none() {
        session.push(Run::of(0, f64::from(lines))).unwrap();
        lines += 1;
        assert_eq!(std::fs::read_to_string(log).unwrap().lines().count() as u32, lines);
    }
    let verdict = session.finish(Stop::Decided).unwrap();
    assert!(lines > 10, "{lines} lines are no trial");
    let kept = record::read(BufReader::new(File::open(log).unwrap())).unwrap();
    assert_eq!(Some(&kept.runs), verdict.runs.as_ref());
    let mut again = slo().asked().trial(None).unwrap();
    kept.runs.iter().for_each(|run| again.push(run).unwrap());
    assert_eq!(trial::verdict(again.as_ref(), &kept.head, Stop::Decided).finding, verdict.finding);
}

/// What is said, line by line.
#[derive(Debug, Clone, Default)]
struct Heard(std::rc::Rc<std::cell::RefCell<Vec<String>>>);

impl Progress for Heard {
    fn say(&mut self, text: &str) {
        self.0.borrow_mut().push(text.to_owned());
    }
    fn tick(&mut self, _: u64, _: &dyn Fn() -> State) {}
    fn clear(&mut self) {}
}

/// A trial that its time will hardly decide says so once, and early; one that it will decide does not.
#[test]
fn a_time_that_will_hardly_suffice_is_said_early() {
    let told = |values: [f64; 2]| {
        let heard = Heard::default();
        let setting = Setting { most_time: Some(Duration::from_secs(2)), ..Setting::default() };
        let mut session = Session::open(slo(), setting, Box::new(heard.clone())).unwrap();
        for run in 0..30 {
            std::thread::sleep(Duration::from_millis(20));
            session.push(Run::of(0, values[run % 2])).unwrap();
        }
        let warned = heard.0.borrow().iter().filter(|line| line.contains("longer than")).count();
        (warned, heard.0.borrow().last().cloned().unwrap_or_default())
    };
    let (warned, last) = told([1.0, 100.0]);
    assert!(warned == 1 && last.starts_with("Warning: this will take some "), "{last}");
    assert!(last.ends_with(", longer than `Limits::max_time`"), "{last}");
    assert_eq!(told([1.0, 1.0]).0, 0);
}
