//! The depth of tests: `UNC_DEPTH` is `short` (the default), `tenth` or `full`.

/// The depth that `UNC_DEPTH` selects.
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
    /// Panics if it is none of the three: a typo must not turn a long test into a short one.
    fn parse(value: Option<&str>) -> Depth {
        match value {
            None | Some("" | "short") => Depth::Short,
            Some("tenth") => Depth::Tenth,
            Some("full") => Depth::Full,
            Some(other) => panic!("unknown UNC_DEPTH '{other}'; use short, tenth or full"),
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

/// Whether `UNC_DEPTH` selects the long forms.
pub fn is_full() -> bool {
    Depth::asked() == Depth::Full
}

/// Whether all of a test runs, because `UNC_DEPTH` is `full`. Lists it as shortened if not.
pub fn all_of(test: &str) -> bool {
    if !is_full() {
        crate::skip::report(&format!("SHORT {test}: part of it (UNC_DEPTH=full)"));
    }
    is_full()
}

/// `short` repetitions of a test, `full`, or a tenth of `full`, as `UNC_DEPTH` selects. Prints and lists the number
/// unless it is `full`.
pub fn repetitions(test: &str, short: u64, full: u64) -> u64 {
    let chosen = Depth::asked().repetitions(short, full);
    if chosen != full {
        crate::skip::report(&format!("SHORT {test}: {chosen} instead of {full} (UNC_DEPTH=full)"));
    }
    chosen
}

/// The hand-offs of a test under faults: `UNC_HAND_OFFS` if it is set, else `short` or ten million.
///
/// # Panics
/// Panics if the variable is not a number.
pub fn hand_offs(test: &str, short: u64) -> u64 {
    let Ok(asked) = std::env::var("UNC_HAND_OFFS") else {
        return repetitions(test, short, 10_000_000);
    };
    asked.parse().unwrap_or_else(|_| panic!("UNC_HAND_OFFS is '{asked}'; give a number"))
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
    #[should_panic(expected = "unknown UNC_DEPTH 'ful'")]
    fn another_word_is_refused() {
        Depth::parse(Some("ful"));
    }
}
