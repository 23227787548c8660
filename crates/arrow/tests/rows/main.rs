//! Rows of batches, written by both writers.

mod agree;
mod harness;
mod integers;
mod json;
mod nested;
mod packed;
mod refused;
mod strings;
mod times;
