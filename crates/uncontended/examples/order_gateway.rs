//! An order gateway and a matching engine in two processes, with a ring each way in shared memory. The engine is
//! killed in the middle; another one takes its place, and each order is answered once.
//!
//!     cargo run --release -p uncontended --example order_gateway [ORDERS]
//!
//! The engine gives a batch of orders back to the ring only after it has answered all of them. If it dies in between,
//! its successor reads them again: the gateway tells a second answer by its number. Latency is from when an order was
//! due, so an engine that stalls is not left out of it.

use std::error::Error;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Child, Command};
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use uncontended::ring::Plain;
use uncontended::ring::spsc::shared::{self, Shared};
use uncontended::ring::spsc::{Consumer, Producer};
use uncontended::wait::Sleepers;

const CAPACITY: usize = 4096;
const BATCH: usize = 64;
/// Time between two orders.
const EVERY: Duration = Duration::from_micros(10);
/// The second ring lies after the first one, from here on.
const RING_BYTES: usize = 1 << 20;

#[derive(Clone, Copy)]
#[repr(C)]
struct Order {
    number: u64,
    /// When it was due, in nanoseconds since the gateway began.
    due_ns: u64,
    price: u64,
}

/// What the engine answers.
#[derive(Clone, Copy)]
#[repr(C)]
struct Fill {
    number: u64,
    due_ns: u64,
}

// SAFETY: three integers of 8 bytes, without padding.
unsafe impl Plain for Order {}
// SAFETY: two integers of 8 bytes, without padding.
unsafe impl Plain for Fill {}
const _: () = assert!(size_of::<Order>() == 24 && size_of::<Fill>() == 16);

/// Memory that both processes map.
struct Mapping {
    base: NonNull<u8>,
    file: File,
}

// SAFETY: the memory stays mapped, for any thread, until this is dropped.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`; it is accessed through rings alone.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: File) -> Result<Arc<Mapping>, Box<dyn Error>> {
        let (bytes, access) = (2 * RING_BYTES, libc::PROT_READ | libc::PROT_WRITE);
        file.set_len(bytes as u64)?;
        // SAFETY: a new mapping, where the kernel finds room, affects no other memory.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error().into());
        }
        let base = NonNull::new(base.cast()).ok_or("the kernel mapped address 0")?;
        Ok(Arc::new(Mapping { base, file }))
    }

    /// The memory of the ring with this number.
    fn ring(&self, number: usize) -> NonNull<u8> {
        // SAFETY: the mapping has room for two.
        unsafe { self.base.add(number * RING_BYTES) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made above; the rings that kept it are gone.
        unsafe { libc::munmap(self.base.as_ptr().cast(), 2 * RING_BYTES) };
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[1..] {
        [role, fd] if role == "engine" => engine(fd.parse()?),
        [] => gateway(200_000),
        [orders] => gateway(orders.parse()?),
        _ => Err("usage: order_gateway [ORDERS]".into()),
    }
}

/// Answers all orders, from the first that no engine before it gave back.
fn engine(fd: i32) -> Result<(), Box<dyn Error>> {
    // SAFETY: the gateway left this descriptor open for the engine, and nothing else here owns it.
    let mapping = Mapping::new(unsafe { File::from_raw_fd(fd) })?;
    let keep = || Arc::clone(&mapping);
    // SAFETY: the mapping is kept, and this part of it is used as this ring alone.
    let orders: Shared<Order> = unsafe { shared::attach(mapping.ring(0), RING_BYTES, keep()) }?;
    // SAFETY: as above.
    let fills: Shared<Fill> = unsafe { shared::attach(mapping.ring(1), RING_BYTES, keep()) }?;
    // A role that no process has had yet is claimed.
    let (mut orders, mut fills) = (orders.take_over_consumer()?, fills.take_over_producer()?);
    while let Some(batch) = orders.read_wait(BATCH) {
        for &Order { number, due_ns, .. } in batch.iter() {
            fills.push_wait(Fill { number, due_ns }).map_err(|_| "the gateway has gone")?;
        }
        batch.release();
    }
    Ok(())
}

fn start_engine(fd: i32) -> Result<Child, Box<dyn Error>> {
    Ok(Command::new(std::env::current_exe()?).args(["engine", &fd.to_string()]).spawn()?)
}

fn gateway(count: u64) -> Result<(), Box<dyn Error>> {
    // SAFETY: the name ends in NUL. The descriptor stays open in the engine.
    let fd = unsafe { libc::memfd_create(c"orders".as_ptr(), 0) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    // SAFETY: the descriptor is new, so nothing else owns it.
    let mapping = Mapping::new(unsafe { File::from_raw_fd(fd) })?;
    let keep = || Arc::clone(&mapping);
    // SAFETY: the mapping is kept, and this part of it is used as this ring alone.
    let orders = unsafe { shared::create(mapping.ring(0), RING_BYTES, CAPACITY, keep()) }?;
    // SAFETY: as above.
    let fills = unsafe { shared::create(mapping.ring(1), RING_BYTES, CAPACITY, keep()) }?;
    let (orders, mut fills) = (orders.producer()?, fills.consumer()?);
    let mut engine = start_engine(mapping.file.as_raw_fd())?;
    let began = Instant::now();
    let sender = thread::spawn(move || send(orders, count, began));
    let mut book = Book::default();
    book.receive(&mut fills, count / 2, began)?;
    engine.kill()?;
    engine.wait()?;
    let mut engine = start_engine(mapping.file.as_raw_fd())?;
    book.receive(&mut fills, count, began)?;
    sender.join().expect("the sender does not panic");
    let ended = engine.wait()?;
    assert!(ended.success() && book.next == count, "each order is answered once");
    book.print();
    Ok(())
}

/// Sends the orders when they are due. The ring is closed after the last one.
fn send(mut orders: Producer<Order, Sleepers>, count: u64, began: Instant) {
    for number in 0..count {
        let due = EVERY * number as u32;
        while began.elapsed() < due {
            thread::yield_now();
        }
        let order = Order { number, due_ns: due.as_nanos() as u64, price: 100 + number % 7 };
        // While one engine follows another, the orders queue.
        assert!(orders.push_wait(order).is_ok(), "the engine's role is never given up");
    }
}

/// The orders that have been answered.
#[derive(Default)]
struct Book {
    next: u64,
    again: u64,
    latency_ns: Vec<u64>,
}

impl Book {
    /// Receives answers until the first `count` orders have one.
    fn receive(
        &mut self,
        fills: &mut Consumer<Fill, Sleepers>,
        count: u64,
        began: Instant,
    ) -> Result<(), Box<dyn Error>> {
        while self.next < count {
            let fill = fills.pop_wait().ok_or("the engine has ended before the last order")?;
            match fill.number {
                number if number == self.next => {
                    self.next += 1;
                    self.latency_ns.push(began.elapsed().as_nanos() as u64 - fill.due_ns);
                }
                number if number < self.next => self.again += 1,
                number => return Err(format!("order {number} overtook {}", self.next).into()),
            }
        }
        Ok(())
    }

    fn print(&mut self) {
        self.latency_ns.sort_unstable();
        let at = |share: f64| {
            let last = self.latency_ns.len() - 1;
            Duration::from_nanos(self.latency_ns[(share * last as f64) as usize])
        };
        println!("{} orders, one every {EVERY:?}: each was answered once", self.next);
        println!("the second engine answered {} again", self.again);
        println!("latency: median {:.1?}, 99 % {:.1?}, most {:.1?}", at(0.5), at(0.99), at(1.0));
    }
}
