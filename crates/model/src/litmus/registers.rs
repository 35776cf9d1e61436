//! The names of the general-purpose registers.

/// The registers by their 64-bit and 32-bit names, in the order in which herd lists them.
pub(super) const REGISTERS: [[&str; 2]; 16] = [
    ["rax", "eax"],
    ["rbx", "ebx"],
    ["rcx", "ecx"],
    ["rdx", "edx"],
    ["rsi", "esi"],
    ["rdi", "edi"],
    ["rbp", "ebp"],
    ["rsp", "esp"],
    ["r8", "r8d"],
    ["r9", "r9d"],
    ["r10", "r10d"],
    ["r11", "r11d"],
    ["r12", "r12d"],
    ["r13", "r13d"],
    ["r14", "r14d"],
    ["r15", "r15d"],
];
