//! Time zones, from the system's zoneinfo files.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Go's search path for zones.
const FOLDERS: [&str; 4] =
    ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"];

/// Seconds of 400 years, after which leap years, weekdays and daylight saving time repeat.
const GREGORIAN_CYCLE: i64 = 146_097 * super::civil::DAY;

/// A time zone.
#[derive(Debug)]
pub struct Zone {
    pub(crate) name: String,
    rules: Rules,
}

#[derive(Debug)]
enum Rules {
    /// One period at all times; jiff's fixed zones have no abbreviation.
    Fixed(Period),
    File(TimeZone),
}

/// Offset from UTC in seconds, and its abbreviation.
#[derive(Clone, Debug)]
pub(crate) struct Period {
    pub offset: i64,
    pub abbreviation: String,
}

impl Zone {
    pub fn utc() -> Arc<Zone> {
        static UTC: OnceLock<Arc<Zone>> = OnceLock::new();
        UTC.get_or_init(|| Arc::new(Zone::fixed("UTC", 0))).clone()
    }

    /// A zone with a fixed offset, abbreviated by its name.
    pub fn fixed(name: &str, offset: i64) -> Zone {
        let period = Period { offset, abbreviation: name.to_owned() };
        Zone { name: name.to_owned(), rules: Rules::Fixed(period) }
    }

    /// The system's zone. Read once, at the setup of the first expression that needs it.
    pub fn local() -> Arc<Zone> {
        static LOCAL: OnceLock<Arc<Zone>> = OnceLock::new();
        LOCAL.get_or_init(|| Zone::find_local().map_or_else(Zone::utc, Arc::new)).clone()
    }

    fn find_local() -> Option<Zone> {
        let Some(tz) = std::env::var_os("TZ") else {
            return Zone::read("/etc/localtime", "Local");
        };
        let tz = tz.into_string().ok()?;
        match tz.strip_prefix(':').unwrap_or(&tz) {
            "" => None,
            "/etc/localtime" => Zone::read("/etc/localtime", "Local"),
            path if path.starts_with('/') => Zone::read(path, path),
            name => Zone::find(name),
        }
    }

    /// A zone by its name.
    pub fn load(name: &str) -> Result<Arc<Zone>, String> {
        match name {
            "" | "UTC" => return Ok(Zone::utc()),
            "Local" => return Ok(Zone::local()),
            _ if name.contains("..") || name.starts_with(['/', '\\']) => {
                return Err("time: invalid location name".to_owned());
            }
            _ => {}
        }
        Zone::find(name).map(Arc::new).ok_or_else(|| format!("unknown time zone {name}"))
    }

    fn find(name: &str) -> Option<Zone> {
        FOLDERS.iter().find_map(|folder| Zone::read(&format!("{folder}/{name}"), name))
    }

    fn read(path: &str, name: &str) -> Option<Zone> {
        let zone = TimeZone::tzif(name, &files::read(path.as_ref(), files::DEFAULT_LIMIT).ok()?).ok()?;
        Some(Zone { name: name.to_owned(), rules: Rules::File(zone) })
    }

    /// The period in effect at an instant.
    pub(crate) fn at(&self, unix: i64) -> Period {
        let zone = match &self.rules {
            Rules::Fixed(period) => return period.clone(),
            Rules::File(zone) => zone,
        };
        // jiff's times end with the year 9999; Go's do not.
        let last = Timestamp::MAX.as_second();
        let known = if unix > last { last - GREGORIAN_CYCLE + (unix - last) % GREGORIAN_CYCLE } else { unix };
        let info = zone.to_offset_info(Timestamp::from_second(known).unwrap_or(Timestamp::MIN));
        Period { offset: info.offset().seconds().into(), abbreviation: info.abbreviation().to_owned() }
    }

    /// The instant of a local time, which is given as if it were UTC.
    pub(crate) fn unix(&self, local: i64) -> i64 {
        // The offset before or after a transition, whichever yields that local time.
        let guess = local - self.at(local).offset;
        let offset = self.at(guess).offset;
        if guess + offset == local { guess } else { local - offset }
    }
}
