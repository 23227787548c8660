//! The password file, `~/.pgpass`: lines of `host:port:database:user:password`.
//!
//! Source: `passwordFromFile` in `src/interfaces/libpq/fe-connect.c`, 18.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::environment::DEFAULT_SOCKET_DIRECTORIES;

/// The text of a password file that may be used.
pub(super) struct Passfile {
    pub(super) path: PathBuf,
    text: String,
}

/// The key for looking up a password.
pub(super) struct LoginKey<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

impl Passfile {
    /// Opens the file. Returns `None` if it does not exist, and a warning if it must not be used.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, String> {
        let Ok(meta) = fs::metadata(path) else { return Ok(None) };
        let name = path.display();
        if !meta.is_file() {
            return Err(format!("password file \"{name}\" is not a plain file"));
        }
        if meta.permissions().mode() & 0o077 != 0 {
            return Err(format!(
                "password file \"{name}\" has group or world access; permissions should be u=rw (0600) or less"
            ));
        }
        match fs::read(path) {
            Ok(bytes) => Ok(Some(Self {
                path: path.to_owned(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
            })),
            Err(error) => Err(format!("could not read password file \"{name}\": {error}")),
        }
    }

    /// Returns the password of the first line that matches.
    pub(super) fn find(&self, key: &LoginKey) -> Option<String> {
        let host = match key.host {
            host if DEFAULT_SOCKET_DIRECTORIES.contains(&host) => "localhost",
            host => host,
        };
        let wanted = [host, &key.port.to_string(), key.database, key.user];
        self.text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .find_map(|line| wanted.iter().try_fold(line, |rest, value| match_field(rest, value)))
            .map(unescape)
            .filter(|password| !password.is_empty())
    }
}

/// Returns the text after the first field and its colon, if the field is `*` or matches `wanted`.
fn match_field<'a>(line: &'a str, wanted: &str) -> Option<&'a str> {
    if let Some(rest) = line.strip_prefix("*:") {
        return Some(rest);
    }
    let mut line = line;
    for expected in wanted.chars() {
        line = line.strip_prefix('\\').unwrap_or(line).strip_prefix(expected)?;
    }
    line.strip_prefix(':')
}

fn unescape(password: &str) -> String {
    let mut open = String::with_capacity(password.len());
    let mut chars = password.trim_end_matches('\r').chars();
    while let Some(c) = chars.next() {
        open.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, host: &str, user: &str) -> Option<String> {
        let passfile = Passfile { path: PathBuf::new(), text: text.to_owned() };
        passfile.find(&LoginKey { host, port: 5432, database: "db", user })
    }

    #[test]
    fn takes_the_first_line_that_matches() {
        let text = "# h:5432:db:u:comment\nh:1:db:u:port\nh:5432:db:u:first\n*:*:*:*:second\n";
        assert_eq!(find(text, "h", "u").as_deref(), Some("first"));
        assert_eq!(find(text, "g", "u").as_deref(), Some("second"));
        assert_eq!(find("h:5432:db:u", "h", "u"), None);
        assert_eq!(find("h:5432:db:u:", "h", "u"), None);
        assert_eq!(find("h:5432:db:us:x", "h", "u"), None);
    }

    #[test]
    fn reads_escapes_in_fields_and_password() {
        assert_eq!(find(r"\:\:1:*:db:a\\b:p\:w\\d:e", "::1", r"a\b").as_deref(), Some(r"p:w\d:e"));
        assert_eq!(find("*:*:*:*:crlf\r\n", "h", "u").as_deref(), Some("crlf"));
    }

    #[test]
    fn default_socket_directories_are_localhost() {
        let text = "localhost:5432:db:u:local\n/srv/pg:5432:db:u:own\n";
        assert_eq!(find(text, "/var/run/postgresql", "u").as_deref(), Some("local"));
        assert_eq!(find(text, "/tmp", "u").as_deref(), Some("local"));
        assert_eq!(find(text, "/srv/pg", "u").as_deref(), Some("own"));
    }

    #[test]
    fn refuses_a_file_that_others_can_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pgpass");
        assert!(matches!(Passfile::open(&path), Ok(None)));
        fs::write(&path, "*:*:*:*:x\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let warning = Passfile::open(&path).err().unwrap();
        assert!(warning.ends_with("permissions should be u=rw (0600) or less"), "{warning}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(Passfile::open(&path), Ok(Some(_))));
        assert!(Passfile::open(directory.path()).err().unwrap().ends_with("is not a plain file"));
    }
}
