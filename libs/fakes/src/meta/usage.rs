//! Usage of the rate limits, which every response reports in percent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::fake::wire::Cut;

const OF_THE_APP: HeaderName = HeaderName::from_static("x-app-usage");

const OF_THE_ACCOUNT: HeaderName = HeaderName::from_static("x-business-use-case-usage");

/// The usage of the app's rate limit, in percent.
#[derive(Clone, Debug, Default)]
pub struct Usage(Arc<AtomicU64>);

impl Usage {
    /// Sets the usage, in percent. The fake does not refuse calls at 100: a test orders that
    /// separately.
    pub fn is(&self, percent: u64) {
        self.0.store(percent, Ordering::Relaxed);
    }
}

/// Adds the header with the app's usage to every response.
pub fn wrap(router: Router, usage: &Usage) -> Router {
    router.layer(from_fn_with_state(usage.clone(), add_header))
}

async fn add_header(State(Usage(percent)): State<Usage>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    if response.extensions().get::<Cut>().is_none() {
        let percent = percent.load(Ordering::Relaxed);
        let usage = json!({ "call_count": percent, "total_cputime": percent / 2, "total_time": percent / 2 });
        response.headers_mut().insert(OF_THE_APP, header_value(&usage));
    }
    response
}

/// The header for an account with this usage in percent, whose limit ends after this many minutes.
pub fn account_header(percent: u64, minutes: i64) -> [(HeaderName, HeaderValue); 1] {
    let usage = json!({ "17841400000000000": [{
        "type": "publishing",
        "call_count": percent,
        "total_cputime": 25,
        "total_time": 25,
        "estimated_time_to_regain_access": minutes,
    }] });
    [(OF_THE_ACCOUNT, header_value(&usage))]
}

fn header_value(usage: &Value) -> HeaderValue {
    HeaderValue::from_str(&usage.to_string()).expect("JSON is ASCII here")
}
