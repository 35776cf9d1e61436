//! The calls of one function of the program (`--span`). Needs root.
//!
//! # Contract
//! A span is from the call of the function to its return, in one thread; calls within it are part of it. The newest
//! [`MOST`] are kept. The kernel stops the thread at the function's first instruction and where it returns to; what
//! that costs is measured at the start. The latter place is learnt from the first call from there, so the first
//! milliseconds of each caller are missed. The kernel's own probes of returns are not used: they put an address of
//! theirs on the stack, and a program whose exceptions pass it ends.
//!
//! A call that ends otherwise (an exception, `longjmp`) is forgotten when its thread calls again from the same place on
//! the stack or further out.
//! # Sources
//! `Documentation/trace/uprobetracer.rst`; perf_event_open(2).

use super::futex::{Mapping, mappings};
use crate::symbols::demangled;
use object::read::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;
use uncontended_decide::Failure;
use uncontended_figures::text::closest;
use uncontended_report::facts::{SpanFact, SpanFacts};
use uncontended_report::run::SpanKind;
use uncontended_sys::perf::{Registers, Sample, Watch};

/// Most spans that are kept.
const MOST: usize = 20_000;
/// Most places to which the function returns that are watched.
const MOST_CALLERS: usize = 256;
/// The first point: the function is called. At the other it has returned.
const CALLED: usize = 0;
const RETURNED: usize = 1;
/// Most candidates that a message names.
const NAMED: usize = 5;

/// A call in progress.
#[derive(Debug, Clone, Copy)]
struct Call {
    began_ns: u64,
    /// The stack pointer when it has returned.
    stack: u64,
}

/// The calls of one function.
#[derive(Debug)]
pub(crate) struct SpanWatch {
    function: String,
    watch: Watch,
    /// The calls in progress of each thread, the outermost first.
    open: HashMap<u32, Vec<Call>>,
    /// Places that the function returns to, in files.
    callers: HashSet<(String, u64)>,
    /// The same by process and address.
    known: HashSet<(u32, u64)>,
    maps: HashMap<u32, Vec<Mapping>>,
    spans: VecDeque<SpanFact>,
    earlier: u64,
    unfinished: u64,
    cost_ns: Option<u64>,
}

impl SpanWatch {
    /// Arms the watch for `function` in the file of `program`.
    pub(crate) fn open(function: &str, program: &Path) -> Result<Self, Failure> {
        let place = offset_of(function, program)?;
        let path = CString::new(program.as_os_str().as_bytes())
            .map_err(|_| Failure::new("the program's path has a NUL byte in it", ""))?;
        let watch = Watch::open(&path, place).map_err(|error| {
            let text = format!("--span cannot watch `{function}`: {error}");
            Failure::new(text, "it needs root, and a kernel with uprobes")
        })?;
        Ok(SpanWatch {
            function: function.to_owned(),
            watch,
            open: HashMap::new(),
            callers: HashSet::new(),
            known: HashSet::new(),
            maps: HashMap::new(),
            spans: VecDeque::new(),
            earlier: 0,
            unfinished: 0,
            cost_ns: cost_ns(),
        })
    }

    /// Collects what has happened since the last call.
    pub(crate) fn look(&mut self) {
        let mut samples = Vec::new();
        self.watch.drain(|sample| samples.push(sample));
        samples.sort_by_key(|sample| sample.time_ns); // A thread may have returned on another CPU.
        for sample in &samples {
            let Some(registers) = sample.registers else { continue };
            match sample.point {
                CALLED => self.called(sample, registers),
                _ => self.returned(sample, registers.stack),
            }
        }
    }

    fn called(&mut self, sample: &Sample, registers: Registers) {
        let calls = self.open.entry(sample.tid).or_default();
        let stack = registers.stack_at_return();
        let before = calls.len();
        calls.retain(|call| call.stack > stack); // The others have ended unseen.
        self.unfinished += (before - calls.len()) as u64;
        calls.push(Call { began_ns: sample.time_ns, stack });
        if self.known.insert((sample.pid, registers.returns_to)) {
            self.watch_return(sample.pid, registers.returns_to);
        }
    }

    /// Watches the place at `address` in process `pid`, to which the function returns.
    fn watch_return(&mut self, pid: u32, address: u64) {
        let maps = self.maps.entry(pid).or_insert_with(|| mappings(pid));
        let place = maps.iter().find_map(|mapping| mapping.place(address));
        let Some((path, offset)) = place.filter(|_| self.callers.len() < MOST_CALLERS) else {
            return;
        };
        let Ok(text) = CString::new(path.as_bytes()) else { return };
        if self.callers.insert((path, offset)) {
            // Without it, calls from there are not seen to end.
            let _ = self.watch.add(&text, offset, RETURNED);
        }
    }

    fn returned(&mut self, sample: &Sample, stack: u64) {
        let Some(calls) = self.open.get_mut(&sample.tid) else { return };
        let Some(place) = calls.iter().position(|call| call.stack == stack) else { return };
        self.unfinished += (calls.len() - place - 1) as u64;
        calls.truncate(place + 1);
        let (began_ns, ended_ns) = (calls[place].began_ns, sample.time_ns);
        calls.pop();
        if !calls.is_empty() {
            return;
        }
        if self.spans.len() == MOST {
            self.spans.pop_front();
            self.earlier += 1;
        }
        self.spans.push_back(SpanFact { pid: sample.pid, tid: sample.tid, began_ns, ended_ns });
    }

    /// The spans that have ended, with times since `start_ns` (CLOCK_MONOTONIC).
    pub(crate) fn ended(&mut self, start_ns: u64) -> SpanFacts {
        self.look();
        let since_start = |span: &SpanFact| SpanFact {
            began_ns: span.began_ns.saturating_sub(start_ns),
            ended_ns: span.ended_ns.saturating_sub(start_ns),
            ..*span
        };
        SpanFacts {
            name: self.function.clone(),
            kind: SpanKind::Function,
            spans: self.spans.iter().map(since_start).collect(),
            earlier: self.earlier.saturating_add(self.unfinished),
            lost: self.watch.lost(),
            cost_ns: self.cost_ns,
        }
    }

    /// Disarms the watch, without waiting for the kernel.
    pub(crate) fn close(self) {
        self.watch.close_aside();
    }
}

/// What watching adds to a call: twice what it adds to a function of our own.
fn cost_ns() -> Option<u64> {
    const CALLS: u64 = 500;
    let pid = std::process::id();
    let address = watched as extern "C" fn(u64) -> u64 as usize as u64;
    let (path, offset) = mappings(pid).iter().find_map(|mapping| mapping.place(address))?;
    let path = CString::new(path).ok()?;
    let mut watch = Watch::open(&path, offset).ok()?;
    let begun = Instant::now();
    let sum = (0..CALLS).fold(0, |sum, _| watched(sum));
    let took = begun.elapsed();
    let mut seen = 0;
    watch.drain(|sample| seen += u64::from(sample.pid == pid));
    watch.close_aside();
    let each_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / CALLS;
    (sum == CALLS && seen >= CALLS / 2).then(|| 2 * each_ns)
}

/// The function by which the cost is measured.
#[inline(never)]
extern "C" fn watched(number: u64) -> u64 {
    std::hint::black_box(number) + 1
}

/// Where the code of `function` begins in the file of `program`.
fn offset_of(function: &str, program: &Path) -> Result<u64, Failure> {
    let name = program.display();
    let unreadable = |error: String| {
        let remedy = "name the program itself, not a script that starts it";
        Failure::new(format!("--span cannot read the functions of {name}: {error}"), remedy)
    };
    let file = std::fs::File::open(program).map_err(|error| unreadable(error.to_string()))?;
    let cache = object::ReadCache::new(file);
    let object = object::File::parse(&cache).map_err(|error| unreadable(error.to_string()))?;
    let functions = object
        .symbols()
        .chain(object.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && !symbol.is_undefined());
    let mut names: BTreeMap<u64, Name> = BTreeMap::new();
    for symbol in functions {
        if let Some(of) = symbol.name().ok().and_then(Name::new) {
            names.entry(symbol.address()).or_insert(of);
        }
    }
    let address = match_one(function, &names)
        .map_err(|[cause, remedy]| Failure::new(format!("{name} {cause}"), remedy))?;
    let segment = object
        .segments()
        .find(|segment| (segment.address()..segment.address() + segment.size()).contains(&address));
    let segment = segment.ok_or_else(|| unreadable(format!("`{function}` is in no segment")))?;
    Ok(address - segment.address() + segment.file_range().0)
}

/// A function's names.
#[derive(Debug)]
struct Name {
    /// In the file.
    raw: String,
    /// As a person writes it, with its arguments.
    full: String,
}

impl Name {
    /// None for a part of a function that a compiler has moved elsewhere.
    fn new(raw: &str) -> Option<Self> {
        let is_part = raw.contains(".cold") || raw.contains(".part.");
        (!is_part).then(|| Name { raw: raw.to_owned(), full: demangled(raw) })
    }
}

/// The address of the one function with this name: in the file, with its arguments, or without them and at the end of
/// its path. Else a cause and a remedy.
fn match_one(function: &str, names: &BTreeMap<u64, Name>) -> Result<u64, [String; 2]> {
    let end = format!("::{function}");
    let ways: [&dyn Fn(&Name) -> bool; 4] = [
        &|name| name.raw == function || name.full == function,
        &|name| plain(&name.full) == function,
        &|name| plain(&name.full).ends_with(&end),
        // A template's instance: its name comes after its result's type.
        &|name| instance(&name.full).is_some_and(|of| of == function || of.ends_with(&end)),
    ];
    let list = |names: &[&Name]| {
        let shown: Vec<&str> = names.iter().take(NAMED).map(|name| name.full.as_str()).collect();
        shown.join(", ")
    };
    for is_it in ways {
        let found: Vec<(&u64, &Name)> = names.iter().filter(|(_, name)| is_it(name)).collect();
        match found[..] {
            [] => {}
            [(&address, _)] => return Ok(address),
            _ => {
                let names: Vec<&Name> = found.iter().map(|&(_, name)| name).collect();
                return Err([
                    format!("has {} functions `{function}`", names.len()),
                    format!("give one in full: {}", list(&names)),
                ]);
            }
        }
    }
    let is_near = |name: &&Name| !function.is_empty() && name.full.contains(function);
    let near: Vec<&Name> = names.values().filter(is_near).collect();
    let remedy = match closest(function, names.values().map(|name| plain(&name.full))) {
        _ if !near.is_empty() => format!("near names: {}", list(&near)),
        Some(near) => format!("did you mean `{near}`?"),
        None => "only functions of the program's own file are found: build it with symbols (not stripped), and without \
                 inlining this one"
            .into(),
    };
    Err([format!("has no function `{function}`"), remedy])
}

/// The name of a template's instance without its result, and without its arguments of either kind.
fn instance(name: &str) -> Option<&str> {
    let (name, _) = plain(name).split_once('<')?;
    Some(name.rsplit_once(' ').map_or(name, |(_, name)| name))
}

/// A demangled name without its arguments and without the hash of a Rust compiler.
fn plain(name: &str) -> &str {
    let name = name.split('(').next().unwrap_or(name);
    let hash = name
        .rsplit_once("::h")
        .filter(|(_, hash)| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hash.map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_arguments_and_hashes() {
        assert_eq!(plain("store::Shard::get(int, char const*)"), "store::Shard::get");
        assert_eq!(plain("app::handle::h0123456789abcdef"), "app::handle");
        assert_eq!(plain("app::hash"), "app::hash");
        assert_eq!(instance("long app::largest<long>(long)"), Some("app::largest"));
    }

    #[test]
    fn a_function_is_found_by_any_of_its_names_but_not_by_its_parts() {
        let raw = ["_Z8log_linev", "_Z8log_linev.cold", "_ZN3app3putEi", "_ZN3app3putEl", "put"];
        let names = raw.into_iter().zip(1..);
        let names: BTreeMap<u64, Name> =
            names.filter_map(|(raw, at)| Some((at, Name::new(raw)?))).collect();
        for function in ["log_line", "log_line()", "_Z8log_linev"] {
            assert_eq!(match_one(function, &names), Ok(1), "{function}");
        }
        assert_eq!(match_one("app::put(int)", &names), Ok(3));
        assert_eq!(match_one("put", &names), Ok(5));
        let refused = |function: &str| match_one(function, &names).unwrap_err();
        let [cause, remedy] = refused("app::put");
        assert_eq!(cause, "has 2 functions `app::put`");
        assert_eq!(remedy, "give one in full: app::put(int), app::put(long)");
        assert_eq!(refused("log_lien")[1], "did you mean `log_line`?");
        assert_eq!(refused("og_li")[1], "near names: log_line()");
    }

    #[test]
    fn a_function_that_is_not_there_is_refused_with_near_names() {
        let own = std::env::current_exe().unwrap();
        let failure = offset_of("no_such_function_at_all", &own).unwrap_err();
        assert!(failure.cause.contains("has no function `no_such_function_at_all`"), "{failure:?}");
        let failure = offset_of("is_refused_with_near_name", &own).unwrap_err();
        assert!(failure.remedy.contains("a_function_that_is_not_there"), "{failure:?}");
        let failure = offset_of("main", Path::new("/etc/passwd")).unwrap_err();
        assert!(failure.remedy.contains("not a script"), "{failure:?}");
    }
}
