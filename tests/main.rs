//! The one integration test binary: one program to link, each module one subject.

#![allow(clippy::unwrap_used)] // a test that fails panics

mod rules;
