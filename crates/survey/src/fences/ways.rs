//! The backends of heavy fences that are timed.

use super::peers::{CHECKING_IN, Peers};
use std::time::Duration;
use uncontended_fence::stamps::Stamps;
use uncontended_fence::{Choice, Fences, Refused, Scope, Ticket, bare};
use uncontended_sys::membarrier::{self, Reach};

/// How many tickets one barrier serves in a row of its own.
const TICKETS: usize = 16;

/// A backend.
pub(super) struct Way {
    pub(super) name: &'static str,
    /// What a light fence is next to it.
    pub(super) light: &'static str,
    /// Whether it interrupts every CPU that runs this process.
    pub(super) interrupts: bool,
    /// A heavy fence.
    pub(super) fence: Box<dyn FnMut() -> Result<(), String> + Send>,
}

/// Those that work here, next to these peers; and the others, with the reason.
pub(super) fn all(peers: Peers) -> (Vec<Way>, Vec<String>) {
    let mut list = List::default();
    list.pair("full fence", "full fence", false, Fences::with(Choice::FullFences));
    list.pair("membarrier", FREE, true, Fences::with(Choice::Expedited));
    list.tickets(Fences::with(Choice::Expedited));
    let shared = bare::register(Scope::Shared).map(|()| || bare::heavy(Scope::Shared));
    list.add("membarrier global-expedited", FREE, true, shared);
    list.command("membarrier sync-core", true, Reach::PrivateCores);
    let restarts = membarrier::register_restarts().map(|()| || membarrier::restart(None));
    list.add("membarrier rseq", FREE, true, restarts);
    list.pair("mprotect", FREE, true, Fences::with(Choice::Mprotect));
    if peers == Peers::Own {
        let check_ins: Result<_, Refused> = Ok(|| CHECKING_IN.ticket().wait());
        list.add("check-ins", "check-in", false, check_ins);
    }
    list.stamps();
    list.command("membarrier global", false, Reach::Everywhere);
    (list.ways, list.refused)
}

/// Turns that take longer than this fail the row.
const LIMIT: Duration = Duration::from_secs(2);

/// A light fence without an instruction.
const FREE: &str = "compiler fence";

#[derive(Default)]
struct List {
    ways: Vec<Way>,
    refused: Vec<String>,
}

impl List {
    fn add<E: std::fmt::Display>(
        &mut self,
        name: &'static str,
        light: &'static str,
        interrupts: bool,
        fence: Result<impl FnMut() -> Result<(), E> + Send + 'static, impl std::fmt::Display>,
    ) {
        match fence {
            Ok(mut fence) => {
                let fence = Box::new(move || fence().map_err(|error| error.to_string()));
                self.ways.push(Way { name, light, interrupts, fence });
            }
            Err(why) => self.refused.push(format!("{name}: {why}")),
        }
    }

    fn pair(
        &mut self,
        name: &'static str,
        light: &'static str,
        interrupts: bool,
        fences: Result<Fences, Refused>,
    ) {
        self.add(name, light, interrupts, fences.map(|fences| move || fences.heavy()));
    }

    fn tickets(&mut self, fences: Result<Fences, Refused>) {
        let ask = |fences: Fences| {
            move || {
                let tickets: [Ticket; TICKETS] = std::array::from_fn(|_| fences.ticket());
                tickets.iter().rev().try_for_each(Ticket::wait)
            }
        };
        self.add("membarrier, 16 tickets", FREE, true, fences.map(ask));
    }

    /// Those of a running daemon, by its counts and by its turns.
    fn stamps(&mut self) {
        let stamps: &'static Stamps = match Stamps::connect() {
            Ok(stamps) => Box::leak(Box::new(stamps)), // A pair of fences has it for good.
            Err(why) => return self.refused.push(format!("stamps: {why}")),
        };
        self.pair("stamps", FREE, false, Ok(Fences::by_stamps(stamps)));
        let turns: Result<_, Refused> = Ok(move || match stamps.ask_turns().wait(Some(LIMIT)) {
            Ok(true) => Ok(()),
            Ok(false) => Err("no turn in time".to_owned()),
            Err(refused) => Err(refused.to_string()),
        });
        self.add("stamps, by turns", FREE, false, turns);
    }

    fn command(&mut self, name: &'static str, interrupts: bool, reach: Reach) {
        let known = reach.register().and_then(|()| reach.barrier());
        self.add(name, FREE, interrupts, known.map(|()| move || reach.barrier()));
    }
}
