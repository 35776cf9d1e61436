//! What only a program that runs needs: its files, held open, and its names, for a trace.

use super::ElfSymbols;
use super::wanted::Wanted;
use std::collections::HashMap;
use std::fs::File;
use uncontended_report::facts::{ModuleNames, NamedFrame};
use uncontended_report::run::Frame;

/// What a trace keeps of a module: the frames at addresses, and the variables.
type Kept = (Vec<(u64, Vec<NamedFrame>)>, Vec<(u64, String)>);

impl ElfSymbols {
    /// Looks in these files too, whatever becomes of their names, unless there are many.
    pub(crate) fn hold(&mut self, files: impl IntoIterator<Item = File>) {
        const MOST: usize = 64;
        let room = MOST.saturating_sub(self.places.held.len());
        self.places.held.extend(files.into_iter().take(room));
    }

    /// The names of the addresses looked up so far, to be kept. What has none is looked up again when it is asked for.
    pub(crate) fn names(&mut self) -> Vec<ModuleNames> {
        let has_name = |frame: &Frame| frame.function.is_some() || frame.file.is_some();
        self.frames.retain(|_, frames| frames.iter().any(has_name));
        self.mismatches.clear();
        let mut names: HashMap<&Wanted, Kept> = HashMap::new();
        for ((wanted, address), frames) in &self.frames {
            let named = |frame: &Frame| NamedFrame {
                function: frame.function.clone(),
                file: frame.file.clone(),
                line: frame.line,
            };
            let frames = frames.iter().map(named).collect();
            names.entry(wanted).or_default().0.push((*address, frames));
        }
        for ((wanted, address), variable) in &self.at_variables {
            names.entry(wanted).or_default().1.push((*address, variable.clone()));
        }
        let kept = names.into_iter().map(|(wanted, mut names)| {
            names.0.sort_by_key(|&(address, _)| address);
            names.1.sort_unstable();
            wanted.kept(names)
        });
        let mut kept: Vec<ModuleNames> = kept.collect();
        kept.sort_by(|a, b| {
            (&a.module, &a.build_id, a.file).cmp(&(&b.module, &b.build_id, b.file))
        });
        kept
    }
}

impl Wanted {
    /// These names of it, for a trace.
    fn kept(&self, (frames, variables): Kept) -> ModuleNames {
        let file = self.file.map(|file| [file.bytes, file.modified_ns, file.inode]);
        ModuleNames { module: self.path.clone(), build_id: self.hex(), file, frames, variables }
    }
}
