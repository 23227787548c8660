//! Arrays of any type into columns of any type: both writers agree on whether a row fits, and write as many
//! fields as there are columns, or nothing.
#![no_main]

use pgsluice_fuzz::choices::Choices;
use pgsluice_fuzz::typed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let batch = typed::batch(&mut choices);
    typed::check(&mut choices, &batch);
});
