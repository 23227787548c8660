//! Guard against decoders that panic on damaged data, which is an error of the input.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::error::{Error, Result};

thread_local! {
    /// Whether this thread catches panics and reports them as errors.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder. A panic is not printed, but returned as the error `lost`.
pub(super) fn catch_panic<T>(
    decode: impl FnOnce() -> Result<T>,
    lost: impl FnOnce() -> Error,
) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            if !IS_GUARDED.get() {
                print(panicked);
            }
        }));
    });
    let before = IS_GUARDED.replace(true);
    // Nothing that the decoder may have half changed is used after a panic.
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    IS_GUARDED.set(before);
    decoded.unwrap_or_else(|_| Err(lost()))
}

#[cfg(test)]
mod tests {
    use super::catch_panic;
    use crate::error::Error;
    use crate::error::kind::Kind;

    #[test]
    fn a_panic_is_an_error() {
        let lost = || Error::new(Kind::Input, "damaged");
        let done = catch_panic(|| -> Result<(), Error> { panic!("too far") }, lost);
        assert_eq!(done.expect_err("a panic").message(), "damaged");
        assert_eq!(catch_panic(|| Ok(7), lost).expect("no panic"), 7);
    }
}
