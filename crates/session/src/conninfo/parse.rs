//! Connection strings: `key = value` lists, distinguished from URLs and bare database names as psql does.
//!
//! Source: `conninfo_parse` and `recognized_connection_string` in
//! `src/interfaces/libpq/fe-connect.c`, 18.

use std::iter::Peekable;
use std::str::Chars;

use super::settings::{Settings, unknown_option, usage};
use super::{keywords, url};
use crate::{Error, Result};

/// Reads the argument of psql's `-d`: a URL, a `key=value` list, or a database name.
pub(super) fn parse(text: &str) -> Result<Settings> {
    if let Some(rest) = url::strip_scheme(text) {
        return url::parse(rest);
    }
    if text.contains('=') {
        return parse_pairs(text);
    }
    let mut settings = Settings::default();
    settings.set("dbname", text);
    Ok(settings)
}

fn parse_pairs(text: &str) -> Result<Settings> {
    let mut settings = Settings::default();
    let mut chars = text.chars().peekable();
    let mut before: Option<String> = None;
    loop {
        skip_space(&mut chars);
        if chars.peek().is_none() {
            return Ok(settings);
        }
        let name = read_name(&mut chars);
        skip_space(&mut chars);
        if chars.next() != Some('=') {
            return Err(misplaced(before.as_deref(), || {
                usage(format!("missing \"=\" after \"{name}\" in connection info string"))
            }));
        }
        skip_space(&mut chars);
        let value = read_value(&mut chars)?;
        if !settings.set(&name, &value) {
            return Err(misplaced(before.as_deref(), || unknown_option(&name)));
        }
        before = Some(name);
    }
}

/// Builds the error for misplaced text. Text after a password may be the rest of a password that contains a
/// space, so it is not shown.
fn misplaced(before: Option<&str>, open: impl FnOnce() -> Error) -> Error {
    match before.filter(|name| keywords::find(name).is_some_and(keywords::Keyword::is_secret)) {
        Some(secret) => usage(format!("invalid connection info string after \"{secret}\"")).with_hint(
            "Put a value with spaces in single quotes; write ' and \\ within it as \\' and \\\\.",
        ),
        None => open(),
    }
}

fn skip_space(chars: &mut Peekable<Chars>) {
    while chars.next_if(|c| c.is_ascii_whitespace()).is_some() {}
}

fn read_name(chars: &mut Peekable<Chars>) -> String {
    let mut name = String::new();
    while let Some(c) = chars.next_if(|c| *c != '=' && !c.is_ascii_whitespace()) {
        name.push(c);
    }
    name
}

fn read_value(chars: &mut Peekable<Chars>) -> Result<String> {
    let quoted = chars.next_if_eq(&'\'').is_some();
    let mut value = String::new();
    loop {
        match chars.next() {
            None if quoted => {
                return Err(usage("unterminated quoted string in connection info string"));
            }
            None => return Ok(value),
            Some('\'') if quoted => return Ok(value),
            Some(c) if !quoted && c.is_ascii_whitespace() => return Ok(value),
            Some('\\') => value.extend(chars.next()),
            Some(c) => value.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, name: &str) -> Option<String> {
        parse(text).unwrap().get(name).map(str::to_owned)
    }

    fn refusal(text: &str) -> String {
        parse(text).err().expect("must be refused").to_string()
    }

    #[test]
    fn reads_pairs_with_spaces_quotes_and_escapes() {
        let text = r" host = a  port=1 password = 'it\'s \\ x' user=b\ c dbname=''";
        assert_eq!(read(text, "host").as_deref(), Some("a"));
        assert_eq!(read(text, "port").as_deref(), Some("1"));
        assert_eq!(read(text, "password").as_deref(), Some(r"it's \ x"));
        assert_eq!(read(text, "user").as_deref(), Some("b c"));
        assert_eq!(read(text, "dbname"), None);
        assert_eq!(read("host=a host=b", "host").as_deref(), Some("b"));
        assert_eq!(read("requiressl=1", "sslmode").as_deref(), Some("require"));
    }

    #[test]
    fn a_text_without_equal_sign_names_the_database() {
        assert_eq!(read("my db", "dbname").as_deref(), Some("my db"));
    }

    #[test]
    fn words_errors_as_libpq_does() {
        assert_eq!(refusal("colour=red"), "invalid connection option \"colour\"");
        assert_eq!(
            refusal("port=1 host"),
            "missing \"=\" after \"host\" in connection info string"
        );
        assert_eq!(
            refusal("host='a port=1"),
            "unterminated quoted string in connection info string"
        );
    }

    #[test]
    fn does_not_repeat_the_rest_of_a_password() {
        for text in ["password=my secret", "password=my secret=1", "password=my secret host=a"] {
            assert!(!refusal(text).contains("secret"), "{text}");
        }
    }
}
