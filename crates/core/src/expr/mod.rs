//! Expressions over the columns of a row, evaluated as PostgreSQL would: what a partition key may
//! have in place of a column.
//!
//! An expression is typed as it is built, and cannot be built of what is not known exactly. Some values
//! are left to the server, for that row. They are doubtful (text that is not ASCII in `lower`), or the
//! server would refuse them (an overflow, a division by zero). A function of each family has its own
//! file; all of them are strict but COALESCE.

mod arithmetic;
mod calendar;
mod cast;
mod evaluate;
mod string;
mod time;
mod value;

use crate::types::{KeyType, OwnedDatum};
pub use arithmetic::Operator;
pub use cast::Cast;
pub use evaluate::Unknown;
pub use string::{Case, Cut};
pub use time::{ExtractField, TruncUnit};

/// A typed expression; its columns are fields of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    node: ExprNode,
    ty: KeyType,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ExprNode {
    /// A column by its place in the input, with what of its modifier matters.
    Column {
        place: usize,
        ty: KeyType,
    },
    /// None is NULL.
    Constant(Option<OwnedDatum>),
    Coalesce(Vec<Expr>),
    Cast(Cast, Box<Expr>),
    Case(Case, Box<Expr>),
    /// The text, then the numbers that say where to cut.
    Cut(Cut, Box<Expr>, Vec<Expr>),
    Arithmetic(Operator, Box<[Expr; 2]>),
    Negate(Box<Expr>),
    Abs(Box<Expr>),
    Truncate(TruncUnit, Box<Expr>),
    Part(ExtractField, Box<Expr>),
    /// Steps of this many microseconds from an origin.
    Bin {
        stride: i64,
        origin: i64,
        of: Box<Expr>,
    },
    /// A timestamp moved by this many microseconds.
    Shift(i64, Box<Expr>),
}

impl Expr {
    /// The column at `place` of the input, whose values are read as `ty` says. Returns None if
    /// expressions do not know the type.
    #[must_use]
    pub fn column(place: usize, ty: KeyType) -> Option<Self> {
        Some(Self { ty: unmodified(&ty)?, node: ExprNode::Column { place, ty } })
    }

    /// The value that `text` is of the type `ty`; None where it is not certain.
    #[must_use]
    pub fn constant(text: &[u8], ty: &KeyType) -> Option<Self> {
        let ty = unmodified(ty)?;
        let value = ty.parse(text, &mut Vec::new()).map(OwnedDatum::from)?;
        Some(Self { node: ExprNode::Constant(Some(value)), ty })
    }

    /// NULL of the type `ty`; also a column that the input omits.
    #[must_use]
    pub fn null(ty: &KeyType) -> Option<Self> {
        Some(Self { node: ExprNode::Constant(None), ty: unmodified(ty)? })
    }

    /// `COALESCE`, of values of one type.
    #[must_use]
    pub fn coalesce(items: Vec<Self>) -> Option<Self> {
        let ty = items.first()?.ty.clone();
        let alike = items.iter().all(|item| item.ty == ty);
        alike.then_some(Self { node: ExprNode::Coalesce(items), ty })
    }

    /// `CAST`, without a modifier.
    #[must_use]
    pub fn cast(self, to: &KeyType) -> Option<Self> {
        let to = unmodified(to)?;
        match self.ty == to {
            true => Some(self),
            false => {
                let cast = Cast::find(&self.ty, &to)?;
                Some(Self { node: ExprNode::Cast(cast, Box::new(self)), ty: to })
            }
        }
    }

    /// Makes `lower` or `upper` of text. Its collation must have no letters but ASCII's, or the text
    /// must have the same form under every collation.
    #[must_use]
    pub fn case(self, case: Case, ascii_collation: bool) -> Option<Self> {
        let known = ascii_collation || self.is_common_ascii();
        self.over(KeyType::Text, KeyType::Text, |text| ExprNode::Case(case, text)).filter(|_| known)
    }

    /// `left`, `right`, `substr` or `substring`.
    #[must_use]
    pub fn cut(self, cut: Cut, numbers: Vec<Self>) -> Option<Self> {
        let known = numbers.iter().all(|number| number.ty == KeyType::Int4);
        let number = cut.arguments().contains(&numbers.len());
        self.over(KeyType::Text, KeyType::Text, |text| ExprNode::Cut(cut, text, numbers))
            .filter(|_| known && number)
    }

    /// `+ - * / %` of integers.
    #[must_use]
    pub fn arithmetic(operator: Operator, left: Self, right: Self) -> Option<Self> {
        let ty = arithmetic::result(operator, &left.ty, &right.ty)?;
        Some(Self { node: ExprNode::Arithmetic(operator, Box::new([left, right])), ty })
    }

    /// Unary minus of an integer.
    #[must_use]
    pub fn negate(self) -> Option<Self> {
        arithmetic::limits(&self.ty)?;
        Some(Self { ty: self.ty.clone(), node: ExprNode::Negate(Box::new(self)) })
    }

    /// `abs` of an integer.
    #[must_use]
    pub fn abs(self) -> Option<Self> {
        arithmetic::limits(&self.ty)?;
        Some(Self { ty: self.ty.clone(), node: ExprNode::Abs(Box::new(self)) })
    }

    /// `date_trunc(unit, timestamp)`.
    #[must_use]
    pub fn truncate(self, unit: TruncUnit) -> Option<Self> {
        self.over(TIMESTAMP, TIMESTAMP, |of| ExprNode::Truncate(unit, of))
    }

    /// `date_part(field, date | timestamp | time)`.
    #[must_use]
    pub fn part(self, field: ExtractField) -> Option<Self> {
        // date_part of a date is that of its midnight.
        let of = if self.ty == KeyType::Date { self.cast(&TIMESTAMP)? } else { self };
        let known = field.is_of(&of.ty);
        known.then(|| Self { node: ExprNode::Part(field, Box::new(of)), ty: KeyType::Float8 })
    }

    /// `EXTRACT(field FROM date | timestamp | time)` as from PostgreSQL 14 on: a numeric.
    #[must_use]
    pub fn extract(self, field: ExtractField) -> Option<Self> {
        let known = field.is_of(&self.ty);
        // A date has no time of day here.
        let of = if self.ty == KeyType::Date { self.cast(&TIMESTAMP)? } else { self };
        known.then(|| Self { node: ExprNode::Part(field, Box::new(of)), ty: NUMERIC })
    }

    /// `date_bin(stride, timestamp, origin)`, both in microseconds, the origin from 2000-01-01.
    #[must_use]
    pub fn bin(self, stride: i64, origin: i64) -> Option<Self> {
        let known = stride > 0 && time::is_finite(origin);
        self.over(TIMESTAMP, TIMESTAMP, |of| ExprNode::Bin { stride, origin, of }).filter(|_| known)
    }

    /// Makes `AT TIME ZONE`, `east` seconds east of UTC.
    #[must_use]
    pub fn at_time_zone(self, east: i32) -> Option<Self> {
        let (east, to) = match self.ty {
            KeyType::Timestamptz { .. } => (i64::from(east), TIMESTAMP),
            KeyType::Timestamp { .. } => (-i64::from(east), TIMESTAMPTZ),
            _ => return None,
        };
        Some(Self { node: ExprNode::Shift(east * time::USECS_PER_SECOND, Box::new(self)), ty: to })
    }

    /// A node over this expression if that is of type `from`.
    fn over(
        self,
        from: KeyType,
        to: KeyType,
        node: impl FnOnce(Box<Self>) -> ExprNode,
    ) -> Option<Self> {
        (self.ty == from).then(|| Self { node: node(Box::new(self)), ty: to })
    }

    /// The type of its values, without modifiers.
    #[must_use]
    pub fn ty(&self) -> &KeyType {
        &self.ty
    }

    /// Whether its values are of the type `ty`, whatever modifiers that has.
    #[must_use]
    pub fn is_of(&self, ty: &KeyType) -> bool {
        unmodified(ty).as_ref() == Some(&self.ty)
    }

    /// The places in the input of the columns that it reads, in no order.
    #[must_use]
    pub fn places(&self) -> Vec<usize> {
        let mut places = Vec::new();
        let mut rest = vec![self];
        while let Some(next) = rest.pop() {
            match &next.node {
                ExprNode::Column { place, .. } => places.push(*place),
                _ => rest.extend(next.operands()),
            }
        }
        places
    }

    /// The same with the columns at the places that `place` gives for their own.
    #[must_use]
    pub fn placed(&self, place: &impl Fn(usize) -> usize) -> Self {
        let mut expr = self.clone();
        expr.move_columns(place);
        expr
    }

    fn move_columns(&mut self, to: &impl Fn(usize) -> usize) {
        match &mut self.node {
            ExprNode::Column { place, .. } => *place = to(*place),
            ExprNode::Constant(_) => {}
            ExprNode::Coalesce(items) => items.iter_mut().for_each(|item| item.move_columns(to)),
            ExprNode::Arithmetic(_, sides) => {
                sides.iter_mut().for_each(|side| side.move_columns(to))
            }
            ExprNode::Cut(_, text, numbers) => {
                text.move_columns(to);
                numbers.iter_mut().for_each(|number| number.move_columns(to));
            }
            ExprNode::Cast(_, of)
            | ExprNode::Case(_, of)
            | ExprNode::Negate(of)
            | ExprNode::Abs(of)
            | ExprNode::Truncate(_, of)
            | ExprNode::Part(_, of)
            | ExprNode::Bin { of, .. }
            | ExprNode::Shift(_, of) => of.move_columns(to),
        }
    }

    fn operands(&self) -> Vec<&Self> {
        match &self.node {
            ExprNode::Column { .. } | ExprNode::Constant(_) => Vec::new(),
            ExprNode::Coalesce(items) => items.iter().collect(),
            ExprNode::Arithmetic(_, sides) => sides.iter().collect(),
            ExprNode::Cut(_, text, numbers) => std::iter::once(&**text).chain(numbers).collect(),
            ExprNode::Cast(_, of)
            | ExprNode::Case(_, of)
            | ExprNode::Negate(of)
            | ExprNode::Abs(of)
            | ExprNode::Truncate(_, of)
            | ExprNode::Part(_, of)
            | ExprNode::Bin { of, .. }
            | ExprNode::Shift(_, of) => vec![of],
        }
    }

    /// Whether the other case of its text is the same in every language (that of an `i` is not). Such
    /// texts are digits, hyphens, the letters of hexadecimal digits, `true` and `false`.
    fn is_common_ascii(&self) -> bool {
        match &self.node {
            ExprNode::Cast(_, of) => {
                matches!(of.ty, KeyType::Uuid | KeyType::Bool)
                    || arithmetic::limits(&of.ty).is_some()
            }
            ExprNode::Case(_, text) | ExprNode::Cut(_, text, _) => text.is_common_ascii(),
            _ => false,
        }
    }
}

const NUMERIC: KeyType = KeyType::Numeric { scale: None };
const TIMESTAMP: KeyType = KeyType::Timestamp { precision: 6 };
const TIMESTAMPTZ: KeyType = KeyType::Timestamptz { precision: 6, zone: None };

/// The type as that of a result, which has no modifier; None if expressions do not know it.
fn unmodified(ty: &KeyType) -> Option<KeyType> {
    Some(match ty {
        KeyType::Numeric { .. } => NUMERIC,
        KeyType::Varchar { .. } => KeyType::Varchar { max: None },
        KeyType::Bpchar { .. } => KeyType::Bpchar { max: None },
        KeyType::Time { .. } => KeyType::Time { precision: 6 },
        KeyType::Timestamp { .. } => TIMESTAMP,
        KeyType::Timestamptz { .. } => TIMESTAMPTZ,
        KeyType::Bool
        | KeyType::Int2
        | KeyType::Int4
        | KeyType::Int8
        | KeyType::Float4
        | KeyType::Float8
        | KeyType::Name
        | KeyType::Text
        | KeyType::Uuid
        | KeyType::Date => ty.clone(),
        _ => return None,
    })
}
