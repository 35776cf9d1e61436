//! A deliberately plain enumerator of all candidate executions: every way for every read to read, every order of the
//! writes of a location, and each model's axioms as products and closures of boolean matrices.
//!
//! Shares no code with the checker that it judges.

#[allow(dead_code)]
pub(crate) mod classes;

use std::collections::BTreeMap;

/// An ordering: acquire, release, SeqCst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mode {
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    pub(crate) sc: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Instruction {
    Load(usize, Mode),
    Store(usize, u32, Mode),
    Add(usize, Mode),
    Swap(usize, u32, Mode),
    /// Expected, new.
    Cas(usize, u32, u32, Mode),
    /// Adds without LOCK; the mode is the store's.
    Unlocked(usize, Mode),
    Fence(Mode),
    Light,
    Heavy,
}

pub(crate) type Program = Vec<Vec<Instruction>>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Model {
    C11,
    Tso,
    Sc,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Read,
    Write,
    Fence,
    Light,
    Heavy,
    Nothing,
}

#[derive(Clone)]
struct Event {
    thread: usize,
    what: What,
    location: usize,
    mode: Mode,
    /// Half of a read-modify-write; the write follows its read.
    locked: bool,
    unlocked: bool,
    instruction: Option<Instruction>,
    value: u32,
}

/// The most events of one candidate.
const MOST_EVENTS: usize = 32;

/// A relation between events: bit j of row i is set if i comes before j. Evaluating candidates takes almost all of the
/// enumerator's time.
#[derive(Clone, Copy)]
struct Matrix {
    size: usize,
    rows: [u32; MOST_EVENTS],
}

impl Matrix {
    fn new(n: usize, f: impl Fn(usize, usize) -> bool) -> Matrix {
        Matrix::by_rows(n, |i| (0..n).fold(0, |row, j| row | u32::from(f(i, j)) << j))
    }

    fn by_rows(n: usize, row: impl Fn(usize) -> u32) -> Matrix {
        let mut rows = [0; MOST_EVENTS];
        rows[..n].iter_mut().enumerate().for_each(|(i, it)| *it = row(i));
        Matrix { size: n, rows }
    }

    fn get(&self, i: usize, j: usize) -> bool {
        self.rows[i] >> j & 1 == 1
    }

    fn or(&self, other: &Matrix) -> Matrix {
        Matrix::by_rows(self.size, |i| self.rows[i] | other.rows[i])
    }

    fn then(&self, other: &Matrix) -> Matrix {
        let reached =
            |(k, row): (usize, &u32), from: u32| if from >> k & 1 == 1 { *row } else { 0 };
        let rows = &other.rows[..self.size];
        Matrix::by_rows(self.size, |i| {
            rows.iter().enumerate().fold(0, |row, next| row | reached(next, self.rows[i]))
        })
    }

    fn optional(&self) -> Matrix {
        Matrix::by_rows(self.size, |i| self.rows[i] | 1 << i)
    }

    fn inverse(&self) -> Matrix {
        Matrix::new(self.size, |i, j| self.get(j, i))
    }

    fn only(&self, f: impl Fn(usize, usize) -> bool) -> Matrix {
        Matrix::new(self.size, |i, j| self.get(i, j) && f(i, j))
    }

    fn closure(&self) -> Matrix {
        let mut closed = *self;
        for k in 0..self.size {
            let from_here = closed.rows[k];
            for row in &mut closed.rows[..self.size] {
                *row |= if *row >> k & 1 == 1 { from_here } else { 0 };
            }
        }
        closed
    }

    fn is_empty(&self) -> bool {
        self.rows.iter().all(|&row| row == 0)
    }

    fn is_irreflexive(&self) -> bool {
        (0..self.size).all(|i| !self.get(i, i))
    }

    fn is_acyclic(&self) -> bool {
        self.closure().is_irreflexive()
    }
}

/// The results of a program: values read in program order, thread after thread, then the final memory; each with its
/// number of executions (reads-from and write order).
pub(crate) fn executions(
    program: &Program,
    locations: usize,
    model: Model,
) -> BTreeMap<Vec<u32>, u64> {
    executions_within(program, locations, model, None)
}

/// The same for the executions whose events can be put within a bound in a sequence that keeps program order and
/// reads-from, and under SC also the order of writes and from-reads.
pub(crate) fn executions_within(
    program: &Program,
    locations: usize,
    model: Model,
    within: Option<Within>,
) -> BTreeMap<Vec<u32>, u64> {
    let mut found = BTreeMap::new();
    visit(program, locations, Question { model, within }, &mut |events, _, orders| {
        let reads = reads(events).into_iter().flatten();
        *found.entry(reads.chain(last(events, orders)).collect()).or_insert(0) += 1;
    });
    found
}

/// The reads of each thread.
fn reads(events: &[Event]) -> Vec<Vec<u32>> {
    let mut reads = Vec::new();
    for event in events.iter().filter(|event| event.thread != usize::MAX) {
        reads.resize(reads.len().max(event.thread + 1), Vec::new());
        if event.what == What::Read {
            reads[event.thread].push(event.value);
        }
    }
    reads
}

/// The final memory.
fn last<'a>(events: &'a [Event], orders: &'a [Vec<usize>]) -> impl Iterator<Item = u32> + 'a {
    orders.iter().map(|order| events[*order.last().expect("the initial write")].value)
}

/// Called for each execution: its events, what each reads from, and the orders of writes.
type Visit<'a> = &'a mut dyn FnMut(&[Event], &[usize], &[Vec<usize>]);

fn visit(program: &Program, locations: usize, question: Question, found: Visit) {
    let mut events: Vec<Event> = Vec::new();
    for location in 0..locations {
        events.push(initial(location));
    }
    for (thread, instructions) in program.iter().enumerate() {
        for &instruction in instructions {
            push(&mut events, thread, instruction, question.model);
        }
    }
    let reads: Vec<usize> = (0..events.len()).filter(|&e| events[e].what == What::Read).collect();
    let mut from = vec![usize::MAX; events.len()];
    choose_reads(&events, &reads, &mut from, locations, question, found);
}

#[derive(Clone, Copy)]
struct Question {
    model: Model,
    within: Option<Within>,
}

/// A bound on a sequence of events.
#[derive(Clone, Copy)]
#[allow(dead_code)]
pub(crate) enum Within {
    /// The most switches away from a thread that has not ended.
    Preemptions(u32),
    /// The most stretches of one thread's events.
    Contexts(u32),
}

/// Whether the events `left` can follow within the bound if `thread` ran last: every order is tried.
fn can_follow(
    events: &[Event],
    order: &Matrix,
    left: &[usize],
    thread: usize,
    within: Within,
) -> bool {
    if left.is_empty() {
        return true;
    }
    left.iter().filter(|&&e| left.iter().all(|&other| !order.get(other, e))).any(|&e| {
        let changes = events[e].thread != thread;
        let leaves = changes && left.iter().any(|&e| events[e].thread == thread);
        let rest: Vec<usize> = left.iter().copied().filter(|&other| other != e).collect();
        let follows = |within| can_follow(events, order, &rest, events[e].thread, within);
        match within {
            Within::Preemptions(0) if leaves => false,
            Within::Contexts(0) if changes => false,
            Within::Preemptions(most) => follows(Within::Preemptions(most - u32::from(leaves))),
            Within::Contexts(most) => follows(Within::Contexts(most - u32::from(changes))),
        }
    })
}

fn initial(location: usize) -> Event {
    let mode = Mode { acquire: false, release: false, sc: false };
    let (locked, unlocked) = (false, false);
    Event {
        thread: usize::MAX,
        what: What::Write,
        location,
        mode,
        locked,
        unlocked,
        instruction: None,
        value: 0,
    }
}

fn push(events: &mut Vec<Event>, thread: usize, instruction: Instruction, model: Model) {
    let mut add = |what, location, mode: Mode, locked, unlocked| {
        let strong = model != Model::C11 && matches!(what, What::Read | What::Write);
        let mode = if strong { Mode { acquire: true, release: true, ..mode } } else { mode };
        let instruction = Some(instruction);
        events.push(Event {
            thread,
            what,
            location,
            mode,
            locked,
            unlocked,
            instruction,
            value: 0,
        });
    };
    let none = Mode { acquire: false, release: false, sc: false };
    let full = Mode { acquire: true, release: true, sc: true };
    match instruction {
        Instruction::Load(x, mode) => add(What::Read, x, mode, false, false),
        Instruction::Store(x, _, mode) => add(What::Write, x, mode, false, false),
        Instruction::Add(x, mode)
        | Instruction::Swap(x, _, mode)
        | Instruction::Cas(x, _, _, mode) => {
            add(What::Read, x, mode, true, false);
            add(What::Write, x, mode, true, false);
        }
        Instruction::Unlocked(x, mode) => {
            add(What::Read, x, none, false, true);
            add(What::Write, x, mode, false, true);
        }
        Instruction::Fence(mode) => add(What::Fence, usize::MAX, mode, false, false),
        Instruction::Light => add(What::Light, usize::MAX, none, false, false),
        Instruction::Heavy => add(What::Heavy, usize::MAX, full, false, false),
    }
}

fn choose_reads(
    events: &[Event],
    reads: &[usize],
    from: &mut Vec<usize>,
    locations: usize,
    question: Question,
    found: Visit,
) {
    let Some((&read, rest)) = reads.split_first() else {
        if let Some(events) = evaluate(events, from) {
            let mut orders = vec![Vec::new(); locations];
            let given = Given::new(&events, from);
            choose_orders(&events, &given, &mut orders, 0, question, found);
        }
        return;
    };
    for write in 0..events.len() {
        if events[write].what == What::Write && events[write].location == events[read].location {
            from[read] = write;
            choose_reads(events, rest, from, locations, question, found);
        }
    }
}

/// Values along reads-from; `None` if program order and reads-from have a cycle, or a read's source is not a write.
fn evaluate(events: &[Event], from: &[usize]) -> Option<Vec<Event>> {
    let n = events.len();
    let mut events = events.to_vec();
    let order = program_order(&events).or(&Matrix::new(n, |i, j| from[j] == i));
    let closed = order.closure();
    if !closed.is_irreflexive() {
        return None;
    }
    let mut sorted: Vec<usize> = (0..n).collect();
    sorted.sort_by_key(|&e| (0..n).filter(|&other| closed.get(other, e)).count());
    for e in sorted {
        let before = e.checked_sub(1).map_or(0, |read| events[read].value);
        match (events[e].what, events[e].instruction) {
            (What::Read, _) => {
                if events[from[e]].what == What::Nothing {
                    return None;
                }
                events[e].value = events[from[e]].value;
                let cas = events[e].instruction;
                if matches!(cas, Some(Instruction::Cas(_, expected, ..)) if events[e].value != expected)
                {
                    // A failed compare-and-swap is a load with the load's half of the mode.
                    events[e].locked = false;
                    events[e + 1].what = What::Nothing;
                }
            }
            (
                What::Write,
                Some(Instruction::Store(_, value, _) | Instruction::Swap(_, value, _)),
            ) => {
                events[e].value = value;
            }
            (What::Write, Some(Instruction::Add(..) | Instruction::Unlocked(..))) => {
                events[e].value = before + 1
            }
            (What::Write, Some(Instruction::Cas(_, _, new, _))) => events[e].value = new,
            _ => {}
        }
    }
    Some(events)
}

fn choose_orders(
    events: &[Event],
    given: &Given,
    orders: &mut Vec<Vec<usize>>,
    location: usize,
    question: Question,
    found: Visit,
) {
    if location == orders.len() {
        if is_consistent(events, given, orders, question) {
            let source = |read| (0..events.len()).find(|&write| given.rf.get(write, read));
            let from: Vec<usize> =
                (0..events.len()).map(|e| source(e).unwrap_or(usize::MAX)).collect();
            found(events, &from, orders);
        }
        return;
    }
    let mut writes: Vec<usize> = Vec::new();
    for (e, event) in events.iter().enumerate() {
        if event.what == What::Write && event.location == location && event.instruction.is_some() {
            writes.push(e);
        }
    }
    permutations(&mut writes, 0, &mut |order| {
        orders[location] = std::iter::once(location).chain(order.iter().copied()).collect();
        choose_orders(events, given, orders, location + 1, question, found);
    });
}

fn permutations(items: &mut Vec<usize>, at: usize, visit: &mut dyn FnMut(&[usize])) {
    if at == items.len() {
        return visit(items);
    }
    for other in at..items.len() {
        items.swap(at, other);
        permutations(items, at + 1, visit);
        items.swap(at, other);
    }
}

fn program_order(events: &[Event]) -> Matrix {
    Matrix::new(events.len(), |i, j| {
        let (a, b) = (&events[i], &events[j]);
        // Initial writes precede everything.
        (a.thread == b.thread && i < j && a.thread != usize::MAX)
            || (a.thread == usize::MAX && b.thread != usize::MAX)
    })
}

/// The parts that do not depend on the orders of writes.
struct Given {
    po: Matrix,
    rf: Matrix,
    rmw: Matrix,
}

impl Given {
    fn new(events: &[Event], from: &[usize]) -> Given {
        let n = events.len();
        let po = program_order(events)
            .only(|i, j| events[i].what != What::Nothing && events[j].what != What::Nothing);
        let rf = Matrix::new(n, |i, j| events[j].what == What::Read && from[j] == i);
        let rmw = Matrix::new(n, |i, j| {
            j == i + 1 && events[i].locked && events[j].locked && events[i].what == What::Read
        });
        Given { po, rf, rmw }
    }
}

struct Relations {
    po: Matrix,
    rf: Matrix,
    mo: Matrix,
    rb: Matrix,
    eco: Matrix,
}

fn is_consistent(
    events: &[Event],
    &Given { po, rf, rmw }: &Given,
    orders: &[Vec<usize>],
    Question { model, within }: Question,
) -> bool {
    let n = events.len();
    let place = |e: usize| {
        let event = &events[e];
        orders.get(event.location).and_then(|order| order.iter().position(|&write| write == e))
    };
    let places: Vec<Option<usize>> = (0..n).map(place).collect();
    let mo = Matrix::new(n, |i, j| {
        events[i].location == events[j].location
            && matches!((places[i], places[j]), (Some(a), Some(b)) if a < b)
    });
    let rb = rf.inverse().then(&mo).only(|i, j| i != j);
    let between = rb.then(&mo);
    if !rmw.only(|i, j| between.get(i, j)).is_empty() {
        return false;
    }
    let eco = rf.or(&mo).or(&rb).closure();
    let relations = Relations { po, rf, mo, rb, eco };
    let is_within = || {
        let Some(within) = within else { return true };
        let row = relations.po.or(&relations.rf);
        let row = if model == Model::Sc { row.or(&relations.mo).or(&relations.rb) } else { row };
        let all: Vec<usize> = (0..n)
            .filter(|&e| events[e].thread != usize::MAX && events[e].what != What::Nothing)
            .collect();
        can_follow(events, &row, &all, usize::MAX, within)
    };
    let is_consistent = match model {
        Model::C11 => c11(events, &relations, &rmw),
        Model::Sc => {
            relations.po.or(&relations.rf).or(&relations.mo).or(&relations.rb).is_acyclic()
        }
        Model::Tso => tso(events, &relations),
    };
    is_consistent && is_within()
}

fn c11(events: &[Event], r: &Relations, rmw: &Matrix) -> bool {
    let n = events.len();
    let is_fence = |e: usize| matches!(events[e].what, What::Fence | What::Heavy);
    let identity = |f: &dyn Fn(usize) -> bool| Matrix::new(n, |i, j| i == j && f(i));
    let releases =
        identity(&|e| events[e].mode.release && (is_fence(e) || events[e].what == What::Write));
    let acquires =
        identity(&|e| events[e].mode.acquire && (is_fence(e) || events[e].what == What::Read));
    let fences = identity(&is_fence);
    let writes = identity(&|e| events[e].what == What::Write);
    let reads = identity(&|e| events[e].what == What::Read);
    let sequence = writes.then(&r.rf.then(rmw).closure().optional());
    let head = releases.then(&fences.then(&r.po).or(&identity(&|_| true)));
    let tail = r.po.then(&fences).or(&identity(&|_| true)).then(&acquires);
    let sw = head.then(&sequence).then(&r.rf).then(&reads).then(&tail);
    let light = identity(&|e| events[e].what == What::Light);
    let heavy = identity(&|e| events[e].what == What::Heavy);
    let read = r.po.then(&sequence).then(&r.rf).then(&reads).then(&r.po);
    let asymmetric = light.then(&read).then(&heavy).or(&heavy.then(&read).then(&light));
    let hb = r.po.or(&sw).or(&asymmetric).closure();
    if !hb.then(&r.eco.optional()).is_irreflexive() || !hb.is_irreflexive() {
        return false;
    }
    let elsewhere = r.po.only(|i, j| events[i].location != events[j].location);
    let same = hb
        .only(|i, j| events[i].location == events[j].location && events[i].location != usize::MAX);
    let scb = r.po.or(&elsewhere.then(&hb).then(&elsewhere)).or(&same).or(&r.mo).or(&r.rb);
    let access =
        identity(&|e| events[e].mode.sc && matches!(events[e].what, What::Read | What::Write));
    let full = identity(&|e| events[e].mode.sc && is_fence(e));
    let left = access.or(&full.then(&hb.optional()));
    let right = access.or(&hb.optional().then(&full));
    let base = left.then(&scb).then(&right);
    let crossed = hb.or(&hb.then(&r.eco).then(&hb));
    let fenced = Matrix::new(n, |i, j| {
        let strength = |e: usize| match events[e].what {
            What::Heavy => 2,
            What::Fence if events[e].mode.sc => 1,
            What::Light => 0,
            _ => -9,
        };
        let (a, b) = (strength(i), strength(j));
        (a >= 0 && b >= 0 && hb.get(i, j)) || (a + b >= 2 && crossed.get(i, j))
    });
    base.or(&fenced).is_acyclic()
}

fn tso(events: &[Event], r: &Relations) -> bool {
    let n = events.len();
    let is_full = |e: usize| {
        let event = &events[e];
        match event.what {
            What::Heavy => true,
            What::Fence => event.mode.sc,
            What::Write => event.locked || event.mode.sc,
            // A LOCKed instruction is one whether or not it compares equal.
            What::Read => event.locked || matches!(event.instruction, Some(Instruction::Cas(..))),
            _ => false,
        }
    };
    let same = |i: usize, j: usize| events[i].location == events[j].location;
    let local = r.po.only(same).or(&r.rf).or(&r.mo).or(&r.rb);
    let is_access = |e: usize| matches!(events[e].what, What::Read | What::Write) || is_full(e);
    let kept = r.po.only(|i, j| {
        let overtakes = events[i].what == What::Write
            && events[j].what == What::Read
            && !is_full(i)
            && !is_full(j);
        is_access(i) && is_access(j) && !overtakes
    });
    let outside = r.rf.only(|i, j| events[i].thread != events[j].thread);
    let global = kept.or(&outside).or(&r.mo).or(&r.rb);
    if !local.is_acyclic() || !global.is_acyclic() {
        return false;
    }
    let heavies: Vec<usize> = (0..n).filter(|&e| events[e].what == What::Heavy).collect();
    let threads: Vec<usize> = {
        let mut all: Vec<usize> =
            events.iter().map(|event| event.thread).filter(|&t| t != usize::MAX).collect();
        all.dedup();
        all
    };
    let pairs: Vec<(usize, usize)> = heavies
        .iter()
        .flat_map(|&h| {
            threads.iter().filter(move |&&t| t != events[h].thread).map(move |&t| (h, t))
        })
        .collect();
    interrupts(events, &global, &pairs)
}

/// Tries every instruction boundary for every interrupt.
fn interrupts(events: &[Event], global: &Matrix, pairs: &[(usize, usize)]) -> bool {
    let Some((&(heavy, thread), rest)) = pairs.split_first() else { return global.is_acyclic() };
    let own: Vec<usize> = (0..events.len()).filter(|&e| events[e].thread == thread).collect();
    (0..=own.len()).any(|boundary| {
        let splits =
            own.get(boundary).is_some_and(|&e| events[e].unlocked && events[e].what == What::Write);
        let before = |e: usize| own[..boundary].contains(&e);
        let after = |e: usize| own[boundary..].contains(&e);
        let placed =
            Matrix::new(events.len(), |i, j| (j == heavy && before(i)) || (i == heavy && after(j)));
        !splits && interrupts(events, &global.or(&placed), rest)
    })
}
