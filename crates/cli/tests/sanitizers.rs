//! Programs built with a sanitizer behave as they do without the observer, and are observed.

mod common;
use common::{Folder, compile, report, status, stderr, stdout};

/// Two threads that use a lock correctly; status 3.
const SOUND: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *body(void *unused) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
        free(malloc(100));
    }
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%d\n", count);
    return 3;
}
"#;

/// The program built with `flags`, where that is possible and it runs.
fn build(folder: &Folder, sanitizer: &str, flags: &[&str]) -> Option<String> {
    let flag = format!("-fsanitize={sanitizer}");
    let Some(program) = compile(folder, SOUND, &[&[&*flag], flags].concat()) else {
        uncontended_testkit::skip!(sanitizer, "the compiler has no such sanitizer");
        return None;
    };
    let plain = std::process::Command::new(&program).output().unwrap();
    if plain.status.code() != Some(3) {
        uncontended_testkit::skip!(sanitizer, "its programs do not run here");
        return None;
    }
    Some(program)
}

fn check(sanitizer: &str) {
    let folder = Folder::new();
    if let Some(program) = build(&folder, sanitizer, &[]) {
        check_command(&[&program]);
    }
}

/// Valgrind runs programs itself: the observer stays out of them.
#[test]
fn valgrind_says_what_it_says_without_the_observer() {
    const NAME: &str = "valgrind_says_what_it_says_without_the_observer";
    let folder = Folder::new();
    if std::process::Command::new("valgrind").arg("--version").output().is_err() {
        return uncontended_testkit::skip(&NAME, &"valgrind is not installed");
    }
    let Some(program) = compile(&folder, SOUND, &[]) else {
        return uncontended_testkit::skip(&NAME, &"no C compiler");
    };
    for tool in ["memcheck", "helgrind", "drd"] {
        let tool = format!("--tool={tool}");
        let command = ["valgrind", "-q", &tool, "--error-exitcode=9", &program];
        let (report, output) = report(&["--quiet"], &command);
        let said = (status(&output), stdout(&output).trim().to_owned(), stderr(&output));
        assert_eq!(said, (3, "2000".to_owned(), String::new()), "{tool}");
        let rows = report["coverage"]["not_recording"].as_array().unwrap().iter();
        let mut reasons = rows.filter_map(|row| row["reason"].as_str());
        assert!(reasons.any(|reason| reason.starts_with("it runs under valgrind")), "{report:#}");
    }
}

/// The command ends as the program does without the observer, and is observed.
fn check_command(command: &[&str]) {
    let (report, output) = report(&["--quiet"], command);
    assert_eq!((status(&output), stdout(&output).trim()), (3, "2000"), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "the sanitizer has nothing to say");
    let processes = report["processes"].as_array().unwrap();
    let locks = processes.iter().flat_map(|process| process["locks"].as_array().unwrap());
    let taken = locks.filter_map(|lock| lock["acquisitions"].as_u64()).max();
    assert_eq!(taken, Some(2000));
}

/// Whatever the options: each is set within the run, where `unc` can change nothing.
#[test]
fn address_sanitizer_with_options_of_its_own() {
    for flags in [&[][..], &["-static-libasan"]] {
        let folder = Folder::new();
        let Some(program) = build(&folder, "address", flags) else { continue };
        for options in ["detect_leaks=0", "verify_asan_link_order=1", ""] {
            check_command(&["env", &format!("ASAN_OPTIONS={options}"), &program]);
            check_command(&["sh", "-c", &format!("ASAN_OPTIONS={options} {program}")]);
        }
    }
}

#[test]
fn address_sanitizer() {
    check("address");
}

#[test]
fn thread_sanitizer() {
    check("thread");
}

#[test]
fn undefined_behaviour_sanitizer() {
    check("undefined");
}
