//! Removes bottoms from a stretch until nothing is left or there is no bottom. [`super::stack`] explains why.

/// A value that is surely in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Surely in from here.
    pub(super) from: u32,
    /// Surely in to here.
    pub(super) to: u32,
    /// Earliest moment at which it can be in.
    pub(super) earliest: u32,
    /// Latest moment at which it can be in.
    pub(super) latest: u32,
    /// The value.
    pub(super) number: u32,
}

/// A cover that never becomes zero.
const OUT: i32 = 1 << 30;

/// What a tree node stores about a range of values.
#[derive(Clone, Copy)]
struct Node {
    /// The least cover, without the additions of ancestors.
    cover: i32,
    /// Added to the cover of all values below.
    add: i32,
    /// The latest end.
    to: u32,
    /// The earliest beginning of the values not found early enough yet.
    earliest: u32,
    /// The latest end of the values not found late enough yet.
    latest: u32,
}

impl Node {
    const GONE: Node = Node { cover: OUT, add: 0, to: 0, earliest: u32::MAX, latest: 0 };
}

/// The stretches into which the first one splits.
pub(super) struct Stretches<'a> {
    spans: &'a [Span],
    leaves: usize,
    tree: Vec<Node>,
    /// The first values of the stretches.
    firsts: Places,
    /// How many of the two conditions for a bottom each value is known to meet.
    met: Vec<u8>,
    bottoms: Vec<u32>,
}

impl<'a> Stretches<'a> {
    /// The values of a stretch without a bottom; `spans` are one stretch, in order.
    pub(super) fn stuck(spans: &'a [Span]) -> Option<Vec<u32>> {
        if spans.len() < 2 {
            return None;
        }
        let mut stretches = Self::new(spans);
        stretches.find_bottoms(0);
        let mut left = spans.len();
        while let Some(bottom) = stretches.bottoms.pop() {
            stretches.take_out(bottom as usize);
            left -= 1;
        }
        (left > 0).then(|| stretches.smallest_left())
    }

    fn new(spans: &'a [Span]) -> Self {
        let leaves = spans.len().next_power_of_two();
        let mut ends: Vec<u32> = spans.iter().map(|span| span.to).collect();
        ends.sort_unstable();
        let mut tree = vec![Node::GONE; 2 * leaves];
        let mut ended = 0;
        for (at, span) in spans.iter().enumerate() {
            while ends[ended] < span.from {
                ended += 1;
            }
            let cover = if at == 0 { OUT } else { (at - ended) as i32 };
            let Span { to, earliest, latest, .. } = *span;
            tree[leaves + at] = Node { cover, add: 0, to, earliest, latest };
        }
        let mut firsts = Places::new(spans.len());
        firsts.insert(0);
        let met = vec![0; spans.len()];
        let mut stretches = Stretches { spans, leaves, tree, firsts, met, bottoms: vec![] };
        (1..leaves).rev().for_each(|node| stretches.pull(node));
        stretches
    }

    fn pull(&mut self, node: usize) {
        let (left, right) = (self.tree[2 * node], self.tree[2 * node + 1]);
        let here = &mut self.tree[node];
        here.cover = left.cover.min(right.cover) + here.add;
        here.to = left.to.max(right.to);
        here.earliest = left.earliest.min(right.earliest);
        here.latest = left.latest.max(right.latest);
    }

    fn pull_above(&mut self, leaf: usize) {
        let mut node = (leaf + self.leaves) / 2;
        while node > 0 {
            self.pull(node);
            node /= 2;
        }
    }

    /// Removes a value, and looks for bottoms in the parts into which its stretch splits.
    fn take_out(&mut self, value: usize) {
        let end = self.spans.partition_point(|span| span.from < self.spans[value].to);
        self.tree[self.leaves + value] = Node::GONE;
        self.pull_above(value);
        let whole = (0, self.leaves);
        self.uncover(1, whole, (value + 1, end));
        let mut first = self.firsts.last_up_to(value);
        while let Some(next) = self.uncovered(1, whole, (value + 1, end), 0) {
            self.tree[self.leaves + next].cover = OUT;
            self.pull_above(next);
            self.firsts.insert(next);
            self.find_bottoms(first);
            first = next;
        }
        self.find_bottoms(first);
    }

    /// The values of the stretch that begins with `first`.
    fn stretch(&self, first: usize) -> (usize, usize) {
        (first, self.firsts.first_after(first).unwrap_or(self.spans.len()))
    }

    /// Finds the values that can be at the bottom of the stretch that begins with `first`.
    fn find_bottoms(&mut self, first: usize) {
        let range = self.stretch(first);
        let end = self.end_of(1, (0, self.leaves), range);
        if end > 0 {
            self.demand(1, (0, self.leaves), range, (self.spans[first].from, end));
        }
    }

    /// Decrements the cover of the values in `range`.
    fn uncover(&mut self, node: usize, here: (usize, usize), range: (usize, usize)) {
        if apart(here, range) {
        } else if within(here, range) {
            self.tree[node].cover -= 1;
            self.tree[node].add -= 1;
        } else {
            let (left, right) = halves(here);
            self.uncover(2 * node, left, range);
            self.uncover(2 * node + 1, right, range);
            self.pull(node);
        }
    }

    /// The first value in `range` with cover zero; `added` is the sum of the ancestors' additions.
    fn uncovered(
        &self,
        node: usize,
        here: (usize, usize),
        range: (usize, usize),
        added: i32,
    ) -> Option<usize> {
        let Node { cover, add, .. } = self.tree[node];
        if apart(here, range) || cover + added > 0 {
            return None;
        }
        if node >= self.leaves {
            return Some(here.0);
        }
        let ((left, right), added) = (halves(here), added + add);
        let found = self.uncovered(2 * node, left, range, added);
        found.or_else(|| self.uncovered(2 * node + 1, right, range, added))
    }

    /// The latest end in `range`; 0 if no value is left there.
    fn end_of(&self, node: usize, here: (usize, usize), range: (usize, usize)) -> u32 {
        if apart(here, range) || self.tree[node].to == 0 {
            return 0;
        }
        if within(here, range) {
            return self.tree[node].to;
        }
        let (left, right) = halves(here);
        self.end_of(2 * node, left, range).max(self.end_of(2 * node + 1, right, range))
    }

    /// Finds the values in `range` that are early enough for a stretch that begins at `from`, and late enough for one
    /// that ends at `to`.
    fn demand(
        &mut self,
        node: usize,
        here: (usize, usize),
        range: (usize, usize),
        (from, to): (u32, u32),
    ) {
        let Node { earliest, latest, .. } = self.tree[node];
        if apart(here, range) || (earliest > from && latest < to) {
            return;
        }
        if node < self.leaves {
            let (left, right) = halves(here);
            self.demand(2 * node, left, range, (from, to));
            self.demand(2 * node + 1, right, range, (from, to));
            return self.pull(node);
        }
        let value = here.0;
        if earliest <= from {
            self.tree[node].earliest = u32::MAX;
            self.met[value] += 1;
        }
        if latest >= to {
            self.tree[node].latest = 0;
            self.met[value] += 1;
        }
        if self.met[value] == 2 {
            self.bottoms.push(value as u32);
        }
    }

    /// The values of the smallest stretch.
    fn smallest_left(&self) -> Vec<u32> {
        let mut smallest: Vec<u32> = Vec::new();
        let mut first = Some(0);
        while let Some(at) = first {
            let (from, to) = self.stretch(at);
            let left = (from..to).filter(|value| self.tree[self.leaves + value].to > 0);
            let values: Vec<u32> = left.map(|value| self.spans[value].number).collect();
            if !values.is_empty() && (smallest.is_empty() || values.len() < smallest.len()) {
                smallest = values;
            }
            first = self.firsts.first_after(at);
        }
        smallest
    }
}

fn apart(here: (usize, usize), range: (usize, usize)) -> bool {
    here.1 <= range.0 || range.1 <= here.0
}

fn within(here: (usize, usize), range: (usize, usize)) -> bool {
    range.0 <= here.0 && here.1 <= range.1
}

fn halves((from, to): (usize, usize)) -> ((usize, usize), (usize, usize)) {
    let middle = from.midpoint(to);
    ((from, middle), (middle, to))
}

/// A set of numbers with fast access to neighbours: a bit for each number and, above each 64 bits, one that is set if
/// any of them is.
struct Places(Vec<Vec<u64>>);

impl Places {
    fn new(count: usize) -> Self {
        let mut levels = vec![vec![0; count.div_ceil(64).max(1)]];
        while let Some(above) = levels.last().filter(|level| level.len() > 1) {
            let count = above.len().div_ceil(64);
            levels.push(vec![0; count]);
        }
        Places(levels)
    }

    fn insert(&mut self, mut place: usize) {
        for level in &mut self.0 {
            level[place / 64] |= 1 << (place % 64);
            place /= 64;
        }
    }

    /// The greatest element that is at most the given number; there must be one.
    fn last_up_to(&self, place: usize) -> usize {
        let mut end = place + 1; // Exclusive, in units of the level.
        for (height, level) in self.0.iter().enumerate() {
            let below = level.get(end / 64).map_or(0, |word| word & ((1 << (end % 64)) - 1));
            if below != 0 {
                let mut found = end / 64 * 64 + below.ilog2() as usize;
                for level in self.0[..height].iter().rev() {
                    found = found * 64 + level[found].ilog2() as usize;
                }
                return found;
            }
            end /= 64;
        }
        0
    }

    /// The least element that is greater.
    fn first_after(&self, place: usize) -> Option<usize> {
        let mut begin = place + 1;
        for (height, level) in self.0.iter().enumerate() {
            let word = level.get(begin / 64)?;
            let above = word & (u64::MAX << (begin % 64));
            if above != 0 {
                let mut found = begin / 64 * 64 + above.trailing_zeros() as usize;
                for level in self.0[..height].iter().rev() {
                    found = found * 64 + level[found].trailing_zeros() as usize;
                }
                return Some(found);
            }
            begin = begin / 64 + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn neighbours_are_found_across_words_and_levels() {
        let mut places = Places::new(300_000);
        let set = [0, 1, 63, 64, 4095, 4096, 270_000, 299_999];
        set.into_iter().for_each(|place| places.insert(place));
        for place in (0..300_000).step_by(61).chain(set) {
            let before = set.into_iter().rev().find(|other| *other <= place);
            assert_eq!(Some(places.last_up_to(place)), before, "{place}");
            let after = set.into_iter().find(|other| *other > place);
            assert_eq!(places.first_after(place), after, "{place}");
        }
    }
}
