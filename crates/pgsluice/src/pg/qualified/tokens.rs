//! The words of deparsed SQL: what the server's deparser writes, and nothing else.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Space,
    /// A string or bit string, its letter included.
    Literal,
    Number,
    /// A name in lower case, or in quotes. The deparser writes its keywords in upper case.
    Name,
    Keyword,
    Operator,
    /// `::`
    Cast,
    /// One character.
    Mark,
}

/// A token of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
}

/// What operators are made of, `src/backend/parser/scan.l`.
const OPERATOR: &str = "+-*/<>=~!@#%^&|`?";

/// Returns all tokens of `text`; None if the deparser does not write such text.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = next(rest, first)?;
        let (text, after) = rest.split_at(length);
        tokens.push(Token { kind, text });
        rest = after;
    }
    Some(tokens)
}

fn next(rest: &str, first: char) -> Option<(TokenKind, usize)> {
    let second = rest[first.len_utf8()..].chars().next();
    Some(match first {
        'E' if second == Some('\'') => (TokenKind::Literal, 1 + quoted(&rest[1..], '\'', true)?),
        'B' | 'X' if second == Some('\'') => {
            (TokenKind::Literal, 1 + quoted(&rest[1..], '\'', false)?)
        }
        '\'' => (TokenKind::Literal, quoted(rest, '\'', false)?),
        '"' => (TokenKind::Name, quoted(rest, '"', false)?),
        ':' if second == Some(':') => (TokenKind::Cast, 2),
        '(' | ')' | '[' | ']' | ',' | '.' | ':' | ';' => (TokenKind::Mark, 1),
        space if space.is_ascii_whitespace() => {
            (TokenKind::Space, span(rest, |c| c.is_ascii_whitespace()))
        }
        digit if digit.is_ascii_digit() => {
            (TokenKind::Number, span(rest, |c| c.is_ascii_digit() || c == '.'))
        }
        letter if letter.is_alphabetic() || letter == '_' => {
            let length = span(rest, |c| c.is_alphanumeric() || c == '_');
            let is_upper = rest[..length].contains(|c: char| c.is_ascii_uppercase());
            (if is_upper { TokenKind::Keyword } else { TokenKind::Name }, length)
        }
        sign if OPERATOR.contains(sign) => {
            (TokenKind::Operator, span(rest, |c| OPERATOR.contains(c)))
        }
        _ => return None,
    })
}

/// Returns the number of bytes at the beginning of `text` that are like that.
fn span(text: &str, is_such: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_such(c)).unwrap_or(text.len())
}

/// The length of what `text` begins with, in quotes that are doubled, or behind a backslash if it
/// `escapes`.
fn quoted(text: &str, quote: char, escapes: bool) -> Option<usize> {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' if escapes => _ = characters.next()?,
            _ if character != quote => {}
            _ if characters.next_if(|(_, next)| *next == quote).is_some() => {}
            _ => return Some(at + 1),
        }
    }
    None
}
