//! The questions that a load asks about the server it burdens: its replicas, and who waits for a lock.

pub(crate) mod lag;
pub(crate) mod lock_wait;
