//! The server's arithmetic with steps between ranges.

use super::steps::Counting;

/// Arithmetic with steps, as SQL expressions of a value, `anchor` and `step`.
pub(super) struct Arithmetic {
    pub(super) step_type: &'static str,
    /// The anchor if no existing partition provides one.
    pub(super) origin: &'static str,
    /// Whether a range can contain the value.
    pub(super) finite: &'static str,
    /// The approximate number of steps from the anchor to the value.
    pub(super) guess: &'static str,
    /// The maximum error of `guess`.
    pub(super) slack: &'static str,
}

impl Counting {
    /// Returns the SQL expressions for the key's type.
    pub(super) fn arithmetic(&self) -> Arithmetic {
        if self.is_time() {
            Arithmetic {
                step_type: "interval",
                // A Monday, and the first day of a month, a quarter and a year.
                origin: "'2001-01-01 00:00:00'",
                finite: "isfinite(value)",
                guess: "floor(extract(epoch FROM value - anchor)::float8
                    / extract(epoch FROM step)::float8)::int8",
                // Months and years differ in length.
                slack: "2 + CASE WHEN extract(year FROM step) <> 0 OR extract(month FROM step) <> 0
                     THEN abs(guess) / 25 ELSE 0 END",
            }
        } else {
            Arithmetic {
                step_type: "numeric",
                origin: "0",
                finite: "value <> 'NaN'",
                guess: "floor((value - anchor) / step)",
                slack: "1",
            }
        }
    }

    /// Returns an expression for the lower bound of the range from `lo`, and a condition that `hi` is a value
    /// of the type.
    pub(super) fn ends_in_sql(&self) -> (String, String) {
        match self.ends() {
            Some((min, max)) => (format!("greatest(lo, {min})"), format!("hi <= {max}")),
            None => ("lo".to_owned(), "true".to_owned()),
        }
    }
}
