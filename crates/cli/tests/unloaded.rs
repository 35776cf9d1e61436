//! Code that a program unloads keeps its names, or has none: never those of code that comes to its address.

mod common;
use common::{Folder, compile, report, status};

/// Two libraries that are loaded in turn, and a program in which two threads meet in each.
const IN_TURN: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
#ifdef HOLD
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *HOLD(void *unused) {
    for (int n = 0; n < 5; n++) pthread_mutex_lock(&lock), usleep(2000), pthread_mutex_unlock(&lock);
    return unused;
}
#else
int main(int count, char **words) {
    for (int n = 1; n < count; n += 2) {
        void *library = dlopen(words[n], RTLD_NOW);
        if (!library) return 9;
        void *(*hold)(void *) = (void *(*)(void *))dlsym(library, words[n + 1]);
        pthread_t threads[2];
        for (int t = 0; t < 2; t++) pthread_create(&threads[t], NULL, hold, NULL);
        for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
        dlclose(library);
    }
    return 0;
}
#endif
"#;

#[test]
fn a_library_at_the_address_of_another_is_not_named_by_it() {
    let folders = [Folder::new(), Folder::new(), Folder::new()];
    let library = |folder, hold: &str| {
        let define = format!("-DHOLD={hold}");
        compile(folder, IN_TURN, &["-shared", "-fPIC", "-Wl,--build-id", &define])
            .expect("a C compiler")
    };
    let program = compile(&folders[0], IN_TURN, &["-ldl"]).expect("a C compiler");
    let names = ["first_hold", "second_hold"];
    let [first, second] = [library(&folders[1], names[0]), library(&folders[2], names[1])];
    let (report, output) = report(&[], &[&program, &first, names[0], &second, names[1]]);
    assert_eq!(status(&output), 0);
    let all = report["processes"].to_string();
    let named = names.map(|name| all.contains(&format!("\"function\":\"{name}\"")));
    let is_told =
        report["coverage"]["unseen"].to_string().contains("loaded other code at its addresses");
    // Where the loader found another address for the second, both have their names.
    assert_eq!(named, [!is_told; 2], "{report:#}");
}
