use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cloud::events::{EventBus, EventError};
use domain::event::{Event, IN_OUTBOX};

use crate::port::Port;
use crate::webhooks::Webhooks;
use crate::world::{InjectedFault, SimulatedWorld, lock};

#[derive(Clone, Debug)]
pub(crate) struct PublishedEvent {
    pub(crate) at: DateTime<Utc>,
    pub(crate) event: Event,
}

impl PublishedEvent {
    /// Repetitions of the event share the id.
    pub(crate) fn id(&self) -> &str {
        self.event.detail["id"].as_str().unwrap_or_default()
    }
}

pub(crate) struct SimulatedBus {
    world: Arc<SimulatedWorld>,
    webhooks: Arc<Webhooks>,
    published_events: Mutex<Vec<PublishedEvent>>,
}

impl SimulatedBus {
    pub(crate) fn new(world: Arc<SimulatedWorld>, webhooks: Arc<Webhooks>) -> Self {
        Self { world, webhooks, published_events: Mutex::default() }
    }

    pub(crate) fn published_events(&self) -> Vec<PublishedEvent> {
        lock(&self.published_events).clone()
    }
}

#[derive(Clone, Copy)]
enum BusFault {
    Fine,
    Unsent,
    Partly,
    ResponseLost,
}

impl InjectedFault for BusFault {
    const FINE: Self = Self::Fine;
    const DOWN: Self = Self::Unsent;

    fn name(self) -> &'static str {
        match self {
            Self::Fine => "",
            Self::Unsent => "not sent",
            Self::Partly => "put in part",
            Self::ResponseLost => "response lost",
        }
    }
}

#[async_trait]
impl EventBus for SimulatedBus {
    async fn put(&self, events: &[Event]) -> Result<(), EventError> {
        self.put_entries(events, None).await
    }

    async fn put_from_outbox(&self, event: &Event) -> Result<(), EventError> {
        self.put_entries(std::slice::from_ref(event), Some(IN_OUTBOX)).await
    }
}

impl SimulatedBus {
    async fn put_entries(&self, events: &[Event], resource: Option<&str>) -> Result<(), EventError> {
        let call_failure = self.world.probabilities.call_failure_probability / 3.0;
        let faults = [
            (call_failure, BusFault::Unsent),
            (call_failure, BusFault::Partly),
            (call_failure, BusFault::ResponseLost),
        ];
        let what: Vec<_> = events.iter().map(|it| it.detail["id"].as_str().unwrap_or_default().to_owned()).collect();
        let (call, fault) = self.world.call(Port::Events, format!("tell {}", what.join(" ")), &faults);
        call.go().await;
        let put_count = match fault {
            BusFault::Fine | BusFault::ResponseLost => events.len(),
            BusFault::Partly => events.len() / 2,
            BusFault::Unsent => 0,
        };
        let at = self.world.now();
        lock(&self.published_events)
            .extend(events[..put_count].iter().map(|it| PublishedEvent { at, event: it.clone() }));
        events[..put_count].iter().for_each(|it| self.webhooks.deliver(it, resource));
        call.respond().await;
        match fault {
            BusFault::Fine => Ok(()),
            _ => Err(EventError("the connection was reset".to_owned())),
        }
    }
}
