//! How long the simulations are: short by default, full under `UNC_DEPTH=full`, and what is run is said.

/// The number of runs of the test `name`, with a visible line.
pub(crate) fn depth(name: &str, short: u64, full: u64) -> u64 {
    let deep = std::env::var("UNC_DEPTH").is_ok_and(|depth| depth == "full");
    if deep {
        println!("{name}: full form, {full} runs");
        full
    } else {
        println!("{name}: short form, {short} runs; UNC_DEPTH=full takes {full}");
        short
    }
}
