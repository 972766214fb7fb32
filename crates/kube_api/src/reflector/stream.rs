//! Streams of events: watches and streamed lists.

use bytes::Bytes;
use tokio::select;
use tokio::time::{Instant, sleep_until};

use super::check::PendingCensus;
use super::{End, Reflector, TOO_LARGE_VERSION};
use crate::backoff::Limits;
use crate::decode::{Encoding, Frame, WatchedEvent};
use crate::frames::{Frames, NextFrame};
use crate::message::Status;
use crate::request::{Collection, send};
use crate::resource::{Resource, is_built_in};

/// Error codes unrelated to streaming: authorization, missing resources, expired versions, load.
const UNRELATED_CODES: [u16; 6] = [401, 403, 404, 408, 410, 429];

impl<R: Resource> Reflector<R> {
    /// Watches from a version.
    pub(super) async fn watch(&mut self, collection: &Collection<R>, version: &str) -> End {
        let call = collection.watch(Some(version), Limits::watch_duration());
        let response = send(&self.access, call, self.limits.response_timeout).await;
        match response {
            // The version is invalid here: perhaps another server has taken over.
            Err(failure) if matches!(failure.code(), Some(400 | 422)) => End::Expired,
            Err(failure) => self.classify(failure),
            Ok(response) => {
                if let Err(end) = self.connected().await {
                    return end;
                }
                let encoding = response.encoding::<R>();
                self.watch_events(Frames::new(response.body, encoding), collection).await
            }
        }
    }

    async fn connected(&mut self) -> Result<(), End> {
        if self.status.connected() {
            self.access.notify_reachable();
        }
        self.report().await
    }

    /// Streams a list and watches: existing objects arrive as events, then a bookmark, then changes.
    pub(super) async fn stream(&mut self, collection: &Collection<R>) -> End {
        let call = collection.watch(None, Limits::watch_duration());
        let response = send(&self.access, call, self.limits.response_timeout).await;
        let response = match response {
            Ok(response) => response,
            Err(failure) if failure.code().is_some_and(means_no_streaming) => {
                return End::StreamingUnsupported(failure.why);
            }
            Err(failure) => return self.classify(failure),
        };
        let encoding = response.encoding::<R>();
        let mut frames = Frames::new(response.body, encoding);
        if let Err(end) = self.initial_events(&mut frames).await {
            return end;
        }
        if let Err(end) = self.connected().await {
            return end;
        }
        self.watch_events(frames, collection).await
    }

    /// Receives the events of the list, up to its closing bookmark.
    async fn initial_events(&mut self, frames: &mut Frames) -> Result<(), End> {
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
                self.phase.added();
                continue;
            };
            match event {
                WatchedEvent::Applied { object, is_new: true } => self.listed(object).await?,
                WatchedEvent::Applied { object, is_new: false } => self.changed(object, false).await?,
                WatchedEvent::Deleted(object) => self.deleted(object).await?,
                WatchedEvent::Bookmark { version, ends_list: true } => return self.list_ends(version).await,
                WatchedEvent::Bookmark { .. } => {}
                WatchedEvent::Error(status) => {
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
    async fn watch_events(&mut self, mut frames: Frames, collection: &Collection<R>) -> End {
        let mut pending_census = PendingCensus::default();
        let mut last_received = Instant::now();
        self.audit.watch_started(last_received);
        let mut discover_at = self.discovery.next_poll(self.limits.discovery_interval).await;
        loop {
            let limit = (last_received + self.limits.watch_silence).saturating_duration_since(Instant::now());
            let next = select! {
                next = frames.next(limit) => next,
                result = pending_census.result() => match self.handle_census(result, last_received) {
                    Ok(()) => continue,
                    Err(end) => return end,
                },
                _ = self.list_requests.changed() => return End::ListRequested,
                () = sleep_until(discover_at), if !is_built_in::<R>() => {
                    if self.has_other_version(collection).await {
                        return End::VersionChanged;
                    }
                    discover_at = self.discovery.next_poll(self.limits.discovery_interval).await;
                    continue;
                }
                () = sleep_until(self.audit.next_due(self.phase.count())) => {
                    match self.run_audit(collection, &mut pending_census) {
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
    async fn decode(&mut self, frame: Bytes, encoding: Encoding) -> Result<Option<WatchedEvent<R>>, End> {
        let frame = Frame::decode(encoding, frame).map_err(|e| self.garbled(&e))?;
        match supervise::catch(&self.task, || WatchedEvent::decode(&frame)) {
            Ok(event) => event.map(Some).map_err(|e| self.garbled(&e)),
            Err(panic) => self.undecodable(&frame.object, panic).await.map(|()| None),
        }
    }

    async fn handle_event(&mut self, frame: Bytes, encoding: Encoding) -> Result<(), End> {
        let event = match self.decode(frame, encoding).await {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(()),
            Err(end) => {
                // The same version would deliver the same event again.
                self.phase.expire();
                return Err(end);
            }
        };
        let before = self.phase.count();
        let version = match event {
            WatchedEvent::Applied { object, is_new } => {
                let version = object.meta().resource_version.clone();
                self.changed(object, is_new).await?;
                version
            }
            WatchedEvent::Deleted(object) => {
                let version = object.meta().resource_version.clone();
                self.deleted(object).await?;
                version
            }
            WatchedEvent::Bookmark { version, .. } => version,
            WatchedEvent::Error(status) => return Err(error(status)),
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
