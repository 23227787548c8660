//! A bucket, a container or an HTTP server, and the objects in it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::client::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, ObjectStore, ObjectStoreExt, RetryConfig,
};
use object_store::{HeaderMap, HeaderValue};
use reqwest::header::AUTHORIZATION;

use crate::address::{Address, Service};
use crate::cache::Cache;
use crate::credential::{Provide, Provider};
use crate::download::Download;
use crate::failure::{Cause, Failure};
use crate::object::{Object, START};
use crate::runtime::{choose_cryptography, wait};
use crate::{Result, aws, azure};

/// The number of objects that are looked up at the same time.
const LOOKUPS: usize = 32;

/// The settings of all clients, unless the environment has others, such as `AWS_READ_TIMEOUT`. A connection that brings nothing during the read timeout is
/// given up, and the request is repeated. The length of a request is not limited.
const CLIENT: [(ClientConfigKey, &str); 4] = [
    (ClientConfigKey::ConnectTimeout, "10 seconds"),
    (ClientConfigKey::ReadTimeout, "30 seconds"),
    (ClientConfigKey::Timeout, "1 day"),
    (ClientConfigKey::UserAgent, concat!("pgsluice/", env!("CARGO_PKG_VERSION"))),
];

/// The number of times that a request is repeated. The first requests are answered by people who wait: a host
/// that does not exist should not take long.
const RETRIES: [usize; 2] = [3, 10];

/// A bucket, a container or an HTTP server. Cloning is cheap.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    address: Address,
    /// For looking up objects, and for reading them.
    clients: [Arc<dyn ObjectStore>; 2],
    cache: Cache,
}

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

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.address.fmt(f)
    }
}

impl Store {
    /// Returns the store with an address. `provide` gives the credentials; without it, they come from the
    /// environment, as in the tools of each service.
    ///
    /// # Errors
    ///
    /// Fails if the settings in the environment are invalid, or there are no credentials.
    pub fn of(address: &Address, provide: Option<&Arc<Provide>>) -> Result<Self> {
        choose_cryptography();
        let settings = match address.service {
            Service::S3 => Some(aws::Settings::find(&address.bucket, provide)?),
            _ => None,
        };
        let client = |retries| client(address, settings.as_ref(), provide, retry(retries));
        let [first, all] = RETRIES.map(client);
        let clients = [first?, all?];
        Ok(Self(Arc::new(Inner { address: address.clone(), clients, cache: Cache::default() })))
    }

    /// Returns the address of a key for people, without secrets.
    pub fn shown(&self, key: &str) -> String {
        self.0.address.shown(key)
    }

    /// Returns a text that no other object has. It may contain a secret.
    pub(crate) fn identity(&self, key: &str) -> String {
        let Address { bucket, login, account, .. } = &self.0.address;
        let [login, account] = [login, account].map(|part| part.as_deref().unwrap_or_default());
        format!("{} {login} {account} {bucket} {key}", self.0.address.shown(""))
    }

    pub(crate) fn address(&self) -> &Address {
        &self.0.address
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.0.cache
    }

    /// Returns the client that reads objects.
    pub(crate) fn reader(&self) -> &dyn ObjectStore {
        &*self.0.clients[1]
    }

    fn finder(&self) -> &dyn ObjectStore {
        &*self.0.clients[0]
    }

    /// Finds an object by its name. Returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be reached, or does not answer the request.
    pub fn object(&self, key: &str) -> Result<Option<Opened>> {
        wait(self.clone().open(path(key)?)).map_err(|failure| failure.at(&self.0.address))
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
                    let name = store.shown(path.as_ref());
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
        .map_err(|failure: Failure| failure.at(&self.0.address))
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
                .map_err(|failure| failure.at(&self.0.address))?;
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
            listed.map_err(|failure: Failure| failure.at(&self.0.address))?;
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

fn retry(max_retries: usize) -> RetryConfig {
    let backoff = BackoffConfig::default();
    RetryConfig { backoff, max_retries, retry_timeout: Duration::from_secs(180) }
}

fn client(
    address: &Address,
    settings: Option<&aws::Settings>,
    provide: Option<&Arc<Provide>>,
    retry: RetryConfig,
) -> Result<Arc<dyn ObjectStore>> {
    Ok(match (address.service, settings) {
        (Service::S3, Some(settings)) => {
            Arc::new(settings.builder(&CLIENT).with_retry(retry).build()?)
        }
        (Service::Google | Service::S3, _) => {
            Arc::new(google(address, provide).with_retry(retry).build()?)
        }
        (Service::Azure, _) => {
            Arc::new(azure::builder(address, &CLIENT, provide)?.with_retry(retry).build()?)
        }
        (Service::Http, _) => {
            let options = CLIENT.iter().fold(ClientOptions::new(), |options, (key, value)| {
                options.with_config(*key, *value)
            });
            let options = match &address.login {
                Some(login) => options.with_default_headers(authorization(login)?),
                None => options,
            };
            // Whoever writes http:// means it.
            let options = options.with_allow_http(address.bucket.starts_with("http:"));
            let builder = HttpBuilder::new().with_url(&address.bucket);
            Arc::new(builder.with_client_options(options).with_retry(retry).build()?)
        }
    })
}

/// Returns the header that logs in to an HTTP server: RFC 7617. It is not sent on to a server that the request is
/// redirected to.
fn authorization(login: &str) -> Result<HeaderMap> {
    let value = HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(login)));
    let invalid = |_| Failure::new(Cause::Name, "its name or password cannot be sent");
    let mut value = value.map_err(invalid)?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(AUTHORIZATION, value)]))
}

/// Returns the settings for Google Cloud Storage. Like Google's libraries, it reads `STORAGE_EMULATOR_HOST`.
fn google(address: &Address, provide: Option<&Arc<Provide>>) -> GoogleCloudStorageBuilder {
    let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(&address.bucket);
    let builder = CLIENT.iter().fold(builder, |builder, (key, value)| {
        let key = GoogleConfigKey::Client(*key);
        match builder.get_config_value(&key) {
            None => builder.with_config(key, *value),
            Some(_) => builder,
        }
    });
    let builder = match provide {
        Some(provide) => builder.with_credentials(Arc::new(Provider::new(Arc::clone(provide)))),
        None => builder,
    };
    match std::env::var("STORAGE_EMULATOR_HOST") {
        Ok(host) if !host.is_empty() => {
            let url = if host.contains("://") { host } else { format!("http://{host}") };
            let allow = GoogleConfigKey::Client(ClientConfigKey::AllowHttp);
            builder.with_base_url(&url).with_config(allow, "true").with_skip_signature(true)
        }
        _ => builder,
    }
}
