//! An object that was found, and ranges of it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta};

use crate::Result;
use crate::cache::{BLOCK, BLOCKS};
use crate::failure::{Cause, Failure};
use crate::runtime::{Pending, wait};
use crate::store::Store;

/// The number of bytes of the beginning that are read when an object is found. They show its format.
pub(crate) const START: u64 = 8;

/// The most bytes that are read by blocks, which the cache keeps: more than the footers of most Parquet files, and
/// half of the cache.
const MAX_CACHED: u64 = BLOCK * (BLOCKS as u64 / 2);

/// An object that was found. Cloning is cheap.
#[derive(Clone)]
pub struct Object(Arc<ObjectInner>);

struct ObjectInner {
    store: Store,
    path: Path,
    name: String,
    size: u64,
    version: Version,
    start: Bytes,
}

/// A version of an object: any write changes it.
#[derive(Clone, Debug, PartialEq)]
struct Version {
    e_tag: Option<String>,
    /// Seconds and nanoseconds since 1970; used where there is no tag.
    modified: (i64, u32),
}

impl Version {
    fn from_meta(meta: &ObjectMeta) -> Self {
        let modified = meta.last_modified;
        let modified = (modified.timestamp(), modified.timestamp_subsec_nanos());
        Self { e_tag: meta.e_tag.clone(), modified }
    }

    /// Whether it is the same version as `other`.
    fn is(&self, other: &Self) -> bool {
        match (&self.e_tag, &other.e_tag) {
            (Some(tag), Some(other)) => tag == other,
            (None, None) => self.modified == other.modified,
            _ => false,
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl Object {
    /// Creates an object from the answer to a request; `start` is its beginning.
    pub(crate) fn new(store: Store, path: Path, meta: &ObjectMeta, start: Bytes) -> Self {
        let name = store.display(path.as_ref());
        let version = Version::from_meta(meta);
        Self(Arc::new(ObjectInner { store, path, name, size: meta.size, version, start }))
    }

    /// Returns its address for people, without secrets.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns a text that no other object has. It may contain a secret.
    pub fn identity(&self) -> String {
        self.0.store.identity(self.0.path.as_ref())
    }

    /// Returns its size in bytes.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Returns its first 8 bytes, or fewer if it is smaller.
    pub fn start(&self) -> &[u8] {
        &self.0.start
    }

    /// Returns a text that identifies its version: the tag that the server gave it, otherwise the time of its
    /// last change.
    pub fn version(&self) -> String {
        let Version { e_tag, modified } = &self.0.version;
        match e_tag {
            Some(tag) => format!("etag {tag}"),
            None => format!("modified {}.{:09}", modified.0, modified.1),
        }
    }

    /// Returns `max` bytes from `offset` on, or fewer at the end.
    ///
    /// # Errors
    ///
    /// Fails with [`Cause::Changed`] if the object is no longer the same.
    pub fn read_at(&self, offset: u64, max: u64) -> Result<Bytes> {
        let end = offset.saturating_add(max).min(self.0.size);
        if offset >= end {
            return Ok(Bytes::new());
        }
        if end <= self.0.start.len() as u64 {
            return Ok(self.0.start.slice(offset as usize..end as usize));
        }
        let first = offset - offset % BLOCK;
        if end - first > MAX_CACHED {
            return wait(self.clone().fetch(offset..end));
        }
        let bytes = self.blocks(first..end)?;
        Ok(bytes.slice((offset - first) as usize..(end - first) as usize))
    }

    /// Returns the blocks with the bytes of `range`, which begins at a block: from the cache if all are there,
    /// otherwise by one request.
    fn blocks(&self, range: Range<u64>) -> Result<Bytes> {
        let ObjectInner { store, path, size, .. } = &*self.0;
        let places = range.clone().step_by(BLOCK as usize);
        let cached: Option<Vec<Bytes>> =
            places.clone().map(|place| store.cache().recent(path, place)).collect();
        if let Some(blocks) = cached {
            // Rejected rows are read one by one, most of them from one block.
            return Ok(match &*blocks {
                [block] => block.clone(),
                blocks => blocks.concat().into(),
            });
        }
        let end = range.end.next_multiple_of(BLOCK).min(*size);
        let bytes = wait(self.clone().fetch(range.start..end))?;
        for (place, block) in places.zip(bytes.chunks(BLOCK as usize)) {
            store.cache().insert(path, place, Bytes::copy_from_slice(block));
        }
        Ok(bytes)
    }

    /// Requests the beginning of the object, which will be read soon.
    pub fn prepare(&self) {
        let ObjectInner { store, path, size, .. } = &*self.0;
        if *size > 0 && store.cache().recent(path, 0).is_none() {
            let request = || Pending::begin(self.clone().fetch(0..BLOCK.min(*size)));
            store.cache().request(path, request);
        }
    }

    /// Caches the first block of `start`, the beginning of the object, if all of it was read.
    pub(crate) fn cache_first_block(&self, start: &Bytes) {
        if let Some(block) = start.get(..BLOCK.min(self.0.size) as usize) {
            self.0.store.cache().insert(&self.0.path, 0, Bytes::copy_from_slice(block));
        }
    }

    /// Begins to read a range.
    pub(crate) fn begin(&self, range: Range<u64>) -> Pending<Bytes> {
        let ObjectInner { store, path, size, .. } = &*self.0;
        if range == (0..BLOCK.min(*size)) {
            if let Some(block) = store.cache().recent(path, 0) {
                return Pending::ready(block);
            }
            if let Some(request) = store.cache().take(path) {
                return request;
            }
        }
        Pending::begin(self.clone().fetch(range))
    }

    /// Reads a range. The object must still be the same.
    async fn fetch(self, range: Range<u64>) -> Result<Bytes> {
        let ObjectInner { store, path, size, version, .. } = &*self.0;
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: version.e_tag.clone().filter(|tag| !tag.starts_with("W/")),
            ..GetOptions::default()
        };
        let gone = |failure: Failure| match failure.cause {
            Cause::NotFound | Cause::OnlyWhole => Failure::changed(),
            _ => failure,
        };
        let read = async {
            let answer = store.reader().get_opts(path, options).await?;
            // Some servers ignore the condition.
            if answer.meta.size != *size || !version.is(&Version::from_meta(&answer.meta)) {
                return Err(Failure::changed());
            }
            let length = (range.end - range.start) as usize;
            let mut bytes = BytesMut::with_capacity(length);
            let mut stream = answer.into_stream();
            while let Some(part) = stream.try_next().await? {
                bytes.extend_from_slice(&part);
            }
            if bytes.len() == length { Ok(bytes.freeze()) } else { Err(Failure::changed()) }
        };
        read.await.map_err(gone).map_err(|failure| failure.at(store.address()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;

    use super::*;
    use crate::window::Window;

    const SIZE: usize = 1 << 20;

    /// Creates an object whose bytes show where they are.
    fn object() -> (Object, Vec<u8>) {
        let bytes: Vec<u8> =
            (0..SIZE as u32 / 4).flat_map(|place| (4 * place).to_le_bytes()).collect();
        let (memory, path) = (Arc::new(InMemory::new()), Path::from("a"));
        let store = Store::in_memory(Arc::clone(&memory) as _);
        let (content, of) = (bytes.clone(), path.clone());
        let meta = wait(async move {
            memory.put(&of, content.into()).await?;
            Ok(memory.head(&of).await?)
        });
        let start = Bytes::copy_from_slice(&bytes[..START as usize]);
        (Object::new(store, path, &meta.expect("an object"), start), bytes)
    }

    #[test]
    fn ranges_of_several_blocks_are_the_same_from_the_cache() {
        let (object, bytes) = object();
        for (offset, max) in [(0, 9), (300_000, 9), (250_000, 30_000), (200_000, 400_000)] {
            for _ in 0..2 {
                let read = object.read_at(offset, max).expect("bytes");
                assert_eq!(read, bytes[offset as usize..][..max as usize], "{offset}");
            }
        }
        assert_eq!(object.read_at(SIZE as u64 - 9, 100).expect("bytes"), bytes[SIZE - 9..]);
    }

    #[test]
    fn only_a_whole_first_block_is_cached() {
        for read_first in [100, BLOCK, 3 * BLOCK - 7] {
            let (object, bytes) = object();
            let mut window = Window::new(&object, 0..read_first, [read_first; 2], [1; 2]);
            assert_eq!(window.some_at(0).expect("bytes"), bytes[..read_first as usize]);
            // The second block is in the cache, too.
            object.read_at(BLOCK, 9).expect("bytes");
            for (offset, max) in [(50, 1000), (BLOCK - 5, 10)] {
                let read = object.read_at(offset, max).expect("bytes");
                assert_eq!(read, bytes[offset as usize..][..max as usize], "{read_first}");
            }
        }
    }
}
