//! Ranges of one column whose ends are integers, as for dates and times.

use crate::catalog::{Edge, NodeId};
use crate::types::OwnedDatum;

/// Number of index slots per range. With more than one, evenly spaced ranges rarely share a slot.
const SLOTS_A_RANGE: usize = 4;

/// The ranges, in order, with an index that narrows the search.
#[derive(Debug)]
pub(super) struct Ints {
    ranges: Vec<Int>,
    /// The lower end of the first range that has one.
    min: i64,
    /// `(value - min) >> shift` is the slot of a value.
    shift: u32,
    /// The number of ranges that begin before each slot, followed by the number of all ranges.
    before: Vec<u32>,
}

/// A range and its child.
#[derive(Clone, Copy, Debug)]
struct Int {
    lower: i64,
    /// Upper end; `None` if the range has no upper end.
    upper: Option<i64>,
    child: NodeId,
}

impl Ints {
    /// Returns an index of `ranges`, which must be sorted and must not overlap; `None` if an end is not an
    /// integer.
    pub(super) fn from_ranges(ranges: &[(Vec<Edge>, Vec<Edge>, NodeId)]) -> Option<Self> {
        let ranges = ranges.iter().map(|(lower, upper, child)| {
            let lower = match lower[..] {
                [Edge::Datum(OwnedDatum::Int(value))] => value,
                [Edge::MinValue] => i64::MIN,
                _ => return None,
            };
            let upper = match upper[..] {
                [Edge::Datum(OwnedDatum::Int(value))] => Some(value),
                [Edge::MaxValue] => None,
                _ => return None,
            };
            Some(Int { lower, upper, child: *child })
        });
        let ranges: Vec<Int> = ranges.collect::<Option<_>>()?;
        let mut lower = ranges.iter().map(|range| range.lower).filter(|lower| *lower != i64::MIN);
        let min = lower.next().unwrap_or(i64::MIN);
        let span = lower.next_back().unwrap_or(min).abs_diff(min);
        let slots = (SLOTS_A_RANGE * ranges.len()) as u64;
        let shift = (0..u64::BITS).find(|shift| span >> shift <= slots)?;
        let begin = |slot: u64| i128::from(min) + (i128::from(slot) << shift);
        let before = |slot| ranges.partition_point(|range| i128::from(range.lower) < begin(slot));
        let mut before: Vec<u32> = (0..=span >> shift).map(|slot| before(slot) as u32).collect();
        before.push(ranges.len() as u32);
        Some(Self { ranges, min, shift, before })
    }

    /// Returns the child whose range contains `value`.
    #[inline]
    pub(super) fn search(&self, value: i64) -> Option<NodeId> {
        let last = self.before.len() - 2;
        let slot = match value < self.min {
            true => 0,
            false => ((value.abs_diff(self.min) >> self.shift) as usize).min(last),
        };
        let (begin, end) = (self.before[slot] as usize, self.before[slot + 1] as usize);
        let begins = &self.ranges[begin..end];
        let after = begin + begins.partition_point(|range| range.lower <= value);
        let range = self.ranges.get(after.checked_sub(1)?)?;
        range.upper.is_none_or(|upper| value < upper).then_some(range.child)
    }
}

#[cfg(test)]
mod tests {
    use super::{Edge, Int, Ints, OwnedDatum};

    fn ints(ends: &[(Option<i64>, Option<i64>)]) -> Ints {
        let edge = |end: Option<i64>, open| {
            vec![end.map_or(open, |end| Edge::Datum(OwnedDatum::Int(end)))]
        };
        let ranges = ends.iter().enumerate();
        let ranges: Vec<_> = ranges
            .map(|(child, (lower, upper))| {
                (edge(*lower, Edge::MinValue), edge(*upper, Edge::MaxValue), child)
            })
            .collect();
        Ints::from_ranges(&ranges).expect("integers")
    }

    /// Checks the values around each end against every range.
    fn check(ends: &[(Option<i64>, Option<i64>)]) {
        let ints = ints(ends);
        let around = |end: i64| [end.saturating_sub(1), end, end.saturating_add(1)];
        let all = ends.iter().flat_map(|(lower, upper)| [*lower, *upper]).flatten();
        let values =
            all.flat_map(around).chain([i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]);
        for value in values {
            let takes = |range: &&Int| {
                range.lower <= value && range.upper.is_none_or(|upper| value < upper)
            };
            let expected = ints.ranges.iter().find(takes).map(|range| range.child);
            assert_eq!(ints.search(value), expected, "{value} in {ends:?}");
        }
    }

    #[test]
    fn every_value_is_in_the_range_that_takes_it() {
        let even: Vec<_> = (-50..50).map(|n| (Some(30 * n), Some(30 * n + 30))).collect();
        check(&even);
        let gaps: Vec<_> = (0..40).map(|n| (Some(100 * n), Some(100 * n + 7))).collect();
        check(&gaps);
        // All ranges but one are close together.
        let mut uneven: Vec<_> = (0..100).map(|n| (Some(n), Some(n + 1))).collect();
        uneven.push((Some(1 << 60), None));
        check(&uneven);
        check(&[(None, Some(5)), (Some(5), Some(6)), (Some(i64::MAX - 1), Some(i64::MAX))]);
        check(&[(Some(i64::MIN + 1), Some(0)), (Some(0), Some(i64::MAX))]);
        check(&[(None, None)]);
        check(&[(Some(7), None)]);
        check(&[]);
    }
}
