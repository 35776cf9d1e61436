//! Sets of CPUs, as the kernel writes them and people do.

use crate::Refusal;

const FOLDER: &str = "/sys/devices/system/cpu";

/// The CPUs of a list such as `0-3,8`, in ascending order.
///
/// # Errors
/// [`Refusal::NotCpus`].
pub fn parse(text: &str) -> Result<Vec<usize>, Refusal> {
    let none = || Refusal::NotCpus(text.trim().to_owned());
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |digits: &str| digits.trim().parse::<usize>().map_err(|_| none());
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last >= uncontended_fence::stamps::layout::MOST_CPUS {
            return Err(none());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// All CPUs that this machine may ever have.
pub(crate) fn possible() -> Result<Vec<usize>, Refusal> {
    let text = std::fs::read_to_string(format!("{FOLDER}/possible"));
    parse(&text.map_err(|error| Refusal::Failed("read the list of CPUs", error))?)
}

/// Those without a timer tick while they run one thread.
pub(crate) fn without_ticks() -> Vec<usize> {
    let text = std::fs::read_to_string(format!("{FOLDER}/nohz_full")).unwrap_or_default();
    parse(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let read = |text| parse(text).ok();
        assert_eq!(read("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(read("5,1-2,2"), Some(vec![1, 2, 5]));
        for odd in ["", "a", "3-1", "1-", "-1", "1,,2", "0-99999999999999999999", "0-8192"] {
            assert_eq!(read(odd), None, "{odd:?}");
        }
        assert!(!possible().unwrap().is_empty());
    }
}
