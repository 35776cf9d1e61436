//! Seeded bugs: each correct program forbids its bad end under TSO, and each change to it must allow the bad end.

use uncontended_model::litmus::{Memory, parse};
use uncontended_model::outcome::Limits;
use uncontended_model::search::Verdict;

/// A correct program, and the changes that break it: name, from, to.
struct Seeded {
    sound: &'static str,
    bugs: &'static [(&'static str, &'static str, &'static str)],
}

const DEKKER: Seeded = Seeded {
    sound: "X86_64 dekker\n{}\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n mfence | mfence ;\n\
            movq (y),%rax | movq (x),%rax ;\nexists (0:rax=0 /\\ 1:rax=0)\n",
    bugs: &[
        ("a missing fence", " mfence | mfence ;\n", " mfence | ;\n"),
        (
            "a fence on the wrong side",
            " movq $1,(x) | movq $1,(y) ;\n mfence | mfence ;\n",
            " mfence | movq $1,(y) ;\n movq $1,(x) | mfence ;\n",
        ),
        ("lfence for mfence", "mfence | mfence", "mfence | lfence"),
        (
            "the wrong flag is read",
            "movq (y),%rax | movq (x),%rax",
            "movq (z),%rax | movq (x),%rax",
        ),
    ],
};

const PASSING: Seeded = Seeded {
    sound: "X86_64 publish\n{}\n P0 | P1 ;\n movq $1,(data) | movq (flag),%rax ;\n movq $1,(flag) | movq (data),%rbx ;\n\
            exists (1:rax=1 /\\ 1:rbx=0)\n",
    bugs: &[
        (
            "a swapped pair of stores",
            " movq $1,(data) | movq (flag),%rax ;\n movq $1,(flag) | movq (data),%rbx ;\n",
            " movq $1,(flag) | movq (flag),%rax ;\n movq $1,(data) | movq (data),%rbx ;\n",
        ),
        (
            "a swapped pair of loads",
            " movq $1,(data) | movq (flag),%rax ;\n movq $1,(flag) | movq (data),%rbx ;\n",
            " movq $1,(data) | movq (data),%rbx ;\n movq $1,(flag) | movq (flag),%rax ;\n",
        ),
    ],
};

/// The waiter sets the sleepers flag, compares the version under the kernel's lock, and sleeps; the waker publishes,
/// takes the flag, and wakes.
const SLEEPER: Seeded = Seeded {
    sound: "X86_64 sleeper\n{ 1:rcx=0; }\n P0 | P1 ;\n lock incq (version) | movq $1,(flag) ;\n\
            xchgq %rcx,(flag) | mfence ;\n testq %rcx,%rcx | futex_wait $0,(version) ;\n je END | ;\n\
            futex_wake $1,(version) | ;\n END: | ;\nexists (deadlock)\n",
    bugs: &[
        (
            "the flag is set after comparing",
            "movq $1,(flag) ;\nxchgq %rcx,(flag) | mfence ;\n testq %rcx,%rcx | futex_wait $0,(version)",
            "futex_wait $0,(version) ;\nxchgq %rcx,(flag) | movq $1,(flag) ;\n testq %rcx,%rcx | mfence",
        ),
        (
            "the flag is taken before the version moves",
            " lock incq (version) | movq $1,(flag) ;\nxchgq %rcx,(flag) | mfence",
            " xchgq %rcx,(flag) | movq $1,(flag) ;\nlock incq (version) | mfence",
        ),
        ("the wakeup goes to another futex", "futex_wake $1,(version)", "futex_wake $1,(flag)"),
        ("no thread is woken", "futex_wake $1,(version)", "futex_wake $0,(version)"),
        (
            "a sleeper that does not compare the version",
            "futex_wait $0,(version)",
            "futex_wait $0,(other)",
        ),
    ],
};

const EVENT_COUNT: Seeded = Seeded {
    sound: "X86_64 count\n{ 0:rax=2; }\n P0 | P1 ;\n xaddq %rax,(x) | lock orq $1,(x) ;\n | membarrier ;\n\
            | movq (x),%rbx ;\nexists (0:rax=0 /\\ 1:rbx=1 /\\ x=2)\n",
    bugs: &[
        ("no membarrier", "membarrier", "nop"),
        ("only a fence on the waiter's side", "membarrier", "mfence"),
        (
            "the membarrier before the flag",
            "lock orq $1,(x) ;\n | membarrier",
            "membarrier ;\n | lock orq $1,(x)",
        ),
    ],
};

const COUNTERS: Seeded = Seeded {
    sound: "X86_64 counters\n{}\n P0 | P1 ;\n mutex_lock (m) | mutex_lock (m) ;\n incq (x) | incq (x) ;\n\
            mutex_unlock (m) | mutex_unlock (m) ;\nexists (not (x=2))\n",
    bugs: &[
        (
            "two locks for one counter",
            "mutex_lock (m) | mutex_lock (m) ;\n incq (x) | incq (x) ;\nmutex_unlock (m) | mutex_unlock (m)",
            "mutex_lock (m) | mutex_lock (k) ;\n incq (x) | incq (x) ;\nmutex_unlock (m) | mutex_unlock (k)",
        ),
        (
            "a side without the lock",
            "mutex_lock (m) | mutex_lock (m) ;\n incq (x) | incq (x) ;\nmutex_unlock (m) | mutex_unlock (m)",
            "mutex_lock (m) | ;\n incq (x) | incq (x) ;\nmutex_unlock (m) |",
        ),
        (
            "unlocked too early",
            " incq (x) | incq (x) ;\nmutex_unlock (m) | mutex_unlock (m)",
            " mutex_unlock (m) | mutex_unlock (m) ;\nincq (x) | incq (x)",
        ),
    ],
};

fn bad(text: &str) -> bool {
    let test = parse(text).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"));
    let searched = match test.witness(Memory::Tso, Limits::default()) {
        Verdict::Allowed(_) => true,
        Verdict::Forbidden { .. } => false,
        Verdict::Unknown(bound) => panic!("{bound}\n{text}"),
    };
    let counted =
        test.answer(Memory::Tso, Limits::default()).expect("few actors").states.positive > 0;
    assert_eq!(searched, counted, "the engines disagree\n{text}");
    searched
}

#[test]
fn every_seeded_bug_is_caught() {
    let mut caught = 0;
    for seeded in [DEKKER, PASSING, SLEEPER, EVENT_COUNT, COUNTERS] {
        assert!(!bad(seeded.sound), "sound, but refuted:\n{}", seeded.sound);
        for (what, from, to) in seeded.bugs {
            let mutant = seeded.sound.replace(from, to);
            assert_ne!(mutant, seeded.sound, "{what}: nothing was changed");
            assert!(bad(&mutant), "{what}: not caught\n{mutant}");
            caught += 1;
        }
    }
    assert!(caught >= 10, "{caught} bugs");
    println!("{caught} seeded bugs caught");
}
