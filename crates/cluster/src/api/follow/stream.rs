//! Streams of events: watches, and lists that are sent as such.

use bytes::Bytes;
use tokio::select;
use tokio::time::{Instant, sleep_until};

use super::check::Asking;
use super::{End, FROM_THE_FUTURE, Follower};
use crate::api::backoff::Limits;
use crate::api::decode::{Encoding, Event, Frame};
use crate::api::frames::{Frames, Next};
use crate::api::message::Status;
use crate::api::request::{Resource, send};

/// Refusals that say nothing about streaming: who we are, what there is, how busy the server is.
const OTHER_REASONS: [u16; 6] = [401, 403, 404, 408, 410, 429];

impl Follower {
    /// Watches from a version on.
    pub(super) async fn watch(&mut self, resource: &Resource, version: &str) -> End {
        let address = resource.watch(Some(version), Limits::lasts());
        let sent = send(&self.access, &address, resource.encoding.of_watch(), self.limits.answer).await;
        match sent {
            // The version makes no sense to it: perhaps it is another server by now.
            Err(failure) if matches!(failure.code(), Some(400 | 422)) => End::Expired,
            Err(failure) => self.refused(failure),
            Ok(answer) => {
                self.connected();
                let encoding = answer.encoding(resource);
                self.events(Frames::new(answer.body, encoding), resource).await
            }
        }
    }

    fn connected(&self) {
        if self.line.connected() {
            self.access.is_back();
        }
    }

    /// Watches from the beginning: everything there is comes as events, then a bookmark, then what changes.
    pub(super) async fn stream(&mut self, resource: &Resource) -> End {
        let address = resource.watch(None, Limits::lasts());
        let sent = send(&self.access, &address, resource.encoding.of_watch(), self.limits.answer).await;
        let answer = match sent {
            Ok(answer) => answer,
            Err(failure) if failure.code().is_some_and(refuses_streaming) => {
                return End::CannotStream(failure.why);
            }
            Err(failure) => return self.refused(failure),
        };
        let encoding = answer.encoding(resource);
        let mut frames = Frames::new(answer.body, encoding);
        match self.initial(&mut frames).await {
            Ok(version) => self.version = Some(version),
            Err(end) => return end,
        }
        self.connected();
        self.events(frames, resource).await
    }

    /// Takes the events that make up the list; gives the version of the bookmark that closes it.
    async fn initial(&mut self, frames: &mut Frames) -> Result<String, End> {
        self.list_begins().await?;
        let deadline = Instant::now() + self.limits.list;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let frame = match frames.next(self.limits.list_silence.min(left)).await {
                Next::Frame(frame) => frame,
                Next::Silent => return Err(End::Endless),
                Next::End => return Err(End::Failed("the list ended too early".to_owned().into())),
                Next::Broken(why) => return Err(End::Failed(why.into())),
            };
            self.line.answered();
            let Some(event) = self.decode(frame, frames.encoding()).await? else {
                // Which event it is nobody knows, but nearly all of these are new objects.
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
                Event::Refused(status) => {
                    let code = u16::try_from(status.code).unwrap_or_default();
                    return Err(match refuses_streaming(code) {
                        true => End::CannotStream(status.message),
                        false => error(status),
                    });
                }
            }
        }
    }

    /// Takes events until there are no more, or the watch cannot be believed.
    async fn events(&mut self, mut frames: Frames, resource: &Resource) -> End {
        let mut asking = Asking::default();
        let mut heard = Instant::now();
        self.audit.watched(heard);
        loop {
            let patience = (heard + self.limits.watch_silence).saturating_duration_since(Instant::now());
            let next = select! {
                next = frames.next(patience) => next,
                answer = asking.answer() => match self.take(answer, heard) {
                    Ok(()) => continue,
                    Err(end) => return end,
                },
                _ = self.lists_asked_for.changed() => return End::ListAskedFor,
                () = sleep_until(self.audit.wakes(self.count)) => match self.look(resource, &mut asking) {
                    Ok(()) => continue,
                    Err(end) => return end,
                },
            };
            let frame = match next {
                Next::Frame(frame) => frame,
                Next::End => return End::Over,
                Next::Silent => {
                    self.line.silent();
                    return End::Over;
                }
                Next::Broken(why) => return End::Failed(why.into()),
            };
            heard = Instant::now();
            self.line.received();
            if let Err(end) = self.event(frame, frames.encoding()).await {
                return end;
            }
        }
    }

    /// None if decoding its object panicked; then that is in quarantine.
    async fn decode(&mut self, frame: Bytes, encoding: Encoding) -> Result<Option<Event>, End> {
        let frame = Frame::decode(encoding, frame).map_err(|e| self.garbled(&e))?;
        match supervise::catch(&self.task, || Event::decode(self.kind, &frame)) {
            Ok(event) => event.map(Some).map_err(|e| self.garbled(&e)),
            Err(panic) => self.quarantine(&frame.object, panic).await.map(|()| None),
        }
    }

    async fn event(&mut self, frame: Bytes, encoding: Encoding) -> Result<(), End> {
        let event = match self.decode(frame, encoding).await {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(()),
            Err(end) => {
                // From the same version it would come again.
                self.forget_version();
                return Err(end);
            }
        };
        let before = self.count;
        let version = match event {
            Event::Applied { raw, is_new, triggered } => {
                let version = raw.meta().resource_version.clone();
                self.changed(raw, is_new, triggered).await?;
                version
            }
            Event::Deleted(raw) => {
                let version = raw.meta().resource_version.clone();
                self.deleted(raw).await?;
                version
            }
            Event::Bookmark { version, .. } => version,
            Event::Refused(status) => return Err(error(status)),
        };
        if version.is_empty() { Ok(()) } else { self.came_to(version, before) }
    }
}

fn refuses_streaming(code: u16) -> bool {
    (400..500).contains(&code) && !OTHER_REASONS.contains(&code)
}

/// What an event of type ERROR means.
fn error(status: Status) -> End {
    let too_old = status.code == 410 || matches!(&*status.reason, "Expired" | "Gone");
    if too_old || status.message.contains(FROM_THE_FUTURE) {
        return End::Expired;
    }
    let why = if status.message.is_empty() { status.reason } else { status.message };
    End::Failed(why.into())
}
