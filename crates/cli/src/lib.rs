//! The command line: `run(args)` turns arguments into calls of the `pgsluice` crate.
