//! Functions keep the names of the program that ran, whatever becomes of its file, or have none: never another's.

mod common;
use common::{Folder, installed, status, stderr, stdout, unc, unc_run};
use object::read::Object as _;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use uncontended_report::tracefile;
use uncontended_trace::layout;

/// A thread holds a mutex in one function while another wants it in another. First it does what its argument says.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int is_held;
OTHER
__attribute__((noinline)) static void HOLD(void) {
    pthread_mutex_lock(&lock);
    is_held = 1;
    usleep(60000);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}
__attribute__((noinline)) static void WANT(void) {
    while (!is_held) usleep(100);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}
static void *body(void *unused) { WANT(); return unused; }
int main(int count, char **words) {
    if (count == 2 && unlink(words[0]) != 0) return 9;
    if (count == 3 && rename(words[2], words[0]) != 0) return 9;
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    HOLD();
    pthread_join(thread, NULL);
    return 0;
}
"#;

/// The names that only [`PROGRAM`] has.
const OWN: [&str; 2] = ["hold_here", "want_here"];
/// A later build of it, whose functions have other names and places.
const LATER: [&str; 2] = ["later_hold", "later_want"];

/// Compiles the program into a file, with these names and flags; nothing if the compiler cannot do that.
fn build(compiler: &str, file: &str, names: [&str; 2], flags: &[&str]) -> Option<()> {
    let other = match names {
        OWN => "",
        _ => {
            "__attribute__((noinline, used)) static int more(int n) { return n * n + usleep(n); }\n\
             __attribute__((noinline, used)) static int most(int n) { return more(n) + more(n + 1); }"
        }
    };
    let text = PROGRAM.replace("OTHER", other).replace("HOLD", names[0]).replace("WANT", names[1]);
    let source = format!("{file}.c");
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-pthread", "-o", file, &source]).args(flags);
    command.current_dir(Path::new(file).parent().unwrap());
    command.output().ok()?.status.success().then_some(())
}

fn built(file: &str, names: [&str; 2], flags: &[&str]) {
    build("cc", file, names, flags).expect("a C compiler");
}

/// Runs a tool that must succeed.
fn tool(folder: &Folder, words: &[&str]) {
    let output = Command::new(words[0]).args(&words[1..]).current_dir(folder.path()).output();
    let output = output.unwrap_or_else(|error| panic!("{words:?}: {error}"));
    assert!(output.status.success(), "{words:?}: {output:?}");
}

/// The report of `unc run` on a program.
fn run(folder: &Folder, flags: &[&str], program: &[&str]) -> Value {
    let json = folder.file("run.json");
    let all = [flags, &["--quiet", "--json", &json]].concat();
    let output = unc_run(&all).args(program).output().unwrap();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap()
}

/// The report of `unc report` on a trace.
fn report(trace: &str, flags: &[&str]) -> Value {
    let output = unc().args(["report", trace, "--json", "-"]).args(flags).output().unwrap();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// Every function that a report names.
fn functions(report: &Value) -> BTreeSet<String> {
    match report {
        Value::Object(fields) => {
            let own = fields.get("function").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(functions)).collect()
        }
        Value::Array(all) => all.iter().flat_map(functions).collect(),
        _ => BTreeSet::new(),
    }
}

fn is_named(report: &Value, names: [&str; 2]) -> bool {
    let all = functions(&report["processes"]);
    names.iter().all(|&name| all.contains(name))
}

/// The variables that its mutexes are.
fn variables(report: &Value) -> Vec<&str> {
    let processes = report["processes"].as_array().unwrap().iter();
    let locks = processes.flat_map(|process| process["locks"].as_array().unwrap());
    let mutexes = locks.filter(|lock| lock["kind"] == "mutex");
    mutexes.filter_map(|lock| lock["variable"].as_str()).collect()
}

/// It has the names of what ran, and says nothing about them.
fn assert_named(report: &Value) {
    let mismatches = &report["coverage"]["symbols_mismatch"];
    assert!(is_named(report, OWN), "{:?} {mismatches:#}", functions(&report["processes"]));
    assert_eq!(variables(report), ["lock"], "{:#}", report["processes"][0]["locks"]);
    assert_eq!(mismatches.as_array().unwrap().len(), 0, "{mismatches:#}");
}

/// It has no names of that module, and says why. Returns the build id that it says.
fn assert_refused(report: &Value, module: &str, reason: &str) -> Option<String> {
    let all = functions(&report["processes"]);
    assert!(OWN.iter().chain(&LATER).all(|&name| !all.contains(name)), "{all:?}");
    let all = report["coverage"]["symbols_mismatch"].as_array().unwrap();
    let [mismatch] = &all[..] else { panic!("{all:#?}") };
    assert_eq!(mismatch["module"], module);
    assert!(mismatch["reason"].as_str().unwrap().contains(reason), "{mismatch:#}");
    let unseen = report["coverage"]["unseen"].to_string();
    assert!(unseen.contains("Functions not named") && unseen.contains(reason), "{unseen}");
    assert!(!unseen.contains("Functions without names"), "{unseen}");
    mismatch["build_id"].as_str().map(str::to_owned)
}

/// The same trace without the names that it keeps, as an older one would be.
fn without_names(trace: &str) -> String {
    let bytes = std::fs::read(trace).unwrap();
    let (record, mut facts) = tracefile::decode(&bytes).unwrap();
    assert!(facts.names.iter().any(|module| module.module.ends_with("program")));
    facts.names.clear();
    let bare = format!("{trace}.bare");
    let ending = tracefile::ending(record, &facts).unwrap();
    std::fs::write(&bare, [record, &ending].concat()).unwrap();
    bare
}

fn build_id(file: &str) -> Option<String> {
    let bytes = std::fs::read(file).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let id = object.build_id().unwrap()?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

const WITH_ID: &str = "-Wl,--build-id";
const WITHOUT_ID: &str = "-Wl,--build-id=none";

#[test]
fn a_rebuilt_program_is_named_by_its_trace_or_said_not_to_match() {
    for (flag, reason) in [(WITH_ID, "another build ("), (WITHOUT_ID, "it has no build id")] {
        let folder = Folder::new();
        let (program, trace) = (folder.file("program"), folder.file("run.unc"));
        built(&program, OWN, &[flag]);
        assert_named(&run(&folder, &["--trace", &trace], &[&program]));
        let (bare, id) = (without_names(&trace), build_id(&program));
        assert_eq!(id.is_some(), flag == WITH_ID);
        assert_named(&report(&bare, &[]));

        built(&program, LATER, &[flag]);
        assert_named(&report(&trace, &[]));
        assert_eq!(assert_refused(&report(&bare, &[]), &program, reason), id);
        // In one line of the text and of the page.
        let page = folder.file("page.html");
        let output = unc().args(["report", &bare, "--html", &page]).output().unwrap();
        assert_eq!(status(&output), 0);
        assert!(std::fs::read_to_string(page).unwrap().contains("Functions not named"));
        let text = unc().args(["report", &bare]).env("COLUMNS", "1000").output().unwrap();
        let text = stdout(&text);
        let lines: Vec<_> = text.lines().filter(|line| line.contains("not named")).collect();
        let [line] = &lines[..] else { panic!("{text}") };
        assert!(line.contains(reason) && line.contains("--trace"), "{line}");
    }
}

#[test]
fn a_deleted_program_is_named_by_its_trace_or_where_it_was_moved_to() {
    let folder = Folder::new();
    let (program, trace) = (folder.file("program"), folder.file("run.unc"));
    built(&program, OWN, &[WITH_ID]);
    run(&folder, &["--trace", &trace], &[&program]);
    let (bare, id) = (without_names(&trace), build_id(&program));
    let elsewhere = folder.file("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::rename(&program, format!("{elsewhere}/program")).unwrap();
    assert_named(&report(&trace, &[]));
    assert_eq!(assert_refused(&report(&bare, &[]), &program, "is gone"), id);
    assert_named(&report(&bare, &["--debug-dir", &elsewhere]));
    built(&format!("{elsewhere}/program"), LATER, &[WITH_ID]);
    assert_refused(&report(&bare, &["--debug-dir", &elsewhere]), &program, "is gone");
}

/// Its times are in ticks of another kind of clock, and its program is not here.
#[test]
fn a_trace_of_another_processor_is_named_by_what_it_keeps() {
    let folder = Folder::new();
    let (program, trace) = (folder.file("program"), folder.file("run.unc"));
    built(&program, OWN, &[WITH_ID]);
    run(&folder, &["--trace", &trace], &[&program]);
    std::fs::write(&program, "what another machine has at that path").unwrap();
    let bytes = std::fs::read(&trace).unwrap();
    let (record, facts) = tracefile::decode(&bytes).unwrap();
    let mut record = record.to_vec();
    let clock = std::mem::offset_of!(layout::Header, clock);
    record[clock..clock + 4].copy_from_slice(&layout::clock::CNTVCT.to_le_bytes());
    let ending = tracefile::ending(&record, &facts).unwrap();
    std::fs::write(&trace, [&record[..], &ending].concat()).unwrap();
    let read = report(&trace, &[]);
    assert_named(&read);
    assert_eq!(read["clock"]["source"], "cntvct");
    assert_refused(&report(&without_names(&trace), &[]), &program, "neither a program nor");
}

#[test]
fn a_program_that_is_deleted_or_replaced_while_it_runs_keeps_its_names() {
    for flag in [WITH_ID, WITHOUT_ID] {
        let folder = Folder::new();
        let (program, later) = (folder.file("program"), folder.file("later"));
        built(&program, OWN, &[flag]);
        assert_named(&run(&folder, &[], &[&program, "delete"]));
        assert!(!Path::new(&program).exists(), "it deleted itself");
        built(&program, OWN, &[flag]);
        built(&later, LATER, &[flag]);
        assert_named(&run(&folder, &[], &[&program, "replace", &later]));
        assert!(!Path::new(&later).exists(), "it replaced itself");
    }
}

/// Loads a library, calls its function, which waits, and then does with the library what its arguments say.
const LOADER: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words) {
    void *library = dlopen(words[1], RTLD_NOW);
    if (library == NULL) return 8;
    ((int (*)(int, char **))dlsym(library, "main"))(1, words);
    return count == 2 ? unlink(words[1]) : rename(words[2], words[1]);
}
"#;

#[test]
fn a_library_that_is_deleted_or_replaced_meanwhile_is_not_named_by_another() {
    let folder = Folder::new();
    let loader = common::compile(&folder, LOADER, &["-ldl"]).expect("a C compiler");
    let (library, later) = (folder.file("library.so"), folder.file("later.so"));
    for (flag, reason) in [(WITH_ID, "another build ("), (WITHOUT_ID, "it has no build id")] {
        let flags = [flag, "-shared", "-fPIC"];
        built(&library, OWN, &flags);
        built(&later, LATER, &flags);
        let id = build_id(&library);
        let trace = folder.file("run.unc");
        let kept = ["--trace", &trace];
        let replaced = run(&folder, &kept, &[&loader, &library, &later]);
        assert_eq!(assert_refused(&replaced, &library, reason), id);
        assert_eq!(report(&trace, &[])["coverage"], replaced["coverage"]);
        built(&library, OWN, &flags);
        let deleted = run(&folder, &[], &[&loader, &library]);
        assert_refused(&deleted, &library, "is gone");
    }
}

/// Divides a program into one without symbols and its debug information.
fn split(folder: &Folder, program: &str, debug: &str) {
    tool(folder, &["objcopy", "--only-keep-debug", program, debug]);
    tool(folder, &["strip", program]);
}

#[test]
fn a_debug_link_is_followed_if_it_fits() {
    if !installed("a_debug_link_is_followed_if_it_fits", "objcopy") {
        return;
    }
    for flag in [WITH_ID, WITHOUT_ID] {
        let folder = Folder::new();
        let (program, debug) = (folder.file("program"), folder.file("program.debug"));
        built(&program, OWN, &[flag]);
        split(&folder, &program, &debug);
        tool(&folder, &["objcopy", "--add-gnu-debuglink=program.debug", &program]);
        assert_named(&run(&folder, &[], &[&program]));
        let apart = folder.file(".debug");
        std::fs::create_dir(&apart).unwrap();
        std::fs::rename(&debug, format!("{apart}/program.debug")).unwrap();
        assert_named(&run(&folder, &[], &[&program]));

        let later = folder.file("later");
        built(&later, LATER, &[flag]);
        split(&folder, &later, &format!("{apart}/program.debug"));
        let named = functions(&run(&folder, &[], &[&program])["processes"]);
        assert!(OWN.iter().chain(&LATER).all(|&name| !named.contains(name)), "{flag} {named:?}");
    }
}

#[test]
fn a_stripped_program_has_the_names_of_the_whole_one_in_the_folder() {
    let folder = Folder::new();
    let (program, apart) = (folder.file("program"), folder.file("apart"));
    built(&program, OWN, &["-Wl,--build-id"]);
    std::fs::create_dir(&apart).unwrap();
    std::fs::copy(&program, Path::new(&apart).join("program")).unwrap();
    tool(&folder, &["strip", &program]);
    assert!(!is_named(&run(&folder, &[], &[&program]), OWN));
    assert_named(&run(&folder, &["--debug-dir", &apart], &[&program]));
    built(&Path::new(&apart).join("program").to_string_lossy(), LATER, &["-Wl,--build-id"]);
    let report = run(&folder, &["--debug-dir", &apart], &[&program]);
    assert!(!is_named(&report, OWN) && !is_named(&report, LATER), "another build has no say");
}

#[test]
fn a_folder_of_debug_information_is_found_by_build_id() {
    if !installed("a_folder_of_debug_information_is_found_by_build_id", "objcopy") {
        return;
    }
    let folder = Folder::new();
    let (program, root) = (folder.file("program"), folder.file("root"));
    built(&program, OWN, &[WITH_ID]);
    let id = build_id(&program).unwrap();
    let place = format!("{root}/.build-id/{}", &id[..2]);
    std::fs::create_dir_all(&place).unwrap();
    let debug = format!("{place}/{}.debug", &id[2..]);
    split(&folder, &program, &debug);
    let plain = run(&folder, &[], &[&program]);
    assert!(!is_named(&plain, OWN));
    let unseen = plain["coverage"]["unseen"].to_string();
    assert!(unseen.contains("Functions without names in program"), "{unseen}");
    let trace = folder.file("run.unc");
    assert_named(&run(&folder, &["--debug-dir", &root, "--trace", &trace], &[&program]));
    let bare = without_names(&trace);
    std::fs::remove_file(&program).unwrap();
    assert_named(&report(&bare, &["--debug-dir", &root]));
    // A file of that name with another id is not it.
    let later = folder.file("later");
    built(&later, LATER, &[WITH_ID]);
    split(&folder, &later, &debug);
    assert_refused(&report(&bare, &["--debug-dir", &root]), &program, "is gone");
}

#[test]
fn a_packed_symbol_table_is_read() {
    const TEST: &str = "a_packed_symbol_table_is_read";
    if !installed(TEST, "objcopy") || !installed(TEST, "xz") {
        return;
    }
    let folder = Folder::new();
    let program = folder.file("program");
    built(&program, OWN, &[WITH_ID]);
    std::fs::write(folder.file("keep"), format!("{}\n{}\n", OWN[0], OWN[1])).unwrap();
    let (debug, mini) = (folder.file("program.debug"), folder.file("mini"));
    split(&folder, &program, &debug);
    tool(
        &folder,
        &["objcopy", "-S", "--remove-section", ".comment", "--keep-symbols=keep", &debug, &mini],
    );
    std::fs::remove_file(&debug).unwrap();
    assert!(!is_named(&run(&folder, &[], &[&program]), OWN));
    for check in ["crc64", "crc32", "sha256"] {
        tool(&folder, &["xz", "-fk", "--check", check, &mini]);
        let packed = folder.file("packed");
        tool(&folder, &["objcopy", "--add-section", ".gnu_debugdata=mini.xz", &program, &packed]);
        assert!(
            is_named(&run(&folder, &[], &[&packed]), OWN),
            "it has functions, and no variables"
        );
    }
    std::fs::write(folder.file("mini.xz"), "no xz").unwrap();
    tool(&folder, &["objcopy", "--add-section", ".gnu_debugdata=mini.xz", &program]);
    assert!(!is_named(&run(&folder, &[], &[&program]), OWN), "what cannot be read is left out");
}

/// The line of a function's frame in a report.
fn line_of(report: &Value, function: &str) -> Option<u64> {
    match report {
        Value::Object(fields) if fields.get("function").is_some_and(|name| name == function) => {
            fields.get("line").and_then(Value::as_u64)
        }
        Value::Object(fields) => fields.values().find_map(|field| line_of(field, function)),
        Value::Array(all) => all.iter().find_map(|one| line_of(one, function)),
        _ => None,
    }
}

#[test]
fn split_debug_information_is_read() {
    let folder = Folder::new();
    let program = folder.file("program");
    if build("cc", &program, OWN, &["-gsplit-dwarf"]).is_none() {
        uncontended_testkit::skip!("split_debug_information_is_read", "no -gsplit-dwarf");
        return;
    }
    let with_lines = |what: &str| {
        let report = run(&folder, &[], &[&program]);
        assert_named(&report);
        assert!(line_of(&report["processes"], OWN[1]).is_some(), "{what}");
    };
    with_lines(".dwo");
    if installed("split_debug_information_is_read", "dwp") {
        // Packers of the day fail at version 5.
        built(&program, OWN, &["-gsplit-dwarf", "-gdwarf-4"]);
        let package = format!("{program}.dwp");
        tool(&folder, &["dwp", "-e", &program, "-o", &package]);
        for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
            if file.path().extension().is_some_and(|extension| extension == "dwo") {
                std::fs::remove_file(file.path()).unwrap();
            }
        }
        with_lines(".dwp");
        std::fs::remove_file(package).unwrap();
        assert_named(&run(&folder, &[], &[&program])); // By the symbol table.
    }
}

#[test]
fn shared_debug_information_is_read() {
    const TEST: &str = "shared_debug_information_is_read";
    if !installed(TEST, "dwz") || !installed(TEST, "objcopy") {
        return;
    }
    let folder = Folder::new();
    let (program, second) = (folder.file("program"), folder.file("second"));
    built(&program, OWN, &[WITH_ID]);
    // The symbol table has no names, so they can only come from the shared file.
    tool(&folder, &["objcopy", "-N", OWN[0], "-N", OWN[1], &program]);
    std::fs::copy(&program, &second).unwrap();
    tool(&folder, &["dwz", "-m", "shared", &program, &second]);
    assert_named(&run(&folder, &[], &[&program]));
    std::fs::remove_file(folder.file("shared")).unwrap();
    assert!(!is_named(&run(&folder, &[], &[&program]), OWN));
}

#[test]
fn optimised_programs_are_named() {
    for flags in [&["-O3", "-fomit-frame-pointer"][..], &["-O2", "-flto"], &["-O2", "-no-pie"]] {
        let folder = Folder::new();
        let program = folder.file("program");
        if build("cc", &program, OWN, flags).is_none() {
            uncontended_testkit::skip!("optimised_programs_are_named", "no {}", flags.join(" "));
            continue;
        }
        assert_named(&run(&folder, &[], &[&program]));
    }
    if installed("optimised_programs_are_named", "clang") {
        let folder = Folder::new();
        let program = folder.file("program");
        build("clang", &program, OWN, &["-O3"]).expect("clang");
        assert_named(&run(&folder, &[], &[&program]));
    }
}

/// A function that wakes another thread by its last call, which is compiled as a jump.
const JUMPS: &str = r#"
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_ready;
__attribute__((noinline)) static void wake_here(void) {
    is_ready = 1;
    pthread_cond_signal(&changed);
}
static void *body(void *unused) {
    pthread_mutex_lock(&lock);
    while (!is_ready) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    usleep(60000);
    pthread_mutex_lock(&lock);
    wake_here();
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}
"#;

/// Such a function is named with the line of its first instruction.
#[test]
fn functions_that_jump_have_a_line() {
    if cfg!(not(target_arch = "x86_64")) {
        return uncontended_testkit::skip!("functions_that_jump_have_a_line", "no such jumps");
    }
    let folder = Folder::new();
    let (program, source) = (folder.file("jumps"), folder.file("jumps.c"));
    std::fs::write(&source, JUMPS).unwrap();
    let words =
        ["cc", "-O2", "-g", "-pthread", "-foptimize-sibling-calls", "-o", &program, &source];
    tool(&folder, &words);
    let report = run(&folder, &[], &[&program]);
    let line = line_of(&report, "wake_here");
    assert!(line.is_some_and(|line| (7..=9).contains(&line)), "{report:#}");
}

const CPP: &str = r#"
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
namespace shop {
std::mutex lock;
std::atomic<bool> is_held;
template <class T> __attribute__((noinline)) void hold_here(T how_long) {
    std::lock_guard<std::mutex> guard(lock);
    is_held = true;
    std::this_thread::sleep_for(how_long);
}
struct Customer {
    __attribute__((noinline)) void want_here() {
        while (!is_held) std::this_thread::yield();
        std::lock_guard<std::mutex> guard(lock);
        is_held = false;
    }
};
}
int main() {
    std::thread other([] { shop::Customer().want_here(); });
    shop::hold_here(std::chrono::milliseconds(60));
    other.join();
}
"#;

#[test]
fn names_of_cpp_are_those_of_its_source() {
    const TEST: &str = "names_of_cpp_are_those_of_its_source";
    for (compiler, library) in [("g++", "-pthread"), ("clang++", "-stdlib=libc++")] {
        let folder = Folder::new();
        let (program, source) = (folder.file("program"), folder.file("program.cpp"));
        std::fs::write(&source, CPP).unwrap();
        let words = ["-O2", "-g", "-pthread", library, "-o", &program, &source];
        let compiled = Command::new(compiler).args(words).output();
        if !compiled.is_ok_and(|output| output.status.success()) {
            uncontended_testkit::skip!(TEST, "no {compiler} with {library}");
            continue;
        }
        let report = run(&folder, &[], &[&program]);
        let named = functions(&report["processes"]);
        for function in ["shop::hold_here<", "shop::Customer::want_here"] {
            assert!(named.iter().any(|name| name.contains(function)), "{compiler}: {named:#?}");
        }
    }
}

#[test]
fn processes_that_outlive_the_program_are_named() {
    let folder = Folder::new();
    let (json, text) = (folder.file("run.json"), folder.file("run.txt"));
    let output = unc_run(&["--json", &json, "--report", &text])
        .args(["sh", "-c", "sleep 5.25 > /dev/null 2>&1 & sleep 0.3"])
        .output()
        .unwrap();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let left = report["coverage"]["still_running"].as_array().unwrap();
    let [one] = &left[..] else { panic!("{left:#?}") };
    assert_eq!(one["command"], serde_json::json!(["sleep", "5.25"]));
    let pid = one["pid"].as_u64().unwrap();
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    let text = std::fs::read_to_string(text).unwrap();
    assert!(text.contains(&format!("sleep ({pid})")), "{text}");
    let _ = Command::new("kill").arg(pid.to_string()).status();
}
