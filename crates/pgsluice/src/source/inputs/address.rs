//! Addresses given in place of files, and the programs that fetch them.

use crate::error::kind::Kind;
use crate::error::{Error, Remedy, quote_shell};

/// Programs that print the object at an address, by scheme.
const READERS: [(&str, &str); 9] = [
    ("http", "curl -fsSL {}"),
    ("https", "curl -fsSL {}"),
    ("ftp", "curl -fsSL {}"),
    ("ftps", "curl -fsSL {}"),
    ("sftp", "curl -fsSL {}"),
    ("s3", "aws s3 cp {} -"),
    ("gs", "gcloud storage cat {}"),
    ("hdfs", "hdfs dfs -cat {}"),
    ("webhdfs", "hdfs dfs -cat {}"),
];

/// Returns an error if the name is an address.
pub(super) fn refusal(name: &str) -> Option<Error> {
    let (scheme, rest) = name.split_once("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if scheme.is_empty() || !scheme.chars().all(is_scheme) {
        return None;
    }
    let scheme = scheme.to_ascii_lowercase();
    let refuse = |message: &str| Error::new(Kind::Input, format!("\"{name}\" {message}"));
    if ["postgres", "postgresql"].contains(&&*scheme) {
        return Some(refuse("is a server, not an input").with_hint("Specify the server with -d."));
    }
    if scheme == "file" {
        let path = quote_shell(rest.strip_prefix("localhost").unwrap_or(rest));
        let error = refuse("is a URL, not a path");
        return Some(error.with_hint(format!("Give only the path: {path}")));
    }
    let error = refuse("is a URL, not a file");
    Some(match reader(&scheme, rest) {
        Some(reader) => error.with_remedy(Remedy::program("Pipe its contents", &reader, name)),
        None => error.with_hint("Pipe its contents: ... | pgsluice load - ..."),
    })
}

/// Returns the shell command that prints an object; `{}` stands for its address.
pub(super) fn printed_by(name: &str) -> String {
    let (scheme, rest) = name.split_once("://").unwrap_or_default();
    reader(&scheme.to_ascii_lowercase(), rest).unwrap_or_else(|| "cat {}".to_owned())
}

fn reader(scheme: &str, rest: &str) -> Option<String> {
    let known = READERS.iter().find(|(known, _)| *known == scheme);
    known.map(|(_, reader)| (*reader).to_owned()).or_else(|| azure_program(scheme, rest))
}

/// Returns the program that prints a blob, given as `az://container/path` or
/// `abfss://container@account.dfs.core.windows.net/path`.
fn azure_program(scheme: &str, rest: &str) -> Option<String> {
    let (place, path) = rest.split_once('/')?;
    let blob = match (scheme, place.split_once('@')) {
        ("az" | "azure", None) => {
            format!("--container-name {} --name {}", quote_shell(place), quote_shell(path))
        }
        ("abfs" | "abfss" | "wasb" | "wasbs", Some((container, host))) => {
            let host = host.replace(".dfs.", ".blob.");
            format!("--blob-url {}", quote_shell(&format!("https://{host}/{container}/{path}")))
        }
        _ => return None,
    };
    Some(format!("az storage blob download --no-progress {blob}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_fetched_by_their_programs() {
        for (name, message) in [
            ("https://example.org/day.csv", "curl -fsSL https://example.org/day.csv | pgsluice"),
            ("HTTP://h/a.csv?x=1&y", "curl -fsSL 'HTTP://h/a.csv?x=1&y' | "),
            ("s3://b/a b.csv", "aws s3 cp 's3://b/a b.csv' - | "),
            ("gs://b/*.csv", "gcloud storage cat 'gs://b/*.csv' | "),
            ("az://c/d/e.csv", "--container-name c --name d/e.csv | "),
            (
                "abfss://c@a.dfs.core.windows.net/e.csv",
                "--blob-url https://a.blob.core.windows.net/c/e.csv | ",
            ),
            ("file:///data/a.csv", "Give only the path: /data/a.csv"),
            ("postgres://h/d", "Specify the server with -d."),
            ("what://x", "... | pgsluice load -"),
        ] {
            let error = refusal(name).expect(name).to_string();
            assert!(error.contains(message), "{error}");
        }
        for name in ["a.csv", "C:/a", "://x", "a b://x"] {
            assert!(refusal(name).is_none(), "{name}");
        }
    }
}
