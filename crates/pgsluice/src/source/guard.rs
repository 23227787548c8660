//! Guard: some decoders panic where what they read is damaged, and that is an error of the input.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::error::{Error, Result};

thread_local! {
    /// Whether a panic of this thread is caught, and said in other words.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs what decodes; a panic is `lost`, and nothing is printed of it.
pub(super) fn guarded<T>(
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
    // Nothing that it has begun to change is used after it.
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    IS_GUARDED.set(before);
    decoded.unwrap_or_else(|_| Err(lost()))
}

#[cfg(test)]
mod tests {
    use super::guarded;
    use crate::error::Error;
    use crate::error::kind::Kind;

    #[test]
    fn a_panic_is_an_error() {
        let lost = || Error::new(Kind::Input, "damaged");
        let done = guarded(|| -> Result<(), Error> { panic!("too far") }, lost);
        assert_eq!(done.expect_err("a panic").message(), "damaged");
        assert_eq!(guarded(|| Ok(7), lost).expect("no panic"), 7);
    }
}
