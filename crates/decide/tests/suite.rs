//! Suites as text: what is read, what is refused, and that any text gets an answer.

use uncontended_decide::plan::{ComparePlan, SloPlan};
use uncontended_decide::plan::{Keys, compare, slo};
use uncontended_decide::question::{Claim, Decider, Side};
use uncontended_decide::suite::Suite;

fn keys(text: &str) -> Keys {
    Keys::new(toml::from_str(text).expect("TOML"))
}

#[test]
fn properties_share_the_error_in_the_order_of_the_file() {
    let text = "max-error = '1 %'\n\
                [[slo]]\nrate = 0.9\ncounts = '9/10'\n\
                [[permute]]\nname = 'shuffled'\nvalues = ['a', 'b']\n\
                [[slo]]\nrate = '90 %'\nat-most = '5 ms'\ncommand = 'true'\n";
    let suite = Suite::parse(text, None).unwrap();
    let names: Vec<&str> = suite.properties.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["slo 1", "shuffled", "slo 3"]);
    assert_eq!(suite.max_error, 0.01);
    assert!(suite.share <= 0.01 / 3.0 && suite.share > 0.0033, "{}", suite.share);
    // The caller's bound stands before the file's.
    assert_eq!(Suite::parse(text, Some(0.05)).unwrap().max_error, 0.05);
}

#[test]
fn keys_are_read_as_the_flags_of_their_names() {
    let mut keys_of_slo = keys(
        "at-least = '1.5 ms'\nquantile = 'p99'\nor-below = '98 %'\nmethod = 'csm'\nbursts = 3\nfrom = 'values'\n\
         max-runs = 500\nmax-time = '2 m'\ntimeout = '200 µs'\nenv = ['A=1', 'B=2']\nprepare = 'sync'\nwarmup = 2",
    );
    let plan = SloPlan::from_keys(&mut keys_of_slo, 0.01).unwrap();
    let (side, threshold) = plan.bound.unwrap();
    assert_eq!((side, threshold.value), (Side::AtLeast, 1.5e6));
    assert_eq!((plan.rate, plan.or_below), (slo::Asked::Quantile(0.99), Some(0.98)));
    assert_eq!((plan.method, plan.bursts), (Decider::Csm, Some(3.0)));
    assert!(matches!(plan.source, slo::Source::Values(_)));
    assert_eq!((plan.limits.max_runs, plan.limits.max_error), (Some(500), 0.01));
    assert_eq!(plan.limits.max_time, Some(std::time::Duration::from_secs(120)));
    assert_eq!(plan.runs.timeout, Some(std::time::Duration::from_micros(200)));
    assert_eq!(plan.runs.environment.len(), 2);
    assert_eq!((plan.runs.prepare.len(), plan.runs.warmup), (1, 2));

    let mut keys_of_compare = keys(
        "commands = ['./a {n}', './b {n}']\nclaim = 'better'\nmargin = 0.05\nblock = 3\nno-tail-guard = true\n\
         parameter-list = ['n', '1,2']\nseed = '18446744073709551615'",
    );
    let plan = ComparePlan::from_keys(&mut keys_of_compare, 0.01).unwrap();
    assert_eq!((plan.claim, plan.margin, plan.block), (Some(Claim::Better), 0.05, 3));
    assert_eq!((plan.tail_guard, plan.seed), (false, Some(u64::MAX)));
    let compare::Source::Commands(commands) = plan.source else { panic!("commands") };
    assert_eq!((commands.lines.len(), commands.parameters.len()), (2, 1));
}

#[test]
fn what_is_wrong_is_named() {
    for (text, words) in [
        ("", "there is no property"),
        ("max-error = true\n[[slo]]\n", "max-error is not a share"),
        ("[[slo]]\nname = 3\n", "a name is not text"),
        ("[[slo]]\nname = 'x'\nrate = 0.9\n", "x: there is nothing to judge"),
        (
            "[[slo]]\nrate = 0.9\ncounts = '1/2'\nat-most = 3\n",
            "at-most cannot be used with counts",
        ),
        ("[[slo]]\nrate = 0.9\nquantile = 'p9'\n", "rate cannot be used with quantile"),
        ("[[slo]]\nrate = 0.9\ncounts = '1/2'\ncolour = 1\n", "unknown key 'colour'"),
        (
            "[[compare]]\nfrom = 'x'\nparameter-list = ['n', '1']\n",
            "from cannot be used with parameter-list",
        ),
        ("[[slo]]\nrate = 0.9\nat-most = '5 parsecs'\n", "at-most: unknown unit 'parsecs'"),
        (
            "[[slo]]\nrate = 0.9\ncounts = '1/2'\nmax-runs = 0\n",
            "'0' is not a whole number from 1 on",
        ),
        ("[[slo]]\nrate = 0.9\ncounts = '1/2'\nmethod = 'guess'\n", "none of csm, one-sided, beta"),
        ("[[compare]]\ncommands = ['a', 'b']\nblock = 5000\n", "'5000' is not from 1 to 1000"),
        ("[[compare]]\ncommands = 'a'\naa = 1\n", "aa is true or false, not"),
        ("[[compare]]\nfrom = 'x'\naa = true\n", "from cannot be used with aa"),
        (
            "[[compare]]\ncommands = ['a {n}', 'b']\nparameter-list = ['n']\n",
            "its name and its values",
        ),
        ("[[permute]]\nvalues = ['a']\n", "two files, of A and of B"),
        ("[[permute]]\nvalues = ['a', 'b']\njson = 'x'\n", "'json' belongs to the whole suite"),
    ] {
        let error = Suite::parse(text, None).map(|_| ()).unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn a_mistyped_key_suggests_the_one_that_was_meant() {
    let known = "[[slo]]\nrate = 0.9\ncounts = '1/2'\n";
    for (text, words) in [
        // Said before the key that is missing because of it.
        ("[[slo]]\nrat = 0.9\ncounts = '1/2'\n", "'rat'; did you mean 'rate'?"),
        ("[[slo]]\nrate = 0.9\ncount = '1/2'\n", "'count'; did you mean 'counts'?"),
        ("[[compare]]\ncomand = ['a', 'b']\n", "'comand'; did you mean 'commands'?"),
        ("[[compare]]\nfrom = 'x'\nmargn = 0.1\n", "'margn'; did you mean 'margin'?"),
        ("[[permute]]\nvalue = ['a', 'b']\n", "'value'; did you mean 'values'?"),
        (&format!("{known}nmae = 'x'\n"), "'nmae'; did you mean 'name'?"),
        (&format!("{known}max-run = 9\n"), "'max-run'; did you mean 'max-runs'?"),
        (&format!("{known}prpare = 'x'\n"), "'prpare'; did you mean 'prepare'?"),
    ] {
        let error = Suite::parse(text, None).map(|_| ()).unwrap_err();
        assert!(error.ends_with(&format!("unknown key {words}")), "{text}: {error}");
    }
    // Another word, not a mistyped one.
    for key in ["colour", "x", "ratings"] {
        let error = Suite::parse(&format!("{known}{key} = 1\n"), None).map(|_| ()).unwrap_err();
        assert!(error.ends_with(&format!("unknown key '{key}'")), "{error}");
    }
}

#[test]
fn a_plan_names_its_files() {
    let text = "[[slo]]\nrate = 0.9\nat-most = 1\nfrom = 'f'\ninput = 'i'\nlog = 'l'\n\
                [[compare]]\ncommands = 'b'\nbaseline = 's'\ninput = 'i'\n\
                [[compare]]\nfrom = 'p'\nlog = 'm'\n\
                [[compare]]\nstored-baseline = 's'\ncandidate = 'c'\ntrust-sessions = true\n\
                [[permute]]\nvalues = ['a', 'b']\nlog = 'n'\n\
                [[slo]]\nrate = 0.9\ncounts = '1/2'\n";
    let suite = Suite::parse(text, None).unwrap();
    let files = suite.properties.iter().map(|one| one.plan.files());
    let files = files.map(|files| {
        let read = files.read.iter().map(|(key, path)| format!("{key} {}", path.display()));
        let log = files.log.map(|path| format!("log {}", path.display()));
        read.chain(log).collect::<Vec<_>>().join(", ")
    });
    let expected = [
        "from f, input i, log l",
        "baseline s, input i",
        "from p, log m",
        "baseline s, candidate c",
        "values a, values b, log n",
        "",
    ];
    assert_eq!(files.collect::<Vec<_>>(), expected);
}

/// Any text is answered: read, or refused with a reason.
#[test]
fn random_suites_are_answered() {
    let pieces = [
        "[[slo]]\n",
        "[[compare]]\n",
        "[[permute]]\n",
        "[slo]\n",
        "rate = 0.9\n",
        "rate = '90%'\n",
        "counts = '1/2'\n",
        "max-error = 0.1\n",
        "commands = ['a', 'b']\n",
        "command = 3\n",
        "aa = true\n",
        "x = [1, [2]]\n",
        "name = 'n'\n",
        "=",
        "\u{0}",
        "at-most = '5ms'\n",
    ];
    let mut state = 11_u64;
    let mut accepted = 0;
    for _ in 0..5000 {
        let mut text = String::new();
        for _ in 0..5 {
            state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            text += pieces[(state >> 33) as usize % pieces.len()];
        }
        match Suite::parse(&text, None) {
            Ok(suite) => accepted += usize::from(!suite.properties.is_empty()),
            Err(why) => assert!(!why.is_empty()),
        }
    }
    assert!(accepted > 0);
}
