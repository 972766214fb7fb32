//! The events of one source on their way to its consumers.

use std::any::Any;
use std::task::{Context, Poll};

use tokio::sync::{mpsc, watch};

use super::{AnySubscriber, Consumers, Event, Live};
use crate::availability::Availability;
use crate::consumer::Consumer;

/// Maximum number of events per batch; the thread has other work too.
const BATCH_SIZE: usize = 256;

/// A [`TypedFeed`] of any type.
pub(super) trait Feed: Send {
    /// Takes waiting events into the batch; ready if there are any.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()>;
    /// Delivers the batch.
    fn deliver(&mut self, consumers: &mut Consumers);
    fn leave(&mut self, consumer: u64);
    /// The consumers were created again and need a list.
    fn restart(&mut self, consumers: &mut Consumers);
    fn as_any(&mut self) -> &mut dyn Any;
}

pub(super) struct TypedFeed<T> {
    events: mpsc::Receiver<Event<T>>,
    batch: Vec<Event<T>>,
    list_requests: watch::Sender<()>,
    subscriptions: Vec<Subscription<T>>,
    /// The source has begun a list, which later subscribers have missed.
    list_has_begun: bool,
    availability: Option<Availability>,
}

struct Subscription<T> {
    consumer: u64,
    /// Events before the beginning of the next list have gaps for this consumer.
    awaits_list: bool,
    call: fn(&mut dyn AnySubscriber, &Event<T>),
}

impl<T: Send + 'static> TypedFeed<T> {
    pub(super) fn new(events: mpsc::Receiver<Event<T>>, list_requests: watch::Sender<()>) -> Self {
        Self {
            events,
            batch: Vec::new(),
            list_requests,
            subscriptions: Vec::new(),
            list_has_begun: false,
            availability: None,
        }
    }

    pub(super) fn join<S: Consumer<T>>(&mut self, consumer: u64, live: &mut Live) {
        if self.list_has_begun {
            self.list_requests.send_modify(|()| {});
        }
        let subscription = Subscription { consumer, awaits_list: true, call: call::<S, T> };
        self.report_unavailable(&subscription, live);
        self.subscriptions.push(subscription);
    }

    /// Tells a new consumer why there may be no list soon.
    fn report_unavailable(&self, subscription: &Subscription<T>, live: &mut Live) {
        let unavailable = self.availability.as_ref().filter(|it| **it != Availability::Synced);
        if let Some(availability) = unavailable {
            (subscription.call)(&mut *live.subscriber, &Event::Availability(availability.clone()));
            live.touched = true;
        }
    }
}

impl<T: Send + 'static> Feed for TypedFeed<T> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.events.is_closed() && self.events.is_empty() {
            return Poll::Pending;
        }
        match self.events.poll_recv_many(cx, &mut self.batch, BATCH_SIZE) {
            Poll::Ready(received) if received > 0 => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }

    fn deliver(&mut self, consumers: &mut Consumers) {
        for event in self.batch.drain(..) {
            match &event {
                Event::ListBegins => {
                    self.list_has_begun = true;
                    self.subscriptions.iter_mut().for_each(|it| it.awaits_list = false);
                }
                Event::Availability(availability) => self.availability = Some(availability.clone()),
                _ => {}
            }
            let is_state = matches!(event, Event::Availability(_));
            for subscription in self.subscriptions.iter().filter(|it| is_state || !it.awaits_list) {
                if let Some(live) = consumers.get_mut(&subscription.consumer) {
                    (subscription.call)(&mut *live.subscriber, &event);
                    live.touched = true;
                }
            }
        }
    }

    fn leave(&mut self, consumer: u64) {
        self.subscriptions.retain(|it| it.consumer != consumer);
    }

    fn restart(&mut self, consumers: &mut Consumers) {
        self.batch.clear();
        self.subscriptions.iter_mut().for_each(|it| it.awaits_list = true);
        self.list_requests.send_modify(|()| {});
        for subscription in &self.subscriptions {
            if let Some(live) = consumers.get_mut(&subscription.consumer) {
                self.report_unavailable(subscription, live);
            }
        }
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// Calls the consumer's method for an event.
fn call<S: Consumer<T>, T>(subscriber: &mut dyn AnySubscriber, event: &Event<T>) {
    let Some(consumer) = subscriber.as_any().downcast_mut::<S>() else { return };
    match event {
        Event::ListBegins => consumer.list_begins(),
        Event::Apply { object, version, occasion } => consumer.apply(object, *version, *occasion),
        Event::Delete(object) => consumer.delete(object),
        Event::ListEnds => consumer.list_ends(),
        Event::ListAborted => consumer.list_aborted(),
        Event::Availability(availability) => consumer.availability(availability),
        Event::Undecodable(name, panic) => consumer.undecodable(name, panic),
    }
}
