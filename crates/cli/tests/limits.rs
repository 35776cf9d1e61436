//! Full disks and the limits of a shell: the program is unharmed, and `unc` says what is missing and what would help.

mod common;
use common::{Folder, compile, status, stderr, stdout};
use std::process::{Child, Command, Output, Stdio};

/// Two threads that take turns at a lock, as often as the first word says.
const TURNS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds;
static void *body(void *unused) {
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&lock);
        usleep(1000);
        pthread_mutex_unlock(&lock);
        usleep(100);
    }
    return unused;
}
int main(int count, char **words) {
    rounds = count > 1 ? atoi(words[1]) : 20;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
"#;

/// A program that takes turns while something is attached to it.
struct Attached(Child);

impl Attached {
    fn new(program: &str) -> Self {
        Attached(Command::new(program).arg("1000000").stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        assert!(self.0.try_wait().unwrap().is_none(), "it is unharmed");
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn shell(text: &str, folder: &Folder) -> Output {
    let unc = env!("CARGO_BIN_EXE_unc");
    let mut shell = Command::new("sh");
    shell.args(["-c", text]).env("UNC", unc).current_dir(folder.path());
    shell.output().unwrap()
}

#[test]
fn on_a_full_disk_no_file_is_left_that_looks_like_a_report() {
    let test = "on_a_full_disk_no_file_is_left_that_looks_like_a_report";
    let folder = Folder::new();
    let program = compile(&folder, TURNS, &[]).expect("a C compiler");
    let attached = Attached::new(&program);
    let full = "mkdir -p full; mount -t tmpfs -o size=8k none full || exit 99
        head -c 9k /dev/zero > full/filler 2>/dev/null";
    let flags =
        "--no-history --json full/a.json --report full/a.txt --html full/a.html --trace full/a.unc";
    for (command, said) in [
        (format!("run {flags} -- ./program"), "done\n"),
        (format!("attach --for 100ms {flags} {}", attached.0.id()), ""),
    ] {
        let inside = format!("{full}; $UNC {command}; status=$?; ls full; exit $status");
        let output = shell(&format!("unshare --mount sh -c '{inside}'"), &folder);
        let told = stderr(&output);
        if told.contains("unshare failed") || status(&output) == 99 || told.contains("permission") {
            return uncontended_testkit::skip!(test, "{}", told.trim());
        }
        assert_eq!((status(&output), stdout(&output)), (125, format!("{said}filler\n")), "{told}");
        for file in ["a.json", "a.txt", "a.html", "a.unc"] {
            let cause = format!("full/{file} could not be written: No space left on device\n");
            assert!(told.contains(&cause), "{file}: {told}");
        }
    }
}

/// What `unc` says under each limit: its cause, and the remedy.
#[test]
fn each_limit_is_said_with_a_remedy_and_harms_nothing() {
    let test = "each_limit_is_said_with_a_remedy_and_harms_nothing";
    let folder = Folder::new();
    let program = compile(&folder, TURNS, &[]).expect("a C compiler");
    let attached = Attached::new(&program);
    let run = "run --no-history --json j.json -- ./program".to_owned();
    let attach =
        format!("attach --quiet --no-history --for 200ms --json j.json {}", attached.0.id());
    for (limit, command, remedy) in [
        ("-f 0", &run, "`ulimit -f`"),
        ("-f 100", &run, "`ulimit -f`"),
        ("-f 0", &attach, "`ulimit -f`"),
        ("-f 1", &attach, "`ulimit -f`"),
        ("-v 60000", &run, "`ulimit -v"),
        ("-v 60000", &attach, "`ulimit -v"),
        ("-n 4", &run, "`ulimit -n"),
        ("-n 16", &run, "`ulimit -n"),
        ("-n 5", &attach, "`ulimit -n"),
        ("-n 60", &attach, "`ulimit -n"),
    ] {
        let output = shell(&format!("ulimit {limit}; exec $UNC {command}"), &folder);
        let told = stderr(&output);
        if told.contains("permission") && command == &attach {
            uncontended_testkit::skip!(test, "{}", told.trim());
            return;
        }
        let of_limits = told.lines().filter(|line| line.contains("ulimit")).count();
        assert_eq!((status(&output), stdout(&output)), (125, String::new()), "{limit}: {told}");
        assert!(told.contains(remedy) && (1..=2).contains(&of_limits), "{limit}: {told}");
        assert!(!told.contains("panicked"), "{limit}: {told}");
        assert!(!std::fs::exists(folder.file("j.json")).unwrap(), "{limit}: {told}");
    }
}

/// The program keeps the limit, and signals end both as ever.
#[test]
fn with_a_small_stack_it_works_and_passes_signals_on() {
    let folder = Folder::new();
    compile(&folder, TURNS, &[]).expect("a C compiler");
    let run = "$UNC run --no-history";
    for command in [
        format!("exec {run} --json j.json -- sh -c './program && ulimit -s'"),
        format!("timeout --signal INT 1 {run} -- sh -c 'ulimit -s; ./program; exec sleep 60'"),
    ] {
        let output = shell(&format!("ulimit -s 64; {command}"), &folder);
        let said = stdout(&output);
        let lines: std::collections::BTreeSet<&str> = said.lines().collect();
        assert_eq!(lines, ["64", "done"].into(), "{}", stderr(&output));
        let expected = if command.starts_with("exec") { 0 } else { 124 };
        assert_eq!(status(&output), expected, "{}", stderr(&output));
    }
    assert!(std::fs::exists(folder.file("j.json")).unwrap());
}

#[test]
fn a_limit_on_processes_is_said_with_a_remedy() {
    let test = "a_limit_on_processes_is_said_with_a_remedy";
    let folder = Folder::new();
    // Another user's number, which has no process; root has no such limit.
    let limited =
        "setpriv --reuid 64321 --clear-groups prlimit --nproc=1 $UNC run --no-history true";
    let output = shell(limited, &folder);
    let told = stderr(&output);
    if !told.contains("unc: ") {
        return uncontended_testkit::skip!(test, "{}", told.trim());
    }
    assert_eq!(status(&output), 125, "{told}");
    assert!(told.contains("could not start the program") && told.contains("`ulimit -u`"), "{told}");
}

#[test]
fn without_memory_it_says_so_and_exits() {
    let folder = Folder::new();
    let output = shell("truncate -s 1G big; ulimit -v 500000; exec $UNC report big", &folder);
    let told = stderr(&output);
    assert_eq!((status(&output), stdout(&output)), (2, String::new()), "{told}");
    assert!(told.contains("no memory left") && told.contains("`ulimit -v"), "{told}");
}

/// A file that a command cannot write has what it had before, and no other is left.
#[test]
fn a_full_disk_keeps_the_files_that_there_were() {
    let folder = Folder::new();
    let write = |name, text: &str| std::fs::write(folder.file(name), text).unwrap();
    write("values", "1\n2\n3\n");
    write("SB.litmus", "X86 SB\n{}\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\nexists (x=1)\n");
    let write_of_one = r#"{"client":1,"op":"write","value":1,"call":1,"return":2}"#;
    write("history", &format!("{write_of_one}\n"));
    write(
        "suite.toml",
        "max-error = 0.01\n[[slo]]\nname = 'a'\nrate = '98%'\ncounts = '4000/4000'\n",
    );
    let before = "what there was before";
    for command in [
        "slo --rate 60% --at-most 1h OLD -- true",
        "compare --max-runs 20 OLD -- true true",
        "permute values values OLD",
        "power slo --rate 60% --at 90% --simulations 20 OLD",
        "slo --suite suite.toml OLD",
        "litmus SB.litmus OLD",
        "linearize --spec register history OLD",
        "history OLD",
    ] {
        write("old.json", before);
        let command = command.replace("OLD", "--json old.json");
        let text = format!("ulimit -f 0; XDG_STATE_HOME=$PWD/state exec $UNC {command}");
        let told = stderr(&shell(&text, &folder));
        let cause = "old.json could not be written: it exceeds the limit on the size of files";
        assert!(told.contains(cause), "{command}: {told}");
        assert!(told.contains("it has what it had before"), "{command}: {told}");
        assert_eq!(std::fs::read_to_string(folder.file("old.json")).unwrap(), before, "{command}");
        let named = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut files = std::fs::read_dir(folder.path()).unwrap().map(named);
        assert!(!files.any(|name| name.to_string_lossy().starts_with('.')), "{command}");
    }
}
