//! Schema `uncontended.litmus/1`, described in docs/json.md.

use super::machine::Seen;
use super::{Ran, Refused, Shown};
use serde_json::{Map, Value, json};
use uncontended_model::litmus::States;

/// The document for all results.
pub(super) fn document(results: &[Result<Ran, Refused>]) -> String {
    let tests: Vec<_> = results.iter().flatten().map(test).collect();
    let refused = results.iter().filter_map(|result| result.as_ref().err());
    let mut refused: Vec<_> =
        refused.map(|r| json!({ "path": r.path, "reason": r.reason })).collect();
    for ran in results.iter().flatten() {
        let errors = ran.models.iter().filter_map(|shown| shown.answer.as_ref().err());
        refused.extend(errors.map(|reason| json!({ "path": ran.path, "reason": reason })));
        if let Some(Err(reason)) = &ran.machine {
            let reason = format!("machine: {reason}");
            refused.push(json!({ "path": ran.path, "reason": reason }));
        }
    }
    let document = json!({ "schema": "uncontended.litmus/1", "tests": tests, "refused": refused });
    format!("{document:#}\n")
}

fn test(ran: &Ran) -> Value {
    let mut object = Map::new();
    object.insert("name".into(), json!(ran.test.name));
    object.insert("path".into(), json!(ran.path));
    object.insert("cond".into(), json!(ran.test.condition.to_string()));
    for shown in &ran.models {
        if let Some(answer) = model(shown) {
            object.insert(shown.memory.name().into(), answer);
        }
    }
    if let Some(Ok(seen)) = &ran.machine {
        object.insert("machine".into(), machine(seen));
    }
    Value::Object(object)
}

fn machine(seen: &Seen) -> Value {
    let states: Map<String, Value> =
        seen.states.by_line.iter().map(|(line, (count, _))| (line.clone(), json!(count))).collect();
    let States { positive, negative, .. } = seen.states;
    json!({
        "states": states,
        "runs": seen.runs,
        "processors": seen.processors,
        "obs": seen.states.observation().to_string(),
        "pos": positive,
        "neg": negative,
        "unseen": seen.unseen,
        "forbidden": if seen.judged { json!(seen.forbidden) } else { Value::Null },
    })
}

fn model(shown: &Shown) -> Option<Value> {
    let answer = shown.answer.as_ref().ok()?;
    let mut object = states(answer.spelled());
    if !answer.exhaustive && answer.observation().is_none() {
        object.insert("obs".into(), json!("Unknown"));
    }
    object.insert("bound".into(), json!(answer.bound.map(|bound| bound.to_string())));
    object.insert("blocked".into(), json!(answer.blocked));
    if let Some(delta) = shown.memory.delta() {
        object.insert("delta".into(), json!(delta));
    }
    if answer.as_herd.is_some() {
        object.insert("ordered".into(), Value::Object(states(&answer.states)));
    }
    Some(Value::Object(object))
}

fn states(states: &States) -> Map<String, Value> {
    let lines: Vec<_> = states.by_line.keys().collect();
    let observation = states.observation().to_string();
    let object = json!({ "states": lines, "obs": observation, "pos": states.positive, "neg": states.negative });
    match object {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
