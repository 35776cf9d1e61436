//! A report as JSON: schema `uncontended.bench/1`, described in docs/json.md.

use serde_json::{Map, Value, json};

use crate::report::{Estimate, Latency, Measurement, Report, Row, Table};

/// The report as JSON, ending in a line feed.
#[must_use]
pub fn text(report: &Report) -> String {
    let facts = &report.facts;
    let value = json!({
        "schema": "uncontended.bench/1",
        "name": report.name,
        "question": report.question,
        "operation": report.operation,
        "ratio": report.ratio.key(),
        "seed": report.seed.to_string(),
        "max_error": report.max_error,
        "width": report.width,
        "machine": {
            "processor": facts.processor,
            "cpus": facts.cpus,
            "kernel": facts.kernel,
            "load": facts.load,
            "tick_ns": facts.tick_ns,
        },
        "tables": report.tables.iter().map(table).collect::<Vec<_>>(),
        "notes": report.notes,
        "warnings": report.warnings,
    });
    format!("{value:#}\n")
}

fn table(table: &Table) -> Value {
    let mut value = json!({ "case": table.case, "place": table.place.key(), "skipped": null });
    match &table.outcome {
        Ok(measurement) => merge(&mut value, figures(measurement)),
        Err(reason) => value["skipped"] = json!(reason),
    }
    value
}

fn figures(table: &Measurement) -> Value {
    json!({
        "cpus": table.cpus,
        "rounds": table.rounds,
        "stopped_by": table.stopped.key(),
        "seconds": table.seconds,
        "stolen": table.stolen,
        "others_cpus": table.others,
        "subjects": table.rows.iter().map(row).collect::<Vec<_>>(),
        "warnings": table.warnings,
    })
}

fn row(row: &Row) -> Value {
    json!({
        "name": row.name,
        "role": row.role.key(),
        "failed": row.failed,
        "blocks": row.blocks,
        "operations": row.operations,
        "ns_per_operation": row.ns_per_operation,
        "ratio": row.ratio.map(estimate),
        "cpu_ns_per_operation": row.cpu_ns_per_operation,
        "cpu_share": row.cpu_share,
        "voluntary_per_s": row.voluntary_per_s,
        "involuntary_per_s": row.involuntary_per_s,
        "latency_ns": row.latency_ns.map(latency),
        "figures": row.figures.iter().map(|&(name, value)| (name.to_owned(), json!(value))).collect::<Map<_, _>>(),
    })
}

/// JSON has no infinity: an unbounded end is null.
fn estimate(ratio: Estimate) -> Value {
    json!({ "median": ratio.median, "low": ratio.low, "high": ratio.high.is_finite().then_some(ratio.high) })
}

fn latency(it: Latency) -> Value {
    json!({ "count": it.count, "p50": it.p50, "p99": it.p99, "p999": it.p999, "p9999": it.p9999, "max": it.max })
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}
