//! What steps need from the machine, how to see that it is there, and how to install it.

use super::step::Need;

/// The toolchain of `rust-version`.
pub(crate) const OLDEST: Need = Need {
    have: r#"cargo "+$(oldest)" --version"#,
    get: r#"rustup toolchain install "$(oldest)" --profile minimal"#,
    otherwise: "that toolchain is missing and cannot be installed",
};

/// Not installed by CI: it takes minutes to build, and pages read as well without it.
pub(crate) const MDBOOK: Need = Need {
    have: "have mdbook",
    get: "false",
    otherwise: "mdbook is not installed (cargo install mdbook)",
};

/// Not installed by CI: it takes minutes to build.
pub(crate) const SEMVER: Need = Need {
    have: r#"have cargo-semver-checks && [ -n "$(git tag --list 'v*')" ]"#,
    get: "false",
    otherwise: "no release is tagged (v*) to compare with, or cargo-semver-checks is not installed",
};

/// Databases are installed apart: without them, the others are worth the step. Of MariaDB, the package that would start
/// a server is left out.
pub(crate) const REAL_PROGRAMS: Need = Need {
    have: "have sysbench pigz xz python3 node memcached redis-server redis-cli mariadbd mariadb && [ -e /usr/include/sqlite3.h ] &&
  ls /usr/lib/postgresql/*/bin/pgbench",
    get: "debian sysbench pigz xz-utils python3 nodejs memcached redis-server redis-tools libsqlite3-dev
debian postgresql mariadb-server-core mariadb-client-core
have pigz",
    otherwise: "Debian's packages cannot be installed here",
};

pub(crate) const DEBOOTSTRAP: Need = Need {
    have: r#"[ "$(id -u)" = 0 ] && have debootstrap"#,
    get: "debian debootstrap",
    otherwise: "root and the package debootstrap are needed",
};

pub(crate) const MIRI: Need = Need {
    have: "cargo +nightly miri --version",
    get: "rustup component add miri --toolchain nightly",
    otherwise: "no nightly toolchain with the component miri",
};

/// ThreadSanitizer needs a standard library that is instrumented too.
pub(crate) const RUST_SRC: Need = Need {
    have: r#"[ -e "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ]"#,
    get: "rustup component add rust-src --toolchain nightly",
    otherwise: "no nightly toolchain with the component rust-src",
};

pub(crate) const AARCH64: Need = Need {
    have: "have qemu-aarch64 aarch64-linux-gnu-gcc && rustup target add aarch64-unknown-linux-gnu",
    get: "debian qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross && rustup target add aarch64-unknown-linux-gnu",
    otherwise: "no qemu-aarch64, cross compiler or Rust target",
};

/// The kernel starts such programs by an emulator that the environment of theirs does not change.
pub(crate) const AARCH64_PROGRAMS: Need = Need {
    have: r#"[ "$(uname -m)" = x86_64 ] && have qemu-aarch64-static aarch64-linux-gnu-gcc && rustup target add aarch64-unknown-linux-gnu"#,
    get: "debian qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross && rustup target add aarch64-unknown-linux-gnu",
    otherwise: "no qemu-aarch64-static, cross compiler or Rust target",
};

/// A compiler alone: nothing is linked.
pub(crate) const OTHER_TARGETS: Need = Need {
    have: "false",
    get: "rustup target add $OTHER_TARGETS $BARE_TARGET",
    otherwise: "Rust's targets cannot be installed here",
};

pub(crate) const I686: Need = Need {
    have: r#"[ "$(uname -m)" = x86_64 ] && can_link_32 && rustup target add i686-unknown-linux-gnu"#,
    get: "debian gcc-multilib && can_link_32 && rustup target add i686-unknown-linux-gnu",
    otherwise: "no C compiler for 32 bits, or no Rust target",
};

pub(crate) const CARGO_FUZZ: Need = Need {
    have: "have cargo-fuzz && rustc +nightly --version",
    get: "cargo install -q cargo-fuzz --locked && rustc +nightly --version",
    otherwise: "cargo-fuzz or a nightly toolchain is missing and cannot be installed",
};

/// Words that the lines above and the steps use.
pub(crate) const WORDS: &str = r#"
# have TOOL...: whether all of them are on the path.
have() { local tool; for tool; do command -v "$tool" || return 1; done; }
# debian PACKAGE...: tries to install them.
debian() {
  have apt-get && [ "$(id -u)" = 0 ] && apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}
# What the library builds for, and of these, what the workbench does; they are not tested there.
OTHER_TARGETS="riscv64gc-unknown-linux-gnu i686-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-gnu"
WORKBENCH_TARGETS="riscv64gc-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin"
# It has no system: rings whose sides poll need alloc alone.
BARE_TARGET="x86_64-unknown-none"
can_link_32() { echo 'int main(void) { return 0; }' | cc -m32 -x c - -o /dev/null; }
# The rust-version that is promised.
oldest() { sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml; }
"#;
