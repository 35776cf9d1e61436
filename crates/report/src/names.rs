//! Long names, as people read them. Those of functions are without what is between angle brackets, then without
//! parameters, then without the outer namespaces; those of variables, which stand within sentences and cells, without
//! what they are in, then cut.
//!
//! # Contract
//! A name of at most [`LONG`] columns, of a variable [`LONG_VARIABLE`], is left as it is. JSON and folded stacks have
//! whole names.

use uncontended_figures::text::width;

/// A longer name fills a line.
const LONG: usize = 60;
/// A longer name of a variable leaves no room for what is said of it.
const LONG_VARIABLE: usize = 36;
/// Of two names, one is long from here on.
const OF_TWO: usize = 24;
/// What is this short stays.
const SHORT: usize = 8;

/// `name`, with `<…>` for template arguments, `(…)` for parameters, and `…::` for namespaces if it is long.
pub(crate) fn shortened(name: &str) -> String {
    shortened_to(name, LONG)
}

/// The same for one of two names in a line.
pub(crate) fn shortened_of_two(name: &str) -> String {
    shortened_to(name, OF_TWO)
}

fn shortened_to(name: &str, columns: usize) -> String {
    let mut name = name.to_owned();
    for brackets in [('<', '>'), ('(', ')')] {
        if width(&name) > columns {
            name = without(&name, brackets);
        }
    }
    without_outer(name, columns)
}

/// `name` without as many of the outer namespaces as make it long. A type of Rust in brackets is not one.
fn without_outer(name: String, columns: usize) -> String {
    if width(&name) <= columns || name.starts_with('<') {
        return name;
    }
    let is_outer =
        |&(at, _): &(usize, &str)| !name[..at].contains(['<', ' ']) && !name[..at].ends_with(')');
    let places: Vec<usize> =
        name.match_indices("::").take_while(is_outer).map(|(at, _)| at).collect();
    let fits = |at: &usize| width(&name[*at..]) < columns;
    let from = places.iter().copied().find(fits).or(places.last().copied());
    from.map_or_else(|| name.clone(), |at| format!("…{}", &name[at..]))
}

/// A variable's `name`, as `…::name`, or its beginning, if it is long.
pub(crate) fn of_variable(name: &str) -> String {
    if width(name) <= LONG_VARIABLE {
        return name.to_owned();
    }
    let own = without(&without(name, ('(', ')')), ('<', '>'));
    let own = own.rsplit_once("::").map_or_else(|| own.clone(), |(_, own)| format!("…::{own}"));
    if width(&own) <= LONG_VARIABLE {
        return own;
    }
    let (own, offset) = own.rsplit_once("+0x").unwrap_or((&own, ""));
    let offset = if offset.is_empty() { String::new() } else { format!("+0x{offset}") };
    let room = LONG_VARIABLE.saturating_sub(width(&offset) + 1);
    let mut cut = own.to_owned();
    while width(&cut) > room {
        cut.pop();
    }
    format!("{cut}…{offset}")
}

/// `name` without what is between these brackets. Of those that it begins with (Rust's `<Type as Trait>::function`),
/// only what is inside is shortened.
fn without(name: &str, (open, close): (char, char)) -> String {
    let (mut short, mut rest) = (String::new(), name);
    while let Some(at) = rest.find(open) {
        short.push_str(&rest[..at]);
        rest = &rest[at + open.len_utf8()..];
        let is_operator = short.ends_with("operator") || short.ends_with("operator<");
        let Some(end) = end_of(rest, (open, close)).filter(|_| !is_operator) else {
            short.push(open);
            continue;
        };
        let inside = &rest[..end];
        let kept = if short.is_empty() {
            without(inside, (open, close))
        } else if width(inside) <= SHORT || inside == "anonymous namespace" {
            inside.to_owned()
        } else {
            "…".to_owned()
        };
        short.extend([open.to_string(), kept, close.to_string()]);
        rest = &rest[end + close.len_utf8()..];
    }
    short + rest
}

/// Where the bracket is that closes the one before `text`. That of `->` closes none.
fn end_of(text: &str, (open, close): (char, char)) -> Option<usize> {
    let mut depth = 0u32;
    let mut before = ' ';
    for (at, sign) in text.char_indices() {
        match sign {
            _ if sign == open => depth += 1,
            _ if sign == close && before == '-' => {}
            _ if sign == close && depth == 0 => return Some(at),
            _ if sign == close => depth -= 1,
            _ => {}
        }
        before = sign;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_of_variables_are_their_last_part_or_its_beginning() {
        for (name, short) in [
            ("app::registry::lock+0x28", "app::registry::lock+0x28"),
            ("company::storage::replicated_log::internal::guard+0x8", "…::guard+0x8"),
            ("company::storage::replicated_log::append(int, char const*)::mutex", "…::mutex"),
            (
                "pool::the_global_segment_allocation_mutex_object+0x28",
                "…::the_global_segment_allocati…+0x28",
            ),
            ("the_global_segment_allocation_mutex_object", "the_global_segment_allocation_mutex…"),
        ] {
            assert_eq!(of_variable(name), short);
            assert!(width(short) <= LONG_VARIABLE, "{short}");
        }
    }

    #[test]
    fn names_next_to_others_are_shorter() {
        let name = "with_data(std::function<void (std::vector<int>&)> const&)";
        assert_eq!(
            (shortened(name).as_str(), shortened_of_two(name).as_str()),
            (name, "with_data(…)")
        );
        assert_eq!(shortened_of_two("compaction(int)"), "compaction(int)");
    }

    #[test]
    fn long_names_lose_arguments_and_then_parameters() {
        let kept = "std::vector<std::string, std::allocator<std::string> >::f()";
        for (name, short) in [
            (kept, kept),
            (
                "void shop::put<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >(int)",
                "void shop::put<…>(int)",
            ),
            (
                "void std::__atomic_wait<std::__semaphore::_M_acquire()::{lambda()#1}>(int const*, std::__semaphore::_M_acquire()::{lambda()#1})",
                "void std::__atomic_wait<…>(…)",
            ),
            (
                "long_function_name_of_a_namespace::with_many_parameters<int>(std::string const&, std::string const&)",
                "…::with_many_parameters<int>(…)",
            ),
            (
                "(anonymous namespace)::a_function_with_a_rather_long_name_that_takes(int, int, int, int)",
                "(anonymous namespace)::a_function_with_a_rather_long_name_that_takes(…)",
            ),
            (
                "company::storage::replicated_log::internal::WriteAheadLogManager::allocate_segment(int)",
                "…::internal::WriteAheadLogManager::allocate_segment(int)",
            ),
            (
                "std::ostream& operator<< <std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&)",
                "std::ostream& operator<< <…>(std::basic_ostream<…>&)",
            ),
            (
                "<alloc::collections::btree::map::BTreeMap<alloc::string::String, Vec<u8>> as Store>::insert",
                "<alloc::collections::btree::map::BTreeMap<…> as Store>::insert",
            ),
            (
                "a_name_without_an_end_of_its_brackets_as_a_program_may_have_it<int, std::pair<int, long",
                "a_name_without_an_end_of_its_brackets_as_a_program_may_have_it<int, std::pair<int, long",
            ),
            (
                "auto wrapped<decltype(std::declval<Pointer>()->value), 12345678>(Pointer, unsigned long long)",
                "auto wrapped<…>(Pointer, unsigned long long)",
            ),
        ] {
            assert_eq!(shortened(name), short);
        }
    }
}
