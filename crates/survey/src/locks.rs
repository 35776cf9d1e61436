//! How long threads wait for a lock, and how long it stands idle: each lock of the library, next to std's mutex.
//!
//! # Sources
//! Document 003: longest waits and longest idle times of mutexes and spinlocks, under several schedulers.

use crate::counted::Worst;
use crate::findings::{Found, findings};
use crate::guarded::{BASELINE, DELEGATE, Guards, every};
pub use crate::guarded::{Guarding, Inside, Work};
pub use crate::names::{Named, find, list, nearest};
pub use crate::subject::Subject;
use crate::subject::{BLOCK_NS, Crew, LIMIT};
use crate::{Class, Plan, Row, Slowed, Topic, bystander, clock_share, fast_path, readers};
use std::time::Duration;
use uncontended_bench::{Bench, Cpu, Place};
use uncontended_locks::{Order, Waits};

pub(crate) const QUESTION: &str =
    "how long do threads wait for a lock, and how long does it stand idle while some want it";
/// With more threads a CPU, a lock that hands over to a thread that spins hands it to one without a CPU nearly every
/// time: a block of a thousand threads would last for minutes, whatever ends it.
const MOST_SPINNERS_A_CPU: usize = 4;
/// In less time than this, only [`FEW`] are measured: the intervals of all would be wide.
const FOR_ALL: Duration = Duration::from_secs(30);
/// Those that most people ask about.
const FEW: [&str; 9] = [
    "pthread",
    "Tas",
    "Ttas<Hint>",
    "Ttas<Backoff>",
    "Ttas<HintThenYield>",
    "Futex",
    "Bounded",
    "Ticket<Hint>",
    "Mcs<SpinThenPark>",
];
/// The parts of the time for what a lock costs the thread that takes it alone, those that want none, those that read,
/// and a mutex under each class.
const FAST_PATH_SHARE: f64 = 0.06;
const BYSTANDER_SHARE: f64 = 0.12;
const READERS_SHARE: f64 = 0.12;
const CLASSES_SHARE: f64 = 0.05;

/// Measures every lock.
pub(crate) fn measure(plan: &Plan) -> Topic {
    let all = Cpu::allowed().unwrap_or_default();
    let all: Vec<usize> = all.iter().map(|cpu| cpu.number).collect();
    let cpus = all.len().max(1);
    let is_few = plan.locks.is_empty() && !plan.full && plan.budget < FOR_ALL;
    let locks = if is_few { FEW.to_vec() } else { plan.locks.clone() };
    let own = &Plan { locks, ..plan.clone() };
    let part = |share| Plan { budget: plan.budget.mul_f64(share), ..own.clone() };
    let classes_share = if plan.full { CLASSES_SHARE } else { 0.0 };
    let parts = FAST_PATH_SHARE + BYSTANDER_SHARE + READERS_SHARE + classes_share;
    let mut topic = contended(&part(1.0 - parts), cpus);
    if is_few {
        let others = list().len() - 2 - FEW.len();
        topic.not_measured.push(format!(
            "{others} more locks: `unc survey locks` has the time for all, or name some with --lock"
        ));
    }
    let classes = by_class(&part(classes_share), cpus);
    let (found, left_out) = findings(&Found { rows: &topic.rows, classes: &classes, cpus });
    topic.findings = found;
    // A caller that named some locks did not ask about others.
    if plan.locks.is_empty() {
        topic.not_measured.extend(left_out);
    }
    add_fast_path(&mut topic, &fast_path::measure(&part(FAST_PATH_SHARE)));
    clock_share::add(&mut topic);
    if cpus == 1 {
        let why = "only one CPU is allowed, which the threads would share";
        topic.not_measured.push(format!("work that wants no lock: {why}"));
    } else {
        let seats = bystander::Seats::on(&all);
        let found = bystander::measure(&part(BYSTANDER_SHARE), &seats);
        add_bystander(&mut topic, found, cpus, &seats);
    }
    topic.notes.push(format!(
        "an acquisition includes three readings of the clock and the work: {} changed with the lock, {} without; the \
         fast path includes neither",
        lines(plan.work.inside),
        lines(plan.work.outside)
    ));
    topic.notes.push(
        "a wait, or an idle time, includes a reading of the clock and the lock's own steps: where it is about as long as these, no thread waited"
            .to_owned(),
    );
    topic.notes.push(format!(
        "a block lasts {}: ≥ marks a wait, or an idle time, that was not over when its block ended; intervals of waits, idle times and hand-offs hold at 95 % each, of medians over blocks",
        uncontended_figures::duration(BLOCK_NS)
    ));
    if topic.rows.iter().any(|row| row.name == DELEGATE) {
        topic.notes.push(format!("{DELEGATE}: the thread that owns the value is one more than the row says; a hand-off is from the end of one closure to the start of the next"));
    }
    if readers::is_asked(&plan.locks) {
        add_readers(
            &mut topic,
            readers::measure(
                &Plan { locks: plan.locks.clone(), ..part(READERS_SHARE) },
                cpus,
                is_few,
            ),
        );
    }
    topic
}

/// Adds the rows of locks for readers, which have a baseline of their own.
fn add_readers(topic: &mut Topic, readers: Topic) {
    topic.rows.extend(readers.rows);
    topic.warnings.extend(readers.warnings);
    topic.not_measured.extend(readers.not_measured);
    topic.notes.push(format!(
        "locks for readers: the value is 1 cache line; ratios are to {}; waits are those of writes, with two readings of the clock",
        readers::BASELINE
    ));
}

/// Adds what a lock and its release cost to the rows of one thread, and a note on the yield.
fn add_fast_path(topic: &mut Topic, fast: &Topic) {
    let of = |name: &str| fast.rows.iter().find(|row| row.name == name).and_then(|row| row.ns);
    for row in topic.rows.iter_mut().filter(|row| row.threads == 1 && row.class == Class::Other) {
        row.fast_path_ns = of(&row.name);
    }
    if let Some(ns) = of(fast_path::YIELD) {
        topic.notes.push(format!(
            "a yield costs {} here, and as much more as other threads want the CPU. Measured on a Ryzen 7 1700: 130 ns, and 7 and 14 ns for \
             the fast paths of a spinlock and a mutex",
            uncontended_figures::duration_f(ns)
        ));
    }
}

/// Adds how much a bystander is slowed to the rows of as many threads as CPUs.
fn add_bystander(topic: &mut Topic, bystander: Topic, cpus: usize, seats: &bystander::Seats) {
    for row in topic.rows.iter_mut().filter(|row| row.threads == cpus && row.class == Class::Other)
    {
        let found = bystander.rows.iter().find(|other| other.name == row.name);
        row.bystander = found.and_then(|found| Slowed::of(found, seats.key()));
    }
    let threads = seats.threads();
    topic.notes.push(match seats.own {
        Some(_) => format!("bystander: how much longer a thread takes to multiply matrices on a CPU of its own, while {threads} threads on the others want the lock"),
        None => format!("bystander: how much longer a thread takes to multiply matrices while {threads} threads want the lock; with two CPUs it cannot have one of its own, so it shares theirs: about 1.5 is a fair share"),
    });
    topic.warnings.extend(bystander.warnings.iter().map(|why| format!("bystander: {why}")));
    topic.not_measured.extend(bystander.not_measured);
}

/// Std's mutex, wanted by as many threads as CPUs, under each class that is permitted, in the same rounds.
fn by_class(plan: &Plan, cpus: usize) -> Vec<Row> {
    let classes: Vec<Class> =
        Class::ALL.into_iter().filter(|class| class.refusal().is_none()).collect();
    if !plan.full || cpus == 1 || !classes.iter().any(|class| class.is_real_time()) {
        return Vec::new();
    }
    let bench = Bench::new("locks by class", QUESTION).places([Place::Free]).limit(LIMIT);
    let bench = classes.iter().fold(bench, |bench, &class| {
        let crew = Crew { threads: cpus, class };
        let mut subject =
            Subject::new::<std::sync::Mutex<Inside>>(crew, plan.work, Worst::default());
        bench.subject(class.key(), move |block| subject.run(block))
    });
    let report = bench.until(plan.is_over).run(&plan.options());
    let named = |name: &str| classes.iter().find(|class| class.key() == name).copied();
    let class = |_: &str, name: &str| (cpus, named(name).unwrap_or_default());
    let rows = Topic::of(("locks", QUESTION), &report, class).rows;
    rows.into_iter().map(|row| Row { name: BASELINE.to_owned(), ..row }).collect()
}

/// Measures every lock, wanted by one thread and by several.
fn contended(plan: &Plan, cpus: usize) -> Topic {
    let (crews, mut not_measured) = crews(plan, cpus);
    let mut bench = Bench::new("locks", QUESTION).places([Place::Free]).per("acquisition");
    bench = bench.limit(LIMIT).baseline(BASELINE);
    let mut rows = Rows {
        bench: Some(bench),
        crew: crews[0],
        cpus,
        plan,
        worst: Vec::new(),
        left_out: Vec::new(),
    };
    for &crew in &crews {
        rows.crew = crew;
        rows.bench = rows.bench.take().map(|bench| bench.case(crew.name()));
        every(&plan.locks, &mut rows);
    }
    not_measured.append(&mut rows.left_out);
    let bench = rows.bench.take().expect("it is put back after each row");
    let report = bench.until(plan.is_over).run(&plan.options());
    let crew_of = |case: &str, _: &str| {
        let crew = crews.iter().find(|crew| crew.name() == case).copied();
        crew.map_or((1, Class::Other), |crew| (crew.threads, crew.class))
    };
    let mut topic = Topic::of(("locks", QUESTION), &report, crew_of);
    for row in &mut topic.rows {
        let key = (row.name.as_str(), row.threads, row.class);
        let found =
            rows.worst.iter().find(|(name, crew, _)| (*name, crew.threads, crew.class) == key);
        if let Some(worst) = found.map(|(_, _, worst)| worst.read()) {
            row.worst_wait_ns = Some(worst.waits.map(|it| it.0));
            row.worst_wait_is_cut = Some(worst.waits.map(|it| it.1));
            row.worst_idle_ns = Some(worst.idles.map(|it| it.0));
            row.worst_idle_is_cut = Some(worst.idles.map(|it| it.1));
        }
    }
    topic.not_measured.extend(not_measured);
    topic
}

fn lines(count: usize) -> String {
    if count == 1 { "1 cache line".to_owned() } else { format!("{count} cache lines") }
}

/// The crews to measure, and what is left out and why.
fn crews(plan: &Plan, cpus: usize) -> (Vec<Crew>, Vec<String>) {
    let most = plan.threads.unwrap_or(2 * cpus);
    let mut counts: Vec<usize> =
        [1, cpus, 2 * cpus, most].into_iter().filter(|&n| n <= most).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut left_out = Vec::new();
    if cpus == 1 {
        left_out.push("two threads at once: only one CPU is allowed".to_owned());
    }
    let classes = if plan.full { &Class::ALL[..] } else { &Class::ALL[..1] };
    if !plan.full {
        left_out.push("scheduling classes other than OTHER: --full measures them".to_owned());
    }
    let permitted = |class: &&Class| match class.refusal() {
        None => true,
        Some(why) => {
            left_out.push(format!("scheduling class {class}: {why}"));
            false
        }
    };
    let classes: Vec<Class> = classes.iter().filter(permitted).copied().collect();
    let of_class = |&class: &Class| {
        counts.iter().map(move |&threads| Crew { threads, class }).collect::<Vec<_>>()
    };
    (classes.iter().flat_map(of_class).collect(), left_out)
}

/// Adds a row to a benchmark for each lock.
struct Rows<'p> {
    bench: Option<Bench>,
    crew: Crew,
    cpus: usize,
    plan: &'p Plan,
    worst: Vec<(&'static str, Crew, Worst)>,
    left_out: Vec<String>,
}

impl Guards for Rows<'_> {
    fn add<G: Guarding + Send + 'static>(
        &mut self,
        name: &'static str,
        order: Order,
        waits: Waits,
    ) {
        // Real-time threads that spin would keep the holder off its CPU forever.
        let locks_up = self.crew.class.is_real_time() && self.crew.threads > self.cpus;
        if locks_up && waits != Waits::Parks {
            self.left_out.push(format!(
                "{name} by {}: its spinners could lock up the machine",
                self.crew.name()
            ));
            return;
        }
        let is_handed_over = matches!(order, Order::Arrival | Order::Bounded);
        if is_handed_over
            && waits == Waits::Spins
            && self.crew.threads > MOST_SPINNERS_A_CPU * self.cpus
        {
            self.left_out.push(format!(
                "{name} by {}: it hands over to a thread that spins, and which has no CPU with more than {MOST_SPINNERS_A_CPU} threads a CPU: it would take a time slice each",
                self.crew.name()
            ));
            return;
        }
        if name == DELEGATE && self.crew.class != Class::Other {
            let why = "the thread that owns the value would be of another";
            self.left_out.push(format!("{name} by {}: {why}", self.crew.name()));
            return;
        }
        let worst = Worst::default();
        self.worst.push((name, self.crew, worst.clone()));
        let mut subject = Subject::new::<G>(self.crew, self.plan.work, worst).promising(order);
        let bench = self.bench.take().expect("it is put back after each row");
        self.bench = Some(bench.subject(name, move |block| subject.run(block)));
    }
}
