//! One record of an answer: a template, or the constant record of a template without actions.

use std::borrow::Cow;

use golang::template::{Function, Functions, Template};
use wire::Section;
use zone::ZoneRecord;

use super::data::MatchedQuery;

/// The functions of templates in addition to Go's.
const FUNCTIONS: Functions = Functions(&[("parseInt", Function::ParseUint)]);

pub(super) struct RecordTemplate {
    template: Template,
    /// The result, if it does not depend on the query.
    constant: Option<Result<Option<ZoneRecord>, String>>,
}

/// Why a template did not make a record.
pub(super) struct RecordError {
    pub error: String,
    /// Whether the template failed; otherwise its text is not a valid record.
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

    /// The record, if it is the same for every query and has a wire format.
    pub fn constant(&self) -> Option<&ZoneRecord> {
        self.constant.as_ref()?.as_ref().ok()?.as_ref().filter(|record| record.data.is_some())
    }

    /// The record; None if the template's text is empty.
    pub fn render(
        &self,
        section: Section,
        matched: &MatchedQuery<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Cow<'_, ZoneRecord>>, RecordError> {
        let failure = |error: &str, in_template| RecordError {
            error: error.to_owned(),
            in_template,
            section,
            template: self.template.to_string(),
        };
        match &self.constant {
            Some(Ok(record)) => return Ok(record.as_ref().map(Cow::Borrowed)),
            Some(Err(error)) => return Err(failure(error, false)),
            None => {}
        }
        buffer.clear();
        self.template.execute(matched, buffer).map_err(|error| failure(&error, true))?;
        let record = parse_record(buffer).map_err(|error| failure(&error, false))?;
        Ok(record.map(Cow::Owned))
    }
}

fn parse_record(text: &[u8]) -> Result<Option<ZoneRecord>, String> {
    ZoneRecord::parse(text).map_err(|error| error.to_string())
}

/// The name in the Corefile and in metrics.
pub(super) fn section_name(section: Section) -> &'static str {
    match section {
        Section::Answer => "answer",
        Section::Authority => "authority",
        Section::Additional => "additional",
    }
}
