//! The one integration binary: each module is a subject.

mod spelling;
