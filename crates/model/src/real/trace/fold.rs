//! Folds repeated rounds of a trace into one.

/// The most rows of one round.
const LONGEST: usize = 12;

/// The rows to show, each with its number of repetitions; and for every row, the row that stands for it. Rows that may
/// be folded have a key; a round is of one thread, the first part of its keys.
pub(crate) fn fold(keys: &[Option<(usize, String)>]) -> (Vec<(usize, usize)>, Vec<usize>) {
    let (mut shown, mut stands) = (Vec::new(), Vec::with_capacity(keys.len()));
    let mut at = 0;
    while at < keys.len() {
        let round = (1..=LONGEST).map(|length| (length, rounds(&keys[at..], length)));
        let (length, times) = round.into_iter().find(|round| round.1 > 1).unwrap_or((1, 1));
        let first = shown.len();
        stands.extend((0..length * times).map(|row| first + row % length));
        shown.extend((at..at + length).map(|row| (row, times)));
        at += length * times;
    }
    (shown, stands)
}

/// How many rounds of this length `keys` begins with.
fn rounds(keys: &[Option<(usize, String)>], length: usize) -> usize {
    let Some(round) = keys.get(..length) else { return 0 };
    let thread = round[0].as_ref().map(|key| key.0);
    let is_one = round.iter().all(|key| key.is_some() && key.as_ref().map(|key| key.0) == thread);
    if !is_one {
        return 0;
    }
    keys.chunks(length).take_while(|next| *next == round).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(rows: &str) -> Vec<Option<(usize, String)>> {
        let key = |row: char| (row != '.').then(|| (usize::from(row > 'm'), row.to_string()));
        rows.chars().map(key).collect()
    }

    #[test]
    fn the_shortest_round_is_folded_and_every_row_stands_somewhere() {
        assert_eq!(
            fold(&keys("abababc")),
            (vec![(0, 3), (1, 3), (6, 1)], vec![0, 1, 0, 1, 0, 1, 2])
        );
        assert_eq!(fold(&keys("aaa")), (vec![(0, 3)], vec![0; 3]));
        assert_eq!(fold(&keys("..ab")).0, [(0, 1), (1, 1), (2, 1), (3, 1)]);
    }

    #[test]
    fn rounds_of_two_threads_are_none() {
        assert_eq!(fold(&keys("axax")).0.len(), 4);
    }
}
