//! Rows of batches, as both writers have them.

mod agree;
mod harness;
mod integers;
mod json;
mod nested;
mod packed;
mod refused;
mod strings;
mod times;
