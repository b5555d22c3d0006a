//! The HTTP client that calls users' endpoints, and the trait that simulations implement instead.

use std::time::Instant;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::token::random_hex;
use domain::webhook::{CONNECT_TIME_OUT, EndpointResponse, EndpointUrl, MessageId, SHOWN_BYTES, TIME_OUT, shown};
use egress::{AddressPolicy, Egress, Schemes};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, Response};

const USER_AGENT: &str = concat!("social-publishing/", env!("CARGO_PKG_VERSION"));

/// One call to an endpoint, with the headers of Standard Webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub url: EndpointUrl,
    /// `webhook-id`.
    pub id: MessageId,
    /// `webhook-timestamp`, when the attempt begins.
    pub at: DateTime<Utc>,
    /// `webhook-signature`.
    pub signatures: String,
    pub body: String,
}

#[async_trait]
pub trait EndpointClient: Send + Sync {
    /// Ends after at most [`TIME_OUT`].
    async fn call(&self, request: Request) -> EndpointResponse;
}

#[derive(Clone, Debug)]
pub struct HttpEndpointClient(pub Egress);

/// Clients that call only addresses that `policy` permits, and follow no redirect.
pub fn egress_clients(policy: AddressPolicy) -> Egress {
    Egress::new(policy, client_builder)
}

fn client_builder() -> ClientBuilder {
    Client::builder()
        // Lambda freezes the function between messages, and servers close idle connections
        // meanwhile, so no connection is kept.
        .pool_max_idle_per_host(0)
        .connect_timeout(CONNECT_TIME_OUT.to_std().unwrap_or_default())
        .user_agent(USER_AGENT)
}

#[async_trait]
impl EndpointClient for HttpEndpointClient {
    async fn call(&self, request: Request) -> EndpointResponse {
        let started_at = Instant::now();
        let client = match self.0.client(request.url.url(), Schemes::Encrypted) {
            Ok(client) => client,
            Err(refusal) => return EndpointResponse::none(refusal.to_string(), 0),
        };
        let trace_id = random_hex();
        let sent_request = client
            .post(request.url.url().clone())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", request.id.as_str())
            .header("webhook-timestamp", request.at.timestamp())
            .header("webhook-signature", request.signatures)
            .header("traceparent", traceparent(&trace_id))
            .timeout(TIME_OUT.to_std().unwrap_or_default())
            .body(request.body)
            .send();
        let response = match sent_request.await {
            Ok(response) => read_response(response, request.at, started_at).await,
            Err(error) => EndpointResponse::none(error_message(&error), took_ms(started_at)),
        };
        let EndpointResponse { status, took_ms, error, .. } = &response;
        tracing::info!(trace_id, message_id = request.id.as_str(), status, took_ms, error, "called an endpoint");
        response
    }
}

/// `traceparent` of W3C Trace Context, so that the endpoint's log can name the trace id of our log
/// line. The first 16 digits of the trace id are the parent id.
fn traceparent(trace_id: &str) -> String {
    let parent = trace_id.get(..16).unwrap_or_default();
    format!("00-{trace_id}-{parent}-01")
}

async fn read_response(mut response: Response, at: DateTime<Utc>, started_at: Instant) -> EndpointResponse {
    let status = response.status().as_u16();
    let header = response.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok());
    let retry_after = header.and_then(|it| parse_retry_after(it, at));
    let mut body = Vec::new();
    // The status decides; reading the body may fail.
    while body.len() < SHOWN_BYTES
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk);
    }
    EndpointResponse {
        status: Some(status),
        error: None,
        body: shown(&body),
        retry_after,
        took_ms: took_ms(started_at),
    }
}

/// Parses `Retry-After`: seconds or an HTTP date. `None` if it is invalid or in the past.
fn parse_retry_after(raw: &str, now: DateTime<Utc>) -> Option<TimeDelta> {
    if !raw.is_empty() && raw.bytes().all(|it| it.is_ascii_digit()) {
        return Some(TimeDelta::seconds(raw.parse::<u32>().unwrap_or(u32::MAX).into()));
    }
    let at = DateTime::parse_from_rfc2822(raw).ok()?;
    Some(at.with_timezone(&Utc) - now).filter(|it| TimeDelta::zero() <= *it)
}

fn error_message(error: &reqwest::Error) -> String {
    if let Some(refusal) = Egress::refusal(error) {
        return refusal.to_string();
    }
    if error.is_timeout() {
        return format!("no response within {} s", TIME_OUT.num_seconds());
    }
    if error.is_connect() {
        "could not connect to the server"
    } else {
        "the connection closed before a response arrived"
    }
    .to_owned()
}

fn took_ms(started_at: Instant) -> u64 {
    u64::try_from(started_at.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    #[test]
    fn retry_after_is_parsed_as_seconds_or_http_date() {
        assert_eq!(parse_retry_after("120", noon()), Some(TimeDelta::seconds(120)));
        assert_eq!(parse_retry_after("Sat, 21 Nov 2026 12:05:00 GMT", noon()), Some(TimeDelta::minutes(5)));
        assert_eq!(parse_retry_after("Sat, 21 Nov 2026 11:00:00 GMT", noon()), None);
        assert_eq!(parse_retry_after("99999999999", noon()), Some(TimeDelta::seconds(u32::MAX.into())), "clamped");
        for raw in ["", "-1", "soon", "1.5"] {
            assert_eq!(parse_retry_after(raw, noon()), None, "{raw}");
        }
    }
}
