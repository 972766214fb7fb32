//! The plugin contract: what a plugin may do with a query on its way down and with the reply on its way up.
//!
//! A plugin is a value shared by all workers and keeps no state of a single query in itself: that goes into its
//! [`Slot`](crate::Slot). It never blocks: to wait it returns `Wait` with a future, and the walk resumes with the
//! future's result.
//!
//! A walk has a [`Purpose`]. In an explained one a plugin decides as ever, and leaves no trace: it counts, logs, records
//! and caches nothing ([`Visit::is_served`](crate::Visit::is_served)).

pub(crate) mod offers;

use std::borrow::Cow;
use std::future::Future;
use std::ops::BitOr;
use std::pin::Pin;

use futures_util::FutureExt;
use wire::Rcode;

use crate::{Messages, Sent, Visit};

/// One plugin of a server block, as the walk sees it. What else it does, it offers at setup (`plugin/offers.rs`).
pub trait Plugin: Send + Sync + 'static {
    /// The directive's name, as in the Corefile and in the `plugin` label of metrics.
    fn name(&self) -> &'static str;

    /// The methods below that the server has to call. Read once, at setup.
    fn hooks(&self) -> Hooks {
        Hooks::QUERY
    }

    /// Handles the query on its way down.
    fn query(&self, _visit: &mut Visit<'_>) -> Step {
        Step::Next
    }

    /// Handles the reply on its way up, if the query passed this plugin and the hooks include this kind of reply.
    fn reply(&self, _visit: &mut Visit<'_>) -> Turn {
        Turn::Up
    }

    /// Signs the packet, after truncation: the last change of its bytes. [`Visit::reserve`] keeps room for it.
    fn sign(&self, _sent: &mut Sent<'_>, _packet: &mut Vec<u8>) {}

    /// Observes the final bytes just before they are sent.
    fn sent(&self, _sent: &mut Sent<'_>, _packet: &[u8]) {}
}

/// Why a query walks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// A client waits for the reply.
    #[default]
    Serve,
    /// Somebody wants to know what the reply would be, and why.
    Explain,
}

/// The result of a plugin's `query`.
pub enum Step {
    /// Continue with the next plugin.
    Next,
    /// The reply is filled in.
    Answer,
    /// The query failed. Nothing is written yet; plugins on the way up may still answer.
    Fail { rcode: Rcode, error: Option<Cow<'static, str>> },
    /// The client gets nothing.
    Drop,
    /// The plugin waits for a task.
    Wait(Task<Step>),
    /// The reply is a series of messages, such as a zone transfer.
    Stream(Box<dyn Messages>),
}

impl Step {
    /// A failure without a text for the log.
    pub fn fail(rcode: Rcode) -> Step {
        Step::Fail { rcode, error: None }
    }

    /// A failure with its reason.
    pub fn error(rcode: Rcode, error: impl Into<Cow<'static, str>>) -> Step {
        Step::Fail { rcode, error: Some(error.into()) }
    }
}

/// The result of a plugin's `reply`.
pub enum Turn {
    /// Continue with the plugin above.
    Up,
    /// Walk down again from the next plugin: this one changed the question.
    Again,
    /// The plugin waits for a task.
    Wait(Task<Turn>),
}

/// Asynchronous work of a plugin. It owns its inputs and yields a closure, which applies the result to the walk when
/// the walk resumes.
pub type Task<T> = Pin<Box<dyn Future<Output = Resume<T>> + Send>>;

/// The closure that a [`Task`] yields.
pub type Resume<T> = Box<dyn FnOnce(&mut Visit<'_>) -> T + Send>;

/// Makes a task from a future and a closure that handles its result.
pub fn task<F, T>(future: F, then: impl FnOnce(F::Output, &mut Visit<'_>) -> T + Send + 'static) -> Task<T>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    T: 'static,
{
    // An async block would store the future twice: as a capture and where it is awaited.
    Box::pin(future.map(|output| Box::new(move |visit: &mut Visit<'_>| then(output, visit)) as Resume<T>))
}

/// The set of a plugin's methods that the server calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hooks(u8);

impl Hooks {
    pub const NONE: Hooks = Hooks(0);
    /// `query`.
    pub const QUERY: Hooks = Hooks(1);
    /// `reply`, when there are records (or an empty answer).
    pub const RECORDS: Hooks = Hooks(2);
    /// `reply`, when the query failed below.
    pub const FAILURE: Hooks = Hooks(4);
    /// `reply`, when the query was dropped below.
    pub const DROP: Hooks = Hooks(8);
    /// `sent`.
    pub const SENT: Hooks = Hooks(16);
    /// `reply` and `sent` also for the messages of a stream before its last one; `sign` always.
    pub const PARTS: Hooks = Hooks(32);
    /// `sign`.
    pub const SIGN: Hooks = Hooks(64);
    /// `reply`, for every outcome.
    pub const ANY_REPLY: Hooks = Hooks(2 | 4 | 8);

    pub const fn has(self, other: Hooks) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Hooks {
    type Output = Hooks;

    fn bitor(self, other: Hooks) -> Hooks {
        Hooks(self.0 | other.0)
    }
}
