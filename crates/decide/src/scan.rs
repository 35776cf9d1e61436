//! Commands with a parameter: `./prog {threads}` for several values of `threads`.

use crate::Failure;

/// A parameter and its values, as text.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    name: String,
    values: Vec<String>,
}

/// Most values of one parameter, and most commands of one comparison.
const MOST: usize = 1000;

impl Parameter {
    /// Values listed with commas.
    pub fn list(name: &str, values: &str) -> Result<Parameter, Failure> {
        let values: Vec<String> = values.split(',').map(String::from).collect();
        Ok(Parameter { name: checked(name)?, values })
    }

    /// Numbers from `first` to `last`, with as many decimals as the most precise of the three.
    pub fn scan(name: &str, first: &str, last: &str, step: &str) -> Result<Parameter, Failure> {
        let decimals = |text: &str| text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let places = [first, last, step].into_iter().map(decimals).max().unwrap_or(0);
        let unit = 10_f64.powi(i32::try_from(places).unwrap_or(i32::MAX));
        let whole = |text: &str| {
            let number = text.parse::<f64>().ok().map(|number| (number * unit).round());
            let number = number.filter(|number| number.abs() < 1e15);
            number.ok_or_else(|| {
                Failure::new(format!("'{text}' is not a number"), "see `Parameter::scan`")
            })
        };
        let (first, last, step) = (whole(first)?, whole(last)?, whole(step)?);
        let steps = ((last - first) / step).floor();
        if step <= 0.0 || !(0.0..MOST as f64).contains(&steps) {
            let cause = format!("the scan of {name} has no values, or more than {MOST}");
            return Err(Failure::new(cause, "FIRST is at most LAST, and the step above 0"));
        }
        let value = |index: usize| format!("{:.places$}", (first + step * index as f64) / unit);
        Ok(Parameter { name: checked(name)?, values: (0..=steps as usize).map(value).collect() })
    }
}

fn checked(name: &str) -> Result<String, Failure> {
    if name.is_empty() || name.contains(['{', '}']) {
        return Err(Failure::new(format!("'{name}' is not the name of a parameter"), ""));
    }
    Ok(name.to_string())
}

/// Every command with every combination of values, in order.
pub fn expand(commands: &[String], parameters: &[Parameter]) -> Result<Vec<String>, Failure> {
    let mut lines = commands.to_vec();
    for parameter in parameters {
        let place = format!("{{{}}}", parameter.name);
        if !lines.iter().any(|line| line.contains(&place)) {
            return Err(Failure::new(
                format!("no command contains {place}"),
                "write it where the value belongs",
            ));
        }
        lines = lines
            .into_iter()
            .flat_map(|line| {
                // A command without the parameter stays one command.
                let values = if line.contains(&place) {
                    parameter.values.as_slice()
                } else {
                    &parameter.values[..1]
                };
                values.iter().map(|value| line.replace(&place, value)).collect::<Vec<_>>()
            })
            .collect();
        if lines.len() > MOST {
            return Err(Failure::new(
                format!("these are more than {MOST} commands"),
                "scan fewer values",
            ));
        }
    }
    Ok(lines)
}
