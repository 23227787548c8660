//! What tests put into a load: failures at points that have names, faults that the checks must
//! find, and inputs that are not to be taken as small.

pub mod failpoint;
pub mod fault;
pub(crate) mod silence;
pub(crate) mod small;
