//! Numbers of options, with Go's error texts.

/// Go's `ParseFloat` of 32 bits.
pub(super) fn float(text: &str) -> Result<f32, String> {
    let wrong = |why| format!("strconv.ParseFloat: parsing {}: {why}", golang::quoted(text));
    let number: f32 = text.parse().map_err(|_| wrong("invalid syntax"))?;
    let is_inf_word = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']);
    if number.is_infinite() && !is_inf_word { Err(wrong("value out of range")) } else { Ok(number) }
}
