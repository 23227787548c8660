//! The source of a trigger function in PL/pgSQL, read for one question: can it change columns of a key?
//!
//! This is not a parser. It knows words, strings and comments, and accepts only very plain functions: each
//! `NEW` is returned, or followed by a dot and a column outside the key. Any other function may change a key.

/// The maximum length of an identifier; the server may truncate longer ones.
const LONGEST: usize = 60;

/// A token of the source.
#[derive(Debug, PartialEq, Eq)]
enum SourceToken {
    /// An identifier or a keyword, in lower case unless it is quoted.
    Word(String),
    Sign(char),
    Literal,
}

/// Whether a function with this body cannot change the columns `key` of a row.
pub(super) fn keeps_key(body: &str, key: &[String]) -> bool {
    let Some(tokens) = tokens(body) else { return false };
    let word = |at: usize| match tokens.get(at) {
        Some(SourceToken::Word(word)) => Some(word.as_str()),
        _ => None,
    };
    let is_sign = |at: usize, sign: char| tokens.get(at) == Some(&SourceToken::Sign(sign));
    let is_returned = |at: usize| at > 0 && word(at - 1) == Some("return") && is_sign(at + 1, ';');
    let is_other_column = |at: usize| {
        let column = word(at + 2).filter(|column| column.is_ascii() && column.len() <= LONGEST);
        is_sign(at + 1, '.') && column.is_some_and(|column| !key.iter().any(|name| name == column))
    };
    (0..tokens.len()).all(|at| match word(at) {
        Some("new") => is_returned(at) || is_other_column(at),
        Some("return") => {
            matches!(word(at + 1), Some("new" | "old" | "null")) && is_sign(at + 2, ';')
        }
        _ => true,
    })
}

/// Returns the tokens; `None` if a string or a name may be written in an unusual way.
fn tokens(body: &str) -> Option<Vec<SourceToken>> {
    let mut tokens = Vec::new();
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '-' if rest.starts_with("--") => rest.split_once('\n').map_or("", |(_, after)| after),
            '/' if rest.starts_with("/*") => {
                let (comment, after) = rest[2..].split_once("*/")?;
                if comment.contains("/*") {
                    return None;
                }
                after
            }
            '\'' => {
                let (literal, after) = rest[1..].split_once('\'')?;
                if literal.contains('\\') || is_prefix(&tokens, body, rest) {
                    return None;
                }
                tokens.push(SourceToken::Literal);
                after
            }
            '"' => {
                let (name, after) = rest[1..].split_once('"')?;
                if after.starts_with('"') || is_prefix(&tokens, body, rest) {
                    return None;
                }
                tokens.push(SourceToken::Word(name.to_owned()));
                after
            }
            '$' | '\\' => return None,
            _ if first.is_alphabetic() || first == '_' || !first.is_ascii() => {
                let is_end = |it: char| it.is_ascii() && !it.is_ascii_alphanumeric() && it != '_';
                let end = rest.find(is_end).unwrap_or(rest.len());
                tokens.push(SourceToken::Word(rest[..end].to_ascii_lowercase()));
                &rest[end..]
            }
            _ => {
                if !first.is_ascii_whitespace() {
                    tokens.push(SourceToken::Sign(first));
                }
                &rest[first.len_utf8()..]
            }
        };
    }
    Some(tokens)
}

/// Whether a prefix directly before `rest` changes how its string or name is read, as in `E'\n'` and
/// `U&"d\0061t"`.
fn is_prefix(tokens: &[SourceToken], body: &str, rest: &str) -> bool {
    let before = body[..body.len() - rest.len()].chars().next_back();
    match tokens.last() {
        Some(SourceToken::Sign('&')) => true,
        Some(SourceToken::Word(word)) if matches!(word.as_str(), "e" | "b" | "x" | "n") => {
            before.is_some_and(|it| it.is_ascii_alphabetic())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::keeps_key;

    #[track_caller]
    fn check(body: &str, wanted: bool) {
        let key = ["id", "Day"].map(str::to_owned);
        assert_eq!(keeps_key(body, &key), wanted, "{body}");
    }

    #[test]
    fn a_plain_function_keeps_the_key() {
        for body in [
            "BEGIN NEW.changed := now(); RETURN NEW; END",
            "begin -- new is changed\n new.day = 'it''s new'; new.\"Key\" := 1; return new; end",
            "BEGIN /* id */ IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; NEW.v = OLD.v + 1; RETURN NEW; END",
            "BEGIN RETURN NULL; END",
        ] {
            check(body, true);
        }
    }

    #[test]
    fn any_other_function_may_change_it() {
        for body in [
            "BEGIN NEW.id := 1; RETURN NEW; END",
            "BEGIN NEW.\"Day\" := 1; RETURN NEW; END",
            "BEGIN NEW.\"id\" := 1; RETURN NEW; END",
            "BEGIN IF NEW.id IS NULL THEN NEW.v := 1; END IF; RETURN NEW; END",
            "BEGIN SELECT * INTO NEW FROM t; RETURN NEW; END",
            "BEGIN NEW := f(NEW); RETURN NEW; END",
            "DECLARE r t; BEGIN r.id := 1; RETURN r; END",
            "DECLARE r ALIAS FOR new; BEGIN r.id := 1; RETURN NEW; END",
            "BEGIN RETURN (SELECT t FROM t); END",
            "BEGIN NEW.v := E'\\''; NEW.w := 'a'; RETURN NEW; END",
            "BEGIN U&\"ne\\0077\".id := 1; RETURN NEW; END",
            "BEGIN EXECUTE $q$x$q$ INTO NEW.v; RETURN NEW; END",
            "BEGIN NEW.été := 1; RETURN NEW; END",
            "BEGIN /* a /* b */ NEW.v */ := 1; RETURN NEW; END",
        ] {
            check(body, false);
        }
    }
}
