//! Routing: finds the node of each row. There are three ways to a leaf:
//!
//! ```text
//!     row -> parse -> route ----------------------------------------------> leaf      native
//!                       |-> key or spelling not native -> ask -> route ---> leaf      remote
//!                       '-> cannot be asked -----------------------------> its node   slow lane: the
//!                                                                                     server routes
//! ```
//!
//! 1. **Native.** The router reads the keys from the row's text.
//! 2. **Remote.** The row waits until the rest of its split is routed. Then one query per question
//!    (`pg::question`) makes the server evaluate the keys of all waiting rows, on a connection of the thread
//!    ([`remote`]). The router continues from the answers: the hash of a key, or its position among the
//!    bounds. If only the spelling of a value is not native, the answer is the server's spelling, by which
//!    the row is then routed.
//! 3. **Slow lane.** A row with a key that cannot be evaluated stops at its node, and the server routes it
//!    from there.
//!
//! Whether a question can be asked is known before the load, because each is tried once without keys
//! (`pg::introspect::probe`). If the server refuses it, the key is opaque. Later the server can only refuse
//! single keys; it is then asked in smaller batches. If a privilege or a name is gone by then, the load
//! fails.
//!
//! Keys are evaluated under the settings of COPY. Spellings are read back, so they are produced under fixed
//! output settings. Values that the server may read differently tomorrow are never part of a question
//! (`pg::volatility`): words such as `now`, times with a named zone, and types whose input functions read the
//! catalogue.

pub(crate) mod remote;
pub(crate) mod routing;
pub(crate) mod row;
