//! Test hooks of a load: named failpoints, faults that the checks must find, and a limit for small inputs.

pub mod failpoint;
pub mod fault;
pub(crate) mod silence;
pub(crate) mod small;
