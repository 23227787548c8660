//! The address of an embedded server. It is separate because it contains the password, which nothing may print
//! by accident.

use std::fmt;

/// The address of an embedded server and the password of its superuser `postgres`.
///
/// `Display` and `Debug` omit the password, so the value may appear in any message.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    port: u16,
    password: String,
}

impl Url {
    pub(super) fn new(port: u16, password: String) -> Self {
        Self { port, password }
    }

    /// Returns the TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the whole connection URL, including the password.
    #[must_use]
    pub fn with_password(&self) -> String {
        format!("postgresql://postgres:{}@127.0.0.1:{}/postgres", self.password, self.port)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgresql://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_with_password_shows_the_password() {
        let url = Url::new(5432, "hushed".into());
        assert_eq!(url.with_password(), "postgresql://postgres:hushed@127.0.0.1:5432/postgres");
        assert!(!format!("{url} {url:?}").contains("hushed"));
    }
}
