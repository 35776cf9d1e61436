//! Registers to which every value is written at most once, and the initial value never.
//!
//! # Contract
//! A value's write and its reads are a cluster; the register holds a value during one interval. Let `first` be the
//! earliest return of a cluster and `last` its latest call. If `first` is before `last`, the register surely holds the
//! value from `first` to `last` (the cluster's zone); if not, the whole cluster can happen at one moment from `last` to
//! `first`. The history is linearizable if and only if
//! - no read returns before its write is called, and every value that is read was written;
//! - no two zones overlap;
//! - no cluster without a zone has all its moments within one zone.
//!
//! The conditions are necessary, since the register holds one value at a time. They are sufficient: place each cluster
//! with a zone around that zone (its write is called before `first`, and operations that return after `last` can wait),
//! and each of the others at a moment outside all zones.
//!
//! The initial value counts as a write that returned before everything. A write that never returned counts if its value
//! was read; a read that never returned does not count. Exchanges need search.

use super::super::spec::Shortcut;
use super::super::specs::{RegisterCall, RegisterOutput, Value};
use super::super::timeline::{NEVER, Timeline};
use super::values::Values;

/// A value's write and reads. Positions are one more than the timeline's, so that the initial value has 0.
struct Cluster {
    write: Option<u32>,
    /// The call of the write; never if there is none.
    written: u32,
    first: u32,
    first_op: Option<u32>,
    last: u32,
    last_op: Option<u32>,
    /// The read that returned first.
    read: Option<(u32, u32)>,
    /// Whether an operation of the cluster returned.
    counts: bool,
}

impl Cluster {
    const EMPTY: Cluster = Cluster {
        write: None,
        written: NEVER,
        first: NEVER,
        first_op: None,
        last: 0,
        last_op: None,
        read: None,
        counts: false,
    };

    fn add(&mut self, op: u32, called: u32, returned: u32) {
        if called >= self.last {
            (self.last, self.last_op) = (called, Some(op));
        }
        if returned < self.first {
            (self.first, self.first_op) = (returned, Some(op));
        }
        self.counts |= returned != NEVER;
    }

    fn ops(&self) -> impl Iterator<Item = u32> {
        let ops = [self.write, self.first_op, self.last_op];
        ops.into_iter().flatten()
    }
}

/// Decides the history of a register that holds `initial` at the start.
pub(crate) fn register(
    timeline: &Timeline<'_, RegisterCall, RegisterOutput>,
    initial: Option<Value>,
) -> Shortcut {
    register_by(timeline, initial, |call| call)
}

/// The same, where `call` gets the register's call from a call.
pub(crate) fn register_by<C>(
    timeline: &Timeline<'_, C, RegisterOutput>,
    initial: Option<Value>,
    call: impl Fn(&C) -> &RegisterCall,
) -> Shortcut {
    let clusters = match clusters(timeline, initial, call) {
        Ok(clusters) => clusters,
        Err(shortcut) => return shortcut,
    };
    for cluster in &clusters {
        let Some((returned, op)) = cluster.read else { continue };
        if returned < cluster.written {
            return Shortcut::No(cluster.write.into_iter().chain([op]).collect());
        }
    }
    let mut zones: Vec<&Cluster> = clusters.iter().filter(|c| c.first < c.last).collect();
    zones.sort_unstable_by_key(|zone| zone.first);
    if let Some(pair) = zones.windows(2).find(|pair| pair[1].first < pair[0].last) {
        return refuted(pair[0], pair[1]);
    }
    for moment in clusters.iter().filter(|c| c.first >= c.last) {
        let before = zones.partition_point(|zone| zone.first < moment.last);
        let around = before.checked_sub(1).map(|at| zones[at]);
        if let Some(zone) = around.filter(|zone| moment.first < zone.last) {
            return refuted(zone, moment);
        }
    }
    Shortcut::Yes
}

fn refuted(one: &Cluster, other: &Cluster) -> Shortcut {
    let mut ops: Vec<u32> = one.ops().chain(other.ops()).collect();
    ops.sort_unstable();
    ops.dedup();
    Shortcut::No(ops)
}

fn clusters<C>(
    timeline: &Timeline<'_, C, RegisterOutput>,
    initial: Option<Value>,
    call: impl Fn(&C) -> &RegisterCall,
) -> Result<Vec<Cluster>, Shortcut> {
    // The initial value, then none, then the values in the order in which they first appear.
    let mut clusters = vec![Cluster::EMPTY];
    let mut nothing = initial.is_none().then_some(0);
    let mut numbers = Values::default();
    if let Some(initial) = initial {
        numbers.number(initial, 0);
    }
    for (op, operation) in timeline.operations() {
        let (value, is_write) = match (call(operation.call()), operation.output()) {
            (RegisterCall::Write(value), None | Some(RegisterOutput::Done)) => (*value, true),
            (RegisterCall::Read, Some(RegisterOutput::Value(value))) => (*value, false),
            (RegisterCall::Read, None) => continue,
            (RegisterCall::Clear, None | Some(RegisterOutput::Done)) => (None, true),
            _ => return Err(Shortcut::Unknown),
        };
        let number = match value {
            Some(value) => numbers.number(value, clusters.len()).0 as usize,
            None => *nothing.get_or_insert(clusters.len()),
        };
        if number == clusters.len() {
            clusters.push(Cluster::EMPTY);
        }
        let cluster = &mut clusters[number];
        let (called, returned) = (timeline.called(op) + 1, timeline.returned(op));
        let returned = if returned == NEVER { NEVER } else { returned + 1 };
        if is_write {
            if cluster.write.is_some() || number == 0 {
                return Err(Shortcut::Unknown);
            }
            (cluster.write, cluster.written) = (Some(op), called);
        } else if cluster.read.is_none_or(|(earliest, _)| returned < earliest) {
            cluster.read = Some((returned, op));
        }
        cluster.add(op, called, returned);
    }
    let start = &mut clusters[0];
    (start.first, start.written) = (0, 0);
    start.counts &= start.read.is_some();
    clusters.retain(|cluster| cluster.counts);
    Ok(clusters)
}
