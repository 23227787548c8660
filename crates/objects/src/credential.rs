//! Credentials that a program gives, such as the `credential_process` of an AWS profile.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use object_store::azure::{AzureAccessKey, AzureCredential};
use object_store::gcp::GcpCredential;
use tokio::sync::Mutex;

use crate::failure::{Cause, Failure};

/// The time before the end of a credential at which a new one is asked for.
const EARLY: TimeDelta = TimeDelta::minutes(5);

/// A credential.
#[derive(Clone, Default)]
pub struct Credential {
    /// Its parts by name: `access_key_id`, `secret_access_key` and, for a temporary one, `token` for S3; `token`
    /// for Google; `account_key`, `sas_token` or `token` for Azure.
    pub parts: BTreeMap<String, String>,
    /// The time until which it is valid, in seconds since 1970; `None` if it has no end.
    pub expires_at: Option<i64>,
}

/// Gives a credential, or the reason why there is none. It may take its time.
pub type Provide = dyn Fn() -> Result<Credential, String> + Send + Sync;

impl Credential {
    fn part(&self, name: &str) -> Result<String, String> {
        self.parts.get(name).cloned().ok_or_else(|| format!("the credential has no {name}"))
    }
}

/// A credential that a service understands.
pub(crate) trait ServiceCredential: Sized + Send + Sync + 'static {
    fn from_credential(credential: &Credential) -> Result<Self, String>;
}

impl ServiceCredential for AwsCredential {
    fn from_credential(credential: &Credential) -> Result<Self, String> {
        Ok(Self {
            key_id: credential.part("access_key_id")?,
            secret_key: credential.part("secret_access_key")?,
            token: credential.part("token").ok(),
        })
    }
}

impl ServiceCredential for GcpCredential {
    fn from_credential(credential: &Credential) -> Result<Self, String> {
        Ok(Self { bearer: credential.part("token")? })
    }
}

impl ServiceCredential for AzureCredential {
    fn from_credential(credential: &Credential) -> Result<Self, String> {
        if let Ok(key) = credential.part("account_key") {
            let invalid = |_| "the account_key is not valid".to_owned();
            return AzureAccessKey::try_new(&key).map(Self::AccessKey).map_err(invalid);
        }
        if let Ok(token) = credential.part("sas_token") {
            let pairs = url::form_urlencoded::parse(token.trim_start_matches('?').as_bytes());
            return Ok(Self::SASToken(pairs.into_owned().collect()));
        }
        credential.part("token").map(Self::BearerToken)
    }
}

/// Asks a program for credentials, each time that the last one is about to end.
pub(crate) struct Provider<C> {
    provide: Arc<Provide>,
    last: Mutex<Option<ValidCredential<C>>>,
}

/// A credential, and the time until which it is valid.
type ValidCredential<C> = (Arc<C>, Option<DateTime<Utc>>);

impl<C> Provider<C> {
    pub(crate) fn new(provide: Arc<Provide>) -> Self {
        Self { provide, last: Mutex::default() }
    }
}

/// Hides the credential.
impl<C> fmt::Debug for Provider<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Provider")
    }
}

#[async_trait]
impl<C: ServiceCredential> CredentialProvider for Provider<C> {
    type Credential = C;

    async fn get_credential(&self) -> object_store::Result<Arc<C>> {
        let mut last = self.last.lock().await;
        if let Some((credential, end)) = &*last
            && end.is_none_or(|end| Utc::now() + EARLY < end)
        {
            return Ok(Arc::clone(credential));
        }
        let provide = Arc::clone(&self.provide);
        let given = tokio::task::spawn_blocking(move || provide()).await;
        let given = given.map_err(|source| object_store::Error::JoinError { source })?;
        let failed = |reason| object_store::Error::Generic {
            store: "credentials",
            source: Box::new(Failure::new(Cause::Provider, reason)),
        };
        let given = given.map_err(failed)?;
        let credential = Arc::new(C::from_credential(&given).map_err(failed)?);
        let end = given.expires_at.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
        *last = Some((Arc::clone(&credential), end));
        Ok(credential)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

    use super::*;
    use crate::runtime::wait;

    #[test]
    fn a_credential_is_asked_for_again_before_its_end() {
        let calls = Arc::new(AtomicI64::new(0));
        let counted = Arc::clone(&calls);
        let provider = Arc::new(Provider::<GcpCredential>::new(Arc::new(move || {
            let call = counted.fetch_add(1, Relaxed);
            let parts = BTreeMap::from([("token".to_owned(), call.to_string())]);
            // The first one ends too early.
            let expires_at = Some(Utc::now().timestamp() + 60 + call * 3600);
            Ok(Credential { parts, expires_at })
        })));
        for bearer in ["0", "1", "1"] {
            let provider = Arc::clone(&provider);
            let given = wait(async move { Ok(provider.get_credential().await?) }).expect("a token");
            assert_eq!(given.bearer, bearer);
        }
    }

    #[test]
    fn missing_keys_are_named() {
        let provider = Provider::<AwsCredential>::new(Arc::new(|| Ok(Credential::default())));
        let failure =
            wait(async move { Ok(provider.get_credential().await?) }).expect_err("no key");
        assert_eq!(failure.to_string(), "the credential has no access_key_id");
        let provider = Provider::<AzureCredential>::new(Arc::new(|| Err("no network".to_owned())));
        let failure =
            wait(async move { Ok(provider.get_credential().await?) }).expect_err("no key");
        assert_eq!(failure.to_string(), "no network");
    }
}
