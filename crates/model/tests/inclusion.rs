//! Everything that sequential consistency allows x86-TSO allows too: on every classic, by both engines.

use uncontended_model::classics::CLASSICS;
use uncontended_model::dpor::executions;
use uncontended_model::litmus::parse;
use uncontended_model::memory::{Sc, Tso};
use uncontended_model::outcome::Limits;
use uncontended_model::search::outcomes;

#[test]
fn tso_allows_all_that_sc_allows() {
    for classic in CLASSICS {
        let program = parse(classic.text).expect("a classic parses").program;
        let (limits, tso) = (Limits::default(), Tso { delta: None });
        let sc = outcomes(&program, Sc, limits).outcomes;
        let searched = outcomes(&program, tso, limits).outcomes;
        let lost: Vec<_> = sc.difference(&searched).collect();
        assert!(lost.is_empty(), "{}: search under TSO loses {lost:?}", classic.name);
        let enumerated = executions(&program, tso, limits).expect("a classic is enumerated");
        let enumerated: std::collections::BTreeSet<_> = enumerated.outcomes.into_keys().collect();
        assert_eq!(enumerated, searched, "{}", classic.name);
    }
}
