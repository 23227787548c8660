//! The first difference between the earlier and the current definition of a leaf, for an error message.

use crate::exchange::sql::Definition;

/// A difference between the earlier and the current definition of a leaf. `None` means that the thing is
/// absent.
pub(super) struct Difference {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) before: Option<String>,
    pub(super) now: Option<String>,
}

/// Returns the first difference between two sorted lists.
pub(super) fn difference(before: &[Definition], now: &[Definition]) -> Option<Difference> {
    let place = before.iter().zip(now).take_while(|(before, now)| before == now).count();
    let (left, right) = (before.get(place), now.get(place));
    let thing = left.into_iter().chain(right).min()?;
    let is_it = |other: &&Definition| {
        (other.phase, &other.kind, &other.name) == (thing.phase, &thing.kind, &thing.name)
    };
    let [left, right] = [left.filter(is_it), right.filter(is_it)];
    let (was, is) = match (left, right) {
        (Some(left), Some(right)) => {
            let (was, is) = differing(&left.sql, &right.sql);
            (Some(was.to_owned()), Some(is.to_owned()))
        }
        _ => (left.map(|left| left.sql.clone()), right.map(|right| right.sql.clone())),
    };
    Some(Difference { kind: thing.kind.clone(), name: thing.name.clone(), before: was, now: is })
}

/// Returns the first clause in which two texts differ. Clauses are separated by commas.
fn differing<'a>(before: &'a str, now: &'a str) -> (&'a str, &'a str) {
    let mut both = before.split(", ").zip(now.split(", "));
    both.find(|(before, now)| before != now).unwrap_or((before, now))
}

#[cfg(test)]
mod tests {
    use super::{Definition, difference, differing};
    use crate::exchange::sql::BuildPhase;

    fn list(things: &[(&str, &str)]) -> Vec<Definition> {
        let thing = |(name, sql): &(&str, &str)| Definition {
            phase: BuildPhase::Described,
            kind: "column".into(),
            name: (*name).into(),
            sql: (*sql).into(),
        };
        things.iter().map(thing).collect()
    }

    fn first_difference(
        before: &[(&str, &str)],
        now: &[(&str, &str)],
    ) -> Option<[Option<String>; 3]> {
        let found = difference(&list(before), &list(now))?;
        Some([Some(found.name), found.before, found.now])
    }

    #[test]
    fn names_the_clause() {
        assert_eq!(first_difference(&[("a", "x, y")], &[("a", "x, y")]), None);
        let words = |words: [&str; 3]| Some(words.map(|w| (!w.is_empty()).then(|| w.to_owned())));
        assert_eq!(
            first_difference(&[("a", "x, y, z")], &[("a", "x, q, z")]),
            words(["a", "y", "q"])
        );
        assert_eq!(
            first_difference(&[("a", "x")], &[("a", "x"), ("b", "y")]),
            words(["b", "", "y"])
        );
        assert_eq!(
            first_difference(&[("a", "x"), ("b", "y")], &[("b", "y")]),
            words(["a", "x", ""])
        );
        assert_eq!(differing("x", "x, y"), ("x", "x, y"));
    }
}
