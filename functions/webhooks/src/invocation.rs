//! What invokes the function: a request from the gateway, a batch from its queue, or its schedule.

use aws_lambda_events::sqs::SqsEvent;
use lambda_http::request::LambdaRequest;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

pub enum Invocation {
    Request(Box<LambdaRequest>),
    Batch(SqsEvent),
    /// Once a minute.
    Tick,
}

impl<'de> Deserialize<'de> for Invocation {
    /// The kinds differ in fields that only AWS writes: what a client sends is inside a request.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let event = Value::deserialize(deserializer)?;
        if event.get("Records").is_some() {
            return SqsEvent::deserialize(event).map(Self::Batch).map_err(D::Error::custom);
        }
        if event.get("requestContext").is_some() {
            // Some fields of the request borrow their JSON text, which a `Value` no longer has.
            let request = serde_json::from_str(&event.to_string()).map_err(D::Error::custom)?;
            return Ok(Self::Request(Box::new(request)));
        }
        Ok(Self::Tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_batches_and_ticks_are_distinguished() {
        let read = |raw: &str| serde_json::from_str::<Invocation>(raw).unwrap();
        assert!(matches!(read("{}"), Invocation::Tick));
        assert!(matches!(read(r#"{"source": "aws.scheduler", "detail": {}}"#), Invocation::Tick));
        assert!(matches!(read(r#"{"Records": []}"#), Invocation::Batch(_)));
        let request = include_str!("../../../infra/events/posts.json");
        assert!(matches!(read(request), Invocation::Request(_)));
    }
}
