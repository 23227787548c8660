//! Connection URLs, `postgresql://user:password@host:port,host/dbname?option=value`.
//!
//! Source: `conninfo_uri_parse_options` in `src/interfaces/libpq/fe-connect.c`, 18. libpq's messages repeat the
//! whole URL; these do not, because it contains the password.

use super::settings::{Settings, usage};
use crate::{Error, Result};

/// Returns the text after `postgresql://` or `postgres://`, if it begins so.
pub(super) fn strip_scheme(text: &str) -> Option<&str> {
    text.strip_prefix("postgresql://").or_else(|| text.strip_prefix("postgres://"))
}

/// Reads a URL without its scheme.
pub(super) fn parse(rest: &str) -> Result<Settings> {
    let mut settings = Settings::default();
    let authority_end = rest.find('/').unwrap_or(rest.len());
    let rest = match rest[..authority_end].find('@') {
        Some(at) => {
            read_user(&rest[..at], &mut settings)?;
            &rest[at + 1..]
        }
        None => rest,
    };
    let hosts_end = rest.find(['/', '?']).unwrap_or(rest.len());
    read_hosts(&rest[..hosts_end], &mut settings)?;
    let (path, query) = match rest[hosts_end..].split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (&rest[hosts_end..], None),
    };
    if let Some(dbname) = path.strip_prefix('/').filter(|dbname| !dbname.is_empty()) {
        settings.set("dbname", &decode(dbname)?);
    }
    for pair in query.filter(|query| !query.is_empty()).iter().flat_map(|query| query.split('&')) {
        read_parameter(pair, &mut settings)?;
    }
    Ok(settings)
}

fn read_user(text: &str, settings: &mut Settings) -> Result<()> {
    let (user, password) = match text.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (text, None),
    };
    if !user.is_empty() {
        settings.set("user", &decode(user)?);
    }
    if let Some(password) = password {
        let open = decode(password)
            .map_err(|_| with_encoding_hint(usage("invalid percent-encoding in password")))?;
        settings.set("password", &open);
    }
    Ok(())
}

fn read_hosts(text: &str, settings: &mut Settings) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    // A raw @ or / in the password ends up here in the host or port, so neither is shown.
    if text.contains('@') {
        return Err(with_encoding_hint(usage("more than one \"@\" before the host name in URI")));
    }
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    for element in text.split(',') {
        let (host, port) = split_port(element)?;
        if !port.bytes().all(|b| b.is_ascii_digit()) {
            return Err(with_encoding_hint(usage("invalid port number in URI")));
        }
        hosts.push(decode(host)?);
        ports.push(port);
    }
    settings.set("host", &hosts.join(","));
    // If no port is given, the next source may set it.
    if ports.iter().any(|port| !port.is_empty()) {
        settings.set("port", &ports.join(","));
    }
    Ok(())
}

fn split_port(element: &str) -> Result<(&str, &str)> {
    let Some(inner) = element.strip_prefix('[') else {
        return Ok(element.split_once(':').unwrap_or((element, "")));
    };
    let Some((host, after)) = inner.split_once(']') else {
        return Err(usage(
            "end of string reached when looking for matching \"]\" in IPv6 host address in URI",
        ));
    };
    if host.is_empty() {
        return Err(usage("IPv6 host address may not be empty in URI"));
    }
    match after.strip_prefix(':') {
        Some(port) => Ok((host, port)),
        None if after.is_empty() => Ok((host, "")),
        None => Err(usage("unexpected character after \"]\" in URI (expected \":\" or \"/\")")),
    }
}

fn read_parameter(pair: &str, settings: &mut Settings) -> Result<()> {
    let Some((name, value)) = pair.split_once('=') else {
        return Err(usage("missing key/value separator \"=\" in URI query parameter"));
    };
    if value.contains('=') {
        return Err(usage("extra key/value separator \"=\" in URI query parameter"));
    }
    let (name, value) = (decode(name)?, decode(value)?);
    // JDBC's spelling, which libpq accepts too.
    let (name, value) = match (name.as_str(), value.as_str()) {
        ("ssl", "true") => ("sslmode", "require"),
        pair => pair,
    };
    if settings.set(name, value) {
        Ok(())
    } else {
        Err(usage(format!("invalid URI query parameter: \"{name}\"")))
    }
}

/// Decodes percent-encoding. Like libpq, it rejects bad digits and a zero byte.
fn decode(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend(parts.next().unwrap_or_default().bytes());
    for part in parts {
        let invalid = || {
            let token: String = part.chars().take(2).collect();
            with_encoding_hint(usage(format!("invalid percent-encoded token: \"%{token}\"")))
        };
        let digits = part.get(..2).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = u8::from_str_radix(digits.ok_or_else(invalid)?, 16).map_err(|_| invalid())?;
        if byte == 0 {
            return Err(usage("forbidden value %00 in percent-encoded value"));
        }
        bytes.push(byte);
        bytes.extend(part.bytes().skip(2));
    }
    String::from_utf8(bytes).map_err(|_| usage("percent-encoded value is not valid UTF-8"))
}

fn with_encoding_hint(error: Error) -> Error {
    error.with_hint("In a URL, write % as %25, @ as %40, : as %3A, and / as %2F.")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parse;
    use super::*;

    proptest! {
        #[test]
        fn no_text_makes_the_readers_panic(text in "(postgres://)?[a-z0-9@:/?&=%,\\[\\]'\\\\ é\u{0}]*") {
            let _ = parse::parse(&text);
        }
    }

    fn read(text: &str) -> Settings {
        parse(strip_scheme(text).unwrap()).unwrap()
    }

    fn refusal(text: &str) -> String {
        parse(strip_scheme(text).unwrap()).err().expect("must be refused").to_string()
    }

    fn assert_reads(text: &str, expected: &[(&str, Option<&str>)]) {
        let settings = read(text);
        for (name, value) in expected {
            assert_eq!(settings.get(name), *value, "{name} of {text}");
        }
    }

    #[test]
    fn reads_every_part() {
        assert_reads(
            "postgresql://us%40er:p%2Fw:d@h.example:5433/my%20db?sslmode=require&connect_timeout=3",
            &[
                ("user", Some("us@er")),
                ("password", Some("p/w:d")),
                ("host", Some("h.example")),
                ("port", Some("5433")),
                ("dbname", Some("my db")),
                ("sslmode", Some("require")),
                ("connect_timeout", Some("3")),
            ],
        );
    }

    #[test]
    fn reads_hosts_lists_sockets_and_ipv6() {
        assert_reads(
            "postgres://[::1]:5433,b/x",
            &[("host", Some("::1,b")), ("port", Some("5433,"))],
        );
        assert_reads("postgres://%2Ftmp%2Fx:1/", &[("host", Some("/tmp/x")), ("dbname", None)]);
        assert_reads(
            "postgres:///d?host=/tmp&ssl=true",
            &[("host", Some("/tmp")), ("sslmode", Some("require")), ("dbname", Some("d"))],
        );
        assert_reads("postgres://", &[("host", None), ("user", None)]);
        assert_reads("postgres://u@?port=7", &[("user", Some("u")), ("port", Some("7"))]);
    }

    #[test]
    fn words_errors_as_libpq_does_without_the_url() {
        assert_eq!(refusal("postgres://h/d?pool=5"), "invalid URI query parameter: \"pool\"");
        assert!(refusal("postgres://h/d?port").starts_with("missing key/value separator"));
        assert!(refusal("postgres://h/d?port=1=2").starts_with("extra key/value separator"));
        assert!(refusal("postgres://[::1/d").starts_with("end of string reached"));
        assert!(refusal("postgres://[::1]x/d").starts_with("unexpected character"));
        assert!(refusal("postgres://h/%zz").starts_with("invalid percent-encoded token"));
        assert!(refusal("postgres://h/%00").starts_with("forbidden value %00"));
    }

    #[test]
    fn never_shows_a_password_that_breaks_the_url() {
        for text in ["u:sec%ret@h/d", "u:se@cret@h/d", "u:secret/x@h/d", "u:s@ecret%zz@h/d"] {
            let error = refusal(&format!("postgres://{text}"));
            assert!(!error.contains("cret") && !error.contains("%re"), "{error}");
            assert!(error.contains("@ as %40"), "{error}");
        }
    }
}
