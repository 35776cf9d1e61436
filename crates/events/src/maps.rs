//! `/proc/self/maps`: which file is mapped where, from the kernel and so without the loader.
//!
//! # Contract
//! [`Walk`] takes the lines in the kernel's order and returns the [`Place`] that each describes.
//! # Sources
//! proc_pid_maps(5).

/// One line of the file.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Mapping<'a> {
    /// Its first address.
    pub start: usize,
    /// One past its last address.
    pub end: usize,
    /// Whether it is readable.
    pub readable: bool,
    /// Whether it is executable.
    pub executable: bool,
    /// Whether what is written to it changes the file, and other processes see it.
    pub shared: bool,
    /// Its offset in the file.
    pub offset: usize,
    /// Device and inode, as text.
    pub file: &'a [u8],
    /// The name of the file; those of heaps and stacks are in brackets.
    pub path: &'a [u8],
}

impl<'a> Mapping<'a> {
    /// Parses a line without its line end.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let (start, rest) = number(line)?;
        let (end, rest) = number(rest.strip_prefix(b"-")?)?;
        let (permissions, rest) = rest.strip_prefix(b" ")?.split_at_checked(4)?;
        let (offset, rest) = number(rest.strip_prefix(b" ")?)?;
        let rest = rest.strip_prefix(b" ")?;
        let device = rest.iter().position(|&byte| byte == b' ')?;
        let inode = rest[device + 1..].iter().position(|&byte| byte == b' ');
        let (file, path) = rest.split_at(inode.map_or(rest.len(), |inode| device + 1 + inode));
        let (readable, executable) = (permissions[0] == b'r', permissions[2] == b'x');
        let shared = permissions[3] == b's';
        let path = path.trim_ascii_start();
        Some(Mapping { start, end, readable, executable, shared, offset, file, path })
    }

    /// Its device (the higher half is the major number) and inode.
    pub fn device_and_inode(&self) -> Option<(u64, u64)> {
        let (major, rest) = number(self.file)?;
        let (minor, rest) = number(rest.strip_prefix(b":")?)?;
        let inode = str::from_utf8(rest.strip_prefix(b" ")?).ok()?.parse().ok()?;
        Some(((major as u64) << 32 | minor as u64, inode))
    }

    /// Whether code may have been loaded from it. Heaps and stacks also have names.
    fn is_file(&self) -> bool {
        self.path.starts_with(b"/") || self.path == b"[vdso]"
    }
}

/// A hexadecimal number and the text after it.
fn number(text: &[u8]) -> Option<(usize, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, rest) = text.split_at(digits);
    let value = usize::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    Some((value, rest))
}

/// What a mapping maps.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Place<'a> {
    /// A file whose beginning is mapped at `base`.
    File {
        /// The address of the file's beginning.
        base: usize,
        /// The mapping.
        mapping: Mapping<'a>,
    },
    /// Memory without a file, or of a file whose beginning is not mapped.
    Other(Mapping<'a>),
}

impl<'a> Place<'a> {
    /// The mapping.
    pub fn mapping(&self) -> Mapping<'a> {
        match *self {
            Place::File { mapping, .. } | Place::Other(mapping) => mapping,
        }
    }
}

/// Reads the lines in order.
#[derive(Debug, Default)]
pub struct Walk {
    /// Where the last beginning of a file was mapped, and a hash that identifies the file.
    base: (usize, u64),
}

impl Walk {
    /// The place that the next line describes.
    pub fn line<'a>(&mut self, line: &'a [u8]) -> Option<Place<'a>> {
        let mapping = Mapping::parse(line)?;
        let file = hash(mapping.file).rotate_left(1) ^ hash(mapping.path);
        if mapping.is_file() && mapping.offset == 0 && mapping.readable {
            self.base = (mapping.start, file);
        }
        let (base, begun) = self.base;
        Some(match mapping.is_file() && begun == file && base != 0 {
            true => Place::File { base, mapping },
            false => Place::Other(mapping),
        })
    }
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
