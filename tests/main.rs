//! The one integration binary; each module tries one side of the program on real servers.

mod embedded;
