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

fn check(sanitizer: &str) {
    let folder = Folder::new();
    let Some(program) = compile(&folder, SOUND, &[&format!("-fsanitize={sanitizer}")]) else {
        uncontended_testkit::skip!(sanitizer, "the compiler has no such sanitizer");
        return;
    };
    let plain = std::process::Command::new(&program).output().unwrap();
    if plain.status.code() != Some(3) {
        uncontended_testkit::skip!(sanitizer, "its programs do not run here");
        return;
    }
    let (report, output) = report(&["--quiet"], &[&program]);
    assert_eq!((status(&output), stdout(&output).trim()), (3, "2000"), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "the sanitizer has nothing to say");
    let locks = report["processes"][0]["locks"].as_array().unwrap();
    let taken = locks.iter().filter_map(|lock| lock["acquisitions"].as_u64()).max();
    assert_eq!(taken, Some(2000));
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
