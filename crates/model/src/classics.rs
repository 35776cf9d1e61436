//! The classic litmus tests and the ordering puzzles behind this library, each with an explanation.
//!
//! # Contract
//! Every entry parses, and its explanation gives the verdict of each memory model and the reason. tests/verdicts.rs
//! compares each entry with the verdicts of the literature.
//! # Sources
//! Intel 64 architecture memory ordering white paper (iwp), AMD64 architecture manual (amd), Owens, Sarkar, Sewell, "A
//! better x86 memory model: x86-TSO" (n1 to n8); the event count and the flag flip: Khuong, "Lock-free sequences and
//! interrupts", and Morrison and Afek 2015.

/// A litmus test that ships with the crate.
#[derive(Debug, Clone, Copy)]
pub struct Classic {
    /// The test's name.
    pub name: &'static str,
    /// Whether SC allows its condition.
    pub sc: bool,
    /// Whether TSO does.
    pub tso: bool,
    /// What the test shows, and why.
    pub about: &'static str,
    /// The test as a litmus file.
    pub text: &'static str,
}

/// All of them.
pub const CLASSICS: &[Classic] = &[
    Classic {
        name: "SB",
        sc: false,
        tso: true,
        about: "Store buffering: each thread stores, then reads what the other stores. Under TSO both stores may wait in \
                their buffers while both loads read zero; under SC one store comes first. It is why a lock cannot be \
                built from plain stores and loads.",
        text: "X86_64 SB\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n \
               movq (y),%rax | movq (x),%rax ;\nexists (0:rax=0 /\\ 1:rax=0)\n",
    },
    Classic {
        name: "SB+mfences",
        sc: false,
        tso: false,
        about: "Store buffering, fenced on both sides: forbidden. The fence keeps the store before the load, so one of the \
                loads sees the other's store.",
        text: "X86_64 SB+mfences\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n \
               mfence | mfence ;\n movq (y),%rax | movq (x),%rax ;\nexists (0:rax=0 /\\ 1:rax=0)\n",
    },
    Classic {
        name: "SB+mfence+po",
        sc: false,
        tso: true,
        about: "Store buffering, fenced on one side only: still allowed under TSO. A fence does nothing for the \
                other thread's buffer.",
        text: "X86_64 SB+mfence+po\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n \
               mfence | movq (x),%rax ;\n movq (y),%rax | ;\nexists (0:rax=0 /\\ 1:rax=0)\n",
    },
    Classic {
        name: "SB+membarrier+po",
        sc: false,
        tso: false,
        about: "Store buffering, a membarrier on one side: forbidden. The membarrier, an expedited one, interrupts every \
                other thread, and an interrupt drains the buffer it falls on, so the hot side needs no fence at all.",
        text: "X86_64 SB+membarrier+po\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n \
               membarrier | movq (x),%rax ;\n movq (y),%rax | ;\nexists (0:rax=0 /\\ 1:rax=0)\n",
    },
    Classic {
        name: "MP",
        sc: false,
        tso: false,
        about: "Message passing: data, then a flag. Forbidden under SC and TSO, since stores leave the buffer in order \
                and loads are not reordered. On weaker machines it needs a release and an acquire.",
        text: "X86_64 MP\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq $1,(x) | movq (y),%rax ;\n \
               movq $1,(y) | movq (x),%rbx ;\nexists (1:rax=1 /\\ 1:rbx=0)\n",
    },
    Classic {
        name: "LB",
        sc: false,
        tso: false,
        about: "Load buffering: each thread reads, then stores what the other reads. Forbidden: a store never passes an \
                earlier load of its thread.",
        text: "X86_64 LB\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq (x),%rax | movq (y),%rax ;\n \
               movq $1,(y) | movq $1,(x) ;\nexists (0:rax=1 /\\ 1:rax=1)\n",
    },
    Classic {
        name: "IRIW",
        sc: false,
        tso: false,
        about: "Independent reads of independent writes: two readers see two writes in opposite orders. Forbidden under \
                TSO: there is one memory, and a store is seen by all others at once.",
        text: "X86_64 IRIW\n{ uint64_t x; uint64_t y; }\n P0 | P1 | P2 | P3 ;\n movq $1,(x) | movq $1,(y) | \
               movq (x),%rax | movq (y),%rax ;\n | | movq (y),%rbx | movq (x),%rbx ;\n\
               exists (2:rax=1 /\\ 2:rbx=0 /\\ 3:rax=1 /\\ 3:rbx=0)\n",
    },
    Classic {
        name: "n6",
        sc: false,
        tso: true,
        about: "Forwarding: a thread reads its own store while it still waits, and its next load misses another thread's \
                store that memory ordered earlier. Allowed under TSO; a model without forwarding from the own buffer misses it.",
        text: "X86_64 n6\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq $1,(x) | movq $2,(y) ;\n \
               movq (x),%rax | movq $2,(x) ;\n movq (y),%rbx | ;\nexists (0:rax=1 /\\ 0:rbx=0 /\\ x=1)\n",
    },
    Classic {
        name: "INC",
        sc: true,
        tso: true,
        about: "Two increments without LOCK: each is a load and a store, so one may be lost, under SC as well.",
        text: "X86_64 INC\n{ uint64_t x; }\n P0 | P1 ;\n incq (x) | incq (x) ;\nexists (x=1)\n",
    },
    Classic {
        name: "LOCK-INC",
        sc: false,
        tso: false,
        about: "Two LOCKed increments: none is lost.",
        text: "X86_64 LOCK-INC\n{ uint64_t x; }\n P0 | P1 ;\n lock incq (x) | lock incq (x) ;\nexists (x=1)\n",
    },
    Classic {
        name: "CAS-FAIL",
        sc: true,
        tso: true,
        about: "A failing compare-and-exchange without LOCK: the instruction writes back what it read, so a store alongside it \
                may be lost. Allowed under SC as well, and real processors show it.",
        text: "X86_64 CAS-FAIL\n{ uint64_t x; 0:rax=5; 0:rbx=9; }\n P0 | P1 ;\n cmpxchgq %rbx,(x) | movq $1,(x) ;\n\
               exists (x=0)\n",
    },
    Classic {
        name: "EVENTCOUNT",
        sc: true,
        tso: true,
        about: "The one-word event count. P0 increments the version (bit 0 is the sleepers flag, so by two) without \
                LOCK; P1 sets the flag and reads it back. P1 can see its flag set, and yet P0 neither sees it nor \
                leaves it: the flag is lost. Allowed under TSO and SC alike, since the increment splits: store \
                buffers are not the cause.",
        text: "X86_64 EVENTCOUNT\n{ uint64_t x; 0:rax=2; }\n P0 | P1 ;\n xaddq %rax,(x) | lock orq $1,(x) ;\n \
               | movq (x),%rbx ;\nexists (0:rax=0 /\\ 1:rbx=1 /\\ x=2)\n",
    },
    Classic {
        name: "EVENTCOUNT+interrupt",
        sc: false,
        tso: false,
        about: "The event count with an interrupt: between setting the flag and reading it back, the waiter waits for one \
                on the incrementer's core. An interrupt falls between instructions and drains the buffer, so an increment \
                that missed the flag is over by then, and the waiter sees it: losing the flag is forbidden.",
        text: "X86_64 EVENTCOUNT+interrupt\n{ uint64_t x; 0:rax=2; }\n P0 | P1 ;\n xaddq %rax,(x) | lock orq $1,(x) ;\n \
               | interrupt P0 ;\n | movq (x),%rbx ;\nexists (0:rax=0 /\\ 1:rbx=1 /\\ x=2)\n",
    },
    Classic {
        name: "EVENTCOUNT+membarrier",
        sc: false,
        tso: false,
        about: "The event count with a membarrier: an expedited one sends that interrupt. Forbidden.",
        text: "X86_64 EVENTCOUNT+membarrier\n{ uint64_t x; 0:rax=2; }\n P0 | P1 ;\n xaddq %rax,(x) | lock orq $1,(x) ;\n \
               | membarrier ;\n | movq (x),%rbx ;\nexists (0:rax=0 /\\ 1:rbx=1 /\\ x=2)\n",
    },
    Classic {
        name: "EVENTCOUNT+increments",
        sc: false,
        tso: false,
        about: "The version itself is safe: with one incrementer, two increments alongside a waiter that sets and clears \
                the flag with LOCKed instructions always leave the version at two increments.",
        text: "X86_64 EVENTCOUNT+increments\n{ uint64_t x; 0:rax=2; 0:rbx=2; }\n P0 | P1 ;\n \
               xaddq %rax,(x) | lock orq $1,(x) ;\n xaddq %rbx,(x) | lock andq $-2,(x) ;\n\
               exists (not (x=4 \\/ x=5))\n",
    },
    Classic {
        name: "FSSF",
        sc: false,
        tso: true,
        about: "The flag flip of hazard pointers and epochs. The fast side publishes its hazard (x) and checks that the \
                pointer (y) has not changed; the slow side replaces the pointer and scans for hazards. Fast, slow, slow, \
                fast: the store waits while slow does both, slow sees no hazard and fast no change. Allowed under TSO.",
        text: "X86_64 FSSF\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n \
               movq (y),%rax | mfence ;\n | movq (x),%rax ;\nexists (0:rax=0 /\\ 1:rax=0)\n",
    },
    Classic {
        name: "FSSF+heavy",
        sc: false,
        tso: false,
        about: "The flag flip with a heavy fence: a membarrier between replacing and scanning. Forbidden, and the fast side \
                still has no fence.",
        text: "X86_64 FSSF+heavy\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n \
               movq (y),%rax | membarrier ;\n | movq (x),%rax ;\nexists (0:rax=0 /\\ 1:rax=0)\n",
    },
    Classic {
        name: "LOST-WAKEUP",
        sc: true,
        tso: true,
        about: "Waiting without a version: the waiter reads the data and goes to sleep; the signaller changes the data \
                and wakes any sleeper. If both of the signaller's steps fall between the waiter's two, it sleeps \
                forever, under SC as well.",
        text: "X86_64 LOST-WAKEUP\n{ uint64_t data; uint64_t bed; }\n P0 | P1 ;\n movq (data),%rax | movq $1,(data) ;\n \
               cmpq $0,%rax | futex_wake $1,(bed) ;\n jne END | ;\n futex_wait $0,(bed) | ;\n END: | ;\n\
               exists (deadlock)\n",
    },
    Classic {
        name: "FUTEX",
        sc: false,
        tso: false,
        about: "The same with the futex on the data itself: the kernel compares under its own lock before it puts the \
                waiter to sleep, so no wakeup is lost.",
        text: "X86_64 FUTEX\n{ uint64_t data; }\n P0 | P1 ;\n movq (data),%rax | movq $1,(data) ;\n \
               cmpq $0,%rax | futex_wake $1,(data) ;\n jne END | ;\n futex_wait $0,(data) | ;\n END: | ;\n\
               exists (deadlock)\n",
    },
];

/// The test of that name, whatever the case of its letters.
pub fn named(name: &str) -> Option<&'static Classic> {
    CLASSICS.iter().find(|classic| classic.name.eq_ignore_ascii_case(name))
}
