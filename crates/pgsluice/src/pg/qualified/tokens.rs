//! The tokens of deparsed SQL, limited to the output of the server's deparser.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Space,
    /// A string or bit string, including its letter.
    Literal,
    Number,
    /// A name in lower case, or in quotes. The deparser writes its keywords in upper case.
    Name,
    Keyword,
    Operator,
    /// `::`
    Cast,
    /// A single character.
    Mark,
}

/// A token of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
}

/// The characters of operators, `src/backend/parser/scan.l`.
const OPERATOR: &str = "+-*/<>=~!@#%^&|`?";

/// Returns all tokens of `text`; `None` if the deparser does not write such text.
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

/// Returns the number of bytes at the beginning of `text` whose characters meet `is_such`.
fn span(text: &str, is_such: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_such(c)).unwrap_or(text.len())
}

/// Returns the length of the quoted text at the beginning of `text`. Quotes in it are doubled, or escaped by
/// a backslash if it `escapes`.
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
