//! The classic tests compared with the verdicts of the literature, and the orderings that this library's algorithms
//! rely on; then seeded bugs, each of which must be caught.
//!
//! Notation: `Wx1` store, `Rx` load, `M` fence, `Lx1` LOCKed exchange, `B` expedited membarrier; threads are separated
//! by `|`; after `?` the values of the loads in order, after `;` final memory. `A` allowed, `F` forbidden, SC then TSO.

use uncontended_model::classics::{CLASSICS, named};
use uncontended_model::litmus::{Memory, Observation, Test, parse};
use uncontended_model::outcome::Limits;
use uncontended_model::search::Verdict;

const TABLE: &str = "
SB                  Wx1 Ry|Wy1 Rx ?0,0                              F/A
SB+mfence+po        Wx1 M Ry|Wy1 Rx ?0,0                            F/A
amd5                Wx1 M Ry|Wy1 M Rx ?0,0                          F/F
SB+membarrier+po    Wx1 B Ry|Wy1 Rx ?0,0                            F/F
iwp2.4,amd9         Wx1 Rx Ry|Wy1 Ry Rx ?1,0,1,0                    F/A
amd10               Wx1 M Rx Ry|Wy1 M Ry Rx ?1,0,1,0                F/F
iwp2.8.a            Lx1 Ry|Ly1 Rx ?0,0                              F/F
n8                  Lx1 Ry|Wy1 Rx ?0,0                              F/A
iwp2.8.b            Lx1 Wy1|Ry Rx ?1,0                              F/F
amd3                Wx1 Wx2 Ry|Wy1 Wy2 Rx ?1,1                      F/A
MP                  Wx1 Wy1|Ry Rx ?1,0                              F/F
LB                  Rx Wy1|Ry Wx1 ?1,1                              F/F
iwp2.3.b            Wx1 Rx ?0                                       F/F
WRC                 Wx1|Rx Wy1|Ry Rx ?1,1,0                         F/F
IRIW                Wx1|Wy1|Rx Ry|Ry Rx ?1,0,1,0                    F/F
iwp2.7,amd7         Lx1|Ly1|Rx Ry|Ry Rx ?1,0,1,0                    F/F
iwp2.6              Wx1|Wx2|Rx Rx|Rx Rx ?1,2,2,1                    F/F
n1                  Wx2 Ry|Wy1 Wx1|Rx Rx ?0,1,2                     F/A
n2                  Wy1 Wx1|Wx2 Wz1|Rx Rx|Rz Ry ?1,2,1,0            F/F
n3                  Lx1|Wy1|Ry Rx Rx|Rx Ry Ry ?1,0,1,1,0,1          F/F
n4                  Rx Wx1 Rx|Rx Wx2 Rx ?2,1,1,2                    F/F
n4b                 Rx Wx1|Rx Wx2 ?2,1                              F/F
n5                  Wx1 Rx|Wx2 Rx ?2,1                              F/F
n6                  Wx1 Rx Ry|Wy2 Wx2 ?1,0;x1                       F/A
n7                  Wx1 Rx Ry|Wy1|Ry Rx ?1,0,1,0                    F/A
S                   Wx2 Wy1|Ry Wx1 ?1;x2                            F/F
R                   Wx1 Wy1|Wy2 Rx ?0;y2                            F/A
R+po+mfence         Wx1 Wy1|Wy2 M Rx ?0;y2                          F/F
R+mfence+po         Wx1 M Wy1|Wy2 Rx ?0;y2                          F/A
2+2W                Wx2 Wy1|Wy2 Wx1 ;x2,y2                          F/F
RWC                 Wx1|Rx Ry|Wy1 Rx ?1,0,0                         F/A
RWC+po+mfence       Wx1|Rx Ry|Wy1 M Rx ?1,0,0                       F/F
WRW+WR              Wx1|Rx Wy1|Wy2 Rx ?1,0;y2                       F/A
WRW+WR+mfence       Wx1|Rx Wy1|Wy2 M Rx ?1,0;y2                     F/F
WWC                 Wx2|Rx Wy1|Ry Wx1 ?2,1;x2                       F/F
ISA2                Wx1 Wy1|Ry Wz1|Rz Rx ?1,1,0                     F/F
3.SB                Wx1 Ry|Wy1 Rz|Wz1 Rx ?0,0,0                     F/A
CoRR                Wx1|Rx Rx ?1,0                                  F/F
CoWR                Wx1 Rx|Wx2 ?2;x1                                F/F
inc|inc             Ix|Ix ;x1                                       A/A
locked inc|inc      Jx|Jx ;x1                                       F/F
";

const REGISTERS: [&str; 4] = ["rax", "rbx", "rcx", "rdx"];

/// The litmus file for a line in the notation above.
fn litmus(name: &str, shape: &str) -> String {
    let end = shape.find(['?', ';']).unwrap_or(shape.len());
    let (code, wanted) = shape.split_at(end);
    let (mut loads, mut columns, mut init) = (Vec::new(), Vec::new(), String::new());
    for (thread, column) in code.split('|').enumerate() {
        let (mut read, mut lines) = (0, Vec::new());
        for op in column.split_whitespace() {
            let (kind, loc, value) =
                (&op[..1], op.get(1..2).unwrap_or(""), op.get(2..).unwrap_or(""));
            lines.push(match kind {
                "W" => format!("movq ${value},({loc})"),
                "R" => {
                    let register = REGISTERS[read];
                    read += 1;
                    loads.push(format!("{thread}:{register}"));
                    format!("movq ({loc}),%{register}")
                }
                "L" => {
                    init += &format!("{thread}:rsi={value}; ");
                    format!("xchgq %rsi,({loc})")
                }
                "M" => "mfence".to_owned(),
                "B" => "membarrier".to_owned(),
                "I" => format!("incq ({loc})"),
                "J" => format!("lock incq ({loc})"),
                other => panic!("{name}: {other}"),
            });
        }
        columns.push(lines);
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let row = |at: usize| {
        columns
            .iter()
            .map(|c| c.get(at).cloned().unwrap_or_default())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    let heads = (0..columns.len()).map(|t| format!("P{t}")).collect::<Vec<_>>().join(" | ");
    let code: String = (0..rows).map(|at| format!(" {} ;\n", row(at))).collect();
    let (values, memory) = wanted
        .trim_start_matches('?')
        .split_once(';')
        .unwrap_or((wanted.trim_start_matches('?'), ""));
    let values = values.split(',').filter(|v| !v.is_empty());
    let mut atoms: Vec<_> =
        loads.iter().zip(values).map(|(load, value)| format!("{load}={value}")).collect();
    atoms.extend(
        memory.split(',').filter(|m| !m.is_empty()).map(|m| format!("{}={}", &m[..1], &m[1..])),
    );
    format!("X86_64 {name}\n{{ {init} }}\n {heads} ;\n{code}exists ({})\n", atoms.join(" /\\ "))
}

/// Whether the condition is reachable, by both engines.
fn allowed(test: &Test, memory: Memory) -> bool {
    let answer = test.answer(memory, Limits::default()).expect("few actors");
    let counted = answer.observation().expect("no bound is hit") != Observation::Never;
    let searched = match test.witness(memory, Limits::default()) {
        Verdict::Allowed(trace) => {
            assert!(test.holds(&trace.outcome), "{}", test.name);
            true
        }
        Verdict::Forbidden { .. } => false,
        Verdict::Unknown(bound) => panic!("{}: {bound}", test.name),
    };
    assert_eq!(counted, searched, "{} under {memory}: the engines disagree", test.name);
    counted
}

fn verdicts(test: &Test) -> String {
    let letter = |memory| if allowed(test, memory) { 'A' } else { 'F' };
    format!("{}/{}", letter(Memory::Sc), letter(Memory::Tso))
}

#[test]
fn the_literatures_verdicts() {
    let mut rows = 0;
    for line in TABLE.lines().filter(|line| !line.is_empty()) {
        let (name, rest) = line.split_at(20);
        let (shape, expected) = rest.trim().rsplit_once(' ').expect("a verdict");
        let text = litmus(name.trim(), shape.trim());
        let test = parse(&text).unwrap_or_else(|refusal| panic!("{name}: {refusal}\n{text}"));
        assert_eq!(verdicts(&test), expected, "{name}\n{text}");
        rows += 1;
    }
    assert!(rows >= 40, "{rows} rows");
}

fn classic(name: &str) -> Test {
    parse(named(name).expect("a classic").text)
        .unwrap_or_else(|refusal| panic!("{name}: {refusal}"))
}

#[test]
fn every_classic_parses_and_says_what_holds() {
    for entry in CLASSICS {
        let test = classic(entry.name);
        assert_eq!(test.name, entry.name);
        assert_eq!(allowed(&test, Memory::Sc), entry.sc, "{} under SC", entry.name);
        assert_eq!(allowed(&test, Memory::Tso), entry.tso, "{} under TSO", entry.name);
    }
}

#[test]
fn the_event_count_loses_its_flag_unless_an_interrupt_comes_between() {
    assert_eq!(verdicts(&classic("EVENTCOUNT")), "A/A");
    assert_eq!(verdicts(&classic("EVENTCOUNT+interrupt")), "F/F");
    assert_eq!(verdicts(&classic("EVENTCOUNT+membarrier")), "F/F");
    assert_eq!(verdicts(&classic("EVENTCOUNT+increments")), "F/F");
}

#[test]
fn the_flag_flip_needs_the_heavy_fence() {
    assert_eq!(verdicts(&classic("FSSF")), "F/A");
    assert_eq!(verdicts(&classic("FSSF+heavy")), "F/F");
}

#[test]
fn a_lost_wake_up_is_a_deadlock_and_an_unfinished_drain_is_not() {
    assert_eq!(verdicts(&classic("LOST-WAKEUP")), "A/A");
    assert_eq!(verdicts(&classic("FUTEX")), "F/F");
    // The fence waits for a drain, never forever.
    let text = "X86_64 drain\n{}\n P0 ;\n movq $1,(x) ;\n mfence ;\nexists (deadlock)\n";
    assert_eq!(verdicts(&parse(text).expect("parses")), "F/F");
    let text = "X86_64 twice\n{}\n P0 ;\n mutex_lock (m) ;\n mutex_lock (m) ;\nexists (deadlock)\n";
    assert_eq!(verdicts(&parse(text).expect("parses")), "A/A");
    let text = "X86_64 embrace\n{}\n P0 | P1 ;\n mutex_lock (a) | mutex_lock (b) ;\n mutex_lock (b) | mutex_lock (a) ;\n\
                mutex_unlock (b) | mutex_unlock (a) ;\n mutex_unlock (a) | mutex_unlock (b) ;\nexists (deadlock)\n";
    assert_eq!(verdicts(&parse(text).expect("parses")), "A/A");
}
