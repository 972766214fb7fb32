//! A database file, read into memory: a memory-mapped file that is overwritten would change while in use.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use golang::{quoted, system_error};
use maxminddb::{MaxMindDbError, Reader};

use super::record::{Asn, City};

pub(super) struct Database {
    reader: Reader<Vec<u8>>,
    schema: Schema,
}

/// Larger databases are refused; the largest of MaxMind's has about 200 MB.
const MAX_SIZE: u64 = 512 << 20;

/// The marker before a database's metadata.
const METADATA_MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";

/// The type of a database's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Schema {
    /// Cities or countries; a country record is a city record with fewer fields.
    City,
    Asn,
    /// A type that the reader knows, but that has no labels here.
    Other,
}

const DATABASE_TYPES: &[(Schema, &[&str])] = &[
    (
        Schema::City,
        &[
            "DBIP-City-Lite",
            "DBIP-Country",
            "DBIP-Country-Lite",
            "DBIP-ISP (compat=Enterprise)",
            "DBIP-Location (compat=City)",
            "DBIP-Location-ISP (compat=Enterprise)",
            "GeoIP-City-Redacted-US",
            "GeoIP-Enterprise-Redacted-US",
            "GeoIP2-City",
            "GeoIP2-City-Africa",
            "GeoIP2-City-Asia-Pacific",
            "GeoIP2-City-Europe",
            "GeoIP2-City-North-America",
            "GeoIP2-City-South-America",
            "GeoIP2-Country",
            "GeoIP2-Enterprise",
            "GeoIP2-Precision-City",
            "GeoLite2-City",
            "GeoLite2-Country",
        ],
    ),
    (
        Schema::Asn,
        &["DBIP-ASN-Lite (compat=GeoLite2-ASN)", "GeoIP2-ISP", "GeoIP2-Precision-ISP", "GeoLite2-ASN"],
    ),
    (
        Schema::Other,
        &["GeoIP-Anonymous-Plus", "GeoIP2-Anonymous-IP", "GeoIP2-Connection-Type", "GeoIP2-Domain"],
    ),
];

impl Schema {
    fn from_type(database_type: &str) -> Option<Schema> {
        DATABASE_TYPES.iter().find(|(_, names)| names.contains(&database_type)).map(|(schema, _)| *schema)
    }
}

impl Database {
    /// Reads a file; errors have CoreDNS's texts.
    pub fn open(path: &Path) -> Result<Database, String> {
        let bytes = read(path).map_err(|why| format!("failed to open database file: {why}"))?;
        let reader =
            Reader::from_source(bytes).map_err(|error| format!("failed to open database file: {error}"))?;
        let database_type = reader.metadata().database_type.as_str();
        let Some(schema) = Schema::from_type(database_type) else {
            let name = quoted(database_type);
            return Err(format!(
                "failed to open database file: geoip2: reader does not support the {name} database type"
            ));
        };
        let database = Database { reader, schema };
        database.probe(path)?;
        Ok(database)
    }

    /// Looks up 127.0.0.1, as CoreDNS does, so that a database that CoreDNS cannot read is refused here too.
    fn probe(&self, path: &Path) -> Result<(), String> {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let (schema, error) = match self.schema {
            Schema::City => ("city", self.record::<City<'_>>(address).err()),
            Schema::Asn => ("asn", self.record::<Asn<'_>>(address).err()),
            Schema::Other => {
                return Err("database does not provide any supported schema (city, asn)".to_owned());
            }
        };
        match error {
            None => Ok(()),
            Some(error) => {
                let file = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
                let file = quoted(&file);
                Err(format!("unexpected failure looking up database {file} schema \"{schema}\": {error}"))
            }
        }
    }

    /// The value of a label for an address: empty if the address is not in the database, None if the lookup fails or
    /// the record is invalid.
    pub fn value(&self, label: &str, address: IpAddr) -> Option<String> {
        match self.schema {
            Schema::City if City::has(label) => self.record::<City<'_>>(address).ok()?.value(label),
            Schema::Asn if Asn::has(label) => self.record::<Asn<'_>>(address).ok()?.value(label),
            _ => None,
        }
    }

    fn record<'a, R: serde::Deserialize<'a> + Default>(
        &'a self,
        address: IpAddr,
    ) -> Result<R, MaxMindDbError> {
        Ok(self.reader.lookup(address)?.decode()?.unwrap_or_default())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = files::read(path, MAX_SIZE).map_err(|error| {
        // open(2) succeeds on a folder, read(2) does not.
        let call = if error.kind() == ErrorKind::IsADirectory { "read" } else { "open" };
        format!("{call} {}: {}", path.display(), system_error(&error))
    })?;
    if bytes.is_empty() {
        return Err("file is empty".to_owned());
    }
    // The marker is near the end, so the search starts there.
    if !bytes.windows(METADATA_MARKER.len()).rev().any(|window| window == METADATA_MARKER) {
        return Err("error opening database: invalid MaxMind DB file".to_owned());
    }
    Ok(bytes)
}
