//! Settings and credentials for Amazon S3, as the AWS command line finds them: in the environment, in the files
//! of `aws configure`, or from a program. The library finds the credentials of containers and machines.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use configparser::ini::Ini;
use object_store::aws::{
    AmazonS3Builder, AmazonS3ConfigKey, AwsCredential, AwsCredentialProvider, resolve_bucket_region,
};
use object_store::client::ClientConfigKey;
use object_store::{ClientOptions, StaticCredentialProvider};
use serde::Deserialize;

use crate::Result;
use crate::credential::{Credential, Provide, Provider};
use crate::failure::{Cause, Failure};
use crate::runtime::wait;

/// The region of servers that have none.
const DEFAULT_REGION: &str = "us-east-1";

/// Settings for a bucket, found once.
#[derive(Clone)]
pub(crate) struct BucketSettings {
    bucket: String,
    credentials: Option<AwsCredentialProvider>,
    region: String,
    endpoint: Option<String>,
}

impl BucketSettings {
    /// Finds the settings for a bucket. `provide` gives the credentials, if it is there.
    pub(crate) fn find(bucket: &str, provide: Option<&Arc<Provide>>) -> Result<Self> {
        let profile = Profile::find()?;
        let of_profile = |key: &str| profile.as_ref().and_then(|profile| profile.get(key));
        let has_own = ["AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SKIP_SIGNATURE"]
            .iter()
            .any(|name| variable(name).is_some());
        let credentials: Option<AwsCredentialProvider> = match (provide, &profile) {
            (Some(provide), _) => Some(Arc::new(Provider::new(Arc::clone(provide)))),
            (None, Some(profile)) if !has_own => profile.credentials()?,
            _ => None,
        };
        let endpoint = variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
        let endpoint = endpoint.or_else(|| of_profile("endpoint_url"));
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = match region.or_else(|| of_profile("region")) {
            Some(region) => region,
            None if endpoint.is_some() => DEFAULT_REGION.to_owned(),
            None => region_of(bucket)?,
        };
        Ok(Self { bucket: bucket.to_owned(), credentials, region, endpoint })
    }

    /// Returns the settings for the library.
    pub(crate) fn builder(&self, client: &[(ClientConfigKey, &str)]) -> AmazonS3Builder {
        let Self { bucket, credentials, region, endpoint } = self;
        let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_region(region);
        for (key, value) in client {
            let key = AmazonS3ConfigKey::Client(*key);
            if builder.get_config_value(&key).is_none() {
                builder = builder.with_config(key, *value);
            }
        }
        if let Some(credentials) = credentials {
            builder = builder.with_credentials(Arc::clone(credentials));
        }
        if let Some(endpoint) = endpoint {
            // Whoever sets such an endpoint means it.
            builder = builder.with_endpoint(endpoint);
            if endpoint.starts_with("http://") {
                builder = builder.with_allow_http(true);
            }
        }
        builder
    }
}

/// Asks Amazon for the region of a bucket.
fn region_of(bucket: &str) -> Result<String> {
    let bucket = bucket.to_owned();
    let found =
        wait(async move { Ok(resolve_bucket_region(&bucket, &ClientOptions::new()).await?) });
    // Then the request itself will fail, with a clearer reason.
    Ok(found.unwrap_or_else(|_| DEFAULT_REGION.to_owned()))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A profile of `aws configure`.
#[derive(Debug)]
struct Profile {
    name: String,
    /// Its sections in the files with settings and with credentials.
    sections: Vec<Section>,
}

impl Profile {
    /// Reads the profile that `AWS_PROFILE` names, or the default one if there is any.
    fn find() -> Result<Option<Self>> {
        let wanted = variable("AWS_PROFILE").or_else(|| variable("AWS_DEFAULT_PROFILE"));
        let name = wanted.clone().unwrap_or_else(|| "default".to_owned());
        let section = if name == "default" { name.clone() } else { format!("profile {name}") };
        let config = section_of(file("AWS_CONFIG_FILE", "config"), &section)?;
        let keys = section_of(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), &name)?;
        let sections: Vec<Section> = keys.into_iter().chain(config).collect();
        match (sections.is_empty(), wanted) {
            (false, _) => Ok(Some(Self { name, sections })),
            (true, None) => Ok(None),
            (true, Some(name)) => {
                let reason = format!("the AWS profile \"{name}\" does not exist");
                let error = Failure::new(Cause::Credentials, reason);
                Err(error.with_hint("List the profiles: aws configure list-profiles"))
            }
        }
    }

    fn get(&self, key: &str) -> Option<String> {
        self.sections.iter().find_map(|section| section.get(key)?.clone())
    }

    /// Returns the credentials of the profile; `None` if it has only other settings.
    fn credentials(&self) -> Result<Option<AwsCredentialProvider>> {
        if let (Some(key_id), Some(secret_key)) =
            (self.get("aws_access_key_id"), self.get("aws_secret_access_key"))
        {
            let token = self.get("aws_session_token");
            let credential = AwsCredential { key_id, secret_key, token };
            return Ok(Some(Arc::new(StaticCredentialProvider::new(credential))));
        }
        if let Some(command) = self.get("credential_process") {
            let provide: Arc<Provide> = Arc::new(move || run(&command));
            return Ok(Some(Arc::new(Provider::new(provide))));
        }
        let other =
            ["sso_session", "sso_start_url", "role_arn"].iter().find(|key| self.get(key).is_some());
        let Some(other) = other else { return Ok(None) };
        let name = &self.name;
        let what = if *other == "role_arn" { "a role" } else { "single sign-on" };
        let reason = format!(
            "the AWS profile \"{name}\" uses {what}, which only the AWS command line supports"
        );
        let export =
            format!("eval \"$(aws configure export-credentials --profile {name} --format env)\"");
        Err(Failure::new(Cause::Credentials, reason)
            .with_hint(format!("Export its credentials: {export}")))
    }
}

/// Returns the path of a file of `aws configure`.
fn file(name: &str, default: &str) -> Option<PathBuf> {
    let home = || Some(PathBuf::from(variable("HOME")?).join(".aws").join(default));
    variable(name).map(PathBuf::from).or_else(home)
}

/// Reads a section of a file, if there are both.
fn section_of(path: Option<PathBuf>, name: &str) -> Result<Option<Section>> {
    let Some(path) = path else { return Ok(None) };
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(None) };
    // Nested settings, such as those of `s3 =`, are indented.
    let lines = text.lines().filter(|line| !line.starts_with([' ', '\t']));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let mut file = Ini::new_cs();
    let mut defaults = file.defaults();
    defaults.delimiters = vec!['='];
    defaults.comment_symbols = vec!['#', ';'];
    // A program may have them in its arguments.
    defaults.inline_comment_symbols = Some(Vec::new());
    file.load_defaults(defaults);
    let invalid = |error: String| {
        Failure::new(Cause::Credentials, format!("could not read {}: {error}", path.display()))
    };
    Ok(file.read(text).map_err(invalid)?.remove(name))
}

/// The settings in a section of a file, by their names.
type Section = HashMap<String, Option<String>>;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
    expiration: Option<DateTime<Utc>>,
}

/// Runs a program that prints credentials:
/// <https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html>. An error does not quote
/// what it printed.
fn run(command: &str) -> std::result::Result<Credential, String> {
    let output = std::process::Command::new("sh").args(["-c", command]).output();
    let output =
        output.map_err(|error| format!("could not run the credential_process: {error}"))?;
    if !output.status.success() {
        return Err(format!("the credential_process failed: {}", output.status));
    }
    let invalid = |_| "the credential_process did not print credentials".to_owned();
    let printed: Printed = serde_json::from_slice(&output.stdout).map_err(invalid)?;
    let parts = [
        ("access_key_id", Some(printed.access_key_id)),
        ("secret_access_key", Some(printed.secret_access_key)),
        ("token", printed.session_token),
    ];
    let parts = parts.into_iter().filter_map(|(name, part)| Some((name.to_owned(), part?)));
    let expires_at = printed.expiration.map(|end| end.timestamp());
    Ok(Credential { parts: parts.collect(), expires_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(text: &str, name: &str) -> Profile {
        let file = std::env::temp_dir().join(format!("pgsluice-aws-{}-{name}", std::process::id()));
        std::fs::write(&file, text).expect("a file");
        let section = section_of(Some(file.clone()), name);
        let _ = std::fs::remove_file(file);
        let sections = section.expect("a valid file").into_iter().collect();
        Profile { name: name.to_owned(), sections }
    }

    #[test]
    fn profiles_are_read_as_the_command_line_reads_them() {
        let text = "# keys\n[default]\naws_access_key_id=AK\naws_secret_access_key = a/b+c=;#d\n\
                    s3 =\n  endpoint_url = http://nested\n[program]\ncredential_process = echo '{}' ; true\n\
                    [sso]\nsso_session = x\nregion = eu-west-1\n";
        let default = profile(text, "default");
        assert_eq!(default.get("aws_secret_access_key").as_deref(), Some("a/b+c=;#d"));
        assert_eq!(default.get("endpoint_url"), None);
        assert!(default.credentials().expect("keys").is_some());
        let program = profile(text, "program").get("credential_process");
        assert_eq!(program.as_deref(), Some("echo '{}' ; true"));
        let sso = profile(text, "sso");
        assert_eq!(sso.get("region").as_deref(), Some("eu-west-1"));
        let failure = sso.credentials().err().map(|failure| failure.hint.unwrap_or_default());
        assert!(failure.is_some_and(|hint| hint.contains("export-credentials --profile sso")));
    }

    #[test]
    fn programs_print_credentials() {
        let printed = "echo '{\"Version\": 1, \"AccessKeyId\": \"k\", \"SecretAccessKey\": \"s\", \
                       \"Expiration\": \"2026-11-29T00:00:00Z\"}'";
        let credential = run(printed).expect("a credential");
        assert_eq!(credential.parts["secret_access_key"], "s");
        assert_eq!(credential.expires_at, Some(1_795_910_400));
        assert_eq!(
            run("echo secret").err().as_deref(),
            Some("the credential_process did not print credentials")
        );
        assert!(run("exit 3").err().is_some_and(|reason| reason.ends_with("exit status: 3")));
    }
}
