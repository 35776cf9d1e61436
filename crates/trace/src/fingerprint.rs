//! Sizes and offsets of the record's entries, checked when this is compiled.
//!
//! # Contract
//! A reader of another layout would misread the record. A change to an entry changes [`VERSION`] and the fingerprint
//! below. The checker's atomics are larger: explored code has the same structure, not the same layout.

use crate::layout::*;

const _: () = {
    assert!(size_of::<Header>() <= HEADER_UNITS as usize * UNIT);
    assert!(size_of::<Process>() == 2 * UNIT);
    assert!(size_of::<Thread>() == 4 * UNIT);
    assert!(size_of::<Lock>() == 2 * UNIT);
    assert!(size_of::<Place>() == UNIT);
    assert!(size_of::<WaiterList>() == 10 * UNIT);
    assert!(size_of::<Chain>() == 8 * UNIT);
    assert!(size_of::<Recent>() == 28 * UNIT);
    assert!(size_of::<Cell>() == 6 * UNIT && std::mem::offset_of!(Cell, hold) == UNIT);
    assert!(size_of::<Cold>() == 42 * UNIT);
    assert!(size_of::<Caused>() == UNIT);
    assert!(size_of::<Nested>() == 2 * UNIT);
    assert!(size_of::<Wake>() == 24);
    assert!(size_of::<Logged>() == UNIT);
    assert!(size_of::<SpanName>() == UNIT);
    assert!(size_of::<LogPart>() == 128 * UNIT);
    assert!(size_of::<Extreme>() == 40);
    assert!(size_of::<Stack>() == 240);
    assert!(size_of::<Module>() == UNIT);
    // A lock that a thread never waited for, and one that a thread waited for.
    assert!(size_of::<Lock>() + size_of::<Cell>() <= 512);
    assert!(
        size_of::<Lock>() + size_of::<Cell>() + size_of::<Cold>() + size_of::<WaiterList>() <= 4096
    );
};

macro_rules! fingerprint {
    ($($entry:ident: $($field:ident)*;)*) => {
        [$($(std::mem::offset_of!($entry, $field),)* size_of::<$entry>(),)*]
    };
}

/// The offset of every field.
const _: () = {
    let places = fingerprint! {
        Header: magic version flags enabled clock start_ticks tick_ns step_ns capacity available allocated
            processes dropped_room dropped_busy negative log_parts places summed_since own_locks spare;
        Process: next pid parent command_bytes start_ticks command threads locks stacks modules stack_index index
            wakes ended_by end_ticks filter spare before;
        Thread: next tid start_ticks end_ticks cpu_ns voluntary involuntary cells waits_for waits_since name
            asleep_since joined summed sums wants_end_of chain wants system_ns wants_since wants_stack wants_how
            nested_lost nested creator came_by handle log log_now log_parts spans made_ticks cancelled_at began_in
            number spare;
        Lock: address release woken open_since stack_at wanted_at owner attention release_stack holders
            waiters away next created first_taken generation signalled kind crossed passing sharing ended_by free began
            recent came;
        Place: next kind reserved lock device inode offset spare;
        WaiterList: arrivals unplaced next_late late shared chain released_on given_up_in;
        Chain: noted parts further;
        PassedOn: wait to spare;
        ChainPart: from to by spare;
        Late: ticks stack;
        Cell: next lock cold depth acquisitions site caused owner_changes hold_start hold_total hold_fourth
            hold hold_carry inherited spare hold_worst_at hold_worst;
        Cold: blocked wait_total idle_total timed_out wait_worst idle_worst wait idle timed_out_total timed_out_max
            try_failed wait_free idle_by unserved unserved_at served slept_known slept spare;
        Recent: noted counted holds divided_to undivided spare;
        Undivided: arrival until shared;
        PastHold: began ended site release;
        Caused: next stack wait waits holds longest release passed_to passed_on
            spare;
        Wakes: noted of;
        Wake: at before lock site;
        LogPart: after noted first spare entries;
        Logged: began ended by_at joined free lock stack by by_stack what between;
        SpanName: next spare at count text;
        Nested: next lock stack count held;
        Held: lock site;
        Extreme: ticks at release mine other cause spare;
        Stack: next count hash frames;
        Module: next path_bytes bias start end file_bytes modified_ns inode id_bytes path_hash;
    };
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325, 0);
    while at < places.len() {
        hash = (hash ^ places[at] as u64).wrapping_mul(0x100_0000_01b3);
        at += 1;
    }
    assert!(hash == 0x6285_0a3e_a5bc_e439, "the layout has changed: change VERSION");
};
