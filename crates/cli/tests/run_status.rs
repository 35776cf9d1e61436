//! `unc run` exits with its program's status, and its own statuses are the documented ones.

mod common;
use common::{Folder, compile, installed, script, status, stderr, stdout, unc, unc_run};
use uncontended_testkit::programs::executable;

#[test]
fn the_status_of_the_program_is_passed_through() {
    for code in [0, 1, 2, 7, 125, 255] {
        assert_eq!(status(&script(&["--quiet"], &format!("exit {code}"))), code);
    }
}

#[test]
fn a_signal_that_ends_the_program_becomes_128_and_its_number() {
    assert_eq!(status(&script(&["--quiet"], "kill -KILL $$")), 137);
    assert_eq!(status(&script(&["--quiet"], "kill -SEGV $$")), 139);
}

#[test]
fn what_cannot_be_run_has_statuses_of_its_own() {
    let folder = Folder::new();
    let plain = folder.file("plain");
    std::fs::write(&plain, "no program").unwrap();
    for (program, expected) in [
        ("no-such-program-anywhere", 127),
        ("/no/such/file", 127),
        ("", 127),
        (&*plain, 126),
        ("/", 126),
        ("/dev/null", 126),
    ] {
        let output = unc_run(&[]).arg(program).output().unwrap();
        assert_eq!(status(&output), expected, "{program}");
        assert!(stderr(&output).starts_with("unc: "), "{program}");
        assert_eq!(stdout(&output), "");
    }
}

/// The two lines on standard error of a run that was refused.
fn refused(flags: &[&str], program: &str) -> String {
    let output = unc_run(flags).arg(program).output().unwrap();
    assert!((125..=127).contains(&status(&output)), "{}", stderr(&output));
    stderr(&output)
}

#[test]
fn what_cannot_be_run_is_told_with_a_remedy() {
    let folder = Folder::new();
    let source = folder.file("pool.cpp");
    std::fs::write(&source, "int main() {}").unwrap();
    let text = refused(&[], &source);
    assert!(text.contains("source code, not a program\n     compile it"), "{text}");
    assert!(!text.contains("chmod"), "{text}");
    let plain = folder.file("plain");
    std::fs::write(&plain, "#!/bin/sh").unwrap();
    assert!(refused(&[], &plain).contains(&format!("chmod +x {plain}")));
    assert!(refused(&[], "").contains("name is empty\n     name a program"));
    let text = refused(&["--json", "/"], "true");
    assert!(
        text.contains("/ cannot be written: it is a folder") && !text.contains("os error"),
        "{text}"
    );
}

#[test]
fn a_flag_that_takes_a_whole_number_says_so() {
    for (arguments, expected) in [
        (&["run", "--top", "x", "--", "true"][..], "give a whole number, 1 or more"),
        (&["run", "--top", "0", "--", "true"], "give a whole number, 1 or more"),
        (&["report", "--top", "-", "x"], "give a whole number, 1 or more"),
        (&["attach", "nginx"], "give a PID; `pgrep NAME` finds them"),
        (&["history", "--top", "many"], "give a whole number, 1 or more"),
        (&["slo", "--warmup", "some", "--", "true"], "give a whole number, 0 or more"),
        (&["compare", "--seed", "0x1", "a", "b"], "give a whole number, 0 or more"),
        (&["litmus", "--delta", "999", "--list"], "give a whole number from 0 to 255"),
        (&["linearize", "--threads", "x", "file"], "give a whole number from 1 to 65535"),
    ] {
        let output = unc().args(arguments).output().unwrap();
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
        assert!(!stderr(&output).contains("invalid digit"), "{arguments:?}");
    }
}

#[test]
fn a_script_without_an_interpreter_runs_as_execvp_runs_it() {
    let folder = Folder::new();
    let file = folder.file("script");
    executable(&file, b"echo \"$1\"; exit 9\n");
    let output = unc_run(&["--quiet"]).args([&*file, "word"]).output().unwrap();
    assert_eq!((status(&output), stdout(&output)), (9, "word\n".into()));
}

#[test]
fn bad_usage_is_125_because_2_is_the_programs() {
    for flags in [
        &["--for", "10", "--", "true"][..],
        &["--no-such-flag", "--", "true"],
        &[],
        &["--top", "x", "--", "true"],
    ] {
        let output = unc().arg("run").args(flags).output().unwrap();
        assert_eq!(status(&output), 125, "{flags:?}");
    }
    assert_eq!(status(&unc().args(["run", "--help"]).output().unwrap()), 0);
    assert_eq!(status(&unc().arg("no-such-command").output().unwrap()), 2);
}

#[test]
fn flags_after_the_program_are_the_programs() {
    let output =
        unc().args(["run", "--quiet", "--no-history", "echo", "--json", "-n"]).output().unwrap();
    assert_eq!(stdout(&output), "--json -n\n");
}

#[test]
fn an_output_that_cannot_be_written_is_found_before_the_program_starts() {
    let folder = Folder::new();
    let mark = folder.file("mark");
    for flag in ["--json", "--html", "--report", "--folded", "--perfetto", "--trace"] {
        for path in ["-", "/no/such/folder/file", "/"] {
            let output = script(&[flag, path], &format!("touch {mark}"));
            assert_eq!(status(&output), 125, "{flag} {path}");
            assert!(
                stderr(&output).contains(path) && !stderr(&output).contains("panicked"),
                "{}",
                stderr(&output)
            );
        }
    }
    assert!(!std::path::Path::new(&mark).exists(), "the program was started");
}

#[test]
fn an_output_of_a_program_that_was_not_found_leaves_no_file() {
    let folder = Folder::new();
    let json = folder.file("run.json");
    assert_eq!(status(&unc_run(&["--json", &json]).arg("no-such-program").output().unwrap()), 127);
    assert!(!std::path::Path::new(&json).exists());
}

#[test]
fn a_full_disk_is_said_and_hides_no_failure_of_the_program() {
    for flag in ["--json", "--html", "--trace"] {
        for (code, expected) in [(0, 125), (3, 3)] {
            let output = script(&[flag, "/dev/full"], &format!("echo out; exit {code}"));
            assert_eq!(status(&output), expected, "{flag}");
            assert!(
                stderr(&output).contains("unc: /dev/full could not be written: No space left"),
                "{}",
                stderr(&output)
            );
            assert_eq!(stdout(&output), "out\n");
        }
    }
}

/// Runs `unc` with these words, a stream of it being a full disk.
fn on_full_disk(stream: &str, words: &str) -> std::process::Output {
    let text = format!("exec {} {words} {stream}/dev/full", env!("CARGO_BIN_EXE_unc"));
    std::process::Command::new("sh").args(["-c", &text]).output().unwrap()
}

#[test]
fn what_could_not_be_printed_is_a_failure() {
    for (code, expected) in [(0, 125), (3, 3)] {
        let output = on_full_disk("2>", &format!("run --no-history -- sh -c 'exit {code}'"));
        assert_eq!(status(&output), expected);
    }
    assert_eq!(status(&on_full_disk("2>", "run --no-history --quiet -- true")), 0);
    for words in ["litmus --list", "litmus --builtin SB --model sc", "terms", "--help"] {
        assert_eq!(status(&on_full_disk(">", words)), 2, "{words}");
    }
    let output = on_full_disk(">", "litmus --builtin SB --model sc --json -");
    assert_eq!(status(&output), 2);
    let words = "unc: standard output could not be written: No space left on device\n";
    assert!(stderr(&output).ends_with(words), "{}", stderr(&output));
}

#[test]
fn a_run_that_cannot_be_kept_says_how_to_go_on() {
    for (home, cause) in
        [("/proc", "/proc/.local"), ("relative", "neither XDG_STATE_HOME nor HOME")]
    {
        let mut command = unc();
        command
            .args(["run", "--quiet", "--", "true"])
            .env_remove("XDG_STATE_HOME")
            .env("HOME", home);
        let output = command.output().unwrap();
        let text = stderr(&output);
        assert_eq!((status(&output), text.lines().count()), (0, 2), "{text}");
        assert!(text.contains(cause) && !text.contains("os error"), "{text}");
        assert!(text.contains("     set XDG_STATE_HOME or HOME to a folder"), "{text}");
    }
}

#[test]
fn a_command_line_that_means_something_else_is_answered_with_it() {
    for (words, tip) in [
        (&["help", "term"][..], "a similar subcommand exists: 'terms'"),
        (&["terns"], "a similar subcommand exists: 'terms'"),
        (&["rn", "--", "true"], "a similar subcommand exists: 'run'"),
        (&["/bin/sh"], "to see where its threads wait: unc run -- /bin/sh"),
        (&["--json", "x"], "--json goes after the command: unc run --json ...; also unc attach"),
        (&["--folded=x", "./a"], "--folded goes after the command: unc run --folded ..."),
    ] {
        let output = unc().args(words).output().unwrap();
        assert_eq!(status(&output), 2, "{words:?}");
        assert!(stderr(&output).contains(tip), "{words:?}: {}", stderr(&output));
    }
    let output = unc().arg("no-such-command").output().unwrap();
    assert!(!stderr(&output).contains("tip:"), "{}", stderr(&output));
}

#[test]
fn without_utf_8_nothing_but_ascii_is_printed() {
    let mut command = unc_run(&["--top", "1"]);
    let output = command.arg("true").env("LC_ALL", "C").output().unwrap();
    assert!(
        stderr(&output).contains("Coverage") && stderr(&output).is_ascii(),
        "{}",
        stderr(&output)
    );
    let output = unc().arg("terms").env("LC_ALL", "C").output().unwrap();
    assert!(stdout(&output).contains("f < g") && stdout(&output).is_ascii(), "{}", stdout(&output));
    let output = unc_run(&[]).arg("true").env("LC_ALL", "C.UTF-8").output().unwrap();
    assert!(stderr(&output).contains(" · exit status 0"), "{}", stderr(&output));
}

#[test]
fn quiet_means_no_word() {
    assert_eq!(stderr(&script(&["--quiet"], "true")), "");
    assert_ne!(stderr(&script(&[], "true")), "");
}

#[test]
fn a_time_limit_ends_the_program_with_sigterm() {
    let output = unc_run(&["--quiet", "--for", "300ms"]).args(["sleep", "100"]).output().unwrap();
    assert_eq!(status(&output), 128 + 15);
    let text = "trap 'echo ended; exit 4' TERM; while :; do sleep 0.05; done";
    let output = script(&["--for", "300ms"], text);
    assert_eq!((status(&output), stdout(&output)), (4, "ended\n".into()));
    let report = stderr(&output);
    assert!(report.contains("ended by --for (exit status 4)"), "{report}");
    let report = stderr(&script(&["--for", "1m"], "exit 4"));
    assert!(report.contains(" · exit status 4"), "{report}");
}

/// What would be of no use is refused before the program starts.
#[test]
fn flags_that_lead_nowhere_are_refused() {
    for (flags, said, remedy) in [
        (&["--jsn", "run.json"][..], "unknown flag --jsn", "did you mean --json?"),
        (&["--evry=1s"], "unknown flag --evry=1s", "did you mean --every?"),
        (&["--output", "x"], "unknown flag --output", "did you mean --report FILE (text), --json"),
        (&["-o", "x"], "unknown flag -o", "did you mean --report FILE (text), --json"),
        (&["--debug-dir", "/nonexistent"], "no such folder", "name the folder"),
        (&["--every", "1s", "--quiet"], "has nowhere to report to", "name a file"),
    ] {
        let output = unc_run(flags).args(["sh", "-c", "echo started"]).output().unwrap();
        let error = stderr(&output);
        assert_eq!((status(&output), stdout(&output)), (125, String::new()), "{flags:?}: {error}");
        assert!(error.contains(said) && error.contains(remedy), "{flags:?}: {error}");
    }
}

#[test]
fn a_program_whose_name_begins_like_a_flag_needs_its_path() {
    let output = unc_run(&[]).args(["-x", "1"]).output().unwrap();
    let error = stderr(&output);
    assert_eq!(status(&output), 125, "{error}");
    assert!(error.contains("'-x' is not a program") && error.contains("(./-x)"), "{error}");
}

/// A shell that ignores the signals that ask it to end, and runs no other program.
const STUBBORN: &str = "trap '' TERM INT; echo ready; while :; do read line < /dev/null; done";

#[test]
fn a_program_that_ignores_its_time_limit_is_killed() {
    let folder = Folder::new();
    let report = folder.file("run.txt");
    let output = script(&["--for", "300ms", "--report", &report], STUBBORN);
    assert_eq!(status(&output), 128 + 9);
    let said = "the program has not ended 2 s after SIGTERM\n     it gets SIGKILL in 8 s\n";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("ended by SIGKILL (status 137)"), "{report}");
}

/// A person has other uses for Ctrl-C: the program is killed by three in a row alone.
#[test]
fn three_keys_kill_a_program_that_does_not_end() {
    const NAME: &str = "three_keys_kill_a_program_that_does_not_end";
    if std::process::Command::new("script").arg("--version").output().is_err() {
        uncontended_testkit::skip!(NAME, "needs script (util-linux)");
        return;
    }
    let folder = Folder::new();
    let (typed, file) = (folder.file("typed"), folder.file("stubborn.sh"));
    std::fs::write(&file, STUBBORN).unwrap();
    let unc = env!("CARGO_BIN_EXE_unc");
    // `exec`: `script` starts a shell, and one that stays in between would take the keys as its own end.
    let run = format!("exec {unc} run --no-history -- sh {file}");
    let keys = format!(
        "until grep -q ready {typed}; do sleep 0.1; done; printf '\\003'; \
         until grep -q 'times Ctrl-C' {typed}; do sleep 0.1; done; \
         for key in 1 2 3; do printf '\\003'; sleep 0.1; done; sleep 5"
    );
    let text = format!("({keys}) | script -qefc '{run}' {typed} > {typed}.shown 2>&1");
    let output = std::process::Command::new("sh").args(["-c", &text]).output().unwrap();
    let shown = std::fs::read_to_string(&typed).unwrap();
    assert_eq!(status(&output), 128 + 9, "{shown}");
    assert!(shown.contains("has not ended 2 s after it was asked to"), "{shown}");
    assert!(shown.contains("ended by SIGKILL"), "{shown}");
}

#[test]
fn static_programs_run_unobserved_with_one_line() {
    let folder = Folder::new();
    let source = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 6; }";
    for flags in [&["-static"][..], &["-static-pie", "-fPIE"]] {
        let Some(program) = compile(&folder, source, flags) else {
            uncontended_testkit::skip!(
                "static_programs_run_unobserved_with_one_line",
                "no static C library for {flags:?}"
            );
            continue;
        };
        let output = unc_run(&["--quiet"]).arg(&program).output().unwrap();
        assert_eq!((status(&output), stdout(&output)), (6, "hello\n".into()));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        assert!(stderr(&output).contains("statically linked"), "{}", stderr(&output));
        // What it takes is in each form of the report, too.
        let (report, json) = (folder.file("run.txt"), folder.file("run.json"));
        let flags = ["--quiet", "--source", "preload", "--report", &report, "--json", &json];
        let output = unc_run(&flags).arg(&program).output().unwrap();
        let remedy = "without --source preload, the kernel watches it (as root)";
        assert!(stderr(&output).contains(remedy), "{}", stderr(&output));
        for file in [&report, &json] {
            let text = std::fs::read_to_string(file).unwrap();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(remedy) && !text.contains("Observing added"), "{text}");
        }
        let report: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
        let reason = report["coverage"]["not_recording"][0]["reason"].as_str().unwrap();
        assert!(reason.contains(remedy), "{reason}");
    }
}

/// A complete 32-bit program: exit(5).
fn exit_5_in_32_bits() -> Vec<u8> {
    use object::elf;
    use object::write::elf::{FileHeader, ProgramHeader, Writer};

    // mov eax, 1; mov ebx, 5; int 0x80
    const CODE: [u8; 12] = *b"\xb8\x01\0\0\0\xbb\x05\0\0\0\xcd\x80";
    const BASE: u64 = 0x0804_8000;
    let mut file = Vec::new();
    let mut writer = Writer::new(object::Endianness::Little, false, &mut file);
    writer.reserve_file_header();
    writer.reserve_program_headers(1);
    let at = writer.reserve(CODE.len() as u64, 1);
    let size = at + CODE.len() as u64;
    writer
        .write_file_header(&FileHeader {
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            e_type: elf::ET_EXEC,
            e_machine: elf::EM_386,
            e_entry: BASE + at,
            e_flags: elf::FileFlags(0),
        })
        .unwrap();
    writer.write_program_header(&ProgramHeader {
        p_type: elf::PT_LOAD,
        p_flags: elf::PF_R | elf::PF_X,
        p_offset: 0,
        p_vaddr: BASE,
        p_paddr: BASE,
        p_filesz: size,
        p_memsz: size,
        p_align: 0x1000,
    });
    writer.write(&CODE);
    file
}

#[test]
fn programs_of_32_bits_run_unobserved_with_one_line() {
    let folder = Folder::new();
    let program = folder.file("small");
    executable(&program, &exit_5_in_32_bits());
    if !std::process::Command::new(&program).status().is_ok_and(|status| status.code() == Some(5)) {
        uncontended_testkit::skip!(
            "programs_of_32_bits_run_unobserved_with_one_line",
            "the kernel runs no 32-bit programs"
        );
        return;
    }
    let output = unc_run(&["--quiet"]).arg(&program).output().unwrap();
    assert_eq!(status(&output), 5);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("32-bit"), "{}", stderr(&output));
}

#[test]
fn setuid_programs_run_unobserved_with_one_line() {
    let test = "setuid_programs_run_unobserved_with_one_line";
    let folder = Folder::new();
    let program = folder.file("privileged");
    executable(&program, &std::fs::read("/bin/true").unwrap());
    let user = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&program).unwrap());
    if user != 0 || std::os::unix::fs::chown(&program, Some(65534), None).is_err() {
        uncontended_testkit::skip!(test, "only root can give a file to another user");
        return;
    }
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o4755))
        .unwrap();
    let output = unc_run(&["--quiet"]).arg(&program).output().unwrap();
    assert_eq!(status(&output), 0);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("setuid"), "{}", stderr(&output));
}

#[test]
fn children_for_another_loader_are_left_alone() {
    let test = "children_for_another_loader_are_left_alone";
    let folder = Folder::new();
    let program = folder.file("small");
    let compiled = std::process::Command::new("musl-gcc")
        .args(["-x", "c", "-", "-o", &program])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .and_then(|mut compiler| {
            use std::io::Write;
            compiler.stdin.take().unwrap().write_all(b"int main(void) { return 5; }")?;
            compiler.wait()
        });
    if !compiled.is_ok_and(|status| status.success()) {
        uncontended_testkit::skip!(test, "no compiler for musl");
        return;
    }
    let output = script(&["--quiet"], &format!("{program}; echo $?"));
    assert_eq!((stdout(&output), stderr(&output)), ("5\n".into(), String::new()));
}

#[test]
fn a_child_of_another_user_hears_nothing_of_the_observer() {
    let test = "a_child_of_another_user_hears_nothing_of_the_observer";
    if !installed(test, "setpriv") {
        return;
    }
    let program = ["setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", "echo fine"];
    let plain = std::process::Command::new(program[0]).args(&program[1..]).output().unwrap();
    if stdout(&plain) != "fine\n" {
        uncontended_testkit::skip!(test, "only root can change users");
        return;
    }
    let mut run = unc_run(&["--quiet"]);
    let output = run.env_remove("XDG_CACHE_HOME").args(program).output().unwrap();
    assert_eq!((stdout(&output), stderr(&output)), ("fine\n".into(), String::new()));
}

/// What people type who know other tools.
#[test]
fn a_command_line_of_another_kind_is_told_with_a_remedy() {
    for (arguments, code, words) in [
        (&["ls -l /"][..], 127, "without quotes around all: unc run -- ls -l /"),
        (&["-p", "12"], 125, "`unc attach PID` watches"),
        (&["--pid=12"], 125, "`unc attach PID` watches"),
    ] {
        let output = unc().arg("run").args(arguments).output().unwrap();
        assert_eq!(status(&output), code, "{}", stderr(&output));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}
