//! Streams of events: watches and streamed lists.

use bytes::Bytes;
use tokio::select;
use tokio::time::{Instant, sleep_until};

use super::check::PendingCensus;
use super::{End, Reflector, TOO_LARGE_VERSION};
use crate::api::backoff::Limits;
use crate::api::decode::{Encoding, Event, Frame};
use crate::api::frames::{Frames, NextFrame};
use crate::api::message::Status;
use crate::api::request::{Resource, send};

/// Error codes unrelated to streaming: authorization, missing resources, expired versions, load.
const UNRELATED_CODES: [u16; 6] = [401, 403, 404, 408, 410, 429];

impl Reflector {
    /// Watches from a version.
    pub(super) async fn watch(&mut self, resource: &Resource, version: &str) -> End {
        let uri = resource.watch(Some(version), Limits::watch_duration());
        let response =
            send(&self.access, &uri, resource.encoding.watch_accept(), self.limits.response_timeout).await;
        match response {
            // The version is invalid here: perhaps another server has taken over.
            Err(failure) if matches!(failure.code(), Some(400 | 422)) => End::Expired,
            Err(failure) => self.classify(failure),
            Ok(response) => {
                self.connected();
                let encoding = response.encoding(resource);
                self.watch_events(Frames::new(response.body, encoding), resource).await
            }
        }
    }

    fn connected(&self) {
        if self.status.connected() {
            self.access.notify_reachable();
        }
    }

    /// Streams a list and watches: existing objects arrive as events, then a bookmark, then changes.
    pub(super) async fn stream(&mut self, resource: &Resource) -> End {
        let uri = resource.watch(None, Limits::watch_duration());
        let response =
            send(&self.access, &uri, resource.encoding.watch_accept(), self.limits.response_timeout).await;
        let response = match response {
            Ok(response) => response,
            Err(failure) if failure.code().is_some_and(means_no_streaming) => {
                return End::StreamingUnsupported(failure.why);
            }
            Err(failure) => return self.classify(failure),
        };
        let encoding = response.encoding(resource);
        let mut frames = Frames::new(response.body, encoding);
        match self.initial_events(&mut frames).await {
            Ok(version) => self.version = Some(version),
            Err(end) => return end,
        }
        self.connected();
        self.watch_events(frames, resource).await
    }

    /// Receives the events of the list; returns the version of its closing bookmark.
    async fn initial_events(&mut self, frames: &mut Frames) -> Result<String, End> {
        self.list_begins().await?;
        let deadline = Instant::now() + self.limits.list_timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let frame = match frames.next(self.limits.list_event_timeout.min(left)).await {
                NextFrame::Frame(frame) => frame,
                NextFrame::TimedOut => return Err(End::ListTimedOut),
                NextFrame::End => {
                    return Err(End::Failed(
                        "the streamed list ended before its closing bookmark".to_owned().into(),
                    ));
                }
                NextFrame::Broken(why) => return Err(End::Failed(why.into())),
            };
            self.status.answered();
            let Some(event) = self.decode(frame, frames.encoding()).await? else {
                // The event is unreadable, but nearly all of these are new objects.
                self.count += 1;
                continue;
            };
            match event {
                Event::Applied { raw, is_new: true, .. } => self.listed(raw).await?,
                Event::Applied { raw, is_new: false, .. } => self.changed(raw, false, None).await?,
                Event::Deleted(raw) => self.deleted(raw).await?,
                Event::Bookmark { version, ends_list: true } => {
                    self.list_ends().await?;
                    return Ok(version);
                }
                Event::Bookmark { .. } => {}
                Event::Error(status) => {
                    let code = u16::try_from(status.code).unwrap_or_default();
                    return Err(match means_no_streaming(code) {
                        true => End::StreamingUnsupported(status.message),
                        false => error(status),
                    });
                }
            }
        }
    }

    /// Receives events until the watch ends or the audit finds it inconsistent.
    async fn watch_events(&mut self, mut frames: Frames, resource: &Resource) -> End {
        let mut pending_census = PendingCensus::default();
        let mut last_received = Instant::now();
        self.audit.watch_started(last_received);
        loop {
            let limit = (last_received + self.limits.watch_silence).saturating_duration_since(Instant::now());
            let next = select! {
                next = frames.next(limit) => next,
                result = pending_census.result() => match self.handle_census(result, last_received) {
                    Ok(()) => continue,
                    Err(end) => return end,
                },
                _ = self.list_requests.changed() => return End::ListRequested,
                () = sleep_until(self.audit.next_due(self.count)) => {
                    match self.run_audit(resource, &mut pending_census) {
                        Ok(()) => continue,
                        Err(end) => return end,
                    }
                }
            };
            let frame = match next {
                NextFrame::Frame(frame) => frame,
                NextFrame::End => return End::Finished,
                NextFrame::TimedOut => {
                    self.status.silent();
                    return End::Finished;
                }
                NextFrame::Broken(why) => return End::Failed(why.into()),
            };
            last_received = Instant::now();
            self.status.received();
            if let Err(end) = self.handle_event(frame, frames.encoding()).await {
                return end;
            }
        }
    }

    /// None if decoding the object panicked; then it is quarantined.
    async fn decode(&mut self, frame: Bytes, encoding: Encoding) -> Result<Option<Event>, End> {
        let frame = Frame::decode(encoding, frame).map_err(|e| self.garbled(&e))?;
        match supervise::catch(&self.task, || Event::decode(self.kind, &frame)) {
            Ok(event) => event.map(Some).map_err(|e| self.garbled(&e)),
            Err(panic) => self.quarantine(&frame.object, panic).await.map(|()| None),
        }
    }

    async fn handle_event(&mut self, frame: Bytes, encoding: Encoding) -> Result<(), End> {
        let event = match self.decode(frame, encoding).await {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(()),
            Err(end) => {
                // The same version would deliver the same event again.
                self.forget_version();
                return Err(end);
            }
        };
        let before = self.count;
        let version = match event {
            Event::Applied { raw, is_new, trigger_time } => {
                let version = raw.meta().resource_version.clone();
                self.changed(raw, is_new, trigger_time).await?;
                version
            }
            Event::Deleted(raw) => {
                let version = raw.meta().resource_version.clone();
                self.deleted(raw).await?;
                version
            }
            Event::Bookmark { version, .. } => version,
            Event::Error(status) => return Err(error(status)),
        };
        if version.is_empty() { Ok(()) } else { self.advance_to(version, before) }
    }
}

fn means_no_streaming(code: u16) -> bool {
    (400..500).contains(&code) && !UNRELATED_CODES.contains(&code)
}

/// How an event of type ERROR ends the watch.
fn error(status: Status) -> End {
    let too_old = status.code == 410 || matches!(&*status.reason, "Expired" | "Gone");
    if too_old || status.message.contains(TOO_LARGE_VERSION) {
        return End::Expired;
    }
    let why = if status.message.is_empty() { status.reason } else { status.message };
    End::Failed(why.into())
}
