//! The properties that `crates/core/tests/properties` has, for the targets here: each is a function
//! of bytes that panics where the property does not hold. And files of columns, which other targets share.

#[path = "../../crates/core/tests/properties/attributes.rs"]
mod attributes;
#[path = "../../crates/core/tests/properties/bucket.rs"]
pub mod bucket;
#[path = "../../crates/core/tests/properties/choices.rs"]
pub mod choices;
#[path = "../../crates/core/tests/properties/claims.rs"]
pub mod claims;
#[path = "../../crates/core/tests/properties/fields.rs"]
pub mod fields;
#[path = "../../crates/core/tests/properties/lines.rs"]
mod lines;
#[path = "../../crates/core/tests/properties/route.rs"]
pub mod route;
#[path = "../../crates/core/tests/properties/split.rs"]
pub mod split;
#[path = "../../crates/core/tests/properties/tree.rs"]
mod tree;
pub mod typed;
