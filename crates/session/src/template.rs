//! Templates of SQL. Our SQL never looks up an operator by name, because another user may own one of that name.
//! Operators therefore have short names here: `id {eq} $1` stands for `id OPERATOR(pg_catalog.=) $1`.
//!
//! Templates for [`fill`] and for `format!` look the same: `format!` takes the names from the constants.
#![expect(missing_docs, reason = "the values say what the names mean")]
#![expect(non_upper_case_globals, reason = "the names are part of SQL, in lower case")]

pub const eq: &str = "OPERATOR(pg_catalog.=)";
pub const ne: &str = "OPERATOR(pg_catalog.<>)";
pub const lt: &str = "OPERATOR(pg_catalog.<)";
pub const le: &str = "OPERATOR(pg_catalog.<=)";
pub const gt: &str = "OPERATOR(pg_catalog.>)";
pub const ge: &str = "OPERATOR(pg_catalog.>=)";
pub const plus: &str = "OPERATOR(pg_catalog.+)";
pub const minus: &str = "OPERATOR(pg_catalog.-)";
pub const any: &str = "OPERATOR(pg_catalog.=) ANY";

/// The names that every template may use.
const OPERATORS: [(&str, &str); 9] = [
    ("eq", eq),
    ("ne", ne),
    ("lt", lt),
    ("le", le),
    ("gt", gt),
    ("ge", ge),
    ("plus", plus),
    ("minus", minus),
    ("any", any),
];

/// Replaces each `{name}` by the operator of this name, or by its value in `values`. Other braces stay. Values
/// are not expanded, so a user's text in them may look like a name.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut sql = String::with_capacity(2 * template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        sql.push_str(before);
        let named =
            after.split_once('}').and_then(|(name, tail)| Some((value(name, values)?, tail)));
        rest = match named {
            Some((value, tail)) => {
                sql.push_str(value);
                tail
            }
            None => {
                sql.push('{');
                after
            }
        };
    }
    sql.push_str(rest);
    sql
}

fn value<'v>(name: &str, values: &[(&str, &'v str)]) -> Option<&'v str> {
    let all = values.iter().chain(&OPERATORS);
    all.copied().find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_once() {
        let values = [("ledger", "\"{id}\""), ("id", "'{eq}'")];
        assert_eq!(
            fill(
                "SELECT '{}', '{a' FROM {ledger}.load WHERE id {eq} {id} AND n {any} ($1)",
                &values
            ),
            "SELECT '{}', '{a' FROM \"{id}\".load WHERE id OPERATOR(pg_catalog.=) '{eq}' \
             AND n OPERATOR(pg_catalog.=) ANY ($1)"
        );
    }
}
