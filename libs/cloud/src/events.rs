use std::sync::OnceLock;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use domain::event::{Event, IN_OUTBOX, SOURCE};

use crate::error_chain::chain;

/// EventBridge's limit for one call.
const BATCH: usize = 10;

/// At least one event was not accepted.
#[derive(Debug, thiserror::Error)]
#[error("event bus: not all events accepted: {0}")]
pub struct EventError(pub String);

#[async_trait]
pub trait EventBus: Send + Sync {
    async fn put(&self, events: &[Event]) -> Result<(), EventError>;

    /// Like `put`, for an event that is in the outbox. The function webhooks, which receives every
    /// event of the bus, removes it from there.
    async fn put_from_outbox(&self, event: &Event) -> Result<(), EventError> {
        self.put(std::slice::from_ref(event)).await
    }
}

/// A failure is logged, and the tick of the publisher repeats it.
pub async fn publish_event(events: &dyn EventBus, event: &Event) {
    if let Err(error) = events.put_from_outbox(event).await {
        tracing::warn!(%error, "event could not be published and was left to the tick");
    }
}

pub struct EventBridge {
    aws: SdkConfig,
    /// Created for the first event: a client costs half a million instructions of each cold start,
    /// and most requests cause no event.
    client: OnceLock<Client>,
    bus: String,
}

impl EventBridge {
    pub fn new(aws: &SdkConfig, bus: String) -> Self {
        Self { aws: aws.clone(), client: OnceLock::new(), bus }
    }

    async fn put_entries(&self, events: &[Event], resource: Option<&str>) -> Result<(), EventError> {
        for batch in events.chunks(BATCH) {
            let entries = batch.iter().map(|it| {
                PutEventsRequestEntry::builder()
                    .event_bus_name(&self.bus)
                    .source(SOURCE)
                    .detail_type(it.detail_type)
                    .detail(it.detail.to_string())
                    .set_resources(resource.map(|it| vec![it.to_owned()]))
                    .build()
            });
            let client = self.client.get_or_init(|| Client::new(&self.aws));
            let sent = client.put_events().set_entries(Some(entries.collect())).send().await;
            let sent = sent.map_err(|it| EventError(chain(&it)))?;
            let failed = sent.entries().iter().find_map(|it| it.error_code());
            if let Some(code) = failed {
                return Err(EventError(code.to_owned()));
            }
        }
        Ok(())
    }
}

#[async_trait]
impl EventBus for EventBridge {
    async fn put(&self, events: &[Event]) -> Result<(), EventError> {
        self.put_entries(events, None).await
    }

    async fn put_from_outbox(&self, event: &Event) -> Result<(), EventError> {
        self.put_entries(std::slice::from_ref(event), Some(IN_OUTBOX)).await
    }
}
