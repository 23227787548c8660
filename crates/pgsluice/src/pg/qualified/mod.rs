//! Deparsed SQL with every name qualified, so that it means the same under any search_path.
//!
//! The server deparses with a search_path of `pg_catalog` only. Names in that schema are therefore bare, and
//! all others are qualified. If the text were evaluated under the user's search_path, like COPY does, a bare
//! name could find another user's object: an operator in `public` may fit better than the one in
//! `pg_catalog`. The deparser puts each expression in parentheses, so precedence does not change when an
//! operator is written as `OPERATOR(pg_catalog.=)`.
//!
//! This imitates the output of `src/backend/utils/adt/ruleutils.c` and `format_type.c`, PostgreSQL 13 to 18.

mod tokens;

use tokens::{Token, TokenKind, tokens};

/// Words in expressions, indexes and constraints that are not names, or that the grammar itself resolves in
/// `pg_catalog`, such as `EXTRACT`. Any other word is not understood: `NULLIF` resolves `=` by name, and a
/// type may follow `RETURNING`.
const KEYWORDS: &str = "
    ACTION ADD ALL ALTER ANALYZE AND ANY ARRAY ASC AT BOTH CASCADE CASE COALESCE COLLATE COLLATION
    CONSTRAINT CREATE DEFAULT DEFERRABLE DEFERRED DELETE DESC DISTINCT ELSE END ENFORCED
    ESCAPE EXCLUDE EXTRACT FALSE FIRST FOR FOREIGN FROM FULL GREATEST IMMEDIATE IN INCLUDE
    INDEX INITIALLY IS KEY LAST LEADING LEAST LOCAL MATCH NFC NFD NFKC NFKD NO NORMALIZE
    NORMALIZED NOT NULL NULLS ON ONLY OPERATOR OR OVERLAPS OVERLAY PERIOD PLACING POSITION
    PRIMARY REFERENCES RESTRICT ROW SET SIMILAR SUBSTRING TABLE TABLESPACE THEN TIME TO
    TRAILING TRIM TRUE UNIQUE UNKNOWN UPDATE USING VALID VALIDATE VARIADIC WHEN WHERE WITH
    WITHOUT ZONE
";

/// Types that are keywords of the grammar, which resolves them in `pg_catalog`.
const TYPES: &str = "
    bigint bit boolean character double integer interval numeric real smallint time
    timestamp
";

/// Words that may follow these in type names.
const OF_TYPES: &str =
    "day hour minute month precision second time to varying with without year zone";

/// Returns `deparsed`, an expression or a definition, with every name qualified; `None` if SQL cannot qualify
/// a name in it, or if it is not understood.
pub fn qualify(deparsed: &str) -> Option<String> {
    let mut text = SqlText::new(deparsed)?;
    while let Some(token) = text.peek() {
        text.step(token)?;
    }
    Some(text.out)
}

/// Qualifies the name of a type as written by `format_type`.
pub fn qualify_type(deparsed: &str) -> Option<String> {
    let mut text = SqlText::new(deparsed)?;
    text.ty()?;
    while let Some(token) = text.peek() {
        // Array brackets.
        (token.text == "[" || token.text == "]").then(|| text.take())?;
    }
    Some(text.out)
}

fn is_one_of(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// A text that is being rewritten.
struct SqlText<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    /// The last token that is not a space.
    before: Option<Token<'t>>,
    out: String,
}

impl<'t> SqlText<'t> {
    fn new(deparsed: &'t str) -> Option<Self> {
        let out = String::with_capacity(deparsed.len() * 2);
        Some(Self { tokens: tokens(deparsed)?, at: 0, before: None, out })
    }

    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }

    /// Returns the text of the token after the next one.
    fn follows(&self) -> &'t str {
        self.tokens.get(self.at + 1).map_or("", |token| token.text)
    }

    /// Returns the text of the first token other than a space after the next one.
    fn follows_at_last(&self) -> &'t str {
        let mut rest = self.tokens.iter().skip(self.at + 1);
        rest.find(|token| token.kind != TokenKind::Space).map_or("", |token| token.text)
    }

    fn came(&self) -> &'t str {
        self.before.map_or("", |token| token.text)
    }

    /// Keeps the next token unchanged.
    fn take(&mut self) {
        if let Some(token) = self.peek() {
            self.out.push_str(token.text);
            self.at += 1;
            if token.kind != TokenKind::Space {
                self.before = Some(token);
            }
        }
    }

    fn take_spaces(&mut self) {
        while self.peek().is_some_and(|token| token.kind == TokenKind::Space) {
            self.take();
        }
    }

    /// Keeps a parenthesized group, if one comes next.
    fn take_group(&mut self) {
        let mut open = 0_usize;
        while let Some(token) = self.peek() {
            match token.text {
                "(" => open += 1,
                ")" => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 && token.text != ")" {
                return;
            }
            self.take();
            if open == 0 {
                return;
            }
        }
    }

    fn step(&mut self, token: Token<'t>) -> Option<()> {
        match token.kind {
            TokenKind::Space | TokenKind::Literal | TokenKind::Number | TokenKind::Mark => {
                self.take()
            }
            TokenKind::Name => self.name()?,
            TokenKind::Keyword => self.keyword(token)?,
            TokenKind::Operator => self.operator(token)?,
            TokenKind::Cast => {
                self.take();
                self.ty()?;
            }
        }
        Some(())
    }

    /// Rewrites a column, or the name of a function or operator class; an operator class follows its column.
    fn name(&mut self) -> Option<()> {
        let is_last = self.came() == ".";
        let is_called = self.follows() == "(";
        let is_class = self.came() == ")" || self.before.is_some_and(|b| b.kind == TokenKind::Name);
        if is_last || self.follows() == "." {
            self.take();
        } else if is_called || is_class {
            self.qualify();
        } else {
            self.take();
        }
        // An operator class with options is not understood, because these look like operators.
        (is_called || !self.follows_spaced_group()).then_some(())
    }

    fn follows_spaced_group(&self) -> bool {
        let mut rest = self.tokens.iter().skip(self.at);
        rest.find(|token| token.kind != TokenKind::Space).is_some_and(|token| token.text == "(")
    }

    /// Qualifies the next token, a name, with `pg_catalog`.
    fn qualify(&mut self) {
        self.out.push_str("pg_catalog.");
        self.take();
    }

    fn keyword(&mut self, token: Token<'t>) -> Option<()> {
        let next = self.follows_at_last();
        match token.text {
            // These compare with an operator that is resolved by name.
            "CASE" if next != "WHEN" => return None,
            "DISTINCT" if next == "FROM" => return None,
            "OPERATOR" => {
                self.take();
                self.take_group();
                self.before = Some(token);
            }
            // Options look like operators.
            "WITH" if next == "(" => {
                self.take();
                self.take_spaces();
                self.take_group();
            }
            "COLLATE" => {
                self.take();
                self.take_spaces();
                match self.follows() {
                    "." => self.take(),
                    _ => self.qualify(),
                }
            }
            // An access method has no schema.
            "USING" => {
                self.take();
                self.take_spaces();
                self.take();
            }
            known => {
                is_one_of(KEYWORDS, known).then_some(())?;
                self.take();
            }
        }
        Some(())
    }

    fn operator(&mut self, token: Token<'t>) -> Option<()> {
        match token.text {
            // This sign separates the name of an argument from its value.
            "=>" => self.take(),
            // This stands for all columns.
            "*" if matches!(self.came(), "." | "(") => return None,
            operator => {
                self.out.push_str("OPERATOR(pg_catalog.");
                self.out.push_str(operator);
                self.out.push(')');
                self.at += 1;
                self.before = Some(token);
            }
        }
        Some(())
    }

    fn ty(&mut self) -> Option<()> {
        let first = self.peek().filter(|token| token.kind == TokenKind::Name)?;
        if self.follows() == "." {
            (0..3).for_each(|_| self.take());
            self.take_group();
            return Some(());
        }
        if !is_one_of(TYPES, first.text) {
            self.qualify();
            self.take_group();
            return Some(());
        }
        self.take();
        self.take_group();
        while is_one_of(OF_TYPES, self.follows_space()) {
            self.take_spaces();
            self.take();
            self.take_group();
        }
        Some(())
    }

    /// Returns the text after one space.
    fn follows_space(&self) -> &'t str {
        match self.peek() {
            Some(token) if token.kind == TokenKind::Space => self.follows(),
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests;
