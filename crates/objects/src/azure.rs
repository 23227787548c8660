//! Settings for Azure Blob Storage, as Azure's tools read them from the environment.

use std::sync::Arc;

use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::ClientConfigKey;

use crate::Result;
use crate::address::Address;
use crate::credential::{Provide, Provider};
use crate::failure::{Cause, Failure};

/// Returns the settings for a container, from the environment, including
/// `AZURE_STORAGE_CONNECTION_STRING`, which the library does not read. `provide` gives the credentials, if it is
/// there.
pub(crate) fn builder(
    address: &Address,
    client: &[(ClientConfigKey, &str)],
    provide: Option<&Arc<Provide>>,
) -> Result<MicrosoftAzureBuilder> {
    let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(&address.bucket);
    for (variable, key) in [
        ("AZURE_STORAGE_ACCOUNT", AzureConfigKey::AccountName),
        ("AZURE_STORAGE_KEY", AzureConfigKey::AccessKey),
    ] {
        if let Ok(value) = std::env::var(variable) {
            builder = builder.with_config(key, value);
        }
    }
    if let Ok(text) = std::env::var("AZURE_STORAGE_CONNECTION_STRING") {
        for (key, value) in pairs(&text) {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(account) = &address.account {
        builder = builder.with_account(account);
    }
    for (key, value) in client {
        let key = AzureConfigKey::Client(*key);
        if builder.get_config_value(&key).is_none() {
            builder = builder.with_config(key, *value);
        }
    }
    if builder.get_config_value(&AzureConfigKey::AccountName).is_none()
        && builder.get_config_value(&AzureConfigKey::UseEmulator).is_none_or(|it| it == "false")
    {
        return Err(Failure::new(Cause::Credentials, "the storage account is not known")
            .with_hint("Set AZURE_STORAGE_ACCOUNT_NAME."));
    }
    if let Some(provide) = provide {
        builder = builder.with_credentials(Arc::new(Provider::new(Arc::clone(provide))));
    }
    let is_plain = |value: String| value.starts_with("http://");
    if builder.get_config_value(&AzureConfigKey::Endpoint).is_some_and(is_plain) {
        builder = builder.with_allow_http(true);
    }
    Ok(builder)
}

/// Returns the settings in a connection string that matter here.
fn pairs(text: &str) -> Vec<(AzureConfigKey, &str)> {
    let key = |name: &str| match name {
        "AccountName" => Some(AzureConfigKey::AccountName),
        "AccountKey" => Some(AzureConfigKey::AccessKey),
        "SharedAccessSignature" => Some(AzureConfigKey::SasKey),
        "BlobEndpoint" => Some(AzureConfigKey::Endpoint),
        _ => None,
    };
    let pairs = text.split(';').filter_map(|pair| pair.split_once('='));
    pairs.filter_map(|(name, value)| Some((key(name.trim())?, value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_strings_are_read() {
        let text = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5==;BlobEndpoint=http://h/a;";
        assert_eq!(
            pairs(text),
            [
                (AzureConfigKey::AccountName, "a"),
                (AzureConfigKey::AccessKey, "a2V5=="),
                (AzureConfigKey::Endpoint, "http://h/a"),
            ]
        );
    }
}
