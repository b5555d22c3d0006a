//! The event bus, which remembers everything that was put on it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cloud::events::{EventBus, EventError};
use domain::event::Event;

use crate::port::Port;
use crate::webhooks::Webhooks;
use crate::world::{InjectedFault, SimulatedWorld, lock};

/// An event and when it was put.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) at: DateTime<Utc>,
    pub(crate) event: Event,
}

impl Told {
    /// The event's id, which a repetition of the event carries as well.
    pub(crate) fn id(&self) -> &str {
        self.event.detail["id"].as_str().unwrap_or_default()
    }
}

/// The event bus.
pub(crate) struct SimulatedBus {
    world: Arc<SimulatedWorld>,
    webhooks: Arc<Webhooks>,
    told: Mutex<Vec<Told>>,
}

impl SimulatedBus {
    pub(crate) fn new(world: Arc<SimulatedWorld>, webhooks: Arc<Webhooks>) -> Self {
        Self { world, webhooks, told: Mutex::default() }
    }

    /// Every event that was put on the bus, in order.
    pub(crate) fn told(&self) -> Vec<Told> {
        lock(&self.told).clone()
    }
}

#[derive(Clone, Copy)]
enum BusFate {
    Fine,
    Unsent,
    /// The bus took some of the events and rejected the others.
    Partly,
    AnswerLost,
}

impl InjectedFault for BusFate {
    const FINE: Self = Self::Fine;
    const DOWN: Self = Self::Unsent;

    fn name(self) -> &'static str {
        match self {
            Self::Fine => "",
            Self::Unsent => "not sent",
            Self::Partly => "put in part",
            Self::AnswerLost => "answer lost",
        }
    }
}

#[async_trait]
impl EventBus for SimulatedBus {
    async fn put(&self, events: &[Event]) -> Result<(), EventError> {
        let failing = self.world.weather.failing / 3.0;
        let fates = [(failing, BusFate::Unsent), (failing, BusFate::Partly), (failing, BusFate::AnswerLost)];
        let what: Vec<_> = events.iter().map(|it| it.detail["id"].as_str().unwrap_or_default().to_owned()).collect();
        let (call, fate) = self.world.call(Port::Events, format!("tell {}", what.join(" ")), &fates);
        call.go().await;
        let put = match fate {
            BusFate::Fine | BusFate::AnswerLost => events.len(),
            BusFate::Partly => events.len() / 2,
            BusFate::Unsent => 0,
        };
        let at = self.world.now();
        lock(&self.told).extend(events[..put].iter().map(|it| Told { at, event: it.clone() }));
        events[..put].iter().for_each(|it| self.webhooks.bring(it));
        call.come_back().await;
        match fate {
            BusFate::Fine => Ok(()),
            _ => Err(EventError("the connection was reset".to_owned())),
        }
    }
}
