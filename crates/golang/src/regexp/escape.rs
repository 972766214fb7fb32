//! Escapes of one character: `\n`, `\x41`, `\101`, `\.`.

use super::Reader;

impl Reader<'_> {
    /// Reads an escape of one character.
    pub(super) fn escaped_char(&mut self) -> Result<char, String> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.bump() else { return Err("trailing backslash at end of expression: ``".into()) };
        let octal = |c: &char| ('0'..='7').contains(c);
        let value = match c {
            // A digit alone would be a back-reference.
            '1'..='7' if !self.peek().is_some_and(|next| octal(&next)) => None,
            '0'..='7' => {
                let mut value = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.peek().filter(octal) else { break };
                    self.at += 1;
                    value = value * 8 + digit.to_digit(8).unwrap_or(0);
                }
                char::from_u32(value)
            }
            'x' => self.hexadecimal(),
            'a' => Some('\x07'),
            'f' => Some('\x0C'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\x0B'),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(c),
            _ => None,
        };
        value.ok_or_else(|| format!("invalid escape sequence: `{}`", &self.whole[start..self.at]))
    }

    fn hexadecimal(&mut self) -> Option<char> {
        let first = self.bump()?;
        if first != '{' {
            let second = self.bump_hex(first)?;
            return char::from_u32(first.to_digit(16)? * 16 + second);
        }
        let mut value: u32 = 0;
        let mut digits = 0;
        loop {
            let c = self.bump()?;
            if c == '}' {
                return if digits > 0 { char::from_u32(value) } else { None };
            }
            value = value * 16 + c.to_digit(16)?;
            digits += 1;
            if value > u32::from(char::MAX) {
                return None;
            }
        }
    }

    fn bump_hex(&mut self, first: char) -> Option<u32> {
        first.to_digit(16)?;
        self.bump()?.to_digit(16)
    }
}
