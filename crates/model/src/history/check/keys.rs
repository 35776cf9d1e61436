//! The operations of a history by key.

use super::super::spec::{OperationOf, Spec};
use super::super::timeline::Timeline;
use std::collections::HashMap;

/// The operations of a history by key.
pub(super) struct Keys {
    /// Where each key's operations begin in `members`, and the end after the last.
    begins: Vec<u32>,
    members: Vec<u32>,
}

impl Keys {
    pub(super) fn of<S: Spec>(spec: &S, history: &[OperationOf<S>]) -> Keys {
        if size_of::<S::Key>() == 0 {
            return Keys { begins: vec![0], members: vec![] };
        }
        let mut numbers: HashMap<S::Key, u32> = HashMap::new();
        let mut key_of = Vec::with_capacity(history.len());
        let mut begins = vec![0];
        for operation in history {
            let next = numbers.len() as u32;
            let key = *numbers.entry(spec.key(operation.call())).or_insert(next);
            if key == next {
                begins.push(0);
            }
            key_of.push(key);
            begins[key as usize + 1] += 1;
        }
        for key in 1..begins.len() {
            begins[key] += begins[key - 1];
        }
        let mut ends = begins.clone();
        let mut members = vec![0; history.len()];
        for (op, key) in key_of.iter().enumerate() {
            let end = &mut ends[*key as usize];
            members[*end as usize] = op as u32;
            *end += 1;
        }
        Keys { begins, members }
    }

    pub(super) fn count(&self) -> usize {
        self.begins.len().saturating_sub(1).max(usize::from(self.members.is_empty()))
    }

    /// The events of a key.
    pub(super) fn timeline<'a, S: Spec>(
        &'a self,
        history: &'a [OperationOf<S>],
        key: usize,
    ) -> Timeline<'a, S::Call, S::Output> {
        match self.members(key) {
            Some(members) => Timeline::of_some(history, members),
            None => Timeline::of_all(history),
        }
    }

    /// The operations of a key; `None` if there is only one key, which has all.
    fn members(&self, key: usize) -> Option<&[u32]> {
        let end = *self.begins.get(key + 1)?;
        Some(&self.members[self.begins[key] as usize..end as usize])
    }
}
