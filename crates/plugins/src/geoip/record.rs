//! The records of a database, with the fields that have labels.
//!
//! Texts are borrowed from the database. Each has a maximum length, as in CoreDNS; a longer one makes its record
//! invalid.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A record of City, Country and Enterprise databases.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct City<'a> {
    #[serde(borrow)]
    city: Place<'a>,
    #[serde(borrow)]
    country: Country<'a>,
    #[serde(borrow)]
    continent: Continent<'a>,
    #[serde(borrow)]
    subdivisions: Vec<Subdivision<'a>>,
    #[serde(borrow)]
    location: Location<'a>,
    #[serde(borrow)]
    postal: Postal<'a>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Place<'a> {
    #[serde(borrow)]
    names: Names<'a>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Country<'a> {
    #[serde(borrow)]
    names: Names<'a>,
    #[serde(borrow)]
    iso_code: Text<'a, 16>,
    is_in_european_union: bool,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Continent<'a> {
    #[serde(borrow)]
    names: Names<'a>,
    #[serde(borrow)]
    code: Text<'a, 16>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Names<'a> {
    #[serde(borrow)]
    en: Text<'a, 1024>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Subdivision<'a> {
    #[serde(borrow)]
    iso_code: Text<'a, 16>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Location<'a> {
    latitude: Option<Degrees>,
    longitude: Option<Degrees>,
    #[serde(borrow)]
    time_zone: Text<'a, 256>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Postal<'a> {
    #[serde(borrow)]
    code: Text<'a, 128>,
}

/// A record of ASN and ISP databases.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Asn<'a> {
    autonomous_system_number: Number,
    #[serde(borrow)]
    autonomous_system_organization: Text<'a, 4096>,
}

impl City<'_> {
    const LABELS: [&'static str; 11] = [
        "city/name",
        "country/name",
        "country/code",
        "country/is_in_european_union",
        "continent/name",
        "continent/code",
        "subdivisions/code",
        "latitude",
        "longitude",
        "timezone",
        "postalcode",
    ];

    pub fn has(label: &str) -> bool {
        Self::LABELS.contains(&label)
    }

    pub fn value(&self, label: &str) -> Option<String> {
        Some(match label {
            "city/name" => self.city.names.en.to_string(),
            "country/name" => self.country.names.en.to_string(),
            "country/code" => self.country.iso_code.to_string(),
            "country/is_in_european_union" => self.country.is_in_european_union.to_string(),
            "continent/name" => self.continent.names.en.to_string(),
            "continent/code" => self.continent.code.to_string(),
            "subdivisions/code" => {
                self.subdivisions.iter().map(|part| part.iso_code.0).collect::<Vec<_>>().join(",")
            }
            "latitude" => self.location.latitude.map_or_else(String::new, |degrees| degrees.to_string()),
            "longitude" => self.location.longitude.map_or_else(String::new, |degrees| degrees.to_string()),
            "timezone" => self.location.time_zone.to_string(),
            "postalcode" => self.postal.code.to_string(),
            _ => return None,
        })
    }
}

impl Asn<'_> {
    pub fn has(label: &str) -> bool {
        matches!(label, "asn/number" | "asn/org")
    }

    pub fn value(&self, label: &str) -> Option<String> {
        match label {
            "asn/number" => Some(self.autonomous_system_number.0.to_string()),
            "asn/org" => Some(self.autonomous_system_organization.to_string()),
            _ => None,
        }
    }
}

/// A text of at most `MAX` octets.
#[derive(Default)]
struct Text<'a, const MAX: usize>(&'a str);

impl<const MAX: usize> fmt::Display for Text<'_, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl<'de: 'a, 'a, const MAX: usize> Deserialize<'de> for Text<'a, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowed<'a, const MAX: usize>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a, const MAX: usize> Visitor<'de> for Borrowed<'a, MAX> {
            type Value = Text<'a, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a text of at most {MAX} octets")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                if text.len() > MAX {
                    return Err(E::invalid_length(text.len(), &self));
                }
                Ok(Text(text))
            }
        }
        deserializer.deserialize_str(Borrowed(PhantomData))
    }
}

/// A coordinate. Values of integer types are invalid, as in CoreDNS.
#[derive(Clone, Copy)]
struct Degrees(f64);

/// As Go formats it: the shortest decimal that parses to the same float, without an exponent.
impl fmt::Display for Degrees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == f64::INFINITY {
            return f.write_str("+Inf");
        }
        if self.0 == f64::NEG_INFINITY {
            return f.write_str("-Inf");
        }
        write!(f, "{}", self.0)
    }
}

impl<'de> Deserialize<'de> for Degrees {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Float;
        impl Visitor<'_> for Float {
            type Value = Degrees;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a coordinate")
            }

            fn visit_f32<E: Error>(self, value: f32) -> Result<Degrees, E> {
                Ok(Degrees(value.into()))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Degrees, E> {
                Ok(Degrees(value))
            }
        }
        deserializer.deserialize_any(Float)
    }
}

/// A non-negative integer of any integer type.
#[derive(Clone, Copy, Default)]
struct Number(u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Integer;
        impl Visitor<'_> for Integer {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
                u64::try_from(value).map(Number).map_err(|_| E::custom("a number below zero"))
            }
        }
        deserializer.deserialize_any(Integer)
    }
}
