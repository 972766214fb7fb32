//! Whole numbers as Go reads them.

use std::num::IntErrorKind;

/// `strconv.Atoi`, with its complaints.
pub fn atoi(text: &str) -> Result<i64, String> {
    text.parse::<i64>().map_err(|error| {
        let why = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.Atoi: parsing {}: {why}", crate::quoted(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_complaints() {
        for (text, expected) in [("0", Ok(0)), ("-7", Ok(-7)), ("+7", Ok(7)), ("007", Ok(7))] {
            assert_eq!(atoi(text), expected, "{text}");
        }
        for (text, why) in [
            ("", "invalid syntax"),
            ("-", "invalid syntax"),
            ("1_0", "invalid syntax"),
            ("0x1", "invalid syntax"),
            ("9223372036854775808", "value out of range"),
            ("-9223372036854775809", "value out of range"),
        ] {
            assert_eq!(atoi(text), Err(format!("strconv.Atoi: parsing \"{text}\": {why}")));
        }
    }
}
