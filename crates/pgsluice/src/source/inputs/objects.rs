//! Objects that names stand for: an object, those directly below a prefix, or those that match a pattern. They
//! are found as files are: see `entries.rs`.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use pgsluice_objects::{Address, Cause, Failure, Opened, Provide, Service, Store};

use super::entries::{self, GLOB};
#[cfg(feature = "parquet")]
use super::stored::Pieces;
use super::stored::{Found, Object, ReadSeek};
use crate::error::kind::Kind;
use crate::error::{Error, Result};

impl Object for pgsluice_objects::Object {
    fn name(&self) -> &str {
        self.name()
    }

    fn identity(&self) -> String {
        self.identity()
    }

    fn size(&self) -> u64 {
        self.size()
    }

    fn version(&self) -> String {
        self.version()
    }

    fn start(&self) -> &[u8] {
        self.start()
    }

    fn open(&self) -> Box<dyn ReadSeek> {
        Box::new(self.open())
    }

    fn read_at(&self, offset: u64, max: u64) -> io::Result<Bytes> {
        Ok(self.read_at(offset, max)?)
    }

    fn prepare(&self) {
        self.prepare();
    }

    #[cfg(feature = "parquet")]
    fn pieces(&self, ranges: Vec<std::ops::Range<u64>>) -> Arc<dyn Pieces> {
        Arc::new(pgsluice_objects::Pieces::new(self, ranges))
    }
}

#[cfg(feature = "parquet")]
impl Pieces for pgsluice_objects::Pieces {
    fn read_at(&self, at: u64, length: usize) -> io::Result<Bytes> {
        Ok(self.read_at(at, length)?)
    }

    fn some_at(&self, at: u64) -> io::Result<Bytes> {
        Ok(self.some_at(at)?)
    }
}

/// Finds objects. It asks for the credentials of a bucket once.
#[derive(Default)]
pub(super) struct Lookup {
    /// Gives the credentials in place of the environment.
    provide: Option<Arc<Provide>>,
    stores: HashMap<Address, Store>,
}

impl Lookup {
    /// Returns a lookup with credentials from `provide`.
    pub(super) fn with(provide: Arc<Provide>) -> Self {
        Self { provide: Some(provide), ..Self::default() }
    }

    /// Finds the objects that a name stands for; `None` if it is not the address of objects.
    pub(super) fn find(&mut self, name: &str) -> Option<Result<Found>> {
        let address = Address::parse(name)?;
        let failed = |failure: Failure| cannot_open(&hide_query(name), failure);
        Some(match address {
            Err(failure) => Err(failed(failure)),
            Ok(address) => {
                self.store(&address).map_err(failed).and_then(|store| find(&store, &address))
            }
        })
    }

    fn store(&mut self, address: &Address) -> std::result::Result<Store, Failure> {
        let bucket = address.to_bucket();
        if let Some(store) = self.stores.get(&bucket) {
            return Ok(store.clone());
        }
        let store = Store::from_address(&bucket, self.provide.as_ref())?;
        self.stores.insert(bucket, store.clone());
        Ok(store)
    }
}

/// Returns an address without its query, which may be a signature, and without a password.
fn hide_query(name: &str) -> String {
    let end = name.find('?').filter(|_| name.to_ascii_lowercase().starts_with("http"));
    let name = &name[..end.unwrap_or(name.len())];
    match name.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1)))
    {
        Some((scheme, rest)) if scheme.to_ascii_lowercase().starts_with("http") => {
            format!("{scheme}://{rest}")
        }
        _ => name.to_owned(),
    }
}

fn find(store: &Store, address: &Address) -> Result<Found> {
    let key = &address.key;
    let name = address.display(key);
    let failed = |failure| cannot_open(&name, failure);
    let is_pattern = key.contains(GLOB) && address.service != Service::Http;
    if !key.is_empty() && !key.ends_with('/') {
        match store.object(key) {
            Ok(Some(Opened::Object(object))) => {
                return Ok(Found::Objects(vec![Arc::new(object)], Vec::new()));
            }
            Ok(Some(Opened::Download(download))) => {
                return Ok(Found::Once(download.name().to_owned(), Box::new(download)));
            }
            Ok(None) if is_pattern || address.service != Service::Http => {}
            Ok(None) => return Err(failed(Failure::missing(address))),
            // Whoever may only list objects whose names match need not be able to ask for this name.
            Err(failure) if is_pattern && failure.cause == Cause::Refused => {}
            Err(failure) => return Err(failed(failure)),
        }
    }
    if is_pattern { pattern(store, address) } else { prefix(store, address) }
}

/// Finds the objects directly below a prefix.
fn prefix(store: &Store, address: &Address) -> Result<Found> {
    let key = address.key.trim_end_matches('/');
    let name = address.display(key);
    let failed = |failure| cannot_open(&name, failure);
    let listed = match store.folder(key) {
        // Then the name is more likely to be wrong than the right to list to be missing.
        Err(failure) if failure.cause == Cause::Refused && !address.key.ends_with('/') => {
            return Err(failed(Failure::missing(address)));
        }
        listed => listed.map_err(failed)?,
    };
    if listed.files.is_empty() && listed.folders.is_empty() && !address.key.is_empty() {
        return Err(failed(Failure::missing(address)));
    }
    let (files, left_out): (Vec<_>, Vec<_>) =
        listed.files.into_iter().partition(|name| !entries::is_left_out(name));
    if files.is_empty() {
        return Err(entries::no_files(&name));
    }
    let below = |file: &String| if key.is_empty() { file.clone() } else { format!("{key}/{file}") };
    let keys: Vec<String> = files.iter().map(below).collect();
    let notes = entries::notes(&name, &left_out, &listed.folders);
    objects(store, &keys, &name, notes)
}

/// Finds the objects whose names match a pattern.
fn pattern(store: &Store, address: &Address) -> Result<Found> {
    let key = &address.key;
    let name = address.display(key);
    let pattern = glob::Pattern::new(key).map_err(|error| entries::invalid(&name, &error))?;
    let options = glob::MatchOptions { require_literal_separator: true, ..Default::default() };
    let literal = key.find(GLOB).map_or(&**key, |end| &key[..end]);
    let folder = literal.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut keys = store.below(folder).map_err(|failure| cannot_open(&name, failure))?;
    keys.retain(|key| pattern.matches_with(key, options));
    match objects(store, &keys, &name, Vec::new())? {
        Found::Objects(objects, _) if objects.is_empty() => {
            Err(Error::new(Kind::Input, format!("no object matches \"{name}\"")))
        }
        found => Ok(found),
    }
}

fn objects(store: &Store, keys: &[String], name: &str, notes: Vec<String>) -> Result<Found> {
    let opened = store.objects(keys).map_err(|failure| cannot_open(name, failure))?;
    let object = |opened| match opened {
        Opened::Object(object) => Ok(Arc::new(object) as Arc<dyn Object>),
        Opened::Download(download) => {
            let reason = "the server sends only whole objects, so give them one at a time";
            let message = format!("could not open \"{}\" for reading: {reason}", download.name());
            Err(Error::new(Kind::Input, message))
        }
    };
    Ok(Found::Objects(opened.into_iter().map(object).collect::<Result<_>>()?, notes))
}

fn cannot_open(name: &str, failure: Failure) -> Error {
    let message = format!("could not open \"{name}\" for reading: {failure}");
    with_hint(Error::new(Kind::Input, message), &failure)
}

/// Adds the next step after a failure to an error about it.
fn with_hint(error: Error, failure: &Failure) -> Error {
    match &failure.hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Returns the error for an object that could not be read during the load.
pub(super) fn cannot_read(name: &str, error: &std::io::Error) -> Option<Error> {
    let failure = error.get_ref()?.downcast_ref::<Failure>()?;
    if failure.cause == Cause::Changed {
        let message = format!("object \"{name}\" changed while it was being read");
        return Some(Error::new(Kind::Input, message).with_sqlstate("55000").with_hint(
            "Rows that are committed come from the object as it was: compare the table with the object, using \
             pgsluice verify.",
        ));
    }
    let message = format!("could not read from object \"{name}\": {failure}");
    Some(with_hint(Error::new(Kind::Input, message), failure))
}
