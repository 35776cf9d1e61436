//! Stacks of wakers that are threads of another process than the waiter.
//!
//! # Contract
//! An address in code that both processes have at the same place stays as it is. Code that only the waker has there
//! gets addresses that no process has, and its module goes with it: [`Elsewhere::modules`].

use super::Sum;
use crate::modules::Modules;
use crate::process::Process;
use crate::programs::FIRST_STACK;
use std::collections::{BTreeMap, HashMap};
use uncontended_trace::reader::ModuleRecord;

/// Addresses of programs are below it.
const SPAN: u32 = 47;

/// A frame, and the module that it is in.
type Framed = (u64, Option<ModuleRecord>);

/// The stacks of wakers elsewhere, by their numbers: the process, and the frames.
pub(super) type Stacks = HashMap<u64, (u32, Vec<Framed>)>;

/// Those of the wakers in `sums` which are not their waiters' processes' own.
pub(super) fn stacks(processes: &BTreeMap<u32, Process>, sums: &BTreeMap<u32, Vec<Sum>>) -> Stacks {
    let is_own =
        |sum: &Sum| processes.get(&sum.process).is_some_and(|own| own.knows(sum.waker).is_some());
    let wakers = sums.values().flatten().filter(|sum| sum.waker >= FIRST_STACK && !is_own(sum));
    let mut stacks: Stacks = wakers.map(|sum| (sum.waker, (0, Vec::new()))).collect();
    if stacks.is_empty() {
        return stacks;
    }
    for process in processes.values() {
        for (number, chain) in &process.chains {
            if let Some(stack) = stacks.get_mut(number) {
                *stack = (process.pid, framed(&process.modules, chain));
            }
        }
    }
    stacks
}

fn framed(modules: &Modules, chain: &[u64]) -> Vec<Framed> {
    chain.iter().map(|&frame| (frame, modules.record_of(frame))).collect()
}

/// What one process's part of a record takes from others.
pub(super) struct Elsewhere<'a> {
    stacks: &'a Stacks,
    /// The processes, in the order of their addresses.
    processes: Vec<u32>,
    /// The modules, at those addresses.
    pub(super) modules: Vec<ModuleRecord>,
}

impl<'a> Elsewhere<'a> {
    pub(super) fn new(stacks: &'a Stacks) -> Self {
        Elsewhere { stacks, processes: Vec::new(), modules: Vec::new() }
    }

    /// The chain of a stack, for a process with the modules `own`; empty if it is not known.
    pub(super) fn chain(&mut self, number: u64, own: &Modules) -> Vec<u64> {
        let Some((process, frames)) = self.stacks.get(&number) else { return Vec::new() };
        let shift = self.shift(*process);
        let place = |(frame, module): &Framed| {
            if module.is_some() && own.record_of(*frame) == *module {
                return *frame;
            }
            self.modules.extend(module.as_ref().map(|module| shifted(module, shift)));
            frame.wrapping_add(shift)
        };
        let chain = frames.iter().map(place).collect();
        self.modules.sort_by_key(|module| module.start);
        self.modules.dedup();
        chain
    }

    /// What is added to the addresses of a process.
    fn shift(&mut self, process: u32) -> u64 {
        let known = self.processes.iter().position(|&known| known == process);
        let nth = known.unwrap_or_else(|| {
            self.processes.push(process);
            self.processes.len() - 1
        });
        (nth as u64 + 1) << SPAN
    }
}

fn shifted(module: &ModuleRecord, shift: u64) -> ModuleRecord {
    let ModuleRecord { bias, start, end, .. } = *module;
    let [bias, start, end] = [bias, start, end].map(|address| address.wrapping_add(shift));
    ModuleRecord { bias, start, end, ..module.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::Module;

    fn modules(files: &[(&str, u64)]) -> Modules {
        let module = |&(path, start): &(&str, u64)| Module {
            path: path.to_owned(),
            code: start..start + 0x100,
            base: start,
            ..Module::default()
        };
        Modules::of_files(files.iter().map(module))
    }

    #[test]
    fn code_at_the_same_place_stays_and_other_code_brings_its_module() {
        let waker = modules(&[("/lib/c", 0x1000), ("/bin/a", 0x2000)]);
        let stacks = Stacks::from([(20, (7, framed(&waker, &[0x1010, 0x2010, 0x2020, 0x5000])))]);
        let mut elsewhere = Elsewhere::new(&stacks);
        let own = modules(&[("/lib/c", 0x1000), ("/bin/b", 0x2000)]);
        let far = 1 << SPAN;
        let chain = elsewhere.chain(20, &own);
        assert_eq!(chain, [0x1010, far + 0x2010, far + 0x2020, far + 0x5000]);
        let [module] = &elsewhere.modules[..] else { panic!("{:?}", elsewhere.modules) };
        assert_eq!(
            (module.path.as_str(), module.start, module.end),
            ("/bin/a", far + 0x2000, far + 0x2100)
        );
        assert_eq!(module.bias, far + 0x2000);
        assert_eq!(elsewhere.chain(21, &own), []);
    }
}
