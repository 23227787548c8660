//! Formatting of numbers.

/// Returns a number with commas between thousands.
pub fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the number followed by `one` or `many`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", group_digits(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(["0", "999", "1,000", "1,234,567"], [0, 999, 1000, 1_234_567].map(group_digits));
        assert_eq!(count(1, "row", "rows"), "1 row");
    }
}
