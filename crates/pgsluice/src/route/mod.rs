//! Finds the node of each row. There are three ways to a leaf:
//!
//! ```text
//!     row -> parse -> route ----------------------------------------------> leaf      native
//!                       |-> key or spelling not native -> ask -> route ---> leaf      remote
//!                       '-> cannot be asked -----------------------------> its node   slow lane: the
//!                                                                                     server routes
//! ```
//!
//! 1. **Native.** The router reads the keys from the row's text.
//! 2. **Remote.** The row waits until the rest of its split is routed. Then one query a question
//!    (`pg::question`) has the server evaluate the keys of all rows that wait, on a connection of the
//!    thread's own ([`remote`]). The router goes on from the answers: the hash of a key, or its place among
//!    the bounds. If only a value's spelling is not native, the answer is the server's spelling, and the
//!    row is routed by that.
//! 3. **Slow lane.** A row that cannot be asked about stops at its node, and the server routes it from
//!    there.
//!
//! Whether a question can be asked is known before the load: each is put once without keys
//! (`pg::introspect::probe`). A key that the server refuses is opaque. Later only a single key can be
//! refused. The server is then asked in smaller batches. If a privilege or a name is gone by then, the
//! load fails.
//!
//! Keys are evaluated under the settings that COPY has. Spellings are read back, so they come under fixed
//! output settings. Values that the server may read differently tomorrow are not asked about
//! (`pg::caution`). These are words such as `now`, times with a named zone, and types whose input
//! functions look into the catalogue.

pub(crate) mod remote;
pub(crate) mod routing;
pub(crate) mod row;
