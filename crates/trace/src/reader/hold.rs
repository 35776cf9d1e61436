//! Holds in progress.

use super::{CellAt, HoldRecord, Record};
use crate::layout::{Cell, UNIT};
use std::mem::offset_of;

impl Record<'_> {
    /// The hold in progress when the record ends, if there is one.
    pub fn hold(&self, cell: CellAt) -> Option<HoldRecord> {
        let at = cell.unit as usize * UNIT;
        let since = self.view.u64(at + offset_of!(Cell, hold_start));
        let site = self.view.u32(at + offset_of!(Cell, site));
        let is_held = self.view.u32(at + offset_of!(Cell, depth)) != 0;
        (is_held && !self.view.is_summed(cell.lock))
            .then_some(HoldRecord { since: (since > 1).then_some(since), site })
    }
}
