//! A table of text whose columns are aligned, and which gives up its least telling columns on a narrow terminal.
//!
//! # Contract
//! Every line is at most as wide as asked, unless even the columns that stay at any width are wider together. At most
//! one column is elastic: it is cut, with an ellipsis, to what the others leave.

use super::Paint;
use crate::text::{fit, width};

/// Two spaces between columns.
const GAP: usize = 2;
/// The least that the elastic column is cut to before other columns go.
const ELASTIC_LEAST: usize = 24;
/// The least that it is cut to when no other column can go.
const LEAST: usize = 8;

/// One column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// What stands above it and its neighbours of the same group; empty for none.
    pub(super) group: &'static str,
    /// What stands above it.
    pub(super) title: &'static str,
    /// Where its cells stand, and whether it may be cut.
    pub(super) fit: Fit,
    /// 0 stays at any width; of the others the highest goes first.
    pub(super) goes: u8,
}

/// How the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Left,
    Right,
    /// To the left, and cut where the table is too wide.
    Elastic,
}

/// The lines of the table, each ending in a line feed.
pub(super) fn render(
    columns: &[Column],
    rows: &[Vec<String>],
    limit: usize,
    paint: Paint,
) -> String {
    let natural: Vec<usize> = (0..columns.len())
        .map(|at| {
            rows.iter()
                .map(|row| width(&row[at]))
                .chain([width(columns[at].title)])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let (kept, widths) = choose(columns, natural, limit);
    let mut text = String::new();
    if kept.iter().any(|&at| !columns[at].group.is_empty()) {
        text.push_str(&paint.dim(groups(columns, &kept, &widths).trim_end()));
        text.push('\n');
    }
    let titles: Vec<&str> = columns.iter().map(|column| column.title).collect();
    text.push_str(&paint.dim(line(columns, &kept, &widths, |at| titles[at]).trim_end()));
    text.push('\n');
    for row in rows {
        text.push_str(line(columns, &kept, &widths, |at| &row[at]).trim_end());
        text.push('\n');
    }
    text
}

/// The columns that stay and the widths of all.
fn choose(columns: &[Column], mut widths: Vec<usize>, limit: usize) -> (Vec<usize>, Vec<usize>) {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let elastic = columns.iter().position(|column| column.fit == Fit::Elastic);
    loop {
        let total: usize =
            kept.iter().map(|&at| widths[at]).sum::<usize>() + GAP * kept.len().saturating_sub(1);
        if total <= limit {
            return (kept, widths);
        }
        let slack = elastic.map_or(0, |at| widths[at].saturating_sub(ELASTIC_LEAST));
        let go = kept
            .iter()
            .copied()
            .filter(|&at| columns[at].goes > 0)
            .max_by_key(|&at| columns[at].goes);
        match (elastic, go) {
            (Some(at), _) if total - slack <= limit => widths[at] -= total - limit,
            (_, Some(gone)) => kept.retain(|&at| at != gone),
            (Some(at), None) if widths[at] > LEAST => {
                widths[at] = widths[at].saturating_sub(total - limit).max(LEAST);
            }
            _ => return (kept, widths),
        }
    }
}

fn line<'a>(
    columns: &[Column],
    kept: &[usize],
    widths: &[usize],
    cell: impl Fn(usize) -> &'a str,
) -> String {
    let mut text = String::new();
    for (nth, &at) in kept.iter().enumerate() {
        let cell = fit(cell(at), widths[at]);
        let pad = " ".repeat(widths[at].saturating_sub(width(&cell)));
        if nth > 0 {
            text.push_str(&" ".repeat(GAP));
        }
        if columns[at].fit == Fit::Right {
            text.push_str(&pad);
            text.push_str(&cell);
        } else {
            text.push_str(&cell);
            text.push_str(&pad);
        }
    }
    text
}

/// The line above the titles: each group's name, with a rule over its columns.
fn groups(columns: &[Column], kept: &[usize], widths: &[usize]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < kept.len() {
        let group = columns[kept[at]].group;
        let end = kept[at..]
            .iter()
            .position(|&next| columns[next].group != group)
            .map_or(kept.len(), |more| at + more);
        let room = kept[at..end].iter().map(|&column| widths[column]).sum::<usize>()
            + GAP * (end - at - 1);
        if at > 0 {
            text.push_str(&" ".repeat(GAP));
        }
        if group.is_empty() {
            text.push_str(&" ".repeat(room));
        } else {
            let name = fit(group, room);
            let left = room.saturating_sub(width(&name));
            let before = left.div_ceil(2);
            // A rule needs a gap and a dash on both sides.
            let side = |length: usize, gap: &str, first: bool| match length {
                _ if left < 4 => " ".repeat(if first { left } else { 0 }),
                length if first => format!("{}{gap}", "─".repeat(length - 1)),
                length => format!("{gap}{}", "─".repeat(length - 1)),
            };
            text.push_str(&format!(
                "{}{name}{}",
                side(before, " ", true),
                side(left - before, " ", false)
            ));
        }
        at = end;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column { group: "", title: "where", fit: Fit::Elastic, goes: 0 },
        Column { group: "wait", title: "total", fit: Fit::Right, goes: 0 },
        Column { group: "wait", title: "longest", fit: Fit::Right, goes: 1 },
        Column { group: "", title: "queue", fit: Fit::Right, goes: 2 },
    ];

    fn shown(limit: usize) -> String {
        let row =
            ["a_function_with_a_long_name", "1.23 s", "線程", "0.29"].map(str::to_owned).to_vec();
        render(&COLUMNS, &[row], limit, Paint { colour: false })
    }

    #[test]
    fn the_elastic_column_gives_way_first_and_then_the_least_telling() {
        assert_eq!(
            shown(60),
            "                             ───── wait ────\n\
             where                         total  longest  queue\n\
             a_function_with_a_long_name  1.23 s     線程   0.29\n"
        );
        let cut = shown(50);
        assert!(cut.contains("a_function_with_a_long_na…  1.23 s     線程   0.29\n"), "{cut}");
        let narrow = shown(34);
        assert!(
            narrow.contains("a_function_with_a_long_na…  1.23 s") && !narrow.contains("queue"),
            "{narrow}"
        );
        assert!(narrow.lines().all(|line| width(line) <= 34), "{narrow}");
        assert!(shown(3).contains("1.23 s"));
    }
}
