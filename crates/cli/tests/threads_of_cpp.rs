//! Threads of C++ that take no lock, and so have no stack: what they ran is known by what the library was given. A
//! thread has a mutex, for which others wait, while it waits for the end of such a thread.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Programs of their own.

mod common;

use common::{Folder, report};
use std::process::Command;

/// The argument tells what the thread is given.
const PROGRAM: &str = r#"
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <thread>
static std::mutex mutex;
static std::atomic<bool> is_over;
static void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
static void work() { sleep_ms(60); }
static void work_for(std::string who, int ms) { sleep_ms(who.empty() ? 1 : ms); }
struct Shop { int ms; void open(int more) { sleep_ms(ms + more); } };
struct Task { void operator()() { sleep_ms(60); } };
int main(int, char **arguments) {
    const std::string given = arguments[1];
    Shop shop{30};
    std::thread crowd([] { while (!is_over) { { std::lock_guard<std::mutex> guard(mutex); } sleep_ms(1); } });
    for (int round = 0; round < 4; round++) {
        std::lock_guard<std::mutex> guard(mutex);
        std::thread one;
        if (given == "function") one = std::thread(work);
        else if (given == "arguments") one = std::thread(work_for, "a user", 60);
        else if (given == "member") one = std::thread(&Shop::open, &shop, 30);
        else if (given == "object") one = std::thread(Task());
        else if (given == "lambda") one = std::thread([&] { sleep_ms(shop.ms * 2); });
        else if (given == "async") std::async(std::launch::async, work).wait();
        else std::async(std::launch::async, [] { sleep_ms(60); return 1; }).wait();
        if (one.joinable()) one.join();
    }
    is_over = true;
    crowd.join();
}
"#;

/// What is given, and a part of the name of what the thread runs.
const GIVEN: [(&str, &str); 7] = [
    ("function", "work"),
    ("arguments", "work_for"),
    ("member", "Shop::open(int)"),
    ("object", "Task::operator()"),
    ("lambda", "main::{lambda()#2}::operator()"),
    ("async", "work"),
    ("async lambda", "main::{lambda()#3}::operator()"),
];

#[test]
fn what_a_thread_without_locks_ran_is_named() {
    const TEST: &str = "what_a_thread_without_locks_ran_is_named";
    for flags in [&["-O0", "-g"][..], &["-O2"], &["-O2", "-g"]] {
        let folder = Folder::new();
        let (program, source) = (folder.file("program"), folder.file("program.cpp"));
        std::fs::write(&source, PROGRAM).unwrap();
        let words = ["-std=c++17", "-pthread", "-o", &program, &source];
        let compiled = Command::new("g++").args(flags).args(words).output();
        if !compiled.is_ok_and(|output| output.status.success()) {
            uncontended_testkit::skip!(TEST, "no g++ with C++17");
            return;
        }
        for (given, function) in GIVEN {
            let (report, _) = report(&["--quiet"], &[&program, given]);
            let first = &report["culprits"][0];
            let site = first["site"]["function"].as_str().unwrap_or_default();
            assert!(site.contains(function), "{flags:?} {given}: {first:#}");
            assert_eq!(first["kind"], "wake", "{flags:?} {given}: {first:#}");
            let joins = report["processes"][0]["joins"].as_array().unwrap();
            let body = |join: &&serde_json::Value| {
                join["body"]["function"].as_str().is_some_and(|body| body.contains(function))
            };
            assert_eq!(joins.iter().filter(body).count(), 4, "{flags:?} {given}: {joins:#?}");
        }
    }
}
