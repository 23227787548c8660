//! Names from the input in messages. There may be very many, and they may be very long.

/// The number of names that a message lists.
pub(super) const LISTED: usize = 20;

/// The length of a name in a message, in characters.
pub(super) const SHOWN: usize = 80;

/// Returns a name for a message, cut off if it is very long.
pub(crate) fn shorten_name(name: &str) -> String {
    match name.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// Lists names for a message, only the first ones if there are very many.
pub(crate) fn shorten_list(names: &[String]) -> String {
    let first: Vec<String> = names.iter().take(LISTED).map(|name| shorten_name(name)).collect();
    match names.len().saturating_sub(LISTED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
