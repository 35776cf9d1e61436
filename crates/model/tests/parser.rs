//! The parser of litmus files: every refusal has a position and a cause; no text makes it panic; what it accepts can be
//! explored.

use uncontended_model::classics::CLASSICS;
use uncontended_model::litmus::{Memory, parse};
use uncontended_model::outcome::Limits;
use uncontended_model::program::{Op, Operand, Place};
use uncontended_model::random::Random;

const SB: &str = "X86_64 SB\n\"a doc line\"\nGenerator=by hand\n{ uint64_t x; uint64_t y=0; 0:rbx=3; }\n P0 | P1 ;\n \
                  movq $1,(x) | movq $1,(y) ;\n movq (y),%rax | movq (x),%rax ;\nexists (0:rax=0 /\\ 1:rax=0)\n";

/// The refusal of `SB` with one piece replaced.
fn refusal(from: &str, to: &str) -> String {
    let text = SB.replacen(from, to, 1);
    assert_ne!(text, SB, "`{from}` is not in the text");
    match parse(&text) {
        Ok(test) => panic!("accepted: {test:?}"),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn refusals_name_the_place_and_the_cause() {
    for (from, to, expected) in [
        (
            "X86_64 SB",
            "AArch64 SB",
            "1:1: architecture `AArch64` (64-bit Arm) is not supported, only X86_64; herd7 runs the others",
        ),
        ("X86_64 SB", "X86_64", "1:7: expected the name of the test"),
        ("{ uint64_t x;", "{ float x;", "4:3: type `float` is not supported"),
        ("y=0", "y=x", "4:26: addresses as values are not supported"),
        ("0:rbx=3; }", "0:rbx=3;", "5:5: expected `;`, found `|`"),
        ("P0 | P1", "P0 | P2", "5:7: expected `P1`, found `P2`"),
        ("movq $1,(y)", "vmovq $1,(y)", "6:16: unknown instruction `vmovq`"),
        ("movq $1,(y)", "clflush (y)", "6:16: unknown instruction `clflush`"),
        ("movq $1,(y)", "lock movq $1,(y)", "6:16: `movq` cannot be LOCKed"),
        ("movq $1,(y)", "movq $1,(%rax)", "6:24: addresses in registers are not supported"),
        (
            "movq $1,(y)",
            "movq $1,8(y)",
            "6:24: expected `$constant`, `%register` or `(location)`, found `8`",
        ),
        ("movq $1,(y)", "movq $one,(y)", "6:22: expected a number, found `one`"),
        (
            "movq $1,(y)",
            "movl $1,(y)",
            "6:16: `y` is used with 64 and with 32 bits; mixed sizes are not supported",
        ),
        ("movq $1,(y)", "jmp AWAY", "6:20: label `AWAY` does not exist in this thread"),
        (
            "movq $1,(y)",
            "jl AWAY",
            "6:16: `jl` is supported only right after an instruction that sets its flags",
        ),
        ("movq $1,(y)", "interrupt P1", "6:27: there is no other thread 1 to interrupt"),
        (
            "movq (x),%rax ;",
            "movq (x),%xmm0 ;",
            "7:27: unknown register `%xmm0`; 32 and 64 bits are supported",
        ),
        (
            "movq (x),%rax ;",
            "movq (x),%rax | nop ;",
            "7:34: a cell for thread 2, but the test has 2 threads",
        ),
        ("exists", "exsts", "8:1: expected a row of code ending in `;`, or a condition"),
        ("1:rax=0", "2:rax=0", "8:1: unknown thread 2; the test has 2 threads"),
        ("1:rax=0)", "1:rax=0", "9:1: expected `)`, found the end of the text"),
        ("1:rax=0)", "1:rax=0) ?", "8:29: expected the end, found `?`"),
        (
            "1:rax=0",
            "1:rax=99999999999999999999",
            "8:26: expected a number, found `99999999999999999999`",
        ),
        ("\"a doc line\"", "(* never", "2:1: this comment is not closed"),
    ] {
        assert_eq!(refusal(from, to), expected);
    }
}

#[test]
fn foreign_dialects_are_named() {
    for (dialect, about) in [
        ("PPC", "POWER"),
        ("RISCV", "RISC-V"),
        (
            "C",
            "C with C11 atomics or the Linux kernel's; for such code there is `uncontended_model::real`",
        ),
        ("X86", "32-bit x86; a test with 64-bit registers begins with X86_64"),
    ] {
        let expected = format!(
            "1:1: architecture `{dialect}` ({about}) is not supported, only X86_64; herd7 runs the others"
        );
        assert_eq!(refusal("X86_64 SB", &format!("{dialect} SB")), expected);
    }
    let kernel = "C MP\n{}\nP0(int *x) { WRITE_ONCE(*x, 1); }\nP1(int *x) { int r0 = READ_ONCE(*x); }\nexists (1:r0=1)\n";
    for text in [kernel.to_owned(), format!("(* by hand *)\n{kernel}")] {
        let refused = parse(&text).unwrap_err().to_string();
        assert!(
            refused.contains(":1: architecture `C` (C with C11 atomics"),
            "the reason is the language: {refused}"
        );
    }
    let nested = parse("(* PPC (* A").unwrap_err().to_string();
    assert_eq!(nested, "1:1: this comment is not closed");
    let unknown = refusal("X86_64 SB", "Z80 SB");
    assert!(unknown.starts_with("1:1: architecture `Z80` is not supported"), "{unknown}");
}

#[test]
fn limits_are_stated() {
    let heads = (0..33).map(|t| format!("P{t}")).collect::<Vec<_>>().join(" | ");
    let text = format!("X86_64 many\n{{}}\n {heads} ;\nexists (true)\n");
    assert_eq!(
        parse(&text).unwrap_err().to_string(),
        "3:2: 33 threads; at most 32 can be explored"
    );
    let text = format!(
        "X86_64 many\n{{ {} }}\n P0 ;\nexists (true)\n",
        (0..5000).map(|i| format!("x{i};")).collect::<String>()
    );
    assert!(parse(&text).unwrap_err().reason.contains("more than 4096 locations"));
    let text = format!("X86_64 deep\n{{}}\n P0 ;\nexists {}true\n", "(".repeat(100_000));
    assert!(parse(&text).unwrap_err().reason.contains("nest deeper than 200"));
    let text = format!("X86_64 deep\n{{}}\n P0 ;\nexists {} true\n", "not ".repeat(100_000));
    assert!(parse(&text).unwrap_err().reason.contains("nest deeper than 200"));
    assert!(parse(&" ".repeat(2 << 20)).unwrap_err().reason.contains("longer than"));
}

#[test]
fn comments_widths_labels_and_brackets_are_read() {
    let text = "X86_64 mix (* a (* nested *) comment *)\n{ int x = -1; y; [z]=0x10; unsigned long w; }\n P0 | P1 ;\n \
                L: movl (x),%eax | lock; ;\n cmpl $0,%eax | ;\n jl END | ;\n jmp L | ;\n END: | xaddq %rcx,(z) ;\n\
                locations [y; 1:rcx;]\n~exists ([x]=-1 /\\ not (z=16) => 0:eax=0 \\/ false)\n";
    assert_eq!(parse(&format!("\u{feff}{text}")), parse(text), "a byte order mark is not text");
    let wrong = parse(text).unwrap_err();
    assert_eq!(wrong.to_string(), "4:25: expected an instruction, found the end of the text");
    let test = parse(&text.replace("lock; ", "nop ")).unwrap();
    assert_eq!(test.name, "mix");
    assert_eq!(
        test.condition.to_string(),
        "~exists (([x]=-1 /\\ not ([z]=16)) => (0:eax=0 \\/ false))"
    );
    let shown: Vec<_> = test.shown.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["0:eax", "1:rcx", "[x]", "[y]", "[z]"]);
    assert_eq!(test.program.locations[0].init, 0xffff_ffff);
    // -1 is less than zero at 32 bits, so the loop ends at once.
    let answer = test.answer(Memory::Tso, Limits::default()).unwrap();
    assert_eq!((answer.bound, answer.complete), (None, 1));
    let line = answer.states.by_line.keys().next().unwrap();
    assert_eq!(line, "0:eax=4294967295; 1:rcx=16; [x]=-1; [y]=0; [z]=16;");
}

#[test]
fn read_modify_writes_split_unless_locked_and_exchanges_never_do() {
    let code = |instruction: &str| {
        let text = format!("X86_64 one\n{{}}\n P0 ;\n {instruction} ;\nexists (true)\n");
        parse(&text).unwrap_or_else(|refusal| panic!("{instruction}: {refusal}")).program.threads[0]
            .code
            .clone()
    };
    for (instruction, locked) in [
        ("incq (x)", false),
        ("lock incq (x)", true),
        ("lock orq $4,(x)", true),
        ("subq %rax,(x)", false),
        ("xaddq %rax,(x)", false),
        ("xchgq %rax,(x)", true),
        ("xchg (x),%rax", true),
    ] {
        let found = code(instruction);
        let Some(Op::Rmw { locked: is, .. }) = found.last() else {
            panic!("{instruction}: {found:?}")
        };
        assert_eq!(*is, locked, "{instruction}");
    }
    assert!(matches!(code("movabsq $0x123456789a,%rax")[..], [Op::Compute { .. }]));
}

#[test]
fn a_loop_without_end_is_unknown_and_names_its_bound() {
    let grows = "X86_64 grows\n{}\n P0 | P1 ;\n L: incq (x) | movq (x),%rax ;\n jmp L | ;\nexists (1:rax=3)\n";
    let limits = Limits { loops: 4, states: 2_000, ..Limits::default() };
    let answer = parse(grows).unwrap().answer(Memory::Sc, limits).unwrap();
    assert_eq!((answer.exhaustive, answer.observation()), (false, None));
    assert_eq!(answer.bound.unwrap().to_string(), "loops were followed for 4 rounds");
    // A loop that waits for another thread revisits its states, so all states are known although the counts are not.
    let waits = "X86_64 waits\n{}\n P0 | P1 ;\n movq $1,(y) | L: movq (x),%rax ;\n movq $1,(x) | cmpq $1,%rax ;\n \
                 | jne L ;\n | movq (y),%rbx ;\nexists (1:rbx=0)\n";
    let answer = parse(waits).unwrap().answer(Memory::Tso, limits).unwrap();
    assert!(answer.exhaustive && answer.bound.is_some());
    assert_eq!(answer.observation().unwrap().to_string(), "Never");
}

#[test]
fn no_mutation_of_a_file_makes_the_reader_panic() {
    let rounds = uncontended_testkit::repetitions("mutated files", 20_000, 2_000_000);
    let seeds: Vec<&str> = CLASSICS.iter().map(|classic| classic.text).chain([SB]).collect();
    let scraps = [
        "(",
        ")",
        "{",
        "}",
        "|",
        ";",
        "$",
        "%",
        "/\\",
        "\\/",
        "not ",
        "é",
        "lock ",
        "0:",
        "[",
        "(*",
        "*)",
        "9999999999999999999",
        "-",
        "\n",
        "jne L",
        "L:",
        "~",
    ];
    let mut random = Random(0x5eed);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..rounds {
        let mut text = seeds[random.below(seeds.len() as u64) as usize].to_owned();
        for _ in 0..=random.below(3) {
            let boundaries: Vec<usize> =
                text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let from = random.below(boundaries.len() as u64) as usize;
            let to = (from + random.below(6) as usize).min(boundaries.len() - 1);
            let scrap = scraps[random.below(scraps.len() as u64) as usize];
            text.replace_range(boundaries[from]..boundaries[to], scrap);
        }
        match parse(&text) {
            Ok(test) => {
                assert_eq!(test.program.check(), Ok(()));
                accepted += 1;
            }
            Err(refusal) => {
                assert!(refusal.line >= 1 && refusal.column >= 1 && !refusal.reason.is_empty());
                refused += 1;
            }
        }
    }
    assert!(accepted > 0 && refused > 0, "{accepted} accepted, {refused} refused");
}

#[test]
fn a_store_reads_as_a_store() {
    let test = parse(SB).unwrap();
    assert_eq!(test.doc, "a doc line");
    assert_eq!(
        test.program.threads[0].code[0],
        Op::Store { to: Place::at(0), value: Operand::Imm(1) }
    );
    assert_eq!(test.text[0], ["movq $1,(x)", "movq (y),%rax"]);
}
