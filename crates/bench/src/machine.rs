//! Facts about the machine, shown above every table.

use std::time::Duration;

use uncontended_sys::clock::Moment;
use uncontended_sys::host::Host;

use crate::report::Facts;

/// Reads them; the length of a tick is measured over 20 ms.
pub(crate) fn facts(cpus: usize) -> Facts {
    let Host { processor, model, kernel, load, .. } = Host::here();
    let name = processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let first = Moment::now();
    std::thread::sleep(Duration::from_millis(20));
    Facts {
        processor: model.map_or_else(|| name.clone(), |model| format!("{name} ({model})")),
        cpus,
        kernel: kernel.unwrap_or_default(),
        load,
        tick_ns: first.tick_ns(Moment::now()),
    }
}
