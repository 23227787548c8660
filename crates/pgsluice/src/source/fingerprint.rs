//! Fingerprint: tells whether an input is still the one that a load began with, without reading all of it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::time::UNIX_EPOCH;

use pgsluice_core::hash::bytes_extended;
use serde::{Deserialize, Serialize};

use super::{Input, Object, Stored};
use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// Bytes at each end of a file that are hashed.
const BLOCK: u64 = 64 << 10;

/// Facts about an input that are known before it is read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    /// Its name, as the user gave it.
    pub(crate) name: String,
    /// Its path in the file system, for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// `None` for a stream, whose blocks are compared as they arrive.
    file: Option<FileFacts>,
    /// The stream as a whole, once all of it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream: Option<StreamFacts>,
}

/// A stream as a whole. For batches, `bytes` counts rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamFacts {
    pub(crate) bytes: u64,
    /// The hash, in base 16.
    pub(crate) hash: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileFacts {
    size: u64,
    /// Nanoseconds since 1970, or the hash of a pipe's contents; empty for an object.
    modified: String,
    /// Hashes of the first and the last block, in base 16. For an object, `head` is its version.
    head: String,
    tail: String,
}

impl Fingerprint {
    /// Reads the fingerprints of all inputs.
    pub(crate) fn read_all(inputs: &[Input]) -> Result<Vec<Self>> {
        inputs.iter().map(Self::read).collect()
    }

    fn read(input: &Input) -> Result<Self> {
        let name = input.name.clone();
        let absolute = input.path().and_then(|path| std::path::absolute(path).ok());
        let path = absolute.map(|path| path.display().to_string());
        let read = |stored| match stored {
            Stored::File(path) => File::open(path).and_then(FileFacts::read),
            Stored::Object(object) => Ok(FileFacts::from_object(&**object)),
        };
        let file = input.stored().map(read).transpose();
        let mut file = file.map_err(|error| input.cannot_read(&error))?;
        // A pipe has no time of modification.
        if let (Some(file), Some(content)) = (&mut file, &input.content) {
            file.modified = format!("content {content}");
        }
        Ok(Self { name, path, file, stream: None })
    }

    /// Returns the JSON that the ledger has for inputs with this content, regardless of when they were
    /// written; `None` if one is a stream.
    pub(crate) fn content(inputs: &[Self]) -> Option<String> {
        let file = |input: &Self| {
            let FileFacts { size, head, tail, .. } = input.file.as_ref()?;
            Some(serde_json::json!({"file": {"size": size, "head": head, "tail": tail}}))
        };
        let files: Option<Vec<_>> = inputs.iter().map(file).collect();
        Some(serde_json::Value::from(files?).to_string())
    }

    /// Returns a hash of the content of the inputs that does not depend on their order; `None` if one is a
    /// stream.
    pub(crate) fn content_hash(inputs: &[Self]) -> Option<u64> {
        let file = |input: &Self| input.file.as_ref().map(FileFacts::content);
        let mut files: Vec<String> = inputs.iter().map(file).collect::<Option<_>>()?;
        files.sort();
        Some(bytes_extended(files.join(",").as_bytes(), 0))
    }

    /// Rejects inputs that differ from `before`, the inputs that the load began with.
    pub(crate) fn check(before: &[Self], now: &[Self]) -> Result<()> {
        if before.len() != now.len() {
            let (before, now) = (before.len(), now.len());
            return Err(changed(format!("The number of inputs was {before} and is now {now}")));
        }
        match before.iter().zip(now).find(|(before, now)| before.file != now.file) {
            None => Ok(()),
            Some((before, now)) => Err(changed(match (&before.file, &now.file) {
                (Some(before), Some(after)) if before.size != after.size => {
                    let (name, before, after) = (&now.name, before.size, after.size);
                    format!("{name} had {before} bytes and now has {after}")
                }
                (Some(_), Some(_)) if before.name == now.name => {
                    format!("{} was modified", now.name)
                }
                _ => format!("{} replaces {}, which the load began with", now.name, before.name),
            })),
        }
    }
}

impl Fingerprint {
    /// Returns this fingerprint with the description of a whole stream.
    pub(crate) fn with_stream(&self, stream: Option<StreamFacts>) -> Self {
        Self { stream, ..self.clone() }
    }

    /// Rejects streams that differ from `before`, the streams of the load when it finished.
    pub(crate) fn check_streams(before: &[Self], now: &[Self], inputs: &[Input]) -> Result<()> {
        let differs = |((before, now), _): &((&Self, &Self), _)| before.stream != now.stream;
        match before.iter().zip(now).zip(inputs).find(differs) {
            None => Ok(()),
            Some(((Self { stream: before, .. }, Self { name, stream: now, .. }), input)) => {
                let length =
                    |stream: &Option<StreamFacts>| stream.as_ref().map_or(0, |it| it.bytes);
                let unit = input.counted_by();
                Err(changed(match (length(before), length(now)) {
                    (before, now) if before == now => format!("{name} has other contents"),
                    (before, now) => format!("{name} had {before} {unit}s and now has {now}"),
                }))
            }
        }
    }
}

/// Returns the error for an input that changed since the load began, with the reason.
pub(crate) fn changed(how: impl AsRef<str>) -> Error {
    differs().with_detail(format!("{}.", how.as_ref()))
}

/// Returns the error for an input that changed since the load began.
pub(crate) fn differs() -> Error {
    Error::new(Kind::Input, "the input differs from the one that this load began with")
        .with_sqlstate("55000")
}

impl FileFacts {
    fn content(&self) -> String {
        let Self { size, head, tail, modified: _ } = self;
        format!("{size} {head} {tail}")
    }

    /// Returns the facts about an object. Its version stands for its content, which is not read.
    fn from_object(object: &dyn Object) -> Self {
        let (size, head) = (object.size(), object.version());
        Self { size, modified: String::new(), head, tail: String::new() }
    }

    fn read(mut file: File) -> std::io::Result<Self> {
        let metadata = file.metadata()?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let size = metadata.len();
        let head = hash(&mut file)?;
        file.seek(SeekFrom::Start(size.saturating_sub(BLOCK)))?;
        let tail = hash(&mut file)?;
        Ok(Self { size, modified: modified.as_nanos().to_string(), head, tail })
    }
}

/// Hashes the next block.
fn hash(file: &mut File) -> std::io::Result<String> {
    let mut block = Vec::new();
    file.take(BLOCK).read_to_end(&mut block)?;
    Ok(format!("{:016x}", bytes_extended(&block, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_size_its_time_and_its_ends() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("rows");
        let long = vec![b'x'; 3 * BLOCK as usize];
        let look = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("a file");
            let time = UNIX_EPOCH + std::time::Duration::from_secs(1);
            File::options()
                .append(true)
                .open(&path)
                .and_then(|file| file.set_modified(time))
                .expect("a time");
            Fingerprint::read_all(&super::super::Inputs::resolve([path.display().to_string()])?)
        };
        let before = look(&long).expect("a fingerprint");
        assert!(Fingerprint::check(&before, &look(&long).expect("the same")).is_ok());
        for place in [0, long.len() - 1] {
            let mut other = long.clone();
            other[place] = b'y';
            let refused = Fingerprint::check(&before, &look(&other).expect("another"));
            assert!(refused.expect_err("changed").to_string().contains("rows was modified"));
        }
        let refused = Fingerprint::check(&before, &look(b"x").expect("another"));
        assert!(
            refused.expect_err("changed").to_string().contains("had 196608 bytes and now has 1")
        );
        let mut renamed = look(&[b'y'; 3 * BLOCK as usize]).expect("another");
        renamed[0].name = "other".to_owned();
        let refused = Fingerprint::check(&before, &renamed).expect_err("changed").to_string();
        assert!(refused.contains("other replaces ") && refused.contains("rows"), "{refused}");
        assert!(Fingerprint::check(&before, &[]).is_err());
    }
}
