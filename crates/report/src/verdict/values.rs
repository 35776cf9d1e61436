//! What the runs of each command showed: their spread and CPU times, for a terminal and for a page.

use crate::html::Cell;
use uncontended_decide::spread::Spread;
use uncontended_figures::table::{Column, Table};
use uncontended_figures::text::fit;
use uncontended_figures::{Dimension, given_percent, measured, whole};

/// Width of a command's name in a table, in columns.
const NAME_COLUMNS: usize = 30;

/// The titles of the figures, and the order in which a narrow terminal drops them.
const FIGURES: [(&str, u8); 10] = [
    ("median", 0),
    ("25 %", 1),
    ("75 %", 1),
    ("least", 0),
    ("greatest", 0),
    ("mean", 2),
    ("±", 5),
    ("user", 4),
    ("system", 4),
    ("runs", 0),
];

/// The ratio of a candidate and the answer about it, in a table of several.
pub(super) type Arm = [String; 2];

/// The commands, one a row; of several candidates with the ratio and the answer of each.
pub(super) fn table(
    commands: &[(&str, Spread)],
    arms: Option<(String, Vec<Arm>)>,
    dimension: Dimension,
) -> Table {
    let figures = FIGURES.map(|(title, order)| Column::figure(title).goes(order));
    let (effect, arms) = arms.unwrap_or_default();
    let answered = if arms.is_empty() {
        Vec::new()
    } else {
        vec![Column::word("verdict"), Column::titled(effect)]
    };
    let name = Column::elastic("command").least(NAME_COLUMNS);
    let mut table = Table::new(std::iter::once(name).chain(answered).chain(figures).collect());
    let names: Vec<&str> = commands.iter().map(|(name, _)| *name).collect();
    let mut arms = arms.into_iter();
    for (name, (_, spread)) in labels(&names).into_iter().zip(commands) {
        let figures = figures_of(spread, dimension).map(|figure| match figure {
            Some((value, dimension)) => measured(value, dimension),
            None => String::new(),
        });
        let runs = whole(spread.runs);
        let arm = arms.next().into_iter().flatten();
        table.row(std::iter::once(name).chain(arm).chain(figures).chain([runs]));
    }
    for title in ["user", "system"] {
        if commands.iter().all(|(_, spread)| spread.cpu.is_none()) {
            table.drop_column(title);
        }
    }
    table
}

/// That a command's values have two modes: "`sort` has two modes, near 31 ms (70 % of the runs) and 52 ms".
pub(super) fn two_modes(name: &str, spread: &Spread, dimension: Dimension) -> Option<String> {
    let modes = spread.modes?;
    let (low, high) = (measured(modes.low, dimension), measured(modes.high, dimension));
    let share = given_percent((modes.low_share * 100.0).round() / 100.0);
    Some(format!("`{name}` has two modes, near {low} ({share} of the runs) and {high}"))
}

/// The titles of a page's columns, each on one line.
pub(super) fn titles() -> Vec<String> {
    FIGURES.iter().map(|(title, _)| title.replace(' ', "\u{a0}")).collect()
}

/// A command's cells on a page.
pub(super) fn cells(spread: Option<Spread>, dimension: Dimension) -> Vec<Cell> {
    let figures = spread.map_or([None; 9], |spread| figures_of(&spread, dimension));
    let runs = spread.map(|spread| spread.runs);
    let figure = |figure: Option<(f64, Dimension)>| match figure {
        Some((value, dimension)) => Cell::figure(measured(value, dimension), value),
        None => Cell::none(),
    };
    let runs = runs.map_or(Cell::none(), |runs| Cell::figure(whole(runs), runs as f64));
    figures.into_iter().map(figure).chain([runs]).collect()
}

/// The figures of [`FIGURES`] except the number of runs.
fn figures_of(spread: &Spread, dimension: Dimension) -> [Option<(f64, Dimension)>; 9] {
    let value = |value| Some((value, dimension));
    let time = |ns: Option<f64>| ns.map(|ns| (ns, Dimension::Time));
    [
        value(spread.median),
        value(spread.lower_quartile),
        value(spread.upper_quartile),
        value(spread.min),
        value(spread.max),
        value(spread.mean),
        spread.deviation.map(|deviation| (deviation, dimension)),
        time(spread.cpu.map(|cpu| cpu.user_ns)),
        time(spread.cpu.map(|cpu| cpu.system_ns)),
    ]
}

/// Names of commands that fit and differ: without what all begin with if a name is too long, and numbered if that does
/// not help.
pub(super) fn labels(commands: &[&str]) -> Vec<String> {
    let fitted = |names: Vec<String>| -> Vec<String> {
        names.iter().map(|name| fit(name, NAME_COLUMNS)).collect()
    };
    let differ =
        |names: &[String]| names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
    let whole = fitted(commands.iter().map(|&command| command.to_owned()).collect());
    if differ(&whole) {
        return whole;
    }
    let shared = shared_words(commands);
    let rest = |command: &str| match shared {
        0 => command.to_owned(),
        _ => format!("…{}", &command[shared..]),
    };
    let cut = fitted(commands.iter().map(|command| rest(command)).collect());
    if differ(&cut) {
        return cut;
    }
    let numbered = |name: &dyn Fn(&str) -> String| -> Vec<String> {
        let numbered = commands.iter().enumerate();
        numbered.map(|(at, command)| format!("{}: {}", at + 1, name(command))).collect()
    };
    let whole = numbered(&|command| command.to_owned());
    match whole.iter().all(|name| name.chars().count() <= NAME_COLUMNS) {
        true => whole,
        false => fitted(numbered(&rest)),
    }
}

/// How many bytes of words all commands begin with; 0 if nothing would be left of one.
fn shared_words(commands: &[&str]) -> usize {
    let Some((first, others)) = commands.split_first() else { return 0 };
    let ends = first.char_indices().filter(|(_, c)| *c == ' ' || *c == '/').map(|(at, _)| at);
    let all_begin = |end: &usize| {
        others.iter().all(|other| other.len() > *end && other.starts_with(&first[..=*end]))
    };
    ends.take_while(all_begin).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_a_table_always_differ() {
        let long = "/opt/program/target/release/benchmark";
        let ask = |commands: [&str; 2]| labels(&commands);
        assert_eq!(ask(["./w 10 1", "./w 10 1"]), ["1: ./w 10 1", "2: ./w 10 1"]);
        assert_eq!(ask(["./old", "./new"]), ["./old", "./new"]);
        let (one, two) = (format!("{long} --one 1"), format!("{long} --two 1"));
        assert_eq!(ask([&one, &two]), ["… --one 1", "… --two 1"]);
        let (old, new) = (format!("{long}/old -x"), format!("{long}/new -x"));
        assert_eq!(ask([&old, &new]), ["…/old -x", "…/new -x"]);
        assert_eq!(ask([long, &one]), ["…/benchmark", "…/benchmark --one 1"]);
        assert_eq!(ask(["same", "same"]), ["1: same", "2: same"]);
        let (x, y) = ("x".repeat(40), "x".repeat(41));
        let numbered = ask([&x, &y]);
        assert!(
            numbered[0].starts_with("1: xxx") && numbered[1].starts_with("2: xxx"),
            "{numbered:?}"
        );
    }
}
