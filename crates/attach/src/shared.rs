//! The memory that a process shares with others.
//!
//! # Contract
//! [`Shared::look`] adds what is mapped now; what was mapped before stays known until another mapping takes its place.
//! A [`Place`] is the same in all processes, whatever the address.
//! # Sources
//! proc(5), `/proc/PID/maps`: memory without a name that a fork inherits has a file of its own, too.

use std::collections::BTreeMap;

/// Where a word is, for all processes that share it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The device of the file that is mapped, as the list has it.
    device: String,
    /// The file's number on it.
    inode: u64,
    /// The offset in the file.
    offset: u64,
}

/// Mappings by their start: the end, and the place of the first byte.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared(BTreeMap<u64, (u64, Place)>);

impl Shared {
    /// Adds what a process's list says.
    pub(crate) fn look(&mut self, maps: &str) {
        for (start, end, place) in maps.lines().filter_map(parse) {
            if self.0.get(&start) != Some(&(end, place.clone())) {
                self.0.retain(|&other, (until, _)| other >= end || *until <= start);
                self.0.insert(start, (end, place));
            }
        }
    }

    /// The place of the word at `address`, if it is shared.
    pub(crate) fn place(&self, address: u64) -> Option<Place> {
        let (start, (end, place)) = self.0.range(..=address).next_back()?;
        let offset = place.offset.wrapping_add(address - start);
        (address < *end).then(|| Place { offset, ..place.clone() })
    }
}

fn parse(line: &str) -> Option<(u64, u64, Place)> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let is_shared = fields.next()?.ends_with('s');
    let offset = hex(fields.next()?)?;
    let device = fields.next()?.to_owned();
    let inode = fields.next()?.parse().ok()?;
    is_shared.then_some((hex(start)?, hex(end)?, Place { device, inode, offset }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "\
10000-14000 rw-s 00001000 00:01 77                         /dev/zero (deleted)
20000-24000 rw-p 00000000 00:00 0 
30000-31000 r-xp 00000000 08:01 77                         /bin/a
";

    #[test]
    fn a_word_has_one_place_at_any_address() {
        let (mut one, mut other) = (Shared::default(), Shared::default());
        one.look(FIRST);
        other.look("50000-51000 rw-s 00003000 00:01 77  /dev/zero (deleted)\n");
        let place = one.place(0x12040);
        assert!(place.is_some() && place == other.place(0x50040), "{place:?}");
        assert_ne!(place, other.place(0x50044));
        let elsewhere = [0xffff, 0x14000, 0x20040, 0x30040].map(|address| one.place(address));
        assert_eq!(elsewhere, [const { None }; 4]);
    }

    #[test]
    fn what_was_mapped_stays_known_until_its_place_is_taken() {
        let mut shared = Shared::default();
        shared.look(FIRST);
        let before = shared.place(0x10000);
        shared.look("");
        assert_eq!(shared.place(0x10000), before);
        shared.look("13000-15000 rw-s 00000000 00:01 78\n");
        assert_eq!(shared.place(0x10000), None);
        assert!(shared.place(0x14000).is_some());
    }
}
