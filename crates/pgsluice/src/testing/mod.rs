//! What tests put into a load: failures at points that have names, and faults that the checks must find.

pub mod failpoint;
pub mod fault;
