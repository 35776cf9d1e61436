//! The library that `unc` preloads into an unmodified program.
