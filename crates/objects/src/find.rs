//! Looks up objects by their names and prefixes.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStoreExt};

use crate::Result;
use crate::download::Download;
use crate::failure::{Cause, Failure};
use crate::object::{Object, START};
use crate::runtime::wait;
use crate::store::Store;

/// The number of objects that are looked up at the same time.
const LOOKUPS: usize = 32;

/// The objects directly below a prefix, by the last parts of their names.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    /// Objects.
    pub files: Vec<String>,
    /// Prefixes.
    pub folders: Vec<String>,
}

/// An object that was found.
#[derive(Debug)]
pub enum Opened {
    /// It can be read from any place.
    Object(Object),
    /// Its server sends only the whole of it.
    Download(Download),
}

impl Store {
    /// Finds an object by its name. Returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be reached, or does not answer the request.
    pub fn object(&self, key: &str) -> Result<Option<Opened>> {
        wait(self.clone().open(path(key)?)).map_err(|failure| failure.at(self.address()))
    }

    /// Finds several objects by their listed names, in the same order. Leaves out empty objects that stand for
    /// directories: their names end in a slash, which lists do not show.
    ///
    /// # Errors
    ///
    /// Fails if one of them does not exist, or cannot be read.
    pub fn objects(&self, keys: &[String]) -> Result<Vec<Opened>> {
        let paths = keys.iter().map(|key| path(key)).collect::<Result<Vec<_>>>()?;
        let store = self.clone();
        wait(async move {
            let open = |path: Path| {
                let store = store.clone();
                async move {
                    let name = store.display(path.as_ref());
                    match store.clone().open(path.clone()).await? {
                        None if !store.is_directory(&path).await? => {
                            Err(Failure::new(Cause::NotFound, format!("\"{name}\" was removed")))
                        }
                        opened => Ok(opened),
                    }
                }
            };
            let opened: Vec<Option<Opened>> =
                stream::iter(paths).map(open).buffered(LOOKUPS).try_collect().await?;
            Ok(opened.into_iter().flatten().collect())
        })
        .map_err(|failure: Failure| failure.at(self.address()))
    }

    /// Lists the objects and the prefixes directly below a prefix, sorted by name.
    ///
    /// # Errors
    ///
    /// Fails if the bucket does not exist, or the credentials do not allow to list it.
    pub fn folder(&self, prefix: &str) -> Result<Folder> {
        let (prefix, store) = (path(prefix)?, self.clone());
        let own = prefix.clone();
        let mut listed =
            wait(async move { Ok(store.finder().list_with_delimiter(Some(&prefix)).await?) })
                .map_err(|failure| failure.at(self.address()))?;
        // The name of an empty object for the prefix itself, without its slash.
        listed.objects.retain(|object| object.location != own);
        let last = |path: &Path| path.filename().unwrap_or_default().to_owned();
        let mut folders: Vec<String> = listed.common_prefixes.iter().map(last).collect();
        let files = listed.objects.iter().map(|object| (last(&object.location), object.size));
        // Some tools store an empty object for each directory.
        let is_file = |(name, size): &(String, u64)| *size > 0 || !folders.contains(name);
        let mut files: Vec<String> = files.filter(is_file).map(|(name, _)| name).collect();
        files.sort();
        folders.sort();
        Ok(Folder { files, folders })
    }

    /// Lists the names of all objects below a prefix, sorted.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::folder`] does.
    pub fn below(&self, prefix: &str) -> Result<Vec<String>> {
        let (prefix, store) = (path(prefix)?, self.clone());
        let listed = wait(async move {
            let listed = store.finder().list(Some(&prefix));
            Ok(listed
                .map_ok(|object| (object.location.to_string(), object.size))
                .try_collect()
                .await?)
        });
        let mut listed: Vec<(String, u64)> =
            listed.map_err(|failure: Failure| failure.at(self.address()))?;
        listed.sort();
        let is_folder = |place: usize, name: &str| {
            let rest = listed[place + 1..].iter().map(|(other, _)| other);
            rest.take_while(|other| other.starts_with(name))
                .any(|other| other[name.len()..].starts_with('/'))
        };
        let keys = listed.iter().enumerate();
        let keys = keys.filter(|(place, (name, size))| *size > 0 || !is_folder(*place, name));
        Ok(keys.map(|(_, (name, _))| name.clone()).collect())
    }

    /// Whether there is an empty object that stands for a directory.
    async fn is_directory(&self, path: &Path) -> Result<bool> {
        let first = self.finder().list(Some(path)).try_next().await?;
        Ok(first.is_some_and(|object| object.location == *path))
    }

    async fn open(self, path: Path) -> Result<Option<Opened>> {
        let range = Some(GetRange::Bounded(0..START));
        let answer =
            self.finder().get_opts(&path, GetOptions { range, ..Default::default() }).await;
        let (meta, start) = match answer.map_err(Failure::from) {
            // Nothing would show that the object has changed between two ranges.
            Ok(answer)
                if answer.meta.e_tag.is_none() && answer.meta.last_modified.timestamp() == 0 =>
            {
                return Ok(Some(Opened::Download(Download::new(self, path))));
            }
            Ok(answer) => (answer.meta.clone(), answer.bytes().await?),
            Err(failure) => match failure.cause {
                Cause::NotFound => return Ok(None),
                Cause::OnlyWhole => return Ok(Some(Opened::Download(Download::new(self, path)))),
                // No range of an empty object can be read. A signed URL does not allow HEAD.
                Cause::Changed => {
                    let whole = self.finder().get(&path).await?;
                    if whole.meta.size > 0 {
                        return Err(Failure::changed());
                    }
                    (whole.meta, Bytes::new())
                }
                _ => return Err(failure),
            },
        };
        Ok(Some(Opened::Object(Object::new(self, path, &meta, start))))
    }
}

fn path(key: &str) -> Result<Path> {
    Ok(Path::parse(key).map_err(object_store::Error::from)?)
}
