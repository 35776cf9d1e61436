//! Long names of functions, as people read them: without what is between angle brackets, then without parameters.
//!
//! # Contract
//! A name of at most [`LONG`] columns is left as it is. JSON and folded stacks have whole names.

use uncontended_figures::text::width;

/// A longer name fills a line.
const LONG: usize = 60;
/// Of two names, one is long from here on.
const OF_TWO: usize = 24;
/// What is this short stays.
const SHORT: usize = 8;

/// `name`, with `<…>` for template arguments and `(…)` for parameters if it is long.
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
    name
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
                "long_function_name_of_a_namespace::with_many_parameters<int>(…)",
            ),
            (
                "(anonymous namespace)::a_function_with_a_rather_long_name_that_takes(int, int, int, int)",
                "(anonymous namespace)::a_function_with_a_rather_long_name_that_takes(…)",
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
