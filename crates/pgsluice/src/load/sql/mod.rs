//! Queries about the server during a load: the lag of replicas, and waits for locks.

pub(crate) mod lag;
pub(crate) mod lock_wait;
