//! Selects one number from a JSON document: `stats.p99`, `runs[0].ms`, `max(processes[*].locks[*].wait_ns.max)`.
//!
//! # Contract
//! A path is fields joined by dots, `[N]` for an element and `[*]` for all of them. A path that can match several
//! numbers is wrapped in `max(…)`, `min(…)`, `sum(…)`, `mean(…)` or `count(…)`. A missing field is an error, never a
//! zero; a `null` is skipped. `max` and `sum` of nothing are 0 (no lock was ever waited for), `min` and `mean` are
//! errors.
//! # Evidence
//! `tests/path.rs`.

use serde_json::Value;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    fold: Option<Fold>,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fold {
    Max,
    Min,
    Sum,
    Mean,
    Count,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Element(usize),
    All,
}

impl Path {
    /// Parses a path.
    pub fn parse(text: &str) -> Result<Path, String> {
        let bad = |why: &str| format!("the path '{text}' {why}");
        let folds = [
            ("max", Fold::Max),
            ("min", Fold::Min),
            ("sum", Fold::Sum),
            ("mean", Fold::Mean),
            ("count", Fold::Count),
        ];
        let (fold, inner) = match text.split_once('(') {
            None => (None, text),
            Some((name, rest)) => {
                let fold = folds.iter().find(|(known, _)| *known == name).map(|(_, fold)| *fold);
                let fold = fold.ok_or_else(|| bad("knows max, min, sum, mean and count only"))?;
                let inner = rest.strip_suffix(')').ok_or_else(|| bad("lacks its last ')'"))?;
                (Some(fold), inner)
            }
        };
        let inner = inner.strip_prefix('$').unwrap_or(inner);
        let inner = inner.strip_prefix('.').unwrap_or(inner);
        let mut steps = Vec::new();
        for part in inner.split('.') {
            let (field, indices) = part.split_at(part.find('[').unwrap_or(part.len()));
            match field {
                "" if indices.is_empty() || !steps.is_empty() => {
                    return Err(bad("has an empty field"));
                }
                "" => {}
                name if name.contains([']', '(', ')']) => {
                    return Err(bad("has brackets that do not match"));
                }
                name => steps.push(Step::Field(name.to_string())),
            }
            for index in indices.split_terminator(']') {
                steps.push(match index.strip_prefix('[') {
                    Some("*") => Step::All,
                    Some(number) => Step::Element(
                        number.parse().map_err(|_| bad("has an index that is not a number"))?,
                    ),
                    None => return Err(bad("has brackets that do not match")),
                });
            }
            if !indices.is_empty() && !indices.ends_with(']') {
                return Err(bad("has brackets that do not match"));
            }
        }
        if steps.contains(&Step::All) && fold.is_none() {
            return Err(bad(
                "can match several numbers: put max(…), min(…), sum(…), mean(…) or count(…) around it",
            ));
        }
        Ok(Path { fold, steps })
    }

    /// The number in `document`.
    pub fn number(&self, document: &Value) -> Result<f64, String> {
        let mut found = vec![document];
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found.into_iter().filter(|value| !value.is_null()) {
                match step {
                    Step::Field(name) => next.push(
                        value
                            .get(name.as_str())
                            .ok_or_else(|| format!("there is no field '{name}'"))?,
                    ),
                    Step::Element(index) => next.push(
                        value.get(index).ok_or_else(|| format!("there is no element [{index}]"))?,
                    ),
                    Step::All => next.extend(value.as_array().ok_or_else(|| {
                        "[*] stands after something that is not an array".to_string()
                    })?),
                }
            }
            found = next;
        }
        if self.fold == Some(Fold::Count) {
            return Ok(found.len() as f64);
        }
        let numbers: Vec<f64> = found
            .into_iter()
            .filter(|value| !value.is_null())
            .map(|value| value.as_f64().ok_or_else(|| format!("{value} is not a number")))
            .collect::<Result<_, _>>()?;
        let nothing = || "nothing there but null".to_string();
        match self.fold {
            None => numbers.first().copied().ok_or_else(nothing),
            Some(Fold::Min) => numbers.into_iter().reduce(f64::min).ok_or_else(nothing),
            Some(Fold::Mean) if numbers.is_empty() => Err(nothing()),
            Some(Fold::Mean) => Ok(numbers.iter().sum::<f64>() / numbers.len() as f64),
            Some(Fold::Max) => Ok(numbers.into_iter().reduce(f64::max).unwrap_or(0.0)),
            Some(Fold::Sum | Fold::Count) => Ok(numbers.iter().sum()),
        }
    }

    /// Whether the number is a time in nanoseconds by the naming rule of our own schemas: below a field whose name ends
    /// in `_ns`, and not a count.
    pub fn is_time(&self) -> bool {
        let named =
            |step: &Step, test: fn(&str) -> bool| matches!(step, Step::Field(name) if test(name));
        self.fold != Some(Fold::Count)
            && self.steps.iter().any(|step| named(step, |name| name.ends_with("_ns")))
            && !self.steps.last().is_some_and(|step| named(step, |name| name == "count"))
    }
}
