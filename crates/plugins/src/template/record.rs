//! One record of an answer: a template, or what a template without any action says.

use std::borrow::Cow;

use golang::template::{Function, Functions, Template};
use wire::{Section, ZoneRecord};

use super::data::Matched;

/// The functions that templates have besides Go's.
const FUNCTIONS: Functions = Functions(&[("parseInt", Function::ParseUint)]);

pub(super) struct RecordTemplate {
    template: Template,
    /// What comes of it whatever the query is.
    constant: Option<Result<Option<ZoneRecord>, String>>,
}

/// Why there is no record.
pub(super) struct Failed {
    pub error: String,
    /// The template's own failure; otherwise what it said is no record.
    pub in_template: bool,
    pub section: Section,
    /// As Go prints it, for metrics.
    pub template: String,
}

impl RecordTemplate {
    pub fn parse(section: Section, text: &str) -> Result<RecordTemplate, String> {
        let template = Template::parse(section_name(section), text, FUNCTIONS)?;
        let constant = template.constant().map(|text| parse_record(text.as_bytes()));
        Ok(RecordTemplate { template, constant })
    }

    /// The record, if it is the same for every query and can be sent.
    pub fn constant(&self) -> Option<&ZoneRecord> {
        self.constant.as_ref()?.as_ref().ok()?.as_ref().filter(|record| record.data.is_some())
    }

    /// The record; None if the template says nothing at all.
    pub fn render(
        &self,
        section: Section,
        matched: &Matched<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Cow<'_, ZoneRecord>>, Failed> {
        let failed = |error: &str, in_template| Failed {
            error: error.to_owned(),
            in_template,
            section,
            template: self.template.to_string(),
        };
        match &self.constant {
            Some(Ok(record)) => return Ok(record.as_ref().map(Cow::Borrowed)),
            Some(Err(error)) => return Err(failed(error, false)),
            None => {}
        }
        buffer.clear();
        self.template.execute(matched, buffer).map_err(|error| failed(&error, true))?;
        let record = parse_record(buffer).map_err(|error| failed(&error, false))?;
        Ok(record.map(Cow::Owned))
    }
}

fn parse_record(text: &[u8]) -> Result<Option<ZoneRecord>, String> {
    ZoneRecord::parse(text).map_err(|error| error.to_string())
}

/// As the Corefile and the metrics call it.
pub(super) fn section_name(section: Section) -> &'static str {
    match section {
        Section::Answer => "answer",
        Section::Authority => "authority",
        Section::Additional => "additional",
    }
}
