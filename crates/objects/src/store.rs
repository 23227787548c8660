//! A bucket, a container or an HTTP server, and the objects in it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use object_store::client::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use object_store::{HeaderMap, HeaderValue};
use reqwest::header::AUTHORIZATION;

use crate::address::{Address, Service};
use crate::cache::Cache;
use crate::credential::{Provide, Provider};
use crate::failure::{Cause, Failure};
use crate::runtime::choose_cryptography;
use crate::{Result, aws, azure};

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
pub struct Store(Arc<StoreInner>);

struct StoreInner {
    address: Address,
    /// For looking up objects, and for reading them.
    clients: [Arc<dyn ObjectStore>; 2],
    cache: Cache,
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
    pub fn from_address(address: &Address, provide: Option<&Arc<Provide>>) -> Result<Self> {
        choose_cryptography();
        let settings = match address.service {
            Service::S3 => Some(aws::BucketSettings::find(&address.bucket, provide)?),
            _ => None,
        };
        let client = |retries| client(address, settings.as_ref(), provide, retry(retries));
        let [first, all] = RETRIES.map(client);
        let clients = [first?, all?];
        Ok(Self(Arc::new(StoreInner {
            address: address.clone(),
            clients,
            cache: Cache::default(),
        })))
    }

    /// Returns a store with objects in memory.
    #[cfg(test)]
    pub(crate) fn in_memory(objects: Arc<dyn ObjectStore>) -> Self {
        let address = Address::parse("s3://bucket/").and_then(std::result::Result::ok);
        let (address, clients) = (address.expect("an address"), [Arc::clone(&objects), objects]);
        Self(Arc::new(StoreInner { address, clients, cache: Cache::default() }))
    }

    /// Returns the address of a key for people, without secrets.
    pub fn display(&self, key: &str) -> String {
        self.0.address.display(key)
    }

    /// Returns a text that no other object has. It may contain a secret.
    pub(crate) fn identity(&self, key: &str) -> String {
        let Address { bucket, login, account, .. } = &self.0.address;
        let [login, account] = [login, account].map(|part| part.as_deref().unwrap_or_default());
        format!("{} {login} {account} {bucket} {key}", self.0.address.display(""))
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

    /// Returns the client that looks up objects.
    pub(crate) fn finder(&self) -> &dyn ObjectStore {
        &*self.0.clients[0]
    }
}

fn retry(max_retries: usize) -> RetryConfig {
    let backoff = BackoffConfig::default();
    RetryConfig { backoff, max_retries, retry_timeout: Duration::from_secs(180) }
}

fn client(
    address: &Address,
    settings: Option<&aws::BucketSettings>,
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
