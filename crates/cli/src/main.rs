//! The `pgsluice` program.

fn main() {}
