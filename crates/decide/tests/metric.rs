//! Reading metrics from runs.

use std::time::Duration;
use uncontended_decide::metric::*;
use uncontended_sys::counters::Event;
use uncontended_sys::supervise::Ended;

fn ended(output: &str) -> Ended {
    Ended {
        code: None,
        signal: Some(9),
        wall: Duration::from_millis(5),
        user: Duration::from_millis(2),
        system: Duration::from_millis(1),
        max_rss_bytes: 4096,
        minor_faults: 3,
        major_faults: 1,
        voluntary_switches: 7,
        involuntary_switches: 2,
        timed_out: false,
        counts: vec![
            (Event::Migrations, Ok(4)),
            (Event::Cycles, Err(std::io::ErrorKind::ResourceBusy.into())),
        ],
        output: output.into(),
    }
}

fn read(metric: &str, output: &str) -> Result<f64, String> {
    Metric::parse(metric)?.read(&ended(output), Some(b"{\"wall_ns\": 7}")).map(|read| read.value)
}

#[test]
fn every_metric_is_read() {
    assert_eq!(read("wall", ""), Ok(5e6));
    assert_eq!(read("cpu", ""), Ok(3e6));
    assert_eq!(read("max-rss", ""), Ok(4096.0));
    assert_eq!(read("minor-faults", ""), Ok(3.0));
    assert_eq!(read("major-faults", ""), Ok(1.0));
    assert_eq!(read("voluntary-switches", ""), Ok(7.0));
    assert_eq!(read("involuntary-switches", ""), Ok(2.0));
    assert_eq!(read("cpu-migrations", ""), Ok(4.0));
    assert_eq!(read("exit-status", ""), Ok(137.0));
    assert_eq!(read("regex:took (\\S+)", "x\ntook 1.5ms\n"), Ok(1.5e6));
    assert_eq!(read("regex:[0-9]+", "a 12 b 13"), Ok(12.0));
    assert_eq!(read("json:a[1]", "{\"a\":[1,2]}"), Ok(2.0));
    assert_eq!(read("run:wall_ns", ""), Ok(7.0));
}

#[test]
fn a_metric_that_is_not_shown_is_an_error() {
    for (metric, output) in [
        ("regex:took (.*)", "nothing"),
        ("regex:took (.*)", "took long"),
        ("regex:took (.*)", "took nan"),
        ("cycles", ""),
        ("instructions", ""),
        ("json:a", "{}"),
        ("json:a", "no json"),
        ("run:other", ""),
    ] {
        assert!(read(metric, output).is_err(), "{metric} of {output}");
    }
    for name in NAMES {
        assert_eq!(Metric::parse(name).unwrap().name, name);
        assert!(read("time", "").unwrap_err().contains(name), "{name} is offered");
    }
    for metric in ["time", "regex:(", "json:a[", ""] {
        assert!(Metric::parse(metric).is_err(), "{metric}");
    }
}
