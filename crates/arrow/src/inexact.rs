//! Values that a column cannot hold exactly: rejected, or rounded as PostgreSQL rounds text input.

/// The treatment of a value that its column could hold only after rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inexact {
    /// Reject the row.
    #[default]
    Refuse,
    /// Store the value that the server's input function makes of this value's text.
    Round,
}

impl Inexact {
    /// Returns [`Self::Round`] if `rounds`, else [`Self::Refuse`].
    #[must_use]
    pub fn from_rounds(rounds: bool) -> Self {
        if rounds { Self::Round } else { Self::Refuse }
    }

    /// Whether values are rounded.
    #[inline]
    pub(crate) fn rounds(self) -> bool {
        self == Self::Round
    }
}

/// The declared scale of a numeric column, if any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredScale {
    pub(crate) digits: Option<i32>,
    pub(crate) inexact: Inexact,
}

/// The declared fractional digits of a second, if fewer than six.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Precision {
    pub(crate) digits: Option<u8>,
    pub(crate) inexact: Inexact,
}
