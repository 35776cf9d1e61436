//! The observer's own functions to copy, fill and compare bytes, which compiled code calls.
//!
//! # Contract
//! Each does what the C library's function of the same name does, and only the observer uses it. The C library's are
//! unsuitable: sanitizers replace them, and would then check the observer's accesses to memory that they know nothing
//! about. The functions are short rather than fast: no path that every lock takes calls them.
//! # Invariants
//! I1: on x86-64 the direction flag is clear at call and return.
//! # Evidence
//! `crates/cli/tests/sanitizers.rs`.
//! # Sources
//! System V ABI for x86-64, 3.2; AAPCS64, 6.

use std::arch::naked_asm;

macro_rules! functions {
    ($($name:ident $architecture:literal [$($line:literal)*];)*) => {
        $(
            #[cfg(target_arch = $architecture)]
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                naked_asm!($($line),*)
            }
        )*
    };
}

functions! {
    memcpy "x86_64" ["mov rax, rdi" "mov rcx, rdx" "rep movsb" "ret"];
    memset "x86_64" ["mov r8, rdi" "mov eax, esi" "mov rcx, rdx" "rep stosb" "mov rax, r8" "ret"];
    memmove "x86_64" [
        "mov rax, rdi" "mov rcx, rdx" "sub rdi, rsi" "cmp rdi, rdx" "mov rdi, rax" "jb 2f" "rep movsb" "ret"
        // The target begins inside the source: copy from the end.
        "2:" "lea rdi, [rdi + rcx - 1]" "lea rsi, [rsi + rcx - 1]" "std" "rep movsb" "cld" "ret"
    ];
    bcmp "x86_64" [
        "xor eax, eax" "test rdx, rdx" "je 3f"
        "2:" "movzx eax, byte ptr [rdi]" "movzx ecx, byte ptr [rsi]" "sub eax, ecx" "jne 3f"
        "inc rdi" "inc rsi" "dec rdx" "jne 2b" "3:" "ret"
    ];
    memcmp "x86_64" ["jmp bcmp"];
    strlen "x86_64" ["xor eax, eax" "2:" "cmp byte ptr [rdi + rax], 0" "je 3f" "inc rax" "jmp 2b" "3:" "ret"];
}

functions! {
    memcpy "aarch64" [
        "mov x3, x0" "cbz x2, 3f" "2:" "ldrb w4, [x1], #1" "strb w4, [x3], #1" "subs x2, x2, #1" "b.ne 2b" "3:" "ret"
    ];
    memset "aarch64" ["mov x3, x0" "cbz x2, 3f" "2:" "strb w1, [x3], #1" "subs x2, x2, #1" "b.ne 2b" "3:" "ret"];
    memmove "aarch64" [
        "sub x3, x0, x1" "cmp x3, x2" "b.hs memcpy" "cbz x2, 3f"
        "2:" "sub x2, x2, #1" "ldrb w4, [x1, x2]" "strb w4, [x0, x2]" "cbnz x2, 2b" "3:" "ret"
    ];
    bcmp "aarch64" [
        "mov w3, #0" "cbz x2, 3f" "2:" "ldrb w3, [x0], #1" "ldrb w4, [x1], #1" "subs w3, w3, w4" "b.ne 3f"
        "sub x2, x2, #1" "cbnz x2, 2b" "3:" "mov w0, w3" "ret"
    ];
    memcmp "aarch64" ["b bcmp"];
    strlen "aarch64" ["mov x1, x0" "2:" "ldrb w2, [x0], #1" "cbnz w2, 2b" "sub x0, x0, x1" "sub x0, x0, #1" "ret"];
}
