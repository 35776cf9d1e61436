//! The variables of a module that stay where they are, by their symbols.
//!
//! # Contract
//! A word in a table of C++'s standard library has no name: atomics, barriers and latches anywhere wait for its words,
//! and which one it was for is not known.

use super::find::{self, Places};
use super::wanted::Wanted;
use object::read::{Object, ObjectSymbol, SymbolKind};

/// Where each begins, its size and its name, in order.
#[derive(Debug, Default)]
pub(super) struct Variables(Vec<(u64, u64, String)>);

impl Variables {
    /// Those that a file of the module names, with all its symbols if there is one; none if all are gone or others.
    pub(super) fn of(wanted: &Wanted, places: &Places) -> Self {
        let all = |is_whole: bool| {
            places.in_any(wanted, |module| {
                let has_all = module.symbols().next().is_some();
                (has_all || !is_whole).then(|| Variables::named(module))
            })
        };
        let apart = || places.in_apart(wanted, |module| Some(Variables::named(module)));
        all(true).or_else(apart).or_else(|| all(false)).unwrap_or_default()
    }

    /// Those that the file `module` names.
    fn named<'d>(module: &impl Object<'d>) -> Self {
        let variables = module.symbols().chain(module.dynamic_symbols()).filter(|symbol| {
            symbol.is_definition() && symbol.kind() == SymbolKind::Data && symbol.size() > 0
        });
        let named = variables.filter_map(|symbol| {
            Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned()))
        });
        let mut all: Vec<_> = named.collect();
        all.sort_unstable();
        all.dedup_by_key(|&mut (address, ..)| address);
        Variables(all)
    }

    /// The variable that `address` is in, and how far from its beginning.
    pub(super) fn at(&self, address: u64) -> Option<String> {
        let after = self.0.partition_point(|&(begin, ..)| begin <= address);
        let (begin, size, name) = self.0[..after].last()?;
        let offset = address - begin;
        let name = find::demangled(without_number(name));
        let is_known = offset < *size && !is_librarys(&name);
        is_known.then(|| match offset {
            0 => name,
            _ => format!("{name}+{offset:#x}"),
        })
    }
}

/// Whether a variable is the C++ library's own: of libstdc++, libc++ or Boost's atomics.
fn is_librarys(name: &str) -> bool {
    const OWN: [&str; 5] =
        ["std::__", "__gnu_internal::", "__gnu_cxx::", "__libcpp_", "boost::atomics::"];
    OWN.iter().any(|own| name.starts_with(own))
}

/// The name of a variable inside a function, to which the compiler adds a number.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((own, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => own,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_variable_that_it_is_in() {
        let variables = [(16, 40, "pool"), (64, 8, "lock.12"), (80, 8, "_ZN3app4LOCKE")];
        let variables =
            Variables(variables.map(|(at, size, name)| (at, size, name.to_owned())).into());
        let at = |address| variables.at(address);
        assert_eq!([at(15), at(56), at(72)], [None, None, None]);
        assert_eq!(at(16).as_deref(), Some("pool"));
        assert_eq!(at(55).as_deref(), Some("pool+0x27"));
        assert_eq!([at(64).as_deref(), at(80).as_deref()], [Some("lock"), Some("app::LOCK")]);
    }

    #[test]
    fn tables_of_the_cpp_library_have_no_name() {
        let names = [
            "_ZZNSt8__detail18__waiter_pool_base6_S_forEPKvE3__w",
            "_ZNSt3__1L25__libcpp_contention_tableE",
            "_ZL25__libcpp_contention_table",
            "_ZN3std2io5stdio6STDOUT17h0123456789abcdefE",
        ];
        let named = |name: &str| Variables(vec![(16, 64, name.to_owned())]).at(16);
        assert_eq!(names.map(named), [None, None, None, Some("std::io::stdio::STDOUT".to_owned())]);
    }

    #[test]
    fn a_file_that_is_no_program_has_none() {
        assert_eq!(Variables::of(&Wanted::any("/etc/passwd"), &Places::new(&[])).at(0), None);
    }
}
