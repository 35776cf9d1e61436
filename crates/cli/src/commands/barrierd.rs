//! `unc barrierd`: stamps of interrupts, for fences that need none of their own.

use crate::console::{complain, say, tell};
use crate::deliver::{refuse, write_failure};
use crate::files;
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use uncontended_barrierd::stamps::{self, Cpu, NoStamps, Stamps, socket};
use uncontended_barrierd::{Daemon, Options, Refusal, User};
use uncontended_decide::{Failure, catch_interrupts};
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::{count, duration, percent};
use uncontended_sys::clock::monotonic_ns;
use uncontended_sys::{affinity, interrupts};

/// The JSON's name.
pub(crate) const SCHEMA: &str = "uncontended.barrierd/1";
/// How long `--once` watches.
const ONCE: Duration = Duration::from_secs(1);
const COLUMNS: usize = 100;

const EXAMPLES: &str = "\
Examples:
  unc barrierd                    follow the interrupts of all CPUs, until SIGTERM (as root)
  unc barrierd --status           the stamps of the daemon that runs, their age, and what it costs
  unc barrierd --once             start, watch for a second, say the same, and end (as root)
  unc barrierd --cpus 0-7         interrupt none but these for a client that waits

Programs wait for these stamps instead of interrupting all CPUs (membarrier): `uncontended::fence::stamps`, or any language \
by the protocol in the README of the crate uncontended-barrierd. A wait takes up to a tick of the kernel's timer. Without a \
daemon, or when it dies, programs use membarrier.

Needs root, or CAP_BPF and CAP_PERFMON, and Linux 5.19 or newer. When it has started, it becomes the user NAME, gives up all rights \
and allows itself only the system calls that it needs. --status needs no rights.

Exit status: 0; 2 could not run.";

/// Tell programs when each CPU last took an interrupt, so that their fences need none
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// Show the stamps and the cost of the daemon that runs
    #[arg(long, conflicts_with_all = ["once", "cpus", "user"])]
    status: bool,
    /// Watch for a second, show the stamps and the cost, and end
    #[arg(long)]
    once: bool,
    /// The daemon's socket [default: $UNC_BARRIERD, else /run/unc/barrierd.sock]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The CPUs to follow, as 0-3,8 [default: all]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// The user to become
    #[arg(long, value_name = "NAME", default_value = "nobody")]
    user: String,
    /// Write what --status and --once show as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Flags {
    /// Runs the daemon, or looks at one.
    pub(crate) fn execute(&self) -> ExitCode {
        if let Err(failure) = files::writable(self.json.as_deref()) {
            return refuse(SCHEMA, &failure, self.json.as_deref());
        }
        match self.answer() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                complain(&failure);
                // The failure itself is what counts; a second one while reporting it adds nothing.
                let _ = write_failure(SCHEMA, &failure, self.json.as_deref());
                ExitCode::from(2)
            }
        }
    }

    fn answer(&self) -> Result<(), Failure> {
        let path = self.socket.clone().unwrap_or_else(socket);
        if self.status {
            return self.show(&look(&path, Duration::ZERO)?);
        }
        if self.json.is_some() && !self.once {
            return Err(Failure::new(
                "--json writes what --status and --once show, and this is neither",
                "`unc barrierd --status --json FILE`, while the daemon runs",
            ));
        }
        let parse = |list: &str| {
            affinity::parse(list).ok_or_else(|| refused(Refusal::NotCpus(list.to_owned())))
        };
        let cpus = self.cpus.as_deref().map(parse).transpose()?;
        let user = self.user()?;
        catch_interrupts()?;
        let daemon = Daemon::start(&Options { socket: path.clone(), cpus }).map_err(refused)?;
        let without = daemon.without_ticks();
        if !without.is_empty() {
            tell(&format!(
                "unc: CPUs without timer ticks (nohz_full) are interrupted while a client waits: {without:?}\n     \
                 leave them out: --cpus LIST\n"
            ));
        }
        if self.once {
            return self.watch(daemon, &path);
        }
        daemon.confine(user).map_err(refused)?;
        tell(&format!("unc: barrierd serves {}\n", path.display()));
        daemon.run(|| interrupts::received().is_some(), warn).map_err(refused)
    }

    /// The user that the daemon becomes.
    fn user(&self) -> Result<User, Failure> {
        let current = User::current();
        match User::named(&self.user) {
            _ if current.user != 0 => Ok(current),
            Ok(user) if user.user == 0 => Err(Failure::new(
                "the daemon would keep the rights of root",
                "name another user: --user NAME",
            )),
            Ok(user) => Ok(user),
            Err(_) => Err(refused(Refusal::NoUser(self.user.clone()))),
        }
    }

    /// Serves itself as a client that waits.
    fn watch(&self, daemon: Daemon, path: &Path) -> Result<(), Failure> {
        let (told, ended) = std::sync::mpsc::channel::<()>();
        let seen = std::thread::scope(|threads| {
            let is_ended =
                || matches!(ended.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected));
            let watching = threads.spawn(move || {
                let _told = told;
                look(path, ONCE)
            });
            daemon.run(is_ended, warn).map_err(refused)?;
            watching.join().expect("a client does not panic")
        })?;
        if seen.memory.fences_ns.is_empty() {
            return Err(Failure::new(
                format!("no fence was complete within {}", duration(ONCE.as_nanos() as u64)),
                "try again on a machine that is less busy; meanwhile programs use membarrier",
            ));
        }
        self.show(&seen)
    }

    fn show(&self, seen: &Seen) -> Result<(), Failure> {
        if let Some(path) = &self.json {
            let text = format!("{:#}\n", seen.json());
            files::write(path, text.as_bytes())?;
        }
        let is_taken = self.json.as_deref() == Some(Path::new("-"));
        say(&seen.text(), is_taken)
    }
}

/// Tells why new clients have to wait.
fn warn(error: &std::io::Error) {
    tell(&format!(
        "unc: barrierd takes no new clients for now: {error}\n     raise its limit of open files, if that is why: ulimit -n\n"
    ));
}

fn look(path: &Path, watch: Duration) -> Result<Seen, Failure> {
    let mut memory = Stamps::look(path, watch).map_err(|error| no_stamps(&error, path))?;
    memory.fences_ns.sort_unstable();
    Ok(Seen { now_ns: monotonic_ns(), memory })
}

/// A daemon's memory, as it was at one time; what fences took, in ascending order.
struct Seen {
    now_ns: u64,
    memory: stamps::Seen,
}

impl Seen {
    /// How long the daemon has run.
    fn ran_ns(&self) -> u64 {
        self.now_ns.saturating_sub(self.memory.facts.generation).max(1)
    }

    /// The daemon's share of a CPU.
    fn daemon_share(&self) -> f64 {
        self.memory.work.busy_ns as f64 / self.ran_ns() as f64
    }

    /// The program's share of a CPU's time, if its cost is known.
    fn program_share(&self, cpu: &Cpu) -> Option<f64> {
        Some(cpu.runs as f64 * self.memory.facts.program_ns? as f64 / self.ran_ns() as f64)
    }

    fn age_ns(&self, at_ns: u64) -> Option<u64> {
        (at_ns > 0).then(|| self.now_ns.saturating_sub(at_ns))
    }

    fn text(&self) -> String {
        let columns = vec![
            Column::figure("CPU"),
            Column::figure("stamped ago"),
            Column::figure("seen offline ago"),
            Column::figure("runs"),
            Column::figure("of its time"),
        ];
        let mut table = Table::new(columns);
        let ago = |at_ns| self.age_ns(at_ns).map_or_else(|| "never".to_owned(), duration);
        for cpu in &self.memory.cpus {
            let share = self.program_share(cpu).map_or_else(String::new, percent);
            table.row([
                cpu.cpu.to_string(),
                ago(cpu.stamp_ns),
                ago(cpu.absent_ns),
                count(cpu.runs),
                share,
            ]);
        }
        let mut text = table.text(COLUMNS, Paint::default());
        let program =
            self.memory.facts.program_ns.map_or_else(|| "of unknown cost".to_owned(), duration);
        text += &format!(
            "\nThe program in the kernel takes {program} a run, as measured when the daemon started; the daemon (process {}), {} of a CPU in {}.\n\
             {} turns of its clock, {} visits to CPUs without interrupts.\n",
            self.memory.facts.pid,
            percent(self.daemon_share()),
            duration(self.ran_ns()),
            count(self.memory.work.turns),
            count(self.memory.work.visits),
        );
        let waits = &self.memory.fences_ns;
        if let Some(&most) = waits.last() {
            let [half, most] = [waits[waits.len() / 2], most].map(duration);
            let count = count(waits.len() as u64);
            text +=
                &format!("{count} fences, one after the other: median {half}, longest {most}.\n");
        }
        text
    }

    fn json(&self) -> Value {
        let cpu = |cpu: &Cpu| {
            json!({
                "cpu": cpu.cpu,
                "stamp_age_ns": self.age_ns(cpu.stamp_ns),
                "offline_age_ns": self.age_ns(cpu.absent_ns),
                "runs": cpu.runs,
                "program_share": self.program_share(cpu),
            })
        };
        json!({
            "schema": SCHEMA,
            "pid": self.memory.facts.pid,
            "running_ns": self.ran_ns(),
            "tick_ns": self.memory.facts.tick_ns,
            "patience_ns": self.memory.facts.patience_ns,
            "heartbeat_age_ns": self.age_ns(self.memory.work.heartbeat_ns),
            "turns": self.memory.work.turns,
            "oldest_age_ns": self.age_ns(self.memory.work.oldest_ns),
            "visits": self.memory.work.visits,
            "program_ns": self.memory.facts.program_ns,
            "daemon_share": self.daemon_share(),
            "cpus": self.memory.cpus.iter().map(cpu).collect::<Vec<_>>(),
            "fences_ns": Some(&self.memory.fences_ns).filter(|fences| !fences.is_empty()),
        })
    }
}

fn refused(refusal: Refusal) -> Failure {
    Failure::new(refusal.to_string(), refusal.remedy())
}

fn no_stamps(error: &NoStamps, path: &Path) -> Failure {
    let cause = format!("{}: {error}", path.display());
    let remedy = match error {
        NoStamps::NotRunning => {
            "`unc barrierd`, as root, starts one; --socket PATH looks elsewhere"
        }
        NoStamps::Version(_) => {
            "use the `unc` that the daemon was started from, or restart the daemon"
        }
        NoStamps::Full => "try again later, or with fewer clients",
        NoStamps::Silent => "end what has the socket, and start a daemon, as root: `unc barrierd`",
        _ => "restart the daemon, as root: `unc barrierd`",
    };
    Failure::new(cause, remedy)
}
