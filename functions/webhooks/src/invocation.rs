//! What the function is woken for: a request by the gateway, a batch of its
//! queue, or its schedule.

use aws_lambda_events::sqs::SqsEvent;
use lambda_http::request::LambdaRequest;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What the function is woken for.
pub enum Invocation {
    /// A request of a client.
    Request(Box<LambdaRequest>),
    /// Messages.
    Batch(SqsEvent),
    /// A minute has passed.
    Tick,
}

impl<'de> Deserialize<'de> for Invocation {
    /// Only AWS writes what is told apart here: what a client sends is inside of a
    /// request.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let event = Value::deserialize(deserializer)?;
        if event.get("Records").is_some() {
            return SqsEvent::deserialize(event).map(Self::Batch).map_err(D::Error::custom);
        }
        if event.get("requestContext").is_some() {
            // A part of it is read as it stands in the text, which a value has no more.
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
    fn requests_batches_and_ticks_are_told_apart() {
        let read = |raw: &str| serde_json::from_str::<Invocation>(raw).unwrap();
        assert!(matches!(read("{}"), Invocation::Tick));
        assert!(matches!(read(r#"{"source": "aws.scheduler", "detail": {}}"#), Invocation::Tick));
        assert!(matches!(read(r#"{"Records": []}"#), Invocation::Batch(_)));
        let request = include_str!("../../../infra/events/posts.json");
        assert!(matches!(read(request), Invocation::Request(_)));
    }
}
