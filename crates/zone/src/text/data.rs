//! RDATA of each type, field by field from the table of [`forms`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Problem;
use super::fields::{Fields, NAME, base64, duration, number, period, push_name};
use super::lex::{Kind, Token, named_type, number_after};
use wire::Rtype;
use wire::form::{ALGORITHMS, CERTIFICATES, Form, forms};
use wire::layout::{Piece, walk_data};
use wire::radix::{BASE16, BASE32HEX};

/// The fields of a type that has its own syntax; for other types it is `\# LENGTH HEX`. miekg/dns knows a type only if it
/// has a mnemonic for it.
pub(super) fn grammar(rtype: Rtype, strict: bool) -> Option<&'static [(Form, &'static str)]> {
    forms(rtype).filter(|_| strict || rtype.mnemonic().is_some())
}

impl<'a> Fields<'_, 'a> {
    /// Reads RDATA in the type's own syntax, to the end of the line.
    pub(super) fn typed(&mut self, forms: &[(Form, &'static str)]) -> Result<(), Problem> {
        for (at, (form, field)) in forms.iter().enumerate() {
            self.field = field;
            // Fields that extend to the end of the line skip blanks themselves, except where miekg/dns does not.
            let skips = form.reads_line()
                && !matches!(self.rtype, Rtype::SSHFP | Rtype::CAA | Rtype::URI | Rtype::IPSECKEY);
            if at > 0 && !skips {
                self.blank();
            }
            let first = self.tokens.peek().clone();
            self.form(*form)?;
            self.before = first;
            if form.reads_line() || self.read_line {
                return Ok(());
            }
        }
        self.end()
    }

    fn form(&mut self, form: Form) -> Result<(), Problem> {
        match form {
            Form::U8 => self.u8().map(|_| ()),
            Form::U16 => self.u16(),
            Form::U32 => self.u32(),
            Form::U64 => {
                let number = self.integer(u64::MAX)?;
                self.out.extend_from_slice(&number.to_be_bytes());
                Ok(())
            }
            Form::Period => {
                // miekg/dns also accepts a unit without a number.
                let seconds = if self.strict { period } else { duration };
                self.word("a number of seconds or a period such as 1h30m", |text| {
                    seconds(text).map(u32::to_be_bytes)
                })
            }
            Form::Time => self.word("a time as YYYYMMDDHHMMSS", |text| {
                let seconds = || number(text, u64::from(u32::MAX)).map(|seconds| seconds as u32);
                timestamp(text).or_else(seconds).map(u32::to_be_bytes)
            }),
            Form::Ipv4 if self.rtype == Rtype::L32 && !self.strict => {
                let token = self.next();
                match address(&token.text).filter(|_| !token.bad) {
                    Some(IpAddr::V4(address)) => self.out.extend_from_slice(&address.octets()),
                    Some(IpAddr::V6(_)) => self.unwritable = true,
                    None => return Err(self.bad("an IPv4 address", &token)),
                }
                Ok(())
            }
            Form::Ipv4 => self.word("an IPv4 address", |text| {
                std::str::from_utf8(text).ok()?.parse().ok().map(|address: Ipv4Addr| address.octets())
            }),
            Form::Ipv6 => self.word("an IPv6 address", |text| {
                std::str::from_utf8(text).ok()?.parse().ok().map(|address: Ipv6Addr| address.octets())
            }),
            Form::Name => self.name(),
            Form::Tag if self.strict => {
                let token = self.tokens.peek().clone();
                let start = self.out.len() + 1;
                self.string()?;
                match self.out.get(start..) {
                    Some([_, ..]) if self.out[start..].iter().all(u8::is_ascii_alphanumeric) => Ok(()),
                    _ => Err(self.bad("letters and digits", &token)),
                }
            }
            Form::Text | Form::Tag | Form::OptionalText => self.text_field(form),
            Form::Texts => {
                for text in self.texts()? {
                    self.text(&text);
                }
                Ok(())
            }
            Form::Octets => self.last_string(),
            Form::Hex => self.hexadecimal(),
            Form::Nsap => self.nsap(),
            Form::Base64 => self.base64(),
            Form::Salt => self.salt(),
            Form::Hash => self.hash(),
            Form::Type => {
                let strict = self.strict;
                self.word("a record type", |text| covered(text, strict).map(|rtype| rtype.0.to_be_bytes()))
            }
            Form::Types => self.types(),
            Form::Algorithm => self.algorithm(),
            Form::Certificate => self.word("a certificate type", |text| {
                let named =
                    CERTIFICATES.iter().find(|(name, _)| name.as_bytes() == text).map(|(_, kind)| *kind);
                named
                    .or_else(|| number(text, u64::from(u16::MAX)).map(|kind| kind as u16))
                    .map(u16::to_be_bytes)
            }),
            Form::Mac(octets) => self.mac(octets),
            Form::Locator => self.locator(),
            Form::Location => self.loc(),
            Form::Prefixes => self.prefixes(),
            Form::Parameters => self.service_parameters(),
            Form::IpsecGateway => self.ipsec_gateway(),
            Form::Relay => self.relay(),
            Form::HostIdentity => self.host_identity(),
        }
    }

    /// Reads one word and writes its octets.
    fn word<const N: usize>(
        &mut self,
        expected: &str,
        octets: impl Fn(&[u8]) -> Option<[u8; N]>,
    ) -> Result<(), Problem> {
        let token = self.next();
        match octets(&token.text).filter(|_| !token.bad) {
            Some(octets) => {
                self.out.extend_from_slice(&octets);
                Ok(())
            }
            None => Err(self.bad(expected, &token)),
        }
    }

    /// RFC 3597: any type, as `\# LENGTH HEX`.
    pub(super) fn generic(&mut self, marked: bool, head: &Token<'_>) -> Result<(), Problem> {
        const MESSAGE: &str = "bad RFC3597 Rdata";
        let unmarked = format!("{}: expected \\# and a length, got ", self.rtype.zone_name());
        let token = self.next();
        if !marked {
            return Err(Problem::new(MESSAGE, &token).expected(unmarked + &token.shown()));
        }
        self.blank();
        let token = self.next();
        let len = number(&token.text, u64::from(u16::MAX));
        let len = len.ok_or_else(|| {
            let expected = format!("expected the length of the data, 0 to 65535, got {}", token.shown());
            Problem::new("bad RFC3597 Rdata ", &token).expected(expected)
        })?;
        let text = self.rest("hexadecimal digits").map_err(|problem| problem.renamed(MESSAGE))?;
        if text.len() as u64 != len * 2 {
            let expected = format!("expected {} hexadecimal digits, got {}", len * 2, text.len());
            return Err(Problem::new(MESSAGE, &token).expected(expected));
        }
        let known = grammar(self.rtype, self.strict).is_some();
        match BASE16.decode(&text) {
            Some(bytes) if known && !bytes.is_empty() => {
                let start = self.out.len();
                let out = &mut *self.out;
                let fits = walk_data(self.rtype, &bytes, 0, bytes.len(), |piece| match piece {
                    Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                    Piece::Name(name) => out.extend_from_slice(name.wire()),
                });
                if !fits {
                    self.out.truncate(start);
                    let expected = format!("the data is not of type {}", self.rtype.zone_name());
                    return Err(Problem::new("dns: overflow unpacking data", head).expected(expected));
                }
            }
            None if known || self.strict => {
                let expected =
                    format!("expected hexadecimal digits, got '{}'", String::from_utf8_lossy(&text));
                return Err(Problem::new(bad_hexadecimal(&text), head).expected(expected));
            }
            bytes => self.write(bytes),
        }
        Ok(())
    }

    /// A string among other fields. miekg/dns reads several types in their own way.
    fn text_field(&mut self, form: Form) -> Result<(), Problem> {
        if self.strict {
            let missing = form == Form::OptionalText && {
                self.blank();
                self.tokens.peek().is_end()
            };
            if !missing {
                self.string()?;
            }
            // An optional string is the last field.
            return if form == Form::OptionalText { self.end() } else { Ok(()) };
        }
        match self.rtype {
            Rtype::HINFO | Rtype::ISDN => {
                self.read_line = true;
                self.two_strings()
            }
            Rtype::NAPTR => self.quoted(),
            Rtype::UINFO => {
                self.read_line = true;
                let texts = self.texts()?;
                self.text(texts.first().map_or(b"", |text| text));
                Ok(())
            }
            _ => {
                let token = self.next();
                let refused = match self.rtype {
                    Rtype::X25 => token.bad,
                    Rtype::GPOS => token.bad || decimal(&token.text).is_none(),
                    _ => token.kind != Kind::Text,
                };
                if refused {
                    return Err(self.bad("a string", &token));
                }
                self.text(&token.text);
                Ok(())
            }
        }
    }

    /// A string in quotes, which are required.
    fn quoted(&mut self) -> Result<(), Problem> {
        const EXPECTED: &str = "a string in quotes";
        let expect_quote = |fields: &mut Self| {
            let token = fields.next();
            if token.kind == Kind::Quote { Ok(()) } else { Err(fields.bad(EXPECTED, &token)) }
        };
        expect_quote(self)?;
        let token = self.next();
        match token.kind {
            Kind::Text => {
                expect_quote(self)?;
                self.text(&token.text);
            }
            Kind::Quote => self.text(b""),
            _ => return Err(self.bad(EXPECTED, &token)),
        }
        Ok(())
    }

    /// Two strings; a single quoted one is split at blanks.
    fn two_strings(&mut self) -> Result<(), Problem> {
        let texts = self.texts()?;
        let mut parts: Vec<Vec<u8>> = texts.into_iter().map(|text| text.into_owned()).collect();
        if let [one] = &parts[..] {
            let words: Vec<Vec<u8>> = one
                .split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty())
                .map(<[u8]>::to_vec)
                .collect();
            parts = if words.len() > 1 { words } else { vec![one.clone(), Vec::new()] };
        }
        let (first, others) = match parts.split_first() {
            Some((first, others)) => (first.clone(), others.join(&b" "[..])),
            None => (Vec::new(), Vec::new()),
        };
        self.text(&first);
        self.text(&others);
        Ok(())
    }

    /// One string, written without a length since it is the last field.
    fn last_string(&mut self) -> Result<(), Problem> {
        let first = self.tokens.peek().clone();
        match &self.texts()?[..] {
            [text] => {
                self.octets(text);
                Ok(())
            }
            // miekg/dns reports the token before.
            _ => Err(self.bad("one string", if self.strict { &first } else { &self.before })),
        }
    }

    fn nsap(&mut self) -> Result<(), Problem> {
        const EXPECTED: &str = "0x and hexadecimal digits";
        let first = self.tokens.peek().clone();
        let text: Vec<u8> = self.rest(EXPECTED)?.into_iter().filter(|byte| *byte != b'.').collect();
        let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"));
        match digits.and_then(|digits| BASE16.decode(digits)).filter(|octets| !octets.is_empty()) {
            Some(octets) => {
                self.out.extend_from_slice(&octets);
                Ok(())
            }
            None => Err(self.bad(EXPECTED, &first)),
        }
    }

    fn salt(&mut self) -> Result<(), Problem> {
        const EXPECTED: &str = "hexadecimal digits or -";
        let token = self.next();
        if self.rtype == Rtype::NSEC3 && (token.text.is_empty() || token.bad) {
            return Err(self.bad(EXPECTED, &token));
        }
        let digits = if &token.text[..] == b"-" { b"" } else { &token.text[..] };
        let octets = BASE16.decode(digits).filter(|octets| octets.len() < 256 && !token.bad);
        if self.strict && (octets.is_none() || token.kind != Kind::Text) {
            return Err(self.bad(EXPECTED, &token));
        }
        self.out.push((digits.len() / 2) as u8);
        self.write(octets);
        Ok(())
    }

    fn hash(&mut self) -> Result<(), Problem> {
        const EXPECTED: &str = "a hash in base 32";
        let token = self.next();
        if token.text.is_empty() || token.bad {
            return Err(self.bad(EXPECTED, &token));
        }
        let octets = BASE32HEX.decode(&token.text).filter(|octets| octets.len() < 256);
        if self.strict && (octets.is_none() || token.kind != Kind::Text) {
            return Err(self.bad(EXPECTED, &token));
        }
        // miekg/dns writes the length of SHA-1, whatever the text is.
        let len = if self.strict { octets.as_ref().map_or(0, Vec::len) } else { 20 };
        self.out.push(len as u8);
        self.write(octets);
        Ok(())
    }

    fn algorithm(&mut self) -> Result<(), Problem> {
        let token = self.next();
        let named = || {
            let is_exact = matches!(self.rtype, Rtype::RRSIG | Rtype::SIG | Rtype::CERT) && !self.strict;
            let is_key = matches!(self.rtype, Rtype::KEY | Rtype::RKEY | Rtype::DNSKEY | Rtype::CDNSKEY);
            let found = ALGORITHMS.iter().filter(|_| self.strict || !is_key).find(|(name, _)| {
                if is_exact {
                    name.as_bytes() == &token.text[..]
                } else {
                    name.as_bytes().eq_ignore_ascii_case(&token.text)
                }
            });
            found.map(|(_, number)| *number)
        };
        let found = number(&token.text, 255).map(|number| number as u8).or_else(named).filter(|_| !token.bad);
        self.out.push(found.ok_or_else(|| self.bad("a DNSSEC algorithm, by number or mnemonic", &token))?);
        Ok(())
    }

    fn types(&mut self) -> Result<(), Problem> {
        const EXPECTED: &str = "record types";
        let mut types = Vec::new();
        loop {
            let token = self.next();
            match token.kind {
                _ if token.bad => return Err(self.bad(EXPECTED, &token)),
                Kind::Newline | Kind::End => break,
                Kind::Blank => {}
                Kind::Text => {
                    let found = match self.strict {
                        true => covered(&token.text, true).map(|rtype| rtype.0),
                        // miekg/dns does not look at the four characters before the number.
                        false => named_type(&token.text)
                            .map(|rtype| rtype.0)
                            .or_else(|| number_after(&token.text, 4)),
                    };
                    types.push(found.ok_or_else(|| self.bad(EXPECTED, &token))?);
                }
                _ => return Err(self.bad(EXPECTED, &token)),
            }
        }
        if self.strict {
            types.sort_unstable();
        }
        // An unsorted list has no wire format; miekg/dns ignores the order within an octet.
        self.unwritable |= !types.is_sorted_by_key(|rtype| rtype >> 3);
        self.bitmap(&types);
        Ok(())
    }

    /// RFC 4034 §4.1.2: windows of 256 types without trailing zero octets.
    fn bitmap(&mut self, types: &[u16]) {
        for block in types.chunk_by(|a, b| a >> 8 == b >> 8) {
            let [window, _] = block[0].to_be_bytes();
            let mut bits = [0u8; 32];
            let mut len = 0;
            for rtype in block {
                let low = usize::from(rtype & 0xFF);
                bits[low / 8] |= 0x80 >> (low % 8);
                len = len.max(low / 8 + 1);
            }
            self.out.push(window);
            self.out.push(len as u8);
            self.out.extend_from_slice(&bits[..len]);
        }
    }

    fn mac(&mut self, octets: usize) -> Result<(), Problem> {
        const EXPECTED: &str = "octets in hexadecimal with dashes";
        let token = self.next();
        let text = &token.text[..];
        let dashes = text.iter().skip(2).step_by(3).all(|byte| *byte == b'-');
        if token.bad || text.len() != octets * 3 - 1 || !dashes {
            return Err(self.bad(EXPECTED, &token));
        }
        let pairs: Vec<u8> = text.chunks(3).flat_map(|pair| &pair[..2]).copied().collect();
        match BASE16.decode(&pairs) {
            Some(octets) => {
                self.out.extend_from_slice(&octets);
                Ok(())
            }
            // A typing error of miekg/dns.
            None if octets == 8 => Err(self.bad(EXPECTED, &token).renamed("bad EUI68 Address")),
            None => Err(self.bad(EXPECTED, &token)),
        }
    }

    fn locator(&mut self) -> Result<(), Problem> {
        let token = self.next();
        let text = &token.text[..];
        let octets = if self.strict {
            let group = |group: &[u8]| {
                let group = std::str::from_utf8(group)
                    .ok()
                    .filter(|group| group.len() <= 4 && !group.starts_with('+'));
                u16::from_str_radix(group?, 16).ok().map(u16::to_be_bytes)
            };
            let groups: Option<Vec<[u8; 2]>> = text.split(|byte| *byte == b':').map(group).collect();
            groups.map(|groups| groups.concat())
        } else {
            // miekg/dns accepts one colon, and ignores what follows.
            let has_colon = [4, 9, 14].iter().any(|at| text.get(*at) == Some(&b':'));
            let groups: Vec<u8> =
                text.chunks(5).take(4).flat_map(|group| group.iter().take(4)).copied().collect();
            BASE16.decode(&groups).filter(|_| has_colon)
        };
        let octets = octets.filter(|octets| octets.len() == 8);
        let octets = octets.ok_or_else(|| {
            self.bad("four groups of hexadecimal digits with colons", &token)
                .renamed("bad NID/L64 NodeID/Locator64")
        })?;
        self.out.extend_from_slice(&octets);
        Ok(())
    }

    /// A gateway of this kind: none, an IPv4 address, an IPv6 address or a name.
    fn gateway(&mut self, kind: u8) -> Result<(), Problem> {
        let token = self.next();
        if token.bad {
            self.field = "gateway";
            return Err(self.bad("a gateway", &token));
        }
        let (expected, found) = match (kind, address(&token.text)) {
            (0, _) => (". for no gateway", &token.text[..] == b"."),
            (1, Some(IpAddr::V4(address))) => {
                self.out.extend_from_slice(&address.octets());
                ("", true)
            }
            (2, Some(IpAddr::V6(address))) => {
                self.out.extend_from_slice(&address.octets());
                ("", true)
            }
            (1, _) => ("an IPv4 address", false),
            (2, _) => ("an IPv6 address", false),
            (3, _) => (NAME, push_name(&token.text, self.origin, self.out)),
            _ if self.strict => ("a gateway type from 0 to 3 before", false),
            _ => {
                self.unwritable = true;
                ("", true)
            }
        };
        // miekg/dns drops the message.
        if found { Ok(()) } else { Err(self.bad(expected, &token).renamed("")) }
    }

    fn ipsec_gateway(&mut self) -> Result<(), Problem> {
        let kind = self.u8()?;
        self.blank();
        self.u8()?;
        self.blank();
        self.gateway(kind)?;
        self.blank();
        self.field = "PublicKey";
        // A record may have no key.
        if self.strict && self.tokens.peek().is_end() { self.end() } else { self.base64() }
    }

    fn relay(&mut self) -> Result<(), Problem> {
        let token = self.next();
        let discovery = match &token.text[..] {
            b"0" if !token.bad => 0,
            b"1" if !token.bad => 0x80,
            _ => return Err(self.bad("0 or 1", &token).renamed("bad discovery value")),
        };
        self.blank();
        let kind =
            self.integer(u64::from(if self.strict { i8::MAX as u8 } else { u8::MAX }))? as u8 | discovery;
        self.out.push(kind);
        self.blank();
        self.gateway(kind & 0x7F)
    }

    /// Algorithm, host identity tag, key and rendezvous servers.
    fn host_identity(&mut self) -> Result<(), Problem> {
        let start = self.out.len();
        self.out.push(0);
        self.u8()?;
        self.out.extend_from_slice(&[0, 0]);
        self.blank();
        self.field = "Hit";
        let token = self.next();
        let tag = BASE16.decode(&token.text).filter(|tag| tag.len() < 256);
        if token.text.is_empty() || token.bad || self.strict && tag.is_none() {
            return Err(self.bad("hexadecimal digits", &token));
        }
        self.out[start] = (token.text.len() / 2) as u8;
        self.write(tag);
        self.blank();
        self.field = "PublicKey";
        let token = self.next();
        let key = base64(&token.text).filter(|key| !token.bad && !key.is_empty() && key.len() < 65536);
        let key = key.ok_or_else(|| self.bad("base 64", &token))?;
        self.out[start + 2..start + 4].copy_from_slice(&(key.len() as u16).to_be_bytes());
        self.out.extend_from_slice(&key);
        self.field = "RendezvousServers";
        loop {
            let token = self.next();
            match token.kind {
                Kind::Newline | Kind::End if !token.bad => return Ok(()),
                Kind::Blank => {}
                Kind::Text if !token.bad && push_name(&token.text, self.origin, self.out) => {}
                _ => return Err(self.bad(NAME, &token)),
            }
        }
    }

    fn prefixes(&mut self) -> Result<(), Problem> {
        loop {
            let token = self.next();
            match token.kind {
                Kind::Newline | Kind::End if !token.bad => return Ok(()),
                Kind::Blank => {}
                Kind::Text => {
                    let octets = prefix(&token.text);
                    let octets = octets
                        .map_err(|message| self.bad("[!]FAMILY:ADDRESS/LENGTH", &token).renamed(message))?;
                    self.out.extend_from_slice(&octets);
                }
                _ => return Err(self.bad("an address prefix", &token).renamed("unexpected APL field")),
            }
        }
    }

    fn loc(&mut self) -> Result<(), Problem> {
        let fields = ["Latitude", "Latitude minutes", "Latitude seconds", "Latitude North/South"];
        let latitude = self.angle(90, [b"nN", b"sS"], fields)?;
        self.blank();
        let fields = ["Longitude", "Longitude minutes", "Longitude seconds", "Longitude East/West"];
        let longitude = self.angle(180, [b"eE", b"wW"], fields)?;
        self.blank();
        let altitude = self.altitude()?;
        let mut sizes = [0x12, 0x16, 0x13];
        self.precisions(&mut sizes)?;
        self.out.push(0);
        self.out.extend_from_slice(&sizes);
        for value in [latitude, longitude, altitude] {
            self.out.extend_from_slice(&value.to_be_bytes());
        }
        Ok(())
    }

    /// Degrees, optionally minutes and seconds, then the letter of a direction.
    fn angle(
        &mut self,
        most: u64,
        directions: [&[u8]; 2],
        fields: [&'static str; 4],
    ) -> Result<u32, Problem> {
        const EQUATOR: u32 = 1 << 31;
        const DEGREE: u32 = 1000 * 60 * 60;
        self.field = fields[0];
        let mut angle = self.integer(most)? as u32 * DEGREE;
        self.blank();
        let mut token = self.next();
        let directed = |token: &Token<'_>, angle: u32| {
            if angle > most as u32 * DEGREE {
                return None;
            }
            match &token.text[..] {
                [letter] if directions[0].contains(letter) => Some(EQUATOR + angle),
                [letter] if directions[1].contains(letter) => Some(EQUATOR - angle),
                _ => None,
            }
        };
        if let Some(found) = directed(&token, angle) {
            return Ok(found);
        }
        self.field = fields[1];
        let minutes = number(&token.text, 59);
        let minutes = minutes.ok_or_else(|| self.bad("minutes from 0 to 59, or a direction", &token))?;
        angle += minutes as u32 * 60_000;
        self.blank();
        token = self.next();
        // Zone files may omit the seconds, too (RFC 1876 §3).
        if let Some(found) = directed(&token, angle).filter(|_| self.strict) {
            return Ok(found);
        }
        self.field = fields[2];
        let seconds = decimal(&token.text).filter(|seconds| (0.0..60.0).contains(seconds));
        let seconds = seconds.ok_or_else(|| self.bad("seconds from 0 to 59.999, or a direction", &token))?;
        // Exact for zone files; miekg/dns truncates.
        angle += if self.strict { (1000.0 * seconds).round() } else { 1000.0 * seconds } as u32;
        self.blank();
        token = self.next();
        self.field = fields[3];
        directed(&token, angle).ok_or_else(|| self.bad("the letter of a direction", &token))
    }

    fn altitude(&mut self) -> Result<u32, Problem> {
        self.field = "Altitude";
        let mut token = self.next();
        let bare = token.text.strip_suffix(b"M").or_else(|| token.text.strip_suffix(b"m"));
        if let Some(bare) = bare {
            token.text = bare.to_vec().into();
        }
        let altitude = decimal(&token.text).filter(|_| !token.bad);
        let altitude = altitude.ok_or_else(|| self.bad("an altitude such as 10m", &token))?;
        let centimetres = (altitude * 100.0 + 10_000_000.5).floor();
        if self.strict && !(0.0..=f64::from(u32::MAX)).contains(&centimetres) {
            return Err(self.bad("an altitude from -100000m to 42849672.95m", &token));
        }
        Ok(centimetres as i64 as u32)
    }

    fn precisions(&mut self, sizes: &mut [u8; 3]) -> Result<(), Problem> {
        const ALL: &str = "Size, HorizPre or VertPre";
        const EXPECTED: &str = "a size such as 10m";
        let mut count = 0;
        loop {
            let token = self.next();
            match token.kind {
                _ if token.bad => {
                    self.field = ALL;
                    return Err(self.bad(EXPECTED, &token));
                }
                Kind::Newline | Kind::End => return Ok(()),
                Kind::Blank => {}
                Kind::Text => {
                    if let Some(size) = sizes.get_mut(count) {
                        self.field = ["Size", "HorizPre", "VertPre"][count];
                        *size = centimetres(&token.text).ok_or_else(|| self.bad(EXPECTED, &token))?;
                    } else if self.strict {
                        return Err(self.bad("the end of the line", &token));
                    }
                    count += 1;
                }
                _ => {
                    self.field = ALL;
                    return Err(self.bad(EXPECTED, &token));
                }
            }
        }
    }
}

/// A size in centimetres as a digit and a power of ten (RFC 1876 §2).
fn centimetres(text: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(text).ok()?;
    let text = text.strip_suffix(['M', 'm']).unwrap_or(text);
    let (metres, hundredths) = match text.split_once('.') {
        Some((metres, hundredths)) => (metres, Some(hundredths)),
        None => (text, None),
    };
    let mut centimetres = 0;
    if let Some(digits) = hundredths {
        if digits.len() > 2 {
            return None;
        }
        centimetres = number(digits.as_bytes(), 99)? * if digits.len() == 1 { 10 } else { 1 };
    }
    let mut whole = 0;
    if hundredths.is_none() || !metres.is_empty() {
        whole = number(metres.as_bytes(), 90_000_000)?;
        if whole == 90_000_000 && centimetres != 0 {
            return None;
        }
    }
    let (mut power, mut value) = if whole > 0 { (2, whole) } else { (0, centimetres) };
    while value >= 10 {
        power += 1;
        value /= 10;
    }
    Some(power & 0x0F | (value as u8) << 4)
}

fn decimal(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let plain =
        text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E'));
    plain.then(|| text.parse().ok()).flatten()
}

/// A record type as a field of RDATA.
fn covered(text: &[u8], strict: bool) -> Option<Rtype> {
    if strict {
        return Rtype::from_zone_name(std::str::from_utf8(text).ok()?);
    }
    let prefixed = text.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case(b"TYPE"));
    named_type(text).or_else(|| prefixed.then(|| number_after(text, 4)).flatten().map(Rtype))
}

fn address(text: &[u8]) -> Option<IpAddr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// An address prefix, `[!]FAMILY:ADDRESS/LENGTH`, in wire format (RFC 3123 §4). The error is that of miekg/dns, which
/// drops some.
fn prefix(text: &[u8]) -> Result<Vec<u8>, &'static str> {
    let colon = text.iter().position(|byte| *byte == b':').ok_or("missing colon in APL field")?;
    let (family, rest) = text.split_at(colon);
    let (negation, family) = match family.strip_prefix(b"!") {
        Some(family) => (0x80, family),
        None => (0, family),
    };
    let family = number(family, u64::from(u16::MAX)).ok_or("")? as u16;
    if !matches!(family, 1 | 2) {
        return Err("unrecognized APL family");
    }
    let slash = rest.iter().position(|byte| *byte == b'/').ok_or("")?;
    let found = address(&rest[1..slash]).ok_or("")?;
    let (number_of_bits, bits) = match found {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let len = number(&rest[slash + 1..], bits).ok_or("")? as u8;
    if number_of_bits.checked_shl(u32::from(len)).unwrap_or(0) != 0 {
        return Err("extra bits in APL address");
    }
    if found.is_ipv4() != (family == 1) {
        return Err("address mismatch with the APL family");
    }
    let octets = number_of_bits.to_be_bytes();
    let used = 16 - octets.iter().rev().take_while(|octet| **octet == 0).count();
    let mut out = family.to_be_bytes().to_vec();
    out.extend_from_slice(&[len, negation | used as u8]);
    out.extend_from_slice(&octets[..used]);
    Ok(out)
}

/// `YYYYMMDDHHMMSS` in seconds since 1970, modulo 2³².
fn timestamp(text: &[u8]) -> Option<u32> {
    if text.len() != 14 {
        return None;
    }
    let part = |from: usize, to: usize| number(&text[from..to], 9999).map(|number| number as i64);
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days_of_month).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Days since 1970, for years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        - 719_469;
    Some((days * 86_400 + hour * 3_600 + minute * 60 + second) as u32)
}

/// The error of Go's `encoding/hex`.
fn bad_hexadecimal(text: &[u8]) -> String {
    match text.iter().find(|byte| !byte.is_ascii_hexdigit()) {
        Some(byte) => {
            let c = char::from(*byte);
            let shown = if c.is_ascii_graphic() { format!("'{c}'") } else { format!("'\\x{byte:02x}'") };
            format!("encoding/hex: invalid byte: U+{byte:04X} {shown}")
        }
        None => "encoding/hex: odd length hex string".into(),
    }
}
