//! Stacks of one process as named frames.

use super::Symbols;
use crate::code::Skipped;
use crate::run::Frame;
use std::collections::HashMap;
use uncontended_trace::reader::{ModuleRecord, ProcessRecord};

/// The stacks of one process image.
pub(super) struct Stacks<'a> {
    image: &'a ProcessRecord,
    modules: Vec<&'a ModuleRecord>,
    symbols: &'a mut dyn Symbols,
    named: HashMap<u64, Vec<Frame>>,
    /// What does not identify a stack.
    pub(super) skipped: &'a Skipped,
}

impl<'a> Stacks<'a> {
    pub(super) fn new(
        image: &'a ProcessRecord,
        symbols: &'a mut dyn Symbols,
        skipped: &'a Skipped,
    ) -> Self {
        let mut modules: Vec<&ModuleRecord> = image.modules.iter().collect();
        modules.sort_by_key(|module| module.start);
        Stacks { image, modules, symbols, named: HashMap::new(), skipped }
    }

    /// The frames of the stack with this number, innermost first; none for 0.
    pub(super) fn frames(&mut self, stack: u32) -> Vec<Frame> {
        let Some(addresses) = self.image.stacks.get(&stack) else { return Vec::new() };
        let mut frames = Vec::with_capacity(addresses.len());
        for &address in addresses {
            let named = self.named.entry(address);
            frames.extend_from_slice(
                named.or_insert_with(|| name(&self.modules, self.symbols, address)),
            );
        }
        let ours = frames.iter().take_while(|frame| is_annotation(frame)).count();
        frames.drain(..ours);
        frames
    }
}

/// Whether a frame is the annotation itself and not the lock that contains it.
fn is_annotation(frame: &Frame) -> bool {
    let function = frame.function.as_deref().unwrap_or("");
    [
        "uncontended_sys::annotate::",
        "uncontended_wait_begin",
        "uncontended_acquired",
        "uncontended_released",
        "uncontended_gave_up",
    ]
    .iter()
    .any(|start| function.starts_with(start))
}

fn name(modules: &[&ModuleRecord], symbols: &mut dyn Symbols, address: u64) -> Vec<Frame> {
    let behind = modules.partition_point(|module| module.start < address);
    let module = behind.checked_sub(1).map(|at| modules[at]).filter(|module| address <= module.end);
    match module {
        Some(module) => symbols.frames(&module.path, address.wrapping_sub(module.bias)),
        None => symbols.frames("", address),
    }
}
