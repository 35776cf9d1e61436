//! A program cannot detect that `unc` started it, and its output stays the same to the byte.

mod common;
use common::{Folder, compile, installed, script, status, stderr, stdout, unc_run};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// The output of `text` in a shell prepared by `before`, without and with `unc`.
fn both(before: &str, text: &str) -> (String, String) {
    let run = |prefix: &str| {
        let unc = env!("CARGO_BIN_EXE_unc");
        let prefix = prefix.replace("UNC", unc);
        let output = Command::new("sh")
            .args(["-c", &format!("{before}\nexec {prefix} sh -c '{text}'")])
            .output()
            .unwrap();
        (stdout(&output), stderr(&output))
    };
    let (plain, _) = run("");
    let (observed, errors) = run("UNC run --quiet --no-history --");
    assert_ne!(plain, "", "{errors}");
    (plain, observed)
}

#[test]
fn signal_masks_and_dispositions_are_the_callers() {
    let show = "grep -E \"^(SigBlk|SigIgn|SigCgt|Threads)\" /proc/self/status";
    for before in ["", "trap '' PIPE", "trap '' XFSZ", "trap '' HUP INT", "trap '' CHLD USR1 TERM"]
    {
        let (plain, observed) = both(before, show);
        assert_eq!(plain, observed, "{before}");
    }
}

#[test]
fn descriptors_groups_and_limits_are_the_callers() {
    let show = "ls /proc/self/fd; cut -d\" \" -f5-8 /proc/self/stat; ulimit -a; umask; pwd";
    for before in
        ["", "exec 0<&-", "exec 5</dev/null 9</dev/null", "umask 077; cd /", "ulimit -n 30"]
    {
        let (plain, observed) = both(before, show);
        let comparable = |text: &str| {
            text.lines()
                .filter(|line| !line.contains(' ') || line.contains(':'))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(comparable(&plain), comparable(&observed), "{before}");
    }
}

#[test]
fn the_process_group_is_ours() {
    let ours =
        |output: std::process::Output| stdout(&output).split_whitespace().next().map(str::to_owned);
    let show = ["-c", "cut -d' ' -f5,6 /proc/self/stat"];
    let plain = Command::new("sh").args(show).output().unwrap();
    let observed = unc_run(&["--quiet"]).arg("sh").args(show).output().unwrap();
    assert_eq!(ours(plain), ours(observed));
}

#[test]
fn the_environment_gains_two_variables_only() {
    const OURS: [&str; 2] = ["LD_PRELOAD", "UNC_RECORD"];
    let output = unc_run(&["--quiet"]).arg("env").env("LD_PRELOAD", "").output().unwrap();
    let text = stdout(&output);
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    for name in names {
        assert!(std::env::var_os(name).is_some() || OURS.contains(&name), "{name}");
    }
}

/// The observer from memory cannot have a name that AddressSanitizer's runtime lets pass.
#[test]
fn options_for_the_sanitizer_change_only_where_the_observer_has_no_file() {
    for (cache, expected) in
        [(None, "a=1:b=2\n"), (Some("/proc"), "a=1:b=2:verify_asan_link_order=0\n")]
    {
        let mut program = unc_run(&["--quiet"]);
        program.args(["sh", "-c", "echo $ASAN_OPTIONS"]).env("ASAN_OPTIONS", "a=1:b=2");
        program.envs(cache.map(|cache| ("XDG_CACHE_HOME", cache)));
        assert_eq!(stdout(&program.output().unwrap()), expected);
    }
}

#[test]
fn input_and_output_pass_untouched() {
    let mut program = unc_run(&["--quiet"])
        .arg("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut input = program.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || input.write_all(&sent));
    let output = program.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!(output.stdout, bytes);
}

#[test]
fn sorting_in_parallel_gives_the_same_bytes() {
    if !installed("sorting_in_parallel_gives_the_same_bytes", "sort") {
        return;
    }
    let folder = Folder::new();
    let file = folder.file("lines");
    let mut number = 1_u64;
    let lines: String = (0..200_000)
        .map(|_| {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            format!("{:x}\n", number >> 20)
        })
        .collect();
    std::fs::write(&file, lines).unwrap();
    let arguments = ["--parallel=4", "-S", "64M", &*file];
    let plain = Command::new("sort").args(arguments).output().unwrap();
    let observed = unc_run(&[]).arg("sort").args(arguments).output().unwrap();
    assert_eq!(status(&observed), 0, "{}", stderr(&observed));
    assert!(plain.stdout == observed.stdout);
}

/// Whether the tests, and so the programs that they start, ignore this signal.
fn is_ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

#[test]
fn a_signal_to_us_reaches_the_program() {
    let text =
        "trap 'echo got; exit 42' TERM HUP USR1 INT; echo ready; while :; do sleep 0.02; done";
    for (signal, number) in [("TERM", 15), ("HUP", 1), ("USR1", 10), ("INT", 2)] {
        if is_ignored(number) {
            // As under nohup. A shell cannot trap what is ignored when it starts.
            uncontended_testkit::skip!("a_signal_to_us", "SIG{signal} is ignored here");
            continue;
        }
        let mut run = unc_run(&[])
            .args(["sh", "-c", text])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &run.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        assert_eq!(lines.next().unwrap().unwrap(), "got", "{signal}");
        let output = run.wait_with_output().unwrap();
        assert_eq!(status(&output), 42, "{signal}");
        assert_ne!(stderr(&output), "", "the report of a program that a signal ended");
    }
}

#[test]
fn a_key_of_the_terminal_reaches_the_program_once_and_the_report_follows() {
    let test = "a_key_of_the_terminal_reaches_the_program_once_and_the_report_follows";
    if !installed(test, "script") {
        return;
    }
    if is_ignored(2) {
        uncontended_testkit::skip!(test, "SIGINT is ignored here");
        return;
    }
    let folder = Folder::new();
    let (counts, report) = (folder.file("counts"), folder.file("report.json"));
    let program = format!(
        "trap \"echo got >>{counts}\" INT; echo ready; i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; exit 3"
    );
    let file = folder.file("program.sh");
    std::fs::write(&file, program).unwrap();
    let unc = env!("CARGO_BIN_EXE_unc");
    // `exec`: `script` starts a shell, and one that stays in between would take the key as its own end.
    let command = format!("exec {unc} run --no-history --json {report} -- sh {file}");
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &command, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = terminal.spawn().unwrap();
    let mut lines = BufReader::new(terminal.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready")));
    let mut keys = terminal.stdin.take().unwrap();
    keys.write_all(b"\x03").unwrap();
    keys.flush().unwrap();
    lines.for_each(drop);
    assert_eq!(terminal.wait().unwrap().code(), Some(3));
    assert_eq!(std::fs::read_to_string(&counts).unwrap(), "got\n");
    assert!(std::fs::read_to_string(&report).unwrap().contains("\"exit_status\": 3"));
}

#[test]
fn a_home_that_cannot_be_written_is_no_obstacle() {
    let mut run = unc_run(&["--quiet"]);
    run.args(["echo", "fine"]).env("HOME", "/proc").env_remove("XDG_CACHE_HOME");
    let output = run.output().unwrap();
    assert_eq!(
        (status(&output), stdout(&output), stderr(&output)),
        (0, "fine\n".into(), String::new())
    );
    let output = unc_run(&["--quiet"]).args(["echo", "fine"]).env_clear().output().unwrap();
    assert_eq!(
        (status(&output), stdout(&output), stderr(&output)),
        (0, "fine\n".into(), String::new())
    );
}

#[test]
fn a_library_that_the_user_preloads_stays_loaded() {
    let folder = Folder::new();
    let source = "#include <unistd.h>\n__attribute__((constructor)) static void hello(void) { write(1, \"loaded\\n\", 7); }";
    let library = compile(&folder, source, &["-shared", "-fPIC"]).unwrap();
    let output = unc_run(&["--quiet"]).arg("true").env("LD_PRELOAD", &library).output().unwrap();
    // Once in `unc` itself, once in the program.
    assert_eq!(stdout(&output), "loaded\nloaded\n");
    let output = script(&["--quiet"], "true");
    assert_eq!(stdout(&output), "");
}
