//! A file on a server that sends only whole files, which is read once.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, sync_channel};

use bytes::{Buf, Bytes};
use futures_util::TryStreamExt;
use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::Result;
use crate::failure::{Cause, Failure};
use crate::runtime::{Pending, wait};
use crate::store::Store;

/// The number of parts that may wait for their reader.
const PARTS: usize = 16;

/// A file that can be read once, in order.
#[derive(Debug)]
pub struct Download {
    name: String,
    store: Store,
    path: Path,
    parts: Option<Receiver<Result<Bytes>>>,
    rest: Bytes,
}

impl Download {
    pub(crate) fn new(store: Store, path: Path) -> Self {
        let name = store.display(path.as_ref());
        Self { name, store, path, parts: None, rest: Bytes::new() }
    }

    /// Returns its address for people, without secrets.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Requests the file.
    fn begin(&self) -> Result<Receiver<Result<Bytes>>> {
        let (sender, parts) = sync_channel(PARTS);
        let (store, path) = (self.store.clone(), self.path.clone());
        let answer = wait(async move { Ok(store.reader().get(&path).await?) })?;
        let size = answer.meta.size;
        drop(Pending::begin(async move {
            let (mut stream, mut read) = (answer.into_stream(), 0);
            loop {
                let part = stream.try_next().await.map_err(Failure::from).transpose();
                let part = match part {
                    Some(part) => part,
                    None if read == size => break,
                    None => Err(Failure::new(Cause::Other, "the connection ended early")),
                };
                let is_last = part.is_err();
                read += part.as_ref().map_or(0, |part| part.len() as u64);
                let sender = sender.clone();
                // A reader that is slower than the network makes this wait.
                let sent = tokio::task::spawn_blocking(move || sender.send(part).is_ok()).await;
                if is_last || !sent.unwrap_or(false) {
                    break;
                }
            }
            Ok(())
        }));
        Ok(parts)
    }
}

impl Read for Download {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.parts.is_none() {
            self.parts = Some(self.begin()?);
        }
        while self.rest.is_empty() {
            let Some(Ok(part)) = self.parts.as_ref().map(Receiver::recv) else { return Ok(0) };
            self.rest = part?;
        }
        let count = self.rest.len().min(into.len());
        self.rest.copy_to_slice(&mut into[..count]);
        Ok(count)
    }
}
