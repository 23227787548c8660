//! Escapes control characters: a terminal or log that shows text from inputs, from the server or from file names
//! must not obey them.

use std::borrow::Cow;

/// Returns `text` with all control characters except tabs and line ends escaped.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
}

/// Returns a name, or other one-line text, with line ends escaped too.
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_obeyed(c) && c != '\t')
}

/// Whether a terminal does more with the character than show it: control characters, and characters that change
/// the direction of the text around them.
pub(super) fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_hidden) {
        return text.into();
    }
    let escape = |c: char| match c {
        c if !is_hidden(c) => c.to_string(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        c if c.is_ascii() => format!("\\x{:02x}", u32::from(c)),
        c => format!("\\u{:04x}", u32::from(c)),
    };
    text.chars().map(escape).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(printable("a\tb\n\u{1b}[31mc\r\u{7f}"), "a\tb\n\\x1b[31mc\\r\\x7f");
        assert_eq!(printable("\u{9b}31m \u{202e}txt é"), "\\u009b31m \\u202etxt é");
        assert!(matches!(printable("plain"), Cow::Borrowed("plain")));
        assert_eq!(on_one_line("a\nb"), "a\\nb");
    }
}
