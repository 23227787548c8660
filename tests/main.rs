//! The one integration binary: whole programs against whole servers.

mod copy_options;
mod loader;
mod oracle;
mod placement;
mod random;
mod server;
mod trees;
