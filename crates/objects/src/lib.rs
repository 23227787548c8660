//! Objects in S3, Google Cloud Storage and Azure Blob Storage, and files on HTTP servers, which are read like
//! local files: from any place, and again.
//!
//! Functions block the calling thread. Requests run in threads of their own, so they can also be used inside
//! of an asynchronous runtime. Every range is read on the condition that the object is still the same; a
//! request that fails for a passing reason is repeated. No error names a credential or the query of a URL.

mod address;
mod aws;
mod azure;
mod cache;
mod credential;
mod download;
mod failure;
mod find;
mod hints;
mod object;
mod pieces;
mod runtime;
mod store;
mod stream;
mod window;

pub use address::{Address, Service};
pub use credential::{Credential, Provide};
pub use download::Download;
pub use failure::{Cause, Failure};
pub use find::{Folder, Opened};
pub use object::Object;
pub use pieces::Pieces;
pub use store::Store;
pub use stream::ObjectStream;

/// A result whose error is a [`Failure`].
pub type Result<T> = std::result::Result<T, Failure>;
