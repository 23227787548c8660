//! Names and words in a table of Markdown, as GitHub and the site's generator both read them.

/// A name as code. In code the two read `\|` in different ways, so a bar is written in HTML.
pub(crate) fn code(name: &str) -> String {
    if name.contains('|') {
        format!("<code>{}</code>", name.replace('<', "&lt;").replace('|', "&#124;"))
    } else {
        format!("`{name}`")
    }
}

/// Words that hold no markup.
pub(crate) fn text(words: &str) -> String {
    words.replace('|', "\\|").replace('*', "\\*").replace('<', "&lt;")
}
