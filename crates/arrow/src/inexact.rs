//! Values that a column cannot hold exactly: refused, or rounded as PostgreSQL rounds what it reads as text.

/// Treatment of a value that its column could hold only after rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inexact {
    /// The row is refused.
    #[default]
    Refuse,
    /// The column gets the value that the server's input function makes of the text of this one.
    Round,
}

impl Inexact {
    /// Returns [`Self::Round`] if values are rounded.
    #[must_use]
    pub fn of(rounds: bool) -> Self {
        if rounds { Self::Round } else { Self::Refuse }
    }

    /// Whether values are rounded.
    #[inline]
    pub(crate) fn rounds(self) -> bool {
        self == Self::Round
    }
}

/// The digits behind the point that a numeric column has, if that is declared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredScale {
    pub(crate) digits: Option<i32>,
    pub(crate) inexact: Inexact,
}

/// The digits of a second that a column has, if fewer than all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Precision {
    pub(crate) digits: Option<u8>,
    pub(crate) inexact: Inexact,
}
