//! RDATA in presentation format, field by field from the table of [`forms`].
//!
//! Every text written here is read back to the same octets: RDATA that is not exactly what its type's text would be read
//! to, such as an unsorted bitmap, is written as `\# LENGTH HEX`.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::service::parameters;
use crate::form::{Form, forms};
use crate::radix::{BASE16, BASE32HEX, BASE64};
use crate::{Name, Rtype};

/// RDATA in presentation format; `\# LENGTH HEX` for unknown types and malformed RDATA.
pub fn present_data(rtype: Rtype, data: &[u8]) -> String {
    native(rtype, data).unwrap_or_else(|| generic(data))
}

fn native(rtype: Rtype, data: &[u8]) -> Option<String> {
    let mut writer = FieldWriter { rest: data, out: String::new() };
    for (form, _) in forms(rtype)? {
        writer.field(*form)?;
    }
    writer.rest.is_empty().then_some(writer.out)
}

/// RDATA of unknown types (RFC 3597 §5).
fn generic(data: &[u8]) -> String {
    let mut out = format!("\\# {}", data.len());
    if !data.is_empty() {
        out.push(' ');
    }
    for byte in data {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

struct FieldWriter<'a> {
    rest: &'a [u8],
    out: String,
}

impl<'a> FieldWriter<'a> {
    fn field(&mut self, form: Form) -> Option<()> {
        match form {
            Form::U8 | Form::Algorithm => self.number::<1>(),
            Form::U16 | Form::Certificate => self.number::<2>(),
            Form::U32 | Form::Period => self.number::<4>(),
            Form::U64 => self.number::<8>(),
            Form::Time => {
                let time = u32::from_be_bytes(self.take()?);
                self.word(&timestamp(time));
                Some(())
            }
            Form::Ipv4 => {
                let address = Ipv4Addr::from(self.take::<4>()?);
                self.shown(address)
            }
            Form::Ipv6 => {
                let address = Ipv6Addr::from(self.take::<16>()?);
                self.shown(address)
            }
            Form::Name => {
                let name = self.name()?;
                self.shown(name)
            }
            Form::Text => {
                let text = self.counted()?;
                self.word(&quoted(text));
                Some(())
            }
            Form::Tag => {
                let tag = std::str::from_utf8(self.counted()?).ok()?;
                let is_tag = !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_alphanumeric());
                is_tag.then(|| self.word(tag))
            }
            Form::OptionalText if self.rest.is_empty() => Some(()),
            Form::OptionalText => self.field(Form::Text),
            Form::Texts => {
                self.field(Form::Text)?;
                while !self.rest.is_empty() {
                    self.field(Form::Text)?;
                }
                Some(())
            }
            Form::Octets => {
                let octets = self.all();
                // Longer strings would be read as several.
                (octets.len() <= 255).then(|| self.word(&quoted(octets)))
            }
            Form::Hex => self.digits(|data| BASE16.encode(data)),
            Form::Nsap => self.digits(|data| format!("0x{}", BASE16.encode(data))),
            Form::Base64 => self.digits(|data| BASE64.encode(data)),
            Form::Salt => {
                let salt = self.counted()?;
                self.word(&if salt.is_empty() { "-".into() } else { BASE16.encode(salt) });
                Some(())
            }
            Form::Hash => {
                let hash = self.counted().filter(|hash| !hash.is_empty())?;
                self.word(&BASE32HEX.encode(hash));
                Some(())
            }
            Form::Type => {
                let rtype = Rtype(u16::from_be_bytes(self.take()?));
                self.shown(rtype.zone_name())
            }
            Form::Types => self.types(),
            Form::Mac(octets) => {
                let (octets, rest) = self.rest.split_at_checked(octets)?;
                self.rest = rest;
                let pairs: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
                self.word(&pairs.join("-"));
                Some(())
            }
            Form::Locator => {
                let groups = self.take::<8>()?;
                let groups = groups.as_chunks::<2>().0.iter();
                let groups: Vec<String> =
                    groups.map(|group| format!("{:04x}", u16::from_be_bytes(*group))).collect();
                self.word(&groups.join(":"));
                Some(())
            }
            Form::Location => self.location(),
            Form::Prefixes => {
                while !self.rest.is_empty() {
                    self.prefix()?;
                }
                Some(())
            }
            Form::Parameters => {
                let words = parameters(self.all())?;
                words.iter().for_each(|word| self.word(word));
                Some(())
            }
            Form::IpsecGateway => {
                let [kind, algorithm] = self.take()?;
                self.word(&format!("{kind} {algorithm}"));
                self.gateway(kind)?;
                if self.rest.is_empty() { Some(()) } else { self.field(Form::Base64) }
            }
            Form::Relay => {
                let [kind] = self.take()?;
                self.word(&format!("{} {}", kind >> 7, kind & 0x7F));
                self.gateway(kind & 0x7F)
            }
            Form::HostIdentity => {
                let [hit, algorithm, high, low] = self.take()?;
                let (hit, rest) = self.rest.split_at_checked(usize::from(hit))?;
                let (key, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([high, low])))?;
                self.rest = rest;
                if hit.is_empty() || key.is_empty() {
                    return None;
                }
                self.word(&format!("{algorithm} {} {}", BASE16.encode(hit), BASE64.encode(key)));
                while !self.rest.is_empty() {
                    self.field(Form::Name)?;
                }
                Some(())
            }
        }
    }

    fn word(&mut self, word: &str) {
        if !self.out.is_empty() {
            self.out.push(' ');
        }
        self.out.push_str(word);
    }

    fn shown(&mut self, value: impl std::fmt::Display) -> Option<()> {
        self.word(&value.to_string());
        Some(())
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (octets, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*octets)
    }

    fn all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    fn number<const N: usize>(&mut self) -> Option<()> {
        let octets = self.take::<N>()?;
        let number = octets.iter().fold(0u64, |number, octet| number << 8 | u64::from(*octet));
        self.shown(number)
    }

    /// Octets after their length.
    fn counted(&mut self) -> Option<&'a [u8]> {
        let [len] = self.take()?;
        let (octets, rest) = self.rest.split_at_checked(usize::from(len))?;
        self.rest = rest;
        Some(octets)
    }

    fn name(&mut self) -> Option<Name<'a>> {
        let mut end = 0;
        while let len @ 1.. = *self.rest.get(end)? {
            end += usize::from(len) + 1;
        }
        let (name, rest) = self.rest.split_at_checked(end + 1)?;
        self.rest = rest;
        Name::from_wire(name)
    }

    fn digits(&mut self, encode: impl Fn(&[u8]) -> String) -> Option<()> {
        let octets = self.all();
        (!octets.is_empty()).then(|| self.word(&encode(octets)))
    }

    fn types(&mut self) -> Option<()> {
        let mut least_window = 0;
        while !self.rest.is_empty() {
            let [window] = self.take()?;
            let bits = self.counted()?;
            if u16::from(window) < least_window
                || bits.len() > 32
                || bits.last().is_none_or(|last| *last == 0)
            {
                return None;
            }
            least_window = u16::from(window) + 1;
            for (at, octet) in bits.iter().enumerate() {
                for bit in (0..8).filter(|bit| octet & 0x80 >> bit != 0) {
                    let rtype = Rtype(u16::from_be_bytes([window, (at * 8 + bit) as u8]));
                    self.shown(rtype.zone_name());
                }
            }
        }
        Some(())
    }

    fn gateway(&mut self, kind: u8) -> Option<()> {
        match kind {
            0 => self.shown('.'),
            1 => self.field(Form::Ipv4),
            2 => self.field(Form::Ipv6),
            3 => self.field(Form::Name),
            _ => None,
        }
    }

    /// One address prefix, `[!]FAMILY:ADDRESS/LENGTH`.
    fn prefix(&mut self) -> Option<()> {
        let [high, low, prefix, len] = self.take()?;
        let (part, rest) = self.rest.split_at_checked(usize::from(len & 0x7F))?;
        self.rest = rest;
        let mut octets = [0; 16];
        octets.get_mut(..part.len())?.copy_from_slice(part);
        let number = u128::from_be_bytes(octets);
        let family = u16::from_be_bytes([high, low]);
        let (address, bits) = match family {
            1 if part.len() <= 4 => (Ipv4Addr::from((number >> 96) as u32).to_string(), 32),
            2 => (Ipv6Addr::from(number).to_string(), 128),
            _ => return None,
        };
        let outside = number.checked_shl(u32::from(prefix)).unwrap_or(0);
        if prefix > bits || outside != 0 || part.last() == Some(&0) {
            return None;
        }
        let negation = if len & 0x80 != 0 { "!" } else { "" };
        self.shown(format!("{negation}{family}:{address}/{prefix}"))
    }

    fn location(&mut self) -> Option<()> {
        let [0, size, horizontal, vertical] = self.take()? else { return None };
        let latitude = angle(u32::from_be_bytes(self.take()?), 90, ['N', 'S'])?;
        let longitude = angle(u32::from_be_bytes(self.take()?), 180, ['E', 'W'])?;
        let altitude = i64::from(u32::from_be_bytes(self.take()?)) - 10_000_000;
        let sign = if altitude < 0 { "-" } else { "" };
        let (metres, centimetres) = (altitude.abs() / 100, altitude.abs() % 100);
        self.word(&format!("{latitude} {longitude} {sign}{metres}.{centimetres:02}m"));
        for precision in [size, horizontal, vertical] {
            self.word(&metres_of(precision)?);
        }
        Some(())
    }
}

/// A string in quotes.
pub(super) fn quoted(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in text {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03}");
            }
        }
    }
    out.push('"');
    out
}

/// Degrees, minutes, seconds and direction.
fn angle(value: u32, most: u32, [positive, negative]: [char; 2]) -> Option<String> {
    const EQUATOR: u32 = 1 << 31;
    let thousandths = value.abs_diff(EQUATOR);
    if thousandths > most * 3_600_000 {
        return None;
    }
    let direction = if value >= EQUATOR { positive } else { negative };
    let (degrees, minutes) = (thousandths / 3_600_000, thousandths / 60_000 % 60);
    let (seconds, fraction) = (thousandths / 1000 % 60, thousandths % 1000);
    Some(format!("{degrees} {minutes} {seconds}.{fraction:03} {direction}"))
}

/// A digit and a power of ten of centimetres, in metres.
fn metres_of(precision: u8) -> Option<String> {
    let (digit, power) = (precision >> 4, precision & 0x0F);
    if digit > 9 || power > 9 || (digit == 0 && power > 0) {
        return None;
    }
    let centimetres = u64::from(digit) * 10u64.pow(u32::from(power));
    Some(format!("{}.{:02}m", centimetres / 100, centimetres % 100))
}

/// Seconds since 1970 as `YYYYMMDDHHMMSS`.
fn timestamp(seconds: u32) -> String {
    let (days, time) = (i64::from(seconds / 86_400), seconds % 86_400);
    // Years that begin in March; 719,468 days before 1970 was the first of March of the year 0.
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}{:02}{:02}{:02}", time / 3600, time / 60 % 60, time % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_as_text() {
        for (rtype, data, text) in [
            (Rtype::A, &[10, 0, 0, 1][..], "10.0.0.1"),
            (Rtype::A, &[10, 0, 0], r"\# 3 0a0000"),
            (Rtype::MX, b"\x00\x0a\x01a\x00", "10 a."),
            (Rtype::TXT, b"\x03a\"b\x01\x00", r#""a\"b" "\000""#),
            (Rtype::HINFO, b"\x01x\x01y", r#""x" "y""#),
            (Rtype(4711), &[1, 255], r"\# 2 01ff"),
            (Rtype::SRV, b"\x00\x00\x00\x64\x00\x50\x01a\x00", "0 100 80 a."),
            (Rtype::NSEC, b"\x01a\x00\x00\x01\x60", "a. A NS"),
            (Rtype::NSEC3PARAM, b"\x01\x00\x00\x0a\x02\xab\xcd", "1 0 10 ABCD"),
            (Rtype::APL, b"\x00\x01\x18\x83\x0a\x00\x01", "!1:10.0.1.0/24"),
            (Rtype::AMTRELAY, b"\x0a\x81\xc0\x00\x02\x01", "10 1 1 192.0.2.1"),
        ] {
            assert_eq!(present_data(rtype, data), text);
        }
    }

    #[test]
    fn times() {
        for (seconds, text) in [
            (0, "19700101000000"),
            (951_782_400, "20000229000000"),
            (1_709_164_800, "20240229000000"),
            (u32::MAX, "21060207062815"),
        ] {
            assert_eq!(timestamp(seconds), text);
        }
    }
}
