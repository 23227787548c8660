//! Removal of passwords and signatures from arguments that are shown to the user: a connection string in the
//! wrong position appears in the error about it.

/// The replacement of a password, or of the query of a web address.
const CONCEALED: &str = "***";

/// Replaces the passwords in URLs and in `password=`, and the queries of web addresses.
pub(crate) fn conceal(text: &str) -> String {
    let concealed = |word: &str| in_pairs(&in_query(&in_login(word)));
    text.split_inclusive(char::is_whitespace).map(concealed).collect()
}

/// Removes the password from an argument, for a command that the user can run: it asks for the password on a
/// terminal. The query of a web address, which may be a signature, must be put in again.
pub(crate) fn without_password(word: &str) -> String {
    let word = in_query(&in_login(word)).replacen(&format!(":{CONCEALED}@"), "@", 1);
    let Some((before, value)) = word.split_once("password=") else { return word };
    if before.ends_with(|c: char| c.is_alphanumeric()) {
        return conceal(&word);
    }
    let rest = match value.strip_prefix('\'') {
        Some(text) => text.split_once('\'').map_or("", |(_, rest)| rest),
        None => value.find([' ', '&']).map_or("", |end| &value[end..]),
    };
    let rest = rest.trim_start_matches([' ', '&']);
    format!("{before}{rest}").trim_end_matches([' ', '&', '?']).to_owned()
}

/// Replaces the password in `scheme://user:password@place`.
fn in_login(word: &str) -> String {
    if let Some((scheme, rest)) = word.split_once("://")
        && let Some((login, place)) = rest.rsplit_once('@')
        && let Some((user, _)) = login.split_once(':')
    {
        return format!("{scheme}://{user}:{CONCEALED}@{place}");
    }
    word.to_owned()
}

/// Replaces the query of a web address.
fn in_query(word: &str) -> String {
    let scheme = word.to_ascii_lowercase().find("http").filter(|at| word[*at..].contains("://"));
    let query = scheme.and_then(|at| Some(at + word[at..].find('?')? + 1));
    let Some(query) = query else { return word.to_owned() };
    let end = |c: char| c.is_whitespace() || ['\'', '"'].contains(&c);
    let rest = word[query..].find(end).map_or("", |end| &word[query + end..]);
    format!("{}{CONCEALED}{rest}", &word[..query])
}

/// Replaces the password in `password=`, as a separate pair or in a URL.
fn in_pairs(word: &str) -> String {
    let Some((before, value)) = word.split_once("password=") else { return word.to_owned() };
    let end = |c: char| c.is_whitespace() || ['&', '\'', '"'].contains(&c);
    let quoted = usize::from(value.starts_with('\''));
    let after = value[quoted..].find(end).map_or("", |end| &value[quoted + end..]);
    format!("{before}password={CONCEALED}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (text, expected) in [
            (
                "argument 'postgresql://u:x@h/d' found\n",
                "argument 'postgresql://u:***@h/d' found\n",
            ),
            ("postgres://u:a:b@c@h,g/d?sslmode=x", "postgres://u:***@h,g/d?sslmode=x"),
            ("postgresql://h/d?password=x&user=u", "postgresql://h/d?password=***&user=u"),
            ("'host=h password=x'\n", "'host=h password=***'\n"),
            ("host=h password='x' user=u", "host=h password=***' user=u"),
            ("nothing of https://h/d to hide", "nothing of https://h/d to hide"),
            ("'https://h/d.csv?X-Amz-Signature=x&y'\n", "'https://h/d.csv?***'\n"),
            ("HTTP://u:x@h/d.csv?sig=x", "HTTP://u:***@h/d.csv?***"),
        ] {
            assert_eq!(conceal(text), expected);
        }
    }

    #[test]
    fn passwords_are_left_out_of_commands() {
        for (text, expected) in [
            ("postgresql://u:x@h/d", "postgresql://u@h/d"),
            ("postgresql://h/d?password=x&user=u", "postgresql://h/d?user=u"),
            ("postgresql://h/d?password=x", "postgresql://h/d"),
            ("host=h password='a b' user=u", "host=h user=u"),
            ("host=h password=x", "host=h"),
            ("orders.csv", "orders.csv"),
            ("https://u:x@h/d.csv?sig=x", "https://u@h/d.csv?***"),
            ("s3://b/a?.csv", "s3://b/a?.csv"),
        ] {
            assert_eq!(without_password(text), expected);
        }
    }
}
