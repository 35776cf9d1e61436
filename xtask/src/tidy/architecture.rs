//! The table of crates in ARCHITECTURE.md: floor, name, what it may use, and whether it has unsafe code.

use std::path::Path;

const FILE: &str = "ARCHITECTURE.md";
/// The table's first line.
const HEAD: &str = "| floor | crate | may use | holds |";

/// Where a crate stands; dependencies point down.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(crate) enum Floor {
    Number(u8),
    /// What tests use: above everything, so that nothing may use it.
    Tests,
}

/// One crate.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) floor: Floor,
    pub(crate) name: String,
    /// Crates of ours; `all` is every one.
    pub(crate) may_use: Vec<String>,
    pub(crate) unsafe_code: bool,
}

/// The table, and complaints about rows that contradict it.
pub(crate) fn table(root: &Path) -> Result<(Vec<Row>, Vec<String>), String> {
    let text = std::fs::read_to_string(root.join(FILE)).map_err(|e| format!("{FILE}: {e}"))?;
    let rows = parse(&text)?;
    let complaints = rows.iter().flat_map(|row| upward(row, &rows)).collect();
    Ok((rows, complaints))
}

fn parse(text: &str) -> Result<Vec<Row>, String> {
    let lines = text.lines().skip_while(|line| *line != HEAD).skip(2);
    let rows: Result<Vec<Row>, String> =
        lines.take_while(|line| line.starts_with('|')).map(parse_row).collect();
    match rows {
        Ok(rows) if rows.is_empty() => Err(format!("{FILE}: no table begins with {HEAD}")),
        rows => rows,
    }
}

fn parse_row(line: &str) -> Result<Row, String> {
    let malformed = || format!("{FILE}: not a row of crates: {line}");
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [floor, name, may_use, holds] = cells[..] else { return Err(malformed()) };
    let floor = match floor {
        "tests" => Floor::Tests,
        number => Floor::Number(number.parse().map_err(|_| malformed())?),
    };
    let may_use = may_use.split(',').map(|name| name.trim().to_owned());
    Ok(Row {
        floor,
        name: name.trim_matches('`').to_owned(),
        may_use: may_use.filter(|name| !name.is_empty()).collect(),
        unsafe_code: !holds.ends_with("No unsafe code"),
    })
}

/// Complaints about what the row may use: it is in the table, and not on a higher floor.
fn upward(row: &Row, rows: &[Row]) -> Vec<String> {
    let wrong = |name: &&String| {
        let used = rows.iter().find(|used| used.name == **name);
        *name != "all" && used.is_none_or(|used| used.floor > row.floor)
    };
    let wrong = row.may_use.iter().filter(wrong);
    wrong
        .map(|name| format!("{FILE}: {} may use {name}, which is above it or not there", row.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_and_what_points_up_is_named() {
        let text = format!(
            "# Map\n{HEAD}\n|---|---|---|---|\n| 0 | `low` | high | sums. No unsafe code |\n| 1 | `high` | low, gone | x |\n\nEnd"
        );
        let rows = parse(&text).unwrap();
        assert_eq!((rows.len(), rows[0].unsafe_code, rows[1].unsafe_code), (2, false, true));
        assert_eq!(rows[1].may_use, ["low", "gone"]);
        assert!(upward(&rows[0], &rows)[0].contains("low may use high"));
        assert!(upward(&rows[1], &rows)[0].contains("high may use gone"));
        assert!(parse("no table").is_err() && parse_row("| x | y |").is_err());
    }
}
