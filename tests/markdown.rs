//! Names and words in a Markdown table, as both GitHub and the site's generator read them.

/// Returns a name as code. The two treat `\|` in code differently, so a bar is written as HTML.
pub(crate) fn code(name: &str) -> String {
    if name.contains('|') {
        format!("<code>{}</code>", name.replace('<', "&lt;").replace('|', "&#124;"))
    } else {
        format!("`{name}`")
    }
}

/// Returns words with all markup escaped.
pub(crate) fn text(words: &str) -> String {
    words.replace('|', "\\|").replace('*', "\\*").replace('<', "&lt;")
}
