//! The function of the program's own that a thread ran which began in the C++ library.
//!
//! # Contract
//! [`ran`] knows it by the name of what the library called, which has the types that `std::thread` or `std::async` was
//! given: `std::thread::_State_impl<std::thread::_Invoker<std::tuple<Callable, Argument…> > >::_M_run()`. A lambda or
//! another object is known by its type; a function, of those that the words of the thread's object point to, is the
//! first with these parameters. What the program has the library wrap (`std::function`, `std::bind`) is not known.
//! # Sources
//! libstdc++ from GCC 7 on: `bits/std_thread.h`, `future`.

use crate::code::Skipped;
use crate::run::Frame;

/// What is before the types that a thread or its state was given.
const GIVEN: &str = "std::thread::_Invoker<std::tuple<";
/// The state of `std::async`, which is what its thread is given.
const ASYNC: &str = "std::__future_base::_Async_state_impl<";
/// In these, types are apart from what is around them.
const BRACKETS: [(char, char); 3] = [('<', '>'), ('(', ')'), ('{', '}')];

/// The function, of what the library `called` and what the thread's object `points_to`. One without a name is known by
/// its address.
pub(super) fn ran(called: Frame, points_to: &[Frame], skipped: &Skipped) -> Option<Frame> {
    let Some(name) = called.function.as_deref() else { return Some(called) };
    let is_own = |frame: &&Frame| !skipped.contains(frame);
    match Callable::of(name)? {
        Callable::Object(of) => {
            let function = Some(format!("{of}::operator()").into());
            // The line is the library's.
            let object = Frame { function, file: None, line: None, ..called };
            Some(object).filter(|object| is_own(&object))
        }
        Callable::Function { class, parameters } => {
            let is_it = |frame: &&Frame| {
                let name = frame.function.as_deref();
                name.is_some_and(|name| is_of_type(name, class, parameters))
            };
            points_to.iter().filter(is_own).find(is_it).cloned()
        }
    }
}

/// What a thread was given to call.
#[derive(Debug, PartialEq, Eq)]
enum Callable<'a> {
    /// One of this type.
    Object(&'a str),
    /// A function, of a class if it is a member.
    Function { class: Option<&'a str>, parameters: &'a str },
}

impl<'a> Callable<'a> {
    /// By the name of what the library called.
    fn of(called: &'a str) -> Option<Self> {
        let mut of = given(called)?;
        while of.contains(ASYNC) {
            of = given(of)?;
        }
        // `void (*)(int)`, `void (Class::*)(int)`
        let open = outside(of, '(');
        let pointer = open.and_then(|open| {
            let (within, rest) = of[open + 1..].split_at(outside(&of[open + 1..], ')')?);
            Some((within.strip_suffix('*')?, rest.strip_prefix(')')?))
        });
        let function = pointer.filter(|(_, parameters)| parameters.starts_with('('));
        Some(match function {
            Some((class, parameters)) if class.is_empty() || class.ends_with("::") => {
                let class = Some(class).filter(|class| !class.is_empty());
                let parameters = parameters.trim_end_matches(" noexcept");
                Callable::Function { class, parameters }
            }
            _ => Callable::Object(of),
        })
    }
}

/// The first of the types that are given.
fn given(name: &str) -> Option<&str> {
    let types = &name[name.find(GIVEN)? + GIVEN.len()..];
    let first =
        types.get(..[outside(types, ','), outside(types, '>')].into_iter().flatten().min()?);
    first.map(str::trim_end)
}

/// Where the sign first is in `text`, outside brackets; that of `->` is none.
fn outside(text: &str, sign: char) -> Option<usize> {
    let (mut depth, mut before) = (0_i32, ' ');
    for (at, found) in text.char_indices() {
        let is_arrow = found == '>' && before == '-';
        before = found;
        if depth == 0 && found == sign && !is_arrow {
            return Some(at);
        }
        if !is_arrow {
            depth += i32::from(BRACKETS.iter().any(|&(open, _)| found == open));
            depth -= i32::from(BRACKETS.iter().any(|&(_, close)| found == close));
        }
    }
    None
}

/// Whether a function may have this type. Those of C have no parameters in their names.
fn is_of_type(name: &str, class: Option<&str>, parameters: &str) -> bool {
    match class {
        Some(class) => name.contains(class) && name.ends_with(parameters),
        None => name.ends_with(parameters) || !name.contains(['(', ':']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str) -> Frame {
        Frame {
            function: Some(function.into()),
            file: Some("std_thread.h".into()),
            line: Some(210),
            module: Some("/bin/program".into()),
            address: "0x10".into(),
        }
    }

    fn thread(given: &str) -> String {
        format!("std::thread::_State_impl<{GIVEN}{given}> > >::_M_run()")
    }

    fn future(given: &str) -> String {
        let state = format!("{ASYNC}{GIVEN}{given}> >, int>");
        thread(&format!("void ({state}::*)(), {state}*"))
    }

    /// What is named if the words lead to these functions.
    fn named(called: &str, points_to: &[&str]) -> Option<String> {
        let points_to: Vec<Frame> = points_to.iter().map(|name| frame(name)).collect();
        Some(ran(frame(called), &points_to, &Skipped::default())?.function?.to_string())
    }

    #[test]
    fn an_object_is_known_by_its_type() {
        for (given, function) in [
            ("main::{lambda()#1}", "main::{lambda()#1}::operator()"),
            ("main::{lambda(int*)#2}, int*", "main::{lambda(int*)#2}::operator()"),
            (
                "run(int (*)(int), char*)::{lambda()#1}",
                "run(int (*)(int), char*)::{lambda()#1}::operator()",
            ),
            ("main::$_0", "main::$_0::operator()"),
            ("shop::Task<int, long>, int", "shop::Task<int, long>::operator()"),
            (
                "shop::Task<decltype (f()->g), int> ",
                "shop::Task<decltype (f()->g), int>::operator()",
            ),
        ] {
            for called in [thread(given), future(given)] {
                let named = ran(frame(&called), &[frame("other()")], &Skipped::default()).unwrap();
                assert_eq!(named.function.as_deref(), Some(function));
                assert_eq!((named.file, named.line), (None, None));
            }
        }
    }

    #[test]
    fn a_function_has_the_parameters_of_its_type() {
        let words = ["call(int)", "work()", "shop::Shop::open(int)", "std::string::~string()"];
        for (given, function) in [
            ("void (*)()", Some("work()")),
            ("void (*)() noexcept", Some("work()")),
            ("void (*)(int), int", Some("call(int)")),
            ("void (*)(void (*)(int), int), void (*)(int), int", None),
            ("int (shop::Shop::*)(int), shop::Shop*, int", Some("shop::Shop::open(int)")),
            ("int (shop::Other::*)(int), shop::Other*, int", None),
            ("std::function<void ()> ", None),
            ("std::_Bind<void (*(int))(int)> ", None),
        ] {
            for called in [thread(given), future(given)] {
                assert_eq!(named(&called, &words).as_deref(), function, "{given}");
            }
        }
        assert_eq!(named(&thread("void* (*)(void*), int"), &["work"]).as_deref(), Some("work"));
        let state = format!("{ASYNC}{GIVEN}void (*)()> >, void>::_M_run()");
        let own = named(&future("void (*)()"), &[&state, "work()"]);
        assert_eq!(own.as_deref(), Some("work()"));
    }

    #[test]
    fn other_calls_are_not_known_and_nameless_ones_have_an_address() {
        assert_eq!(
            named("std::thread::_Impl<std::_Bind_simple<void (*())()> >::_M_run()", &[]),
            None
        );
        for cut in
            ["std::thread::_Invoker<std::tuple<", "std::thread::_Invoker<std::tuple<main::{lambda("]
        {
            assert_eq!(named(cut, &["work()"]), None);
        }
        let nameless = Frame { function: None, ..frame("") };
        assert_eq!(ran(nameless.clone(), &[], &Skipped::default()), Some(nameless));
    }
}
