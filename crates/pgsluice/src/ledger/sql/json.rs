//! The columns of the ledger that are JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::kind::Kind;
use crate::error::{Error, Result};

pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| unreadable(&error))
}

pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> Error {
    Error::new(Kind::Server, format!("could not read the ledger: {error}")).with_sqlstate("XX001")
}
