//! Call chains from copied stacks.
//!
//! # Contract
//! [`chain`](Unwinder::chain) gives the return addresses, innermost first: by the files' unwinding tables,
//! else by frame pointers. It ends where the copy ends, or where neither leads on.

use crate::modules::{Modules, Sections};
use crate::programs::StackTop;
use crate::words;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder as _};
use std::collections::HashSet;
use uncontended_trace::layout::FRAMES;

/// Unwinds the stacks of one process.
pub(crate) struct Unwinder {
    unwinder: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
    added: HashSet<u64>,
}

impl Unwinder {
    pub(crate) fn new() -> Self {
        let (unwinder, cache) = (UnwinderX86_64::new(), CacheX86_64::new());
        Unwinder { unwinder, cache, added: HashSet::new() }
    }

    /// One for a process with the same files.
    pub(crate) fn forked(&self) -> Self {
        let (unwinder, added) = (self.unwinder.clone(), self.added.clone());
        Unwinder { unwinder, cache: CacheX86_64::new(), added }
    }

    /// Reads the tables of the files that are new.
    pub(crate) fn look(&mut self, modules: &Modules) {
        for (&start, module) in &modules.known {
            if !self.added.insert(start) {
                continue;
            }
            let Some(mut sections) = module.file().and_then(Sections::read) else { continue };
            let info = ExplicitModuleSectionInfo {
                base_svma: sections.start,
                text_svma: sections.place(".text"),
                eh_frame_svma: sections.place(".eh_frame"),
                eh_frame_hdr_svma: sections.place(".eh_frame_hdr"),
                eh_frame: sections.take(".eh_frame"),
                eh_frame_hdr: sections.take(".eh_frame_hdr"),
                debug_frame: sections.take(".debug_frame"),
                ..ExplicitModuleSectionInfo::default()
            };
            let module = Module::new(module.path.clone(), module.code.clone(), module.base, info);
            self.unwinder.add_module(module);
        }
    }

    /// The call chain of a copied stack.
    pub(crate) fn chain(&mut self, top: &StackTop) -> Vec<u64> {
        let [ip, sp, bp] = top.registers;
        let mut read = |address: u64| {
            let at = usize::try_from(address.wrapping_sub(sp)).map_err(|_| ())?;
            let is_inside = at.checked_add(8).is_some_and(|end| end <= top.bytes.len());
            is_inside.then(|| words::at(&top.bytes, at)).ok_or(())
        };
        let registers = UnwindRegsX86_64::new(ip, sp, bp);
        let mut frames = self.unwinder.iter_frames(ip, registers, &mut self.cache, &mut read);
        let mut chain = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            // The innermost one is where the call returns to, too.
            chain.push(frame.address());
            if chain.len() == FRAMES {
                break;
            }
        }
        chain
    }
}
