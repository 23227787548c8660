//! The properties of `crates/core/tests/properties` for the targets here: each is a function of bytes that
//! panics if the property does not hold. Files of columns are shared by several targets.

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
