//! The C header of the library, generated from the functions that the facade exports.
//!
//! # Contract
//! `crates/uncontended/include/uncontended_lib.h` is what [`text`] says; a test holds them together. What has to be
//! inlined into the caller (a publish without a call) is C by hand, in `inline.h` next to the Rust sources, and goes in
//! unchanged.

use cbindgen::{
    Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style,
};
use std::path::Path;

const HEADER: &str = "crates/uncontended/include/uncontended_lib.h";
const SOURCES: &str = "crates/uncontended/src/c";
const OPENING: &str = "/* Event counts, rings and records: pass work from one thread to another without a lock, and sleep when there is none.
 *
 * Generated from crates/uncontended/src/c by `cargo xtask header`; do not edit. `cargo xtask install-c --prefix DIR`
 * installs the library, for pkg-config and CMake. Without it:
 *
 *     cargo rustc --release -p uncontended --features c --crate-type staticlib
 *     cc program.c -I crates/uncontended/include target/release/libuncontended.a -lgcc_s -lm -ldl -pthread
 *
 * Works in C11 and C++11 with GCC and Clang; uncontended.hpp has types for C++17. No function throws or unwinds. A
 * handle is used by one thread at a time. Deadlines are nanoseconds of CLOCK_MONOTONIC (unc_deadline_after); UNC_NEVER
 * means without a deadline, and UNC_NOW that the call never sleeps. */

/* A library built with --cfg unc_portable: define UNC_PORTABLE. Without it, the program is not linked. */
#ifndef __linux__
#define UNC_PORTABLE
#endif
#ifdef UNC_PORTABLE
#define unc_event_count_wake unc_event_count_wake_portable
#endif";

/// Writes the header.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let path = root.join(HEADER);
    std::fs::write(&path, text(root)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// The header that the sources make.
fn text(root: &Path) -> Result<String, String> {
    let sources = root.join(SOURCES);
    let read = |name: &str| {
        let path = sources.join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let builder = Builder::new().with_src(sources.join("mod.rs"));
    let bindings = builder.with_config(config(read("inline.h")?)).generate();
    let mut text = Vec::new();
    bindings.map_err(|error| format!("cbindgen: {error}"))?.write(&mut text);
    String::from_utf8(text).map_err(|error| format!("cbindgen: {error}"))
}

fn config(inline: String) -> Config {
    let names = [
        ("EventCount", "unc_event_count"),
        ("Producer", "unc_producer"),
        ("Consumer", "unc_consumer"),
        ("RecordProducer", "unc_record_producer"),
        ("RecordConsumer", "unc_record_consumer"),
        ("SharedRecords", "unc_shared_records"),
        ("LaneProducer", "unc_lane_producer"),
        ("LaneConsumer", "unc_lane_consumer"),
        ("BroadcastProducer", "unc_broadcast_producer"),
        ("BroadcastConsumer", "unc_broadcast_consumer"),
        ("Stage", "unc_stage"),
        ("Status", "unc_status"),
    ];
    let rename = names.iter().map(|(rust, c)| ((*rust).to_owned(), (*c).to_owned())).collect();
    Config {
        export: ExportConfig { rename, ..ExportConfig::default() },
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        language: Language::C,
        cpp_compat: true,
        style: Style::Both,
        documentation_style: DocumentationStyle::C99,
        pragma_once: true,
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).into(),
        usize_is_size_t: true,
        header: Some(OPENING.into()),
        trailer: Some(inline),
        line_length: 120,
        ..Config::default()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_header_is_what_the_sources_make() {
        let root = crate::root();
        let committed = std::fs::read_to_string(root.join(super::HEADER)).expect("the header");
        let fresh = super::text(root).expect("a header");
        assert!(committed == fresh, "the C header is stale: run `cargo xtask header`");
    }
}
