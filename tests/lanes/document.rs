//! The Markdown tables of docs/manual/routing.md.

use super::Line;
use super::planned::Lane;
use super::subjects::Keys;

/// Returns the document with the text between a table's marks replaced.
pub(super) fn splice(document: &str, name: &str, table: &str) -> String {
    let begin = format!("<!-- lanes:{name} -->\n");
    let (before, rest) = document.split_once(&begin).expect("the table's first mark");
    let (_, after) = rest.split_once("<!-- /lanes -->").expect("the table's last mark");
    format!("{before}{begin}{table}<!-- /lanes -->{after}")
}

/// Returns a table of keys with the heading `what`, whose names are formatted by `name`.
pub(super) fn table(what: &str, lines: &[Line], name: fn(&str) -> String) -> String {
    let head = format!("| {what} | hash | list | range | proof |\n|---|---|---|---|---|\n");
    lines.iter().fold(head, |table, line| table + &row(line, name))
}

pub(super) fn plain(name: &str) -> String {
    name.to_owned()
}

fn row(line: &Line, name: fn(&str) -> String) -> String {
    let lanes =
        lanes(&line.keys).map(|lane| lane.map_or("—".to_owned(), |lane| lane.to_string()));
    let names: Vec<String> = line.names.iter().map(|text| name(text)).collect();
    let cells = [names.join(", "), lanes.join(" | "), line.proofs.join(", ")];
    format!("| {} |\n", cells.join(" | "))
}

/// Returns the lane of each key.
pub(super) fn lanes(keys: &Keys) -> [Option<Lane>; 3] {
    keys.each_ref().map(|key| key.as_ref().map(|key| key.lane))
}
