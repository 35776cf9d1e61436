//! How deep tests go: `UNC_DEPTH` is `short` (as when it is not set), `tenth` or `full`.

/// What `UNC_DEPTH` asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Depth {
    Short,
    Tenth,
    Full,
}

impl Depth {
    fn asked() -> Depth {
        Depth::parse(std::env::var("UNC_DEPTH").ok().as_deref())
    }

    /// # Panics
    /// If it is none of the three: a typing mistake must not turn a long test into a short one.
    fn parse(value: Option<&str>) -> Depth {
        match value {
            None | Some("" | "short") => Depth::Short,
            Some("tenth") => Depth::Tenth,
            Some("full") => Depth::Full,
            Some(other) => panic!("UNC_DEPTH is short, tenth or full, not {other}"),
        }
    }

    fn repetitions(self, short: u64, full: u64) -> u64 {
        match self {
            Depth::Short => short,
            Depth::Tenth => short.max(full / 10),
            Depth::Full => full,
        }
    }
}

/// Whether the long forms are asked for.
pub fn is_full() -> bool {
    Depth::asked() == Depth::Full
}

/// `short` repetitions of a test, or `full`, or a tenth of those, as `UNC_DEPTH` asks. Says so if they are not `full`.
pub fn repetitions(test: &str, short: u64, full: u64) -> u64 {
    let chosen = Depth::asked().repetitions(short, full);
    if chosen != full {
        println!("SHORT {test}: {chosen} instead of {full} (UNC_DEPTH=full)");
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::Depth;

    #[test]
    fn a_tenth_is_never_less_than_short() {
        let chosen = |value| Depth::parse(value).repetitions(20, 1000);
        assert_eq!([None, Some("tenth"), Some("full")].map(chosen), [20, 100, 1000]);
        assert_eq!(Depth::Tenth.repetitions(20, 50), 20);
    }

    #[test]
    #[should_panic(expected = "not ful")]
    fn another_word_is_refused() {
        Depth::parse(Some("ful"));
    }
}
