//! What the observer computes about the process around it: deadlines, segments, symbols.

use uncontended_events::deadline::{Time, late_ns};
use uncontended_events::maps::{Place, Walk};
use uncontended_events::segments::{Segment, Segments};
use uncontended_events::symbols::{candidates, definitions, hash, version_fits};
use uncontended_testkit::Random;

#[test]
fn a_deadline_is_late_by_the_clock_on_which_it_passed_last() {
    let time = |seconds, ns| Time { seconds, ns };
    let [boot, epoch] = [time(5_000, 999_999_999), time(1_800_000_000, 5)];
    assert_eq!(late_ns(time(5_000, 999_999_000), [epoch, boot]), 999);
    assert_eq!(late_ns(time(1_799_999_999, 6), [epoch, boot]), 999_999_999, "in another second");
    assert_eq!(late_ns(time(4_998, 0), [boot]), 2_999_999_999);
    assert_eq!(late_ns(boot, [boot]), 0);
    assert_eq!(late_ns(time(1_800_000_000, 6), [epoch, boot]), 0, "not passed on either");
    assert_eq!(late_ns(boot, []), 0);
    // What the C library accepts as a time that has passed.
    assert_eq!(late_ns(time(i64::MIN, 0), [epoch]), 0, "too long ago");
    assert_eq!(late_ns(time(-10_000_000_000, 0), [epoch]), 0, "more than can be counted");
    assert_eq!(late_ns(time(-1, 0), [boot]), 5_001_999_999_999);
}

#[test]
fn segments_are_where_their_headers_say() {
    let loaded = |address, bytes| Some(Segment::Loaded { address, bytes });
    let frames = |address| Some(Segment::Frames { address });
    // A library, linked to address 0, and a program, linked to where it is.
    let library = [Some(Segment::Other), loaded(0, 0x500), loaded(0x2e10, 0x300), frames(0x400)];
    let found = Segments::of(0x7f00_0000_0000, library).unwrap();
    let (start, end) = (0x7f00_0000_0000, 0x7f00_0000_3110);
    assert_eq!(found, Segments { start, end, bias: start, header: start + 0x400 });
    let program = [loaded(0x40_0040, 0x100), loaded(0x60_0000, 0x10)];
    let found = Segments::of(0x40_0000, program).unwrap();
    assert_eq!(found, Segments { start: 0x40_0000, end: 0x60_0010, bias: 0, header: 0 });
    // Prelinked, and loaded elsewhere: the bias wraps around. The first table counts.
    let prelinked = [loaded(0x9000_0000, 0x1000), frames(0x9000_0800), frames(0x9000_0900)];
    let found = Segments::of(0x1000_0000, prelinked).unwrap();
    assert_eq!((found.start, found.end), (0x1000_0000, 0x1000_1000));
    assert_eq!(found.header, 0x1000_0800);
    assert_eq!(Segments::of(0x1000, [frames(4), Some(Segment::Other)]), None, "nothing is loaded");
    assert_eq!(Segments::of(0x1000, [loaded(0, 16), None]), None, "a header is not there");
}

#[test]
fn a_mapping_without_a_module_is_all_there_is() {
    let line = b"7f00004000-7f00005000 rwxp 00000000 00:00 0";
    let Some(Place::Other(mapping)) = Walk::default().line(line) else { panic!("no file") };
    let segments = Segments::none(&mapping);
    let (start, end) = (0x7f_0000_4000, 0x7f_0000_5000);
    assert_eq!(segments, Segments { start, end, bias: 0, header: 0 });
}

#[test]
fn symbols_have_the_hashes_that_linkers_give_them() {
    // As `gcc -Wl,--hash-style=gnu` writes them.
    assert_eq!([hash(b""), hash(b"printf"), hash(b"exit")], [0x1505, 0x156b_2bb8, 0x7c96_7e3f]);
    assert_eq!(hash(b"flapenguin.me"), 0x8ae9_f18e);
}

/// A table as linkers lay it out: those of one bucket together, the last of them odd.
fn laid_out(names: &[String], buckets: u32, first: u32) -> (Vec<u32>, Vec<String>) {
    let of = |name: &str| hash(name.as_bytes()) % buckets;
    let mut sorted = names.to_vec();
    sorted.sort_by_key(|name| of(name));
    let filters = 2;
    let mut table = vec![buckets, first, filters, 6, 77, 77, 77, 77];
    table.extend((0..buckets).map(|bucket| {
        let at = sorted.iter().position(|name| of(name) == bucket);
        at.map_or(0, |at| first + at as u32)
    }));
    table.extend(sorted.iter().enumerate().map(|(at, name)| {
        let is_last = sorted.get(at + 1).is_none_or(|next| of(next) != of(name));
        hash(name.as_bytes()) & !1 | u32::from(is_last)
    }));
    (table, sorted)
}

#[test]
fn every_symbol_is_found_by_its_name_and_no_other_is_looked_at() {
    const BASE: usize = 0x1000;
    let mut random = Random(1);
    for (count, buckets, first) in [(0, 1, 1), (1, 1, 1), (20, 1, 5), (40, 7, 3), (40, 97, 1)] {
        let names: Vec<String> =
            (0..count).map(|_| format!("f{}", random.below(1 << 40))).collect();
        let (table, sorted) = laid_out(&names, buckets, first);
        let word = |address: usize| table[(address - BASE) / 4];
        for (name, number) in sorted.iter().zip(first as usize..) {
            let found: Vec<usize> = candidates(BASE, name.as_bytes(), word).collect();
            assert!(found.contains(&number), "{name} of {count}");
            let same = |&at: &usize| hash(sorted[at - first as usize].as_bytes()) | 1;
            assert!(found.iter().all(|at| same(at) == hash(name.as_bytes()) | 1));
        }
        let absent = candidates(BASE, b"pthread_mutex_lock", word).count();
        assert_eq!(absent, 0, "{count} others");
    }
    let no_buckets = [0, 1, 0, 0];
    assert_eq!(candidates(BASE, b"exit", |address| no_buckets[(address - BASE) / 4]).count(), 0);
}

#[test]
fn a_wanted_version_is_the_symbols_own_and_otherwise_the_default_one() {
    const HIDDEN: u16 = 1 << 15;
    let fits = |own, wanted: Option<u16>| {
        version_fits(own, wanted.is_some(), |number| wanted == Some(number))
    };
    assert_eq!([2, 2 | HIDDEN].map(|own| fits(own, None)), [true, false], "the default one");
    assert!(fits(5, Some(5)) && fits(5 | HIDDEN, Some(5)), "an older one is hidden");
    assert!(!fits(5, Some(6)) && !fits(5 | HIDDEN, Some(6)));
    // A library without versions, or a symbol that is in none of them.
    assert_eq!([1, 1 | HIDDEN, HIDDEN].map(|own| fits(own, Some(5))), [true, false, false]);
}

#[test]
fn each_version_has_its_number_and_its_first_name() {
    const BASE: usize = 0x2000;
    // Two definitions. The first has number 2 and two names, the first of which is at 70 among the strings.
    let first = [1 | 1 << 16, 2 | 2 << 16, 0xdead, 20, 36, 70, 8, 71, 0];
    let last = [1, 0x7fff | 1 << 16, 0xbeef, 28, 0, 0, 0, 90, 0];
    let words: Vec<u32> = first.into_iter().chain(last).collect();
    let word = |address: usize| words[(address - BASE) / 4];
    assert_eq!(definitions(BASE, word).collect::<Vec<_>>(), [(2, 70), (0x7fff, 90)]);
    assert_eq!(definitions(0, word).count(), 0, "the library has none");
}
