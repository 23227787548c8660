//! The levels of partitions that a table gets.

use pgsluice_core::catalog::Strategy;

use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};

/// Maximum number of levels of partitions below a table.
const MAX_LEVELS: usize = 2;

/// The default number of ranges that are created after the last one that has rows.
pub const DEFAULT_AHEAD: usize = 3;

/// Maximum number of leaves of a move.
pub(super) const MAX_LEAVES: usize = 10_000;

/// The partitions that a table gets.
///
/// ```
/// use pgsluice::core::catalog::Strategy;
/// use pgsluice::moving::{Level, Shape};
///
/// let level = |strategy, column: &str| Level { strategy, columns: vec![column.to_owned()] };
/// let mut shape = Shape::by([level(Strategy::Range, "placed"), level(Strategy::Hash, "id")]);
/// shape.step = Some("month".to_owned());
/// shape.leaves = Some(4);
/// shape.check()?;
/// # Ok::<(), pgsluice::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shape {
    /// The partition keys, from the top. If empty, `like` or `of` is given.
    pub levels: Vec<Level>,
    /// The width of ranges, such as `month` or `1000`.
    pub step: Option<String>,
    /// The number of hash partitions.
    pub leaves: Option<usize>,
    /// The number of ranges that are created after the last one that has rows.
    pub ahead: usize,
    /// Whether each level of ranges or lists has a DEFAULT partition.
    pub has_default: bool,
    /// A partitioned table whose keys and bounds are copied.
    pub like: Option<String>,
    /// The partitioned table whose DEFAULT partition is drained into new partitions; `levels` is empty then.
    pub of: Option<String>,
}

/// The partition key of one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The strategy by which rows are divided.
    pub strategy: Strategy,
    /// The columns of the key: one, unless the strategy is HASH.
    pub columns: Vec<String>,
}

impl Shape {
    /// Creates a shape with these partition keys, from the top.
    pub fn by(levels: impl IntoIterator<Item = Level>) -> Self {
        Self {
            levels: levels.into_iter().collect(),
            step: None,
            leaves: None,
            ahead: DEFAULT_AHEAD,
            has_default: false,
            like: None,
            of: None,
        }
    }

    /// Creates a shape with the keys and bounds of a partitioned table.
    pub fn like(tree: impl Into<String>) -> Self {
        Self { like: Some(tree.into()), ..Self::by([]) }
    }

    /// Creates a shape with new partitions of `tree` for the rows of its DEFAULT partition. `step` is the
    /// width of ranges.
    ///
    /// ```
    /// use pgsluice::moving::Shape;
    ///
    /// Shape::drain("orders", Some("month".to_owned())).check()?;
    /// # Ok::<(), pgsluice::Error>(())
    /// ```
    pub fn drain(tree: impl Into<String>, step: Option<String>) -> Self {
        Self { of: Some(tree.into()), step, ..Self::by([]) }
    }

    /// Checks that the options make sense together.
    ///
    /// # Errors
    ///
    /// Fails with [`Kind::Usage`] if they do not.
    pub fn check(&self) -> Result<()> {
        let usage = |message: Words| Err(Error::new(Kind::Usage, message));
        let has = |strategy| self.levels.iter().filter(|level| level.strategy == strategy).count();
        let [ranges, lists, hashes] = [Strategy::Range, Strategy::List, Strategy::Hash].map(has);
        let describes = !self.levels.is_empty()
            || self.leaves.is_some()
            || self.has_default
            || self.ahead != DEFAULT_AHEAD;
        if self.of.is_some() {
            return match describes || self.like.is_some() {
                true => usage(option("of") + " can only be used with " + option("step")),
                false => Ok(()),
            };
        }
        if self.like.is_some() {
            return match describes || self.step.is_some() {
                true => {
                    usage(option("like") + " cannot be used with options that describe partitions")
                }
                false => Ok(()),
            };
        }
        if self.levels.is_empty() {
            let error = Error::new(Kind::Usage, "no partition key given");
            return Err(error.with_hint(
                "Give one, for example "
                    + option("by").with("RANGE (placed)")
                    + " "
                    + option("step").with("month")
                    + ".",
            ));
        }
        let is_wide = |level: &&Level| level.strategy != Strategy::Hash && level.columns.len() != 1;
        if let Some(level) = self.levels.iter().find(is_wide) {
            let message = format!("a {} key must be a single column", level.strategy);
            let hint = "For another key, create an empty partitioned table and name it with "
                + option("like")
                + ".";
            return Err(Error::new(Kind::Usage, message).with_hint(hint));
        }
        if self.levels.len() > MAX_LEVELS || ranges > 1 || lists > 1 || hashes > 1 {
            let error =
                Error::new(Kind::Usage, "at most two levels can be given, of different strategies");
            return Err(error.with_hint(
                "For another tree, create one and name it with " + option("like") + ".",
            ));
        }
        if (ranges > 0) != self.step.is_some() {
            return usage(option("step") + " is needed for a RANGE level, and only there");
        }
        if (hashes > 0) != self.leaves.is_some() {
            return usage(option("leaves") + " is needed for a HASH level, and only there");
        }
        if self.leaves.is_some_and(|leaves| !(1..=MAX_LEAVES).contains(&leaves)) {
            return usage(format!("number of leaves must be between 1 and {MAX_LEAVES}").into());
        }
        if self.has_default && ranges + lists == 0 {
            return usage("hash partitions have no DEFAULT partition".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_need_what_their_levels_need() {
        let step = |shape: Shape| Shape { step: Some("month".to_owned()), ..shape };
        let level = |strategy, columns: &[&str]| Level {
            strategy,
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
        };
        let range = level(Strategy::Range, &["a"]);
        let hash = level(Strategy::Hash, &["b", "c"]);
        assert!(step(Shape::by([level(Strategy::Range, &["a", "b"])])).check().is_err());
        assert!(Shape::by([range.clone()]).check().is_err());
        assert!(step(Shape::by([range.clone()])).check().is_ok());
        assert!(step(Shape::by([hash.clone()])).check().is_err());
        assert!(step(Shape::by([range.clone(), hash.clone()])).check().is_err());
        let both = step(Shape::by([range.clone(), hash]));
        assert!(Shape { leaves: Some(4), ..both }.check().is_ok());
        assert!(step(Shape::by([range.clone(), range])).check().is_err());
        assert!(Shape::like("tree").check().is_ok());
        assert!(step(Shape::like("tree")).check().is_err());
    }
}
