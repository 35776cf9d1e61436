//! C++20's semaphores, which are made of futexes: locks, next to a mutex, or signals. And what waits in the library's
//! own words: barriers and wide atomics.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Programs of their own.

mod common;

use common::{Folder, report};
use serde_json::Value;
use std::process::Command;

/// Four threads take turns at a semaphore for 3 ms each, and at a mutex for a moment; one posts another for a waiter.
const SEMAPHORES: &str = r#"
#include <atomic>
#include <chrono>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>
static std::binary_semaphore turn(1), signal(0);
static std::mutex mutex;
static std::atomic<int> wanted;
__attribute__((noinline)) static void hold_long() {
    turn.acquire();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    turn.release();
}
__attribute__((noinline)) static void hold_short() { std::lock_guard<std::mutex> guard(mutex); }
int main() {
    std::vector<std::thread> all;
    for (int n = 0; n < 4; n++) all.emplace_back([] { for (int n = 0; n < 20; n++) hold_long(), hold_short(); });
    for (auto &thread : all) thread.join();
    std::thread waits([] { for (int n = 0; n < 3; n++) wanted++, signal.acquire(); });
    for (int n = 0; n < 3; n++) {
        do std::this_thread::sleep_for(std::chrono::milliseconds(10)); while (wanted <= n);
        // On a busy machine, it yields for that long before it sleeps.
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        signal.release();
    }
    waits.join();
}
"#;

/// Two permits, which one function keeps nine times as long as the other does, which takes them more often.
const POOL: &str = r#"
#include <chrono>
#include <semaphore>
#include <thread>
#include <vector>
static std::counting_semaphore<8> pool(2);
static void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
__attribute__((noinline)) static void keep_long() { pool.acquire(); sleep_ms(9); pool.release(); }
__attribute__((noinline)) static void keep_short() { pool.acquire(); sleep_ms(1); pool.release(); }
int main() {
    std::vector<std::thread> all;
    for (int n = 0; n < 6; n++) all.emplace_back([=] {
        for (int k = 0; k < 120; k++) if (n > 1) keep_short(); else if (k < 60) keep_long();
    });
    for (auto &thread : all) thread.join();
}
"#;

/// The row whose longest wait was in code with this in its name.
fn row_of<'a>(report: &'a Value, code: &str) -> &'a Value {
    let rows = report["processes"][0]["locks"].as_array().unwrap();
    let is_in = |row: &&Value| row["waited_in"][0]["stack"].to_string().contains(code);
    rows.iter().find(is_in).unwrap_or_else(|| panic!("{code}: {rows:#?}"))
}

/// The program of this C++; none without a compiler for it, which is said.
fn compiled(test: &str, folder: &Folder, text: &str) -> Option<String> {
    let (program, source) = (folder.file("program"), folder.file("program.cpp"));
    std::fs::write(&source, text).unwrap();
    let words = ["-std=c++20", "-O1", "-g", "-pthread", "-o", &program, &source];
    let compiled = Command::new("g++").args(words).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        uncontended_testkit::skip!(test, "no g++ with C++20");
        return None;
    }
    Some(program)
}

#[test]
fn a_semaphore_that_its_takers_post_is_a_lock_with_culprits() {
    let folder = Folder::new();
    let test = "a_semaphore_that_its_takers_post_is_a_lock_with_culprits";
    let Some(program) = compiled(test, &folder, SEMAPHORES) else { return };
    let (report, _) = report(&["--quiet"], &[&program]);
    let turn = row_of(&report, "hold_long");
    assert_eq!((&turn["like"], &turn["class"]), (&"semaphore".into(), &"contention".into()));
    let first = &report["culprits"][0];
    assert!(first["site"]["function"].as_str().unwrap().contains("hold_long"), "{first:#}");
    assert!(first["share"].as_f64().unwrap() > 0.9, "{first:#}");
    let rows = report["processes"][0]["locks"].as_array().unwrap();
    // A holder that finds a lock free gives it back as a signal is given.
    let signals = rows.iter().filter(|row| row["class"] == "unknown" && row["like"] == "semaphore");
    assert_eq!(signals.count(), 1, "{rows:#?}");
}

#[test]
fn a_pool_is_held_by_those_who_waited_for_it_and_by_others_unseen() {
    let folder = Folder::new();
    let test = "a_pool_is_held_by_those_who_waited_for_it_and_by_others_unseen";
    let Some(program) = compiled(test, &folder, POOL) else { return };
    let part = |pool: &Value, part: &str| pool["blame"][part].as_u64().unwrap();
    // On a busy machine, a run may show no two threads that have it at a time: then wakers are to blame.
    let runs = std::iter::repeat_with(|| report(&["--quiet"], &[&program]).0).take(5);
    let mut last = None;
    for report in runs {
        let is_divided = part(row_of(&report, "keep_"), "held_ns") > 0;
        last = Some(report);
        if is_divided {
            break;
        }
    }
    let report = last.expect("a run");
    let pool = row_of(&report, "keep_");
    assert_eq!((&pool["like"], &pool["class"]), (&"semaphore".into(), &"contention".into()));
    let parts = ["held_ns", "ended_ns", "idle_ns", "unknown_ns"].map(|name| part(pool, name));
    assert_eq!(parts.iter().sum::<u64>(), pool["wait_ns"]["total"].as_u64().unwrap(), "{parts:?}");
    assert_eq!(parts[1..3], [0, 0], "{parts:?}");
    let first = &report["culprits"][0];
    assert_eq!(first["kind"], "hold", "{first:#}");
    assert!(first["site"]["function"].as_str().unwrap().contains("keep_long"), "{first:#}");
}

/// Threads that wait at a barrier, and for a number that is wider than a futex: both in the library's table.
const WAITS: &str = r#"
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>
static std::barrier gate(2);
static std::atomic<long> wide;
static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }
__attribute__((noinline)) static void arrive() { gate.arrive_and_wait(); }
__attribute__((noinline)) static void await(long seen) { wide.wait(seen); }
int main() {
    std::thread other([] { for (int n = 0; n < 5; n++) arrive(), await(n); });
    for (int n = 0; n < 5; n++) {
        pause();
        arrive();
        pause();
        wide++;
        wide.notify_all();
    }
    other.join();
}
"#;

#[test]
fn no_word_of_the_librarys_own_table_is_named_as_the_programs_variable() {
    let test = "no_word_of_the_librarys_own_table_is_named_as_the_programs_variable";
    let folder = Folder::new();
    let Some(program) = compiled(test, &folder, WAITS) else { return };
    let (report, _) = report(&["--quiet"], &[&program]);
    for code in ["arrive", "await"] {
        let row = row_of(&report, code);
        assert!(
            row["variable"].is_null() && row["wait_ns"]["count"].as_u64() >= Some(3),
            "{row:#}"
        );
    }
}
