//! Stacks are folded where libraries stand around the program's own code.

mod common;

use common::*;
use uncontended_report::html::run_page;
use uncontended_report::run::*;
use uncontended_report::terminal::{Options, render};

fn of(function: &str, file: &str, module: &str) -> Frame {
    Frame {
        function: Some(function.into()),
        file: Some(file.into()),
        line: Some(7),
        module: Some(module.into()),
        address: "0x10".into(),
    }
}

/// The lines of the stack on the terminal, and the page.
fn shown(stack: Vec<Frame>) -> (Vec<String>, String) {
    let mut row = lock(1, Kind::Mutex, "work");
    row.wait_ns = times(&[MS]);
    row.worst_wait = Some(WorstWait { ns: MS, waiter: stack, holder: vec![] });
    let mut report = run(&["program"]);
    report.processes = vec![process(1, vec![row], vec![])];
    let text = render(&report, &Options::default());
    let lines = text.lines().skip_while(|line| *line != "  waited in").skip(1);
    let lines = lines.map_while(|line| line.strip_prefix("    ")).map(str::to_owned);
    (lines.collect(), run_page(&report))
}

#[test]
fn a_cpp_threads_wrappers_take_a_line() {
    let [header, program, library] =
        ["/usr/include/c++/12/thread", "/src/a.cc", "/usr/lib/libc.so.6"];
    let stack = vec![
        of("__gthread_mutex_lock", "gthr-default.h", program),
        of("std::mutex::lock()", header, program),
        of("lock_guard", header, program),
        of("worker", program, program),
        of("for_each", header, program),
        of("operator()", program, program),
        of("__invoke_impl", header, program),
        of("__invoke", header, program),
        of("execute_native_thread_routine", header, "/usr/lib/libstdc++.so.6"),
        of("start_thread", "pthread_create.c", library),
        of("clone3", "clone3.S", library),
    ];
    let (lines, page) = shown(stack);
    let expected = [
        "__gthread_mutex_lock  gthr-default.h:7",
        "… 2 of the lock's own code",
        "worker  a.cc:7",
        "for_each  thread:7",
        "operator()  a.cc:7",
        "… 5 of libraries",
    ];
    assert_eq!(lines, expected);
    let left = "__invoke_impl, __invoke, execute_native_thread_routine, start_thread, clone3";
    assert!(page.contains(&format!("<li title=\"{left}\"><i>… 5 of libraries</i></li>")), "{page}");
}

#[test]
fn a_rust_threads_wrappers_take_a_line() {
    let program = "/src/main.rs";
    let library = "/rustc/1/library/core/src/ops/function.rs";
    let stack = vec![
        of("work", program, program),
        of("std::sys::backtrace::__rust_begin_short_backtrace", "backtrace.rs", program),
        of("core::ops::function::FnOnce::call_once{{vtable.shim}}", library, program),
        of("<F as core::ops::FnOnce<A>>::call_once", library, program),
        of("main", program, program),
        of("_start", "start.S", program),
    ];
    let expected = ["work  main.rs:7", "… 3 of libraries", "main  main.rs:7", "_start  start.S:7"];
    assert_eq!(shown(stack).0, expected);
}

#[test]
fn what_is_short_or_nothing_but_libraries_is_left() {
    let module = "/usr/lib/libc.so.6";
    let libraries: Vec<Frame> = ["a", "b", "c", "d"].map(|name| of(name, "x.c", module)).into();
    assert_eq!(shown(libraries.clone()).0.len(), 4);
    let own = of("work", "/src/a.c", "/bin/program");
    let short: Vec<Frame> = [own].into_iter().chain(libraries[..2].to_vec()).collect();
    assert_eq!(shown(short).0, ["work  a.c:7", "a  x.c:7", "b  x.c:7"]);
}
