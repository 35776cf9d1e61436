//! Diagrams compared with stored files: the six interleavings of the lost wakeup and of the flag flip, and minimal
//! executions of the classics, as text and SVG. `UNC_BLESS=1` rewrites the files.
//!
//! The table of interleavings is checked too: the model runs each order.

use uncontended_model::classics::named;
use uncontended_model::diagram::Diagram;
use uncontended_model::diagram::interleavings::{flag_flip, lost_wake_up};
use uncontended_model::litmus::{Memory, parse};
use uncontended_model::outcome::Limits;
use uncontended_model::search::Verdict;

fn golden(name: &str, found: &str) {
    uncontended_testkit::golden(env!("CARGO_MANIFEST_DIR"), name, found);
}

fn all(diagrams: &[Diagram]) -> String {
    diagrams.iter().map(Diagram::text).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_six_interleavings_of_the_lost_wake_up() {
    let diagrams = lost_wake_up();
    golden("lost-wakeup-all.txt", &all(&diagrams));
    let wssw = diagrams.iter().find(|diagram| diagram.title.ends_with("WSSW")).unwrap();
    golden("lost-wakeup-wssw.svg", &wssw.svg());
}

#[test]
fn the_six_interleavings_of_the_flag_flip() {
    let diagrams = flag_flip();
    golden("flag-flip.txt", &all(&diagrams));
    let fssf = diagrams.iter().find(|diagram| diagram.title.ends_with("FSSF")).unwrap();
    golden("flag-flip-fssf.svg", &fssf.svg());
}

fn execution(name: &str) -> Option<Diagram> {
    let test = parse(named(name).unwrap().text).unwrap();
    match test.witness(Memory::Tso, Limits::default()) {
        Verdict::Allowed(trace) => {
            let title = format!("{}: {}", test.name, test.condition);
            Some(Diagram::of_trace(title, &test.program, &trace, test.line(&trace.outcome)))
        }
        _ => None,
    }
}

#[test]
fn minimal_executions_of_the_classics() {
    for name in ["SB", "n6", "EVENTCOUNT", "FSSF", "LOST-WAKEUP"] {
        let diagram = execution(name).unwrap();
        golden(&format!("{name}.txt"), &diagram.text());
    }
    golden("EVENTCOUNT.svg", &execution("EVENTCOUNT").unwrap().svg());
    assert_eq!(execution("FSSF+heavy"), None);
}

/// Whether the condition holds when the steps take effect in the order that the name spells.
fn ordered(name: &str, letters: [char; 2], steps: [[&str; 2]; 2], condition: &str) -> bool {
    // A turn counter allows only this interleaving: each step waits until the ones before it are done.
    let (mut columns, mut taken) = ([String::new(), String::new()], [0, 0]);
    let mut rows = Vec::new();
    for (turn, letter) in name.chars().enumerate() {
        let side = usize::from(letter == letters[1]);
        let label = format!("T{turn}");
        let code = [
            format!("{label}: movq (turn),%rdx"),
            format!("cmpq ${turn},%rdx"),
            format!("jne {label}"),
            steps[side][taken[side]].to_owned(),
            "lock incq (turn)".to_owned(),
        ];
        taken[side] += 1;
        for line in code {
            columns[side] = line.clone();
            columns[1 - side] = String::new();
            rows.push(format!(" {} | {} ;\n", columns[0], columns[1]));
        }
    }
    let text = format!("X86_64 {name}\n{{}}\n P0 | P1 ;\n{}exists ({condition})\n", rows.concat());
    let test = parse(&text).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"));
    match test.witness(Memory::Sc, Limits::default()) {
        Verdict::Allowed(_) => true,
        Verdict::Forbidden { .. } => false,
        Verdict::Unknown(bound) => panic!("{name}: {bound}"),
    }
}

#[test]
fn the_model_agrees_with_every_drawn_interleaving() {
    for diagram in flag_flip() {
        let name = diagram.title.rsplit(' ').next().unwrap();
        let steps = [
            ["movq (pointer),%rax", "movq $1,(hazard)"],
            ["movq $1,(pointer)", "movq (hazard),%rax"],
        ];
        let wrong = ordered(name, ['F', 'S'], steps, "0:rax=0 /\\ 1:rax=0");
        assert_eq!(wrong, diagram.rows[0].marked, "{name}");
    }
    for diagram in lost_wake_up() {
        let name = diagram.title.rsplit(' ').next().unwrap();
        // A waiter that saw no data and is still in the queue at the end sleeps forever.
        let steps =
            [["movq (data),%rax", "movq $1,(queue)"], ["movq $1,(data)", "movq $0,(queue)"]];
        let wrong = ordered(name, ['W', 'S'], steps, "0:rax=0 /\\ queue=1");
        assert_eq!(wrong, diagram.rows[0].marked, "{name}");
    }
}
