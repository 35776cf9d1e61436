//! Which handles may go to another thread, and which may be shared: for values that may do both, either or neither.
//!
//! A handle that moves values is `Send` only if they are. One that lends them (an iterator over a batch) is `Send`, and
//! any that lends them by `&self` is `Sync`, only if they are `Sync`.

use std::cell::Cell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::MutexGuard;
use uncontended_ring::{broadcast, lanes, lanes::group, lossy, mpsc, spsc};

trait Not {
    const SEND: bool = false;
    const SYNC: bool = false;
}

/// The inherent constant hides the trait's where its bound holds.
struct IsSend<T>(PhantomData<T>);
struct IsSync<T>(PhantomData<T>);

impl<T> Not for IsSend<T> {}
impl<T> Not for IsSync<T> {}

impl<T: Send> IsSend<T> {
    const SEND: bool = true;
}

impl<T: Sync> IsSync<T> {
    const SYNC: bool = true;
}

/// May move, may be shared.
macro_rules! has {
    ($type:ty) => {
        (IsSend::<$type>::SEND, IsSync::<$type>::SYNC)
    };
}

/// `Send` only, `Sync` only, neither.
type Moves = Cell<u8>;
type Shares = MutexGuard<'static, u8>;
type Neither = Rc<u8>;

macro_rules! moves_only_what_may_move {
    ($($handle:ident :: $name:ident $(<$life:lifetime>)?),* $(,)?) => {$(
        {
            let of = stringify!($handle::$name);
            let (moves, shared) = has!($handle::$name<$($life,)? Neither>);
            assert!(!moves && !shared, "{of} of what may do neither");
            let (moves, _) = has!($handle::$name<$($life,)? Shares>);
            assert!(!moves, "{of} of what may not move");
            let (moves, _) = has!($handle::$name<$($life,)? u64>);
            assert!(moves, "{of} of numbers");
        }
    )*};
}

macro_rules! lends_only_what_may_be_shared {
    ($($handle:ident :: $name:ident),* $(,)?) => {$(
        {
            let of = stringify!($handle::$name);
            assert_eq!(has!($handle::$name<'static, Neither>), (false, false), "{of}");
            assert_eq!(has!($handle::$name<'static, Moves>), (false, false), "{of}");
        }
    )*};
}

#[test]
fn a_handle_goes_where_its_values_may_go() {
    moves_only_what_may_move!(
        spsc::Producer,
        spsc::Consumer,
        spsc::Claim<'static>,
        spsc::Batch<'static>,
        spsc::Taken<'static>,
        mpsc::Producer,
        mpsc::Consumer,
        lanes::Producer,
        lanes::Consumer,
        group::Producer,
        group::Consumer,
    );
}

#[test]
fn an_iterator_goes_where_its_values_may_be_shared() {
    lends_only_what_may_be_shared!(spsc::Iter, broadcast::Iter);
    assert_eq!(has!(spsc::Iter<'static, u64>), (true, true));
    // By `&self`, a batch lends its values.
    assert!(!has!(spsc::Batch<'static, Moves>).1);
}

/// Their values are shared by consumers, or copied by them. (A broadcast of others cannot be made: `Plan::build`.)
#[test]
fn broadcast_and_lossy_rings_share_values() {
    assert_eq!(has!(broadcast::Consumer<Neither>), (false, false));
    assert!(has!(broadcast::Consumer<u64>).0 && has!(broadcast::Producer<u64>).0);
    assert!(has!(lossy::Producer<u64>).0 && has!(lossy::Observer<u64>).0);
}
