//! Numbers and booleans as Go's `strconv` parses them, with its errors.

use std::num::{IntErrorKind, ParseIntError};

use crate::quoted;

/// `strconv.Atoi`
pub fn atoi(text: &str) -> Result<i64, String> {
    text.parse().map_err(|error| num_error("Atoi", text, reason(&error)))
}

/// `strconv.ParseFloat` of 64 bits, without hexadecimal numbers.
pub fn parse_float(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| num_error("ParseFloat", text, "invalid syntax"))?;
    let is_inf = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']);
    if number.is_infinite() && !is_inf {
        return Err(num_error("ParseFloat", text, "value out of range"));
    }
    Ok(number)
}

/// `strconv.ParseBool`
pub fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(num_error("ParseBool", text, "invalid syntax")),
    }
}

fn num_error(function: &str, text: &str, reason: &str) -> String {
    format!("strconv.{function}: parsing {}: {reason}", quoted(text))
}

fn reason(error: &ParseIntError) -> &'static str {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_errors_are_those_of_go() {
        assert_eq!((atoi("+7"), atoi("-7"), atoi("007")), (Ok(7), Ok(-7), Ok(7)));
        for text in ["", "-", "1_0", "0x1"] {
            assert_eq!(atoi(text).unwrap_err(), format!("strconv.Atoi: parsing {text:?}: invalid syntax"));
        }
        assert_eq!(atoi("x").unwrap_err(), r#"strconv.Atoi: parsing "x": invalid syntax"#);
        let far = r#"strconv.Atoi: parsing "99999999999999999999": value out of range"#;
        assert_eq!(atoi("99999999999999999999").unwrap_err(), far);
        assert_eq!((parse_float("0.5"), parse_float("1e3")), (Ok(0.5), Ok(1000.0)));
        assert!(parse_float("1e999").unwrap_err().ends_with("value out of range"));
        assert_eq!(parse_float("inf"), Ok(f64::INFINITY));
        assert_eq!((parse_bool("T"), parse_bool("0")), (Ok(true), Ok(false)));
        assert_eq!(parse_bool("on").unwrap_err(), r#"strconv.ParseBool: parsing "on": invalid syntax"#);
    }
}
