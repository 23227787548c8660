//! Addresses of objects, as users of each service write them.

use percent_encoding::percent_decode_str;
use url::Url;

use crate::Result;
use crate::failure::{Cause, Failure};

/// A service that stores objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// Amazon S3, and the servers that speak its protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage, and Data Lake Storage Gen2.
    Azure,
    /// An HTTP server.
    Http,
}

/// The address of an object, or of several by a prefix.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// The service.
    pub service: Service,
    /// The bucket or container; the URL of an HTTP server, with the query of the address.
    pub bucket: String,
    /// The name and the password for an HTTP server, with a colon in between, if the address has them.
    pub(crate) login: Option<String>,
    /// The storage account of Azure, if the address names it.
    pub account: Option<String>,
    /// The name of the object. For an HTTP server, the path, decoded.
    pub key: String,
    /// The address of the bucket for people, with a slash at the end. It has no query and no password.
    root: String,
}

/// Hides the query of a URL, which may be a signature.
impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.display(&self.key))
    }
}

impl Address {
    /// Parses an address. Returns `None` if the text is not one, or names another service.
    ///
    /// # Errors
    ///
    /// Fails if the address has no bucket, or would be requested as another one.
    pub fn parse(text: &str) -> Option<Result<Self>> {
        let (scheme, rest) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let (place, key) = rest.split_once('/').unwrap_or((rest, ""));
        let named = |service, bucket: &str, account: Option<&str>| {
            if bucket.is_empty() {
                return Err(Failure::new(Cause::Name, "it does not name a bucket"));
            }
            // The names that the tools of the services know.
            let scheme = match &*scheme {
                "s3a" => "s3",
                "azure" | "abfs" | "abfss" if account.is_none() => "az",
                scheme => scheme,
            };
            let root = format!("{scheme}://{place}/");
            let (bucket, account) = (bucket.to_owned(), account.map(str::to_owned));
            Ok(Self { service, bucket, login: None, account, key: key.to_owned(), root })
        };
        Some(match &*scheme {
            "s3" | "s3a" => named(Service::S3, place, None),
            "gs" => named(Service::Google, place, None),
            "az" | "azure" | "abfs" | "abfss" => match place.split_once('@') {
                None => named(Service::Azure, place, None),
                Some((container, host)) => named(Service::Azure, container, host.split('.').next()),
            },
            "http" | "https" => http(text),
            _ => return None,
        })
    }

    /// Returns the address of the bucket itself, which is the same for all its objects.
    #[must_use]
    pub fn to_bucket(&self) -> Self {
        Self { key: String::new(), ..self.clone() }
    }

    /// Returns the address of a key in the same bucket, for people.
    pub fn display(&self, key: &str) -> String {
        format!("{}{key}", self.root)
    }
}

/// Parses the address of a file on an HTTP server.
fn http(text: &str) -> Result<Address> {
    let invalid = |reason: String| Failure::new(Cause::Name, reason);
    let mut url = Url::parse(text).map_err(|error| invalid(format!("it is not a URL: {error}")))?;
    url.set_fragment(None);
    let path = url.path().to_owned();
    if path.ends_with('/') {
        return Err(invalid(
            "it names a directory, and an HTTP server has no list of files".into(),
        ));
    }
    // Such a path would be requested as another one.
    if path.contains("//") || path.to_ascii_lowercase().contains("%2f") {
        return Err(invalid("its path has an empty segment or an encoded slash".into()));
    }
    let key = object_store::path::Path::from_url_path(&path)
        .map_err(|error| invalid(format!("it is not a URL: {error}")))?;
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let login = url.password().map(|word| format!("{}:{}", decoded(url.username()), decoded(word)));
    // Neither fails for a URL with a host.
    let _ = (url.set_password(None), url.set_username(""));
    url.set_path("");
    let bucket = url.to_string();
    url.set_query(None);
    let root = format!("{}/", url.as_str().trim_end_matches('/'));
    let service = Service::Http;
    Ok(Address { service, bucket, login, account: None, key: key.to_string(), root })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Address {
        Address::parse(text).expect("an address").expect(text)
    }

    #[test]
    fn addresses_are_written_as_their_services_write_them() {
        for (text, service, bucket, account, key) in [
            ("s3://b/a b%20c.csv", Service::S3, "b", None, "a b%20c.csv"),
            ("S3A://b/days/", Service::S3, "b", None, "days/"),
            ("gs://b", Service::Google, "b", None, ""),
            ("az://c/d/e", Service::Azure, "c", None, "d/e"),
            ("abfss://c@a.dfs.core.windows.net/e", Service::Azure, "c", Some("a"), "e"),
            ("https://h:8443/d/a%20b.csv", Service::Http, "https://h:8443/", None, "d/a b.csv"),
        ] {
            let address = parsed(text);
            assert_eq!((address.service, &*address.bucket), (service, bucket), "{text}");
            assert_eq!((address.account.as_deref(), &*address.key), (account, key), "{text}");
        }
        for text in ["a.csv", "ftp://h/a", "hdfs://h/a", "C:/a"] {
            assert!(Address::parse(text).is_none(), "{text}");
        }
        for text in ["s3:///a", "https://h/d/", "https://h/a//b", "https://h/a%2Fb", "https://"] {
            assert!(Address::parse(text).expect("an address").is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_are_shown_as_tools_of_the_services_know_them() {
        for (text, shown) in [
            ("S3A://b/a.csv", "s3://b/a.csv"),
            ("abfs://c/a.csv", "az://c/a.csv"),
            ("abfss://c@a.dfs.core.windows.net/e", "abfss://c@a.dfs.core.windows.net/e"),
            ("https://u:p@h/a%20b.csv?x", "https://h/a b.csv"),
        ] {
            let address = parsed(text);
            assert_eq!(address.display(&address.key), shown);
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let address = parsed("https://u%40x:secret@h/day.csv?X-Amz-Signature=secret#x");
        assert_eq!(format!("{address:?}"), "https://h/day.csv");
        assert_eq!(address.bucket, "https://h/?X-Amz-Signature=secret");
        assert_eq!(address.login.as_deref(), Some("u@x:secret"));
    }
}
