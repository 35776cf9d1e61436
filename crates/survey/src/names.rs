//! The names of what the topic `locks` measures: those of the library's types, and short ones for a command line, in
//! which a shell gives `<` a meaning of its own.

use crate::guarded::{Guarding, Guards, every};
use crate::readers::every_reader;
use uncontended_figures::text::closest;
use uncontended_locks::{Order, Waits};

/// Short names of types with parameters. (Others are the type's, in small letters.)
const SHORT: [(&str, &str); 22] = [
    ("ttas", "Ttas<Hint>"),
    ("ttas-backoff", "Ttas<Backoff>"),
    ("ttas-yield", "Ttas<HintThenYield>"),
    ("ttas-yields", "Ttas<Yield>"),
    ("preemption-aware", "PreemptionAware"),
    ("word-queue", "WordQueue<Park>"),
    ("reciprocating", "Reciprocating<Spin>"),
    ("reciprocating-park", "Reciprocating<SpinThenPark>"),
    ("ticket", "Ticket<Hint>"),
    ("ticket-yield", "Ticket<HintThenYield>"),
    ("clh", "Clh<Hint>"),
    ("clh-yield", "Clh<HintThenYield>"),
    ("mcs", "Mcs<Spin>"),
    ("mcs-yield", "Mcs<SpinThenYield>"),
    ("mcs-parks", "Mcs<Park>"),
    ("mcs-park", "Mcs<SpinThenPark>"),
    ("phase-fair", "PhaseFair<Spin>"),
    ("phase-fair-yield", "PhaseFair<SpinThenYield>"),
    ("phase-fair-parks", "PhaseFair<Park>"),
    ("phase-fair-park", "PhaseFair<SpinThenPark>"),
    ("bravo-yield", "Bravo<PhaseFair<SpinThenYield>>"),
    ("bravo-park", "Bravo<PhaseFair<SpinThenPark>>"),
];

/// A lock that can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The library's name.
    pub name: &'static str,
    /// A name without characters that a shell interprets.
    pub short: String,
    /// What it does.
    pub about: String,
}

/// Every lock that the topic measures.
#[must_use]
pub fn list() -> Vec<Named> {
    struct List(Vec<Named>);
    impl Guards for List {
        fn add<G: Guarding + Send + 'static>(
            &mut self,
            name: &'static str,
            order: Order,
            waits: Waits,
        ) {
            let about = match name {
                crate::guarded::BASELINE => {
                    "std's mutex, with which the others are compared".to_owned()
                }
                "pthread" => "the C library's mutex".to_owned(),
                "Combining" => "closures, run by the thread that has the value".to_owned(),
                crate::guarded::DELEGATE => {
                    "closures, sent to the thread that owns the value".to_owned()
                }
                _ => format!("{}; {}", ordered(order), waiting(waits)),
            };
            self.0.push(Named { name, short: short(name), about });
        }
    }
    let mut list = List(Vec::new());
    every(&[], &mut list);
    for (name, about) in every_reader() {
        list.0.push(Named { name, short: short(name), about });
    }
    list.0
}

/// The lock that is meant by its own name, in whatever case, or by its short one.
#[must_use]
pub fn find(name: &str) -> Option<&'static str> {
    let is_it = |known: &Named| known.name.eq_ignore_ascii_case(name) || known.short == name;
    list().into_iter().find(is_it).map(|known| known.name)
}

/// The short name of the lock that was probably meant, by either name.
#[must_use]
pub fn nearest(name: &str) -> Option<String> {
    let (list, name) = (list(), name.to_lowercase());
    let types: Vec<String> = list.iter().map(|known| known.name.to_lowercase()).collect();
    let shorts = list.iter().map(|known| known.short.as_str());
    let near = closest(&name, shorts.chain(types.iter().map(String::as_str)))?;
    let known = list.iter().find(|known| known.short == near || known.name.to_lowercase() == near);
    known.map(|known| known.short.clone())
}

fn short(name: &'static str) -> String {
    let mut known = SHORT.iter();
    known
        .find(|(_, own)| *own == name)
        .map_or_else(|| name.to_lowercase().replace(' ', "-"), |(short, _)| (*short).to_owned())
}

fn ordered(order: Order) -> &'static str {
    match order {
        Order::Barging => "who comes first takes it",
        Order::Bounded => "who comes first takes it, a bounded number of times",
        Order::Arrival => "in order of arrival",
        Order::ArrivalOfRunning => "in order of arrival, of those with a CPU",
    }
}

pub(crate) fn waiting(waits: Waits) -> &'static str {
    match waits {
        Waits::Spins => "waiters spin",
        Waits::Yields => "waiters spin, then yield",
        Waits::Parks => "waiters sleep",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_locks::{RawLock, RawRwLock, Visit, VisitReaders, each, each_readers};

    /// The compiler prints a type with the paths of modules, and without parameters that are the default: apart from
    /// the paths, what it prints stands in the name, in that order.
    fn agrees<T>(name: &str) {
        let words =
            |text: &'static str| text.split(['<', '>', ',']).filter(|word| !word.is_empty());
        let mut own = name.split(['<', '>']);
        for word in words(std::any::type_name::<T>()) {
            let word = word.rsplit("::").next().unwrap_or(word);
            assert!(own.any(|own| own == word), "{name}: {}", std::any::type_name::<T>());
        }
    }

    #[test]
    fn the_names_are_those_of_the_types() {
        struct Checked;
        impl Visit for Checked {
            fn visit<L: RawLock + 'static>(&mut self, name: &'static str, _: Order, _: Waits) {
                agrees::<L>(name);
            }
        }
        impl VisitReaders for Checked {
            fn visit<L: RawRwLock + 'static>(&mut self, name: &'static str, _: Waits) {
                agrees::<L>(name);
            }
        }
        each(&mut Checked);
        each_readers(&mut Checked);
    }

    #[test]
    fn a_lock_is_found_by_its_name_and_by_the_short_one_which_no_shell_interprets() {
        let all = list();
        for Named { name, short, .. } in &all {
            assert_eq!((find(name), find(short)), (Some(*name), Some(*name)));
            assert!(
                short.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'),
                "{short}"
            );
        }
        let of = |short: &str| find(short);
        assert_eq!(of("futex"), Some("Futex"));
        assert_eq!(
            (of("ttas-yield"), of("ttas<hintthenyield>")),
            (Some("Ttas<HintThenYield>"), Some("Ttas<HintThenYield>"))
        );
        assert_eq!(of("lock"), None);
        assert_eq!(nearest("Ttas<HintThenYeild>").as_deref(), Some("ttas-yield"));
        assert_eq!(nearest("futx").as_deref(), Some("futex"));
    }
}
