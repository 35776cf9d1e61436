//! Stacks as named frames: those of one process, and of others that share its locks.

use super::Symbols;
use super::joined::Joined;
use crate::code::Skipped;
use crate::run::Frame;
use std::collections::{BTreeSet, HashMap};
use uncontended_trace::reader::{self, ModuleRecord, ProcessRecord, ReadError};

/// The stacks of one process image.
pub(super) struct Stacks<'a> {
    image: &'a ProcessRecord,
    joined: &'a Joined<'a>,
    /// The modules of each image, by its address.
    modules: HashMap<*const ProcessRecord, Vec<&'a ModuleRecord>>,
    /// The file of each image's program and its name as that was called, if it has another.
    called: HashMap<*const ProcessRecord, Option<[String; 2]>>,
    symbols: &'a mut dyn Symbols,
    named: HashMap<(*const ProcessRecord, u64), Vec<Frame>>,
    /// Whether what is asked about now is a lock that several processes share.
    pub(super) is_shared: bool,
    /// What does not identify a stack.
    pub(super) skipped: &'a Skipped,
}

impl<'a> Stacks<'a> {
    pub(super) fn new(
        image: &'a ProcessRecord,
        joined: &'a Joined<'a>,
        symbols: &'a mut dyn Symbols,
        skipped: &'a Skipped,
    ) -> Self {
        Stacks {
            image,
            joined,
            modules: HashMap::new(),
            called: HashMap::new(),
            symbols,
            named: HashMap::new(),
            is_shared: false,
            skipped,
        }
    }

    /// The process of the stack with this number, if what is asked about now is a lock that several share.
    pub(super) fn pid(&self, stack: u32) -> Option<u32> {
        self.joined.pid(stack).filter(|_| self.is_shared)
    }

    /// The image that has the stack with this number: this one, or another that shares its locks.
    fn image_of(&self, stack: u32) -> Option<&'a ProcessRecord> {
        let own = Some(self.image).filter(|image| image.stacks.contains_key(&stack));
        own.or_else(|| self.joined.home(stack))
    }

    /// The frames of a wakeup. A function that ends in one jumps to it, and so has no return address: it comes first,
    /// or where the kernel saw the wakeup, after the lock's own functions.
    pub(super) fn wakeup(&mut self, stack: u32) -> Vec<Frame> {
        let mut frames = self.frames(stack);
        let Some(image) = self.image_of(stack) else { return frames };
        let number = std::ptr::from_ref(image);
        let modules = self.modules.get(&number).map(Vec::as_slice).unwrap_or_default();
        let named = |address: &u64| {
            self.named.get(&(number, *address)).map(Vec::as_slice).unwrap_or_default()
        };
        let is_own = |address: &&u64| named(address).iter().all(|of| self.skipped.contains(of));
        let addresses = &image.stacks[&stack];
        let own = addresses.iter().take_while(is_own).count();
        let inside = addresses[..own].iter().map(|address| named(address).len()).sum();
        // Of functions without names, that is done.
        let is_named = |address: &u64| named(address).iter().all(|frame| frame.function.is_some());
        for (caller, at) in [(0, 0), (own, inside)] {
            if !addresses[..caller].iter().all(is_named) {
                break;
            }
            let called = addresses.get(caller).and_then(|&at| callee(modules, self.symbols, at));
            let called = called.filter(|called| called.module.is_some());
            // The lock's own function was called, and is there.
            let jumped = called.filter(|called| caller == 0 || !self.skipped.contains(called));
            if let Some(jumped) = jumped {
                let called = self.called.get(&number).and_then(Option::as_ref);
                frames.splice(at..at, renamed(vec![jumped], called));
                break;
            }
        }
        frames
    }

    /// The variable at an address of this image.
    pub(super) fn variable(&mut self, address: u64) -> Option<String> {
        let image = self.image;
        let modules =
            self.modules.entry(std::ptr::from_ref(image)).or_insert_with(|| by_start(image));
        variable((image, modules), self.symbols, address)
    }

    /// The frames at an address of `image`, innermost first: a function and what is inlined in it.
    fn named(&mut self, image: &'a ProcessRecord, address: u64) -> &[Frame] {
        let number = std::ptr::from_ref(image);
        let modules = self.modules.entry(number).or_insert_with(|| by_start(image));
        let called = self.called.entry(number).or_insert_with(|| called(image, self.symbols));
        let named = self.named.entry((number, address));
        named.or_insert_with(|| renamed(name(modules, self.symbols, address), called.as_ref()))
    }

    /// The functions of the stack with this number, innermost first, without what is inlined in them.
    pub(super) fn functions(&mut self, stack: u32) -> Vec<Frame> {
        let Some(image) = self.image_of(stack) else { return Vec::new() };
        let addresses = &image.stacks[&stack];
        addresses.iter().filter_map(|&at| self.named(image, at).last().cloned()).collect()
    }

    /// The frames of the stack with this number, innermost first; none for 0.
    pub(super) fn frames(&mut self, stack: u32) -> Vec<Frame> {
        let Some(image) = self.image_of(stack) else { return Vec::new() };
        let addresses = &image.stacks[&stack];
        let mut frames = Vec::with_capacity(addresses.len());
        for (nth, &address) in addresses.iter().enumerate() {
            frames.extend_from_slice(self.named(image, address));
            let modules = &self.modules[&std::ptr::from_ref(image)];
            // A function without a name, to which the one that was called jumped.
            let unnamed = frames.last().filter(|frame| frame.function.is_none());
            let caller = unnamed.and(addresses.get(nth + 1));
            if let Some(jumped) = caller.and_then(|&at| callee(modules, self.symbols, at)) {
                let module = jumped.module.or_else(|| frames.last()?.module.clone());
                frames.push(Frame { module, ..jumped });
            }
        }
        let ours = frames.iter().take_while(|frame| is_annotation(frame)).count();
        frames.drain(..ours);
        frames
    }
}

/// The file of the program of `image`, and the name by which it was called, if that is a link to the file.
fn called(image: &ProcessRecord, symbols: &mut dyn Symbols) -> Option<[String; 2]> {
    let program = image.command.first()?;
    let name = |module: &ModuleRecord| symbols.called(&module.path, program);
    let mut names =
        image.modules.iter().map(|module| &module.path).zip(image.modules.iter().map(name));
    names.find_map(|(path, name)| Some([path.clone(), name?]))
}

/// These frames, with the name by which the program was called instead of the file's.
fn renamed(mut frames: Vec<Frame>, called: Option<&[String; 2]>) -> Vec<Frame> {
    if let Some([file, name]) = called {
        let of_file = frames.iter_mut().filter(|frame| frame.module.as_deref() == Some(file));
        of_file.for_each(|frame| frame.module = Some(name.as_str().into()));
    }
    frames
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

/// The module of a return address; none if several were there, one after the other.
fn module_of<'m>(modules: &[&'m ModuleRecord], address: u64) -> Option<&'m ModuleRecord> {
    let behind = modules.partition_point(|module| module.start < address);
    let mut there = modules[..behind].iter().filter(|module| address <= module.end);
    let first = there.next()?;
    there.all(|other| is_same(first, other)).then_some(first)
}

/// Whether two entries are of one module at one place, which two threads may have noted.
fn is_same(one: &ModuleRecord, other: &ModuleRecord) -> bool {
    (&one.path, one.bias) == (&other.path, other.bias)
}

/// The paths of the modules of `image` that were where others were, before or after them.
pub(super) fn replaced(image: &ProcessRecord) -> BTreeSet<&str> {
    let (mut paths, mut last): (_, Option<&ModuleRecord>) = (BTreeSet::new(), None);
    for module in by_start(image) {
        if let Some(last) = last.filter(|last| module.start < last.end && !is_same(last, module)) {
            paths.extend([last.path.as_str(), module.path.as_str()]);
        }
        last = last.filter(|last| last.end > module.end).or(Some(module));
    }
    paths
}

/// The function that was called and then jumped to what was observed, as compilers make it of a call at a function's
/// end: the innermost return address is its caller's.
fn callee(modules: &[&ModuleRecord], symbols: &mut dyn Symbols, address: u64) -> Option<Frame> {
    let module = module_of(modules, address)?;
    symbols.callee(module, address.wrapping_sub(module.bias))
}

fn name(modules: &[&ModuleRecord], symbols: &mut dyn Symbols, address: u64) -> Vec<Frame> {
    match module_of(modules, address) {
        Some(module) => symbols.frames_of(module, address.wrapping_sub(module.bias)),
        None => symbols.frames("", address),
    }
}

/// Names the addresses of all stacks in a record, each once, but at most `most`, and the variables of as many locks:
/// before its modules' files change.
///
/// # Errors
/// If the bytes are not a record of this version.
pub fn name_all(record: &[u8], symbols: &mut dyn Symbols, most: usize) -> Result<(), ReadError> {
    let record = reader::read(record)?;
    let mut left = most;
    for image in &record.processes {
        let modules = by_start(image);
        let addresses: BTreeSet<u64> = image.stacks.values().flatten().copied().collect();
        for &address in addresses.iter().take(left) {
            name(&modules, symbols, address);
        }
        left = left.saturating_sub(addresses.len());
        for lock in image.locks.iter().take(most) {
            variable((image, &modules), symbols, lock.address);
        }
    }
    Ok(())
}

/// The variable at an address of an image that has these modules.
fn variable(
    (image, modules): (&ProcessRecord, &[&ModuleRecord]),
    symbols: &mut dyn Symbols,
    address: u64,
) -> Option<String> {
    // Some loaders tell where its code ends, but not its variables, which have sizes of their own.
    let behind = modules.partition_point(|module| module.start <= address);
    let module = modules[behind.checked_sub(1)?];
    if replaced(image).contains(module.path.as_str()) {
        return None;
    }
    symbols.variable(module, address.wrapping_sub(module.bias))
}

fn by_start(image: &ProcessRecord) -> Vec<&ModuleRecord> {
    let mut modules: Vec<&ModuleRecord> = image.modules.iter().collect();
    modules.sort_by_key(|module| module.start);
    modules
}
