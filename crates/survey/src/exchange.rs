//! Two threads that exchange messages: one sends a number, the other sends it back.
//!
//! # Contract
//! [`ends`] gives both ends of a way. [`Asker`] sends a number and takes the answer, [`Answerer`] takes one and sends
//! it back; both say why they cannot, at the latest after [`PATIENCE`]. Numbers are from 1 to [`END`], and only [`END`]
//! ends the other side's loop. The words of the futexes carry nothing but themselves, so no order is needed.
//! # Evidence
//! The tests below: every way returns each number; an end that has gone is an error.
//! # Sources
//! Document 004: two threads that exchange multicast messages over a local interface.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{AtomicU32, CachePadded, Scope, futex_wait, futex_wake};
use uncontended_ring::spsc::blocking;
use uncontended_sys::clock::monotonic_ns;

/// The number that ends an answerer's loop.
pub(crate) const END: u32 = u32::MAX;
/// How long an end waits for the other.
const PATIENCE: Duration = Duration::from_secs(2);
/// A group for use within an organisation (RFC 2365); its messages do not leave the loopback interface.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 85, 67);

/// Asks with a number and returns the answer.
pub(crate) type Asker = Box<dyn FnMut(u32) -> Result<u32, String> + Send>;
/// Takes a number, sends it back, and returns it.
pub(crate) type Answerer = Box<dyn FnMut() -> Result<u32, String> + Send>;

/// A way to exchange messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A ring in each direction; a side spins for a moment before it sleeps.
    Ring,
    /// A word in each direction; a side sleeps at once.
    Futex,
    /// Multicast datagrams over the loopback interface.
    Multicast,
}

impl Way {
    pub(crate) const ALL: [Way; 3] = [Way::Ring, Way::Futex, Way::Multicast];

    pub(crate) fn key(self) -> &'static str {
        match self {
            Way::Ring => "ring",
            Way::Futex => "futex",
            Way::Multicast => "UDP multicast",
        }
    }

    /// Why it is not permitted here; none if it works.
    pub(crate) fn refusal(self) -> Option<String> {
        let tried = ends(self).and_then(|(ask, answer)| {
            let answering = std::thread::spawn(move || until_end(answer));
            let asked = exchange(ask, 3);
            answering.join().map_err(|_| "it panicked".to_owned())?.and(asked)
        });
        tried.err()
    }
}

/// Asks `n` times, the last of which ends the other side.
pub(crate) fn exchange(mut ask: Asker, n: u64) -> Result<(), String> {
    for number in 1..=n {
        let number = if number == n { END } else { (number % u64::from(END)).max(1) as u32 };
        let answer = ask(number)?;
        if answer != number {
            return Err(format!("{answer} came back for {number}"));
        }
    }
    Ok(())
}

/// Answers until the end.
pub(crate) fn until_end(mut answer: Answerer) -> Result<(), String> {
    while answer()? != END {}
    Ok(())
}

/// Both ends of a way.
pub(crate) fn ends(way: Way) -> Result<(Asker, Answerer), String> {
    match way {
        Way::Ring => Ok(ring()),
        Way::Futex => Ok(futex()),
        Way::Multicast => multicast().map_err(|error| error.to_string()),
    }
}

fn gone() -> String {
    "the other side has gone".to_owned()
}

fn ring() -> (Asker, Answerer) {
    let (mut there, mut asked) = blocking::<u32>(64).expect("room for 64");
    let (mut back, mut answered) = blocking::<u32>(64).expect("room for 64");
    let ask = move |number| {
        there.push_wait(number).map_err(|_| gone())?;
        answered.pop_wait().ok_or_else(gone)
    };
    let answer = move || {
        let number = asked.pop_wait().ok_or_else(gone)?;
        back.push_wait(number).map_err(|_| gone())?;
        Ok(number)
    };
    (Box::new(ask), Box::new(answer))
}

/// A word for a number; 0: none.
#[derive(Debug, Default)]
struct Letterbox(CachePadded<AtomicU32>);

impl Letterbox {
    fn put(&self, number: u32) {
        self.0.store(number, Relaxed);
        futex_wake(&*self.0, 1, Scope::Private);
    }

    fn take(&self) -> Result<u32, String> {
        let mut deadline = None;
        loop {
            let number = self.0.load(Relaxed);
            if number != 0 {
                // The other side puts the next only after it has the answer to this.
                self.0.store(0, Relaxed);
                return Ok(number);
            }
            let end = *deadline.get_or_insert_with(|| monotonic_ns() + PATIENCE.as_nanos() as u64);
            if monotonic_ns() >= end {
                return Err(gone());
            }
            futex_wait(&*self.0, 0, Some(end), Scope::Private);
        }
    }
}

fn futex() -> (Asker, Answerer) {
    let there: Arc<Letterbox> = Arc::default();
    let back: Arc<Letterbox> = Arc::default();
    let (asked, answered) = (there.clone(), back.clone());
    let ask = move |number| {
        there.put(number);
        answered.take()
    };
    let answer = move || {
        let number = asked.take()?;
        back.put(number);
        Ok(number)
    };
    (Box::new(ask), Box::new(answer))
}

/// A socket that receives what is sent to the group at its port, and one that sends through the loopback interface.
fn sockets() -> std::io::Result<(UdpSocket, UdpSocket, SocketAddr)> {
    // A socket that is bound to the group's address receives nothing else.
    let receiver = UdpSocket::bind((GROUP, 0))?;
    receiver.join_multicast_v4(&GROUP, &Ipv4Addr::LOCALHOST)?;
    receiver.set_read_timeout(Some(PATIENCE))?;
    // Linux sends multicast through the interface of the address that the socket is bound to.
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sender.set_multicast_ttl_v4(0)?;
    sender.set_multicast_loop_v4(true)?;
    let to = receiver.local_addr()?;
    Ok((receiver, sender, to))
}

fn multicast() -> std::io::Result<(Asker, Answerer)> {
    let (asked, there, to) = sockets()?;
    let (answered, back, to_asker) = sockets()?;
    let ask = move |number: u32| {
        send(&there, to, number)?;
        receive(&answered)
    };
    let answer = move || {
        let number = receive(&asked)?;
        send(&back, to_asker, number)?;
        Ok(number)
    };
    Ok((Box::new(ask), Box::new(answer)))
}

fn send(socket: &UdpSocket, to: SocketAddr, number: u32) -> Result<(), String> {
    let sent = socket.send_to(&number.to_le_bytes(), to);
    sent.map(drop).map_err(|error| format!("a message cannot be sent: {error}"))
}

fn receive(socket: &UdpSocket) -> Result<u32, String> {
    let mut bytes = [0; 4];
    loop {
        match socket.recv(&mut bytes) {
            Ok(4) => return Ok(u32::from_le_bytes(bytes)),
            Ok(_) => {} // Of another program, in the same group at this port.
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("no message within {PATIENCE:?}: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_testkit::skip;

    #[test]
    fn every_way_returns_each_number_and_ends() {
        for way in Way::ALL {
            if let (Way::Multicast, Some(why)) = (way, way.refusal()) {
                skip!("every_way_returns_each_number_and_ends", "UDP multicast: {why}");
                continue;
            }
            let (mut ask, mut answer) = ends(way).unwrap();
            let answering = std::thread::spawn(move || {
                let mut seen = Vec::new();
                while seen.last() != Some(&END) {
                    seen.push(answer().unwrap());
                }
                seen
            });
            let numbers = [1, 7, 7, 1_000_000, END - 1, END];
            assert_eq!(numbers.map(|number| ask(number).unwrap()), numbers, "{way:?}");
            assert_eq!(answering.join().unwrap(), numbers, "{way:?}");
        }
    }

    #[test]
    fn an_end_that_has_gone_is_an_error_and_no_wait_forever() {
        for way in [Way::Ring, Way::Futex] {
            let (mut ask, answer) = ends(way).unwrap();
            drop(answer);
            assert_eq!(ask(1).unwrap_err(), "the other side has gone", "{way:?}");
        }
    }

    #[test]
    fn an_answer_to_something_else_is_an_error() {
        let wrong: Asker = Box::new(|number| Ok(if number == 2 { 9 } else { number }));
        assert_eq!(exchange(wrong, 5).unwrap_err(), "9 came back for 2");
        let right: Asker = Box::new(Ok);
        assert_eq!(exchange(right, 5), Ok(()));
    }
}
