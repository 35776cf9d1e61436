//! What explored code returns, by number, so that the search is compiled once and not for each type of result.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Code to explore. Equal results have the same number.
#[derive(Clone)]
pub(super) struct Code {
    body: Rc<dyn Fn()>,
    result: Rc<dyn Fn() -> Option<usize>>,
}

impl Code {
    /// Code that returns nothing, which is number 0.
    pub(super) fn new(body: Rc<dyn Fn()>) -> Code {
        let has_ended = Rc::new(Cell::new(false));
        let ends = Rc::clone(&has_ended);
        let body = move || {
            body();
            ends.set(true);
        };
        Code { body: Rc::new(body), result: Rc::new(move || has_ended.take().then_some(0)) }
    }

    /// What runs it.
    pub(super) fn body(&self) -> Rc<dyn Fn()> {
        Rc::clone(&self.body)
    }

    /// The number of what the last run returned, if it did, since this was last asked.
    pub(super) fn result(&self) -> Option<usize> {
        (self.result)()
    }
}

/// The results that some code has returned. Plain lists: whatever is here is compiled for each type of result.
pub(super) struct Results<T> {
    last: RefCell<Option<T>>,
    met: RefCell<Met<T>>,
}

/// Results by their numbers, and the numbers in the order of the results.
struct Met<T> {
    all: Vec<T>,
    sorted: Vec<usize>,
}

impl<T: Ord + 'static> Results<T> {
    /// None so far; and the code whose they will be.
    pub(super) fn of(body: impl Fn() -> T + 'static) -> (Rc<Results<T>>, Code) {
        Results::of_code(Box::new(body))
    }

    fn of_code(body: Box<dyn Fn() -> T>) -> (Rc<Results<T>>, Code) {
        let met = Met { all: Vec::new(), sorted: Vec::new() };
        let results = Rc::new(Results { last: RefCell::new(None), met: RefCell::new(met) });
        let (returned, numbered) = (Rc::clone(&results), Rc::clone(&results));
        let body = move || {
            let value = body();
            *returned.last.borrow_mut() = Some(value);
        };
        let result =
            move || numbered.last.take().map(|last| numbered.met.borrow_mut().number(last));
        (results, Code { body: Rc::new(body), result: Rc::new(result) })
    }

    /// Those with a count, with it.
    pub(super) fn counted(&self, counts: &BTreeMap<usize, u64>) -> BTreeMap<T, u64> {
        let all = std::mem::take(&mut self.met.borrow_mut().all);
        let mut counted = BTreeMap::new();
        for (number, result) in all.into_iter().enumerate() {
            if let Some(&count) = counts.get(&number) {
                counted.insert(result, count);
            }
        }
        counted
    }
}

impl<T: Ord> Met<T> {
    fn number(&mut self, result: T) -> usize {
        match self.sorted.binary_search_by(|&number| self.all[number].cmp(&result)) {
            Ok(at) => self.sorted[at],
            Err(at) => {
                self.sorted.insert(at, self.all.len());
                self.all.push(result);
                self.all.len() - 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_results_have_one_number_and_only_those_counted_are_given_out() {
        let next = Cell::new(0);
        let (results, code) = Results::of(move || [5, 3, 5, 9, 3][next.replace(next.get() + 1)]);
        assert_eq!(code.result(), None, "it has not run");
        let numbers = [(); 5].map(|()| {
            code.body()();
            code.result()
        });
        assert_eq!(numbers, [0, 1, 0, 2, 1].map(Some));
        assert_eq!(code.result(), None, "each result is given once");
        let counts = BTreeMap::from([(0, 2), (2, 1)]);
        assert_eq!(results.counted(&counts), BTreeMap::from([(5, 2), (9, 1)]));
    }
}
