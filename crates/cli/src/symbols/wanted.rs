//! Which file a module's names may come from: the one that ran.

use object::read::Object;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use uncontended_report::facts::ModuleNames;
use uncontended_report::run::SymbolsMismatch;
use uncontended_trace::reader::{FileRecord, ModuleRecord};

/// A module as a process had it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Wanted {
    pub(super) path: String,
    /// Empty if it had none.
    build_id: Vec<u8>,
    /// What its file looked like, if it had none and that is known.
    pub(super) file: Option<FileRecord>,
}

impl Wanted {
    pub(super) fn of(module: &ModuleRecord) -> Self {
        let ModuleRecord { path, build_id, file, .. } = module.clone();
        Wanted { path, build_id, file }
    }

    /// The one that a trace has names of.
    pub(super) fn of_names(names: &ModuleNames) -> Self {
        let digits = names.build_id.as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
        let file = |[bytes, modified_ns, inode]: [u64; 3]| FileRecord { bytes, modified_ns, inode };
        Wanted {
            path: names.module.clone(),
            build_id: digits.map_while(byte).collect(),
            file: names.file.map(file),
        }
    }

    /// Whatever is in that file.
    pub(super) fn any(path: &str) -> Self {
        Wanted { path: path.to_owned(), build_id: Vec::new(), file: None }
    }

    /// Whether any file at its path will do.
    pub(super) fn is_any(&self) -> bool {
        self.build_id.is_empty() && self.file.is_none()
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The same under the name behind all links.
    pub(super) fn at_real_path(&self) -> Self {
        let real = fs::canonicalize(&self.path).unwrap_or_else(|_| (&self.path).into());
        Wanted { path: real.to_string_lossy().into_owned(), ..self.clone() }
    }

    pub(super) fn build_id(&self) -> Option<&[u8]> {
        (!self.build_id.is_empty()).then_some(&self.build_id)
    }

    /// Its build id as text; empty if it has none.
    pub(super) fn hex(&self) -> String {
        hex(&self.build_id)
    }

    /// Why `object`, whose file is described by `facts`, is not it.
    pub(super) fn differs<'d>(&self, object: &impl Object<'d>, facts: &Metadata) -> Option<String> {
        let theirs = object.build_id().ok().flatten().unwrap_or_default();
        if !self.build_id.is_empty() {
            return match theirs {
                _ if theirs == self.build_id => None,
                [] => Some("the file is another build, without a build id".into()),
                _ => {
                    let (ran, is) = (short(&self.build_id), short(theirs));
                    Some(format!("the file is another build ({is}) than what ran ({ran})"))
                }
            };
        }
        let is_other = self.file.is_some_and(|file| file != looks(facts));
        is_other.then(|| "the file is not the one that ran, by its length, time and inode (it has no build id)".into())
    }

    /// What to report of it. What is not a file, such as the kernel's own library, cannot have changed.
    pub(super) fn mismatch(&self, reason: &str) -> Option<SymbolsMismatch> {
        (!self.is_any() && Path::new(&self.path).is_absolute()).then(|| SymbolsMismatch {
            module: self.path.clone(),
            build_id: (!self.build_id.is_empty()).then(|| self.hex()),
            reason: reason.to_owned(),
        })
    }
}

fn looks(facts: &Metadata) -> FileRecord {
    let seconds = (facts.mtime() as u64).wrapping_mul(1_000_000_000);
    FileRecord {
        bytes: facts.len(),
        modified_ns: seconds.wrapping_add(facts.mtime_nsec() as u64),
        inode: facts.ino(),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As much of a build id as tells two apart.
fn short(id: &[u8]) -> String {
    let most = if id.len() > 4 { "…" } else { "" };
    format!("{}{most}", hex(&id[..id.len().min(4)]))
}
