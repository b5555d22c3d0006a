//! Errors of Google's APIs: `google.rpc.Status` in JSON.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

use super::oauth::token_error;
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::oauth::Fault;

pub type ApiError = (StatusCode, Json<Value>);
pub type ApiResult = Result<Json<Value>, ApiError>;

/// The response with this body, which contains its status.
pub fn refusal(body: Value) -> ApiError {
    let status = body["error"]["code"].as_u64().and_then(|it| u16::try_from(it).ok()).unwrap_or_default();
    (StatusCode::from_u16(status).expect("the body is that of `error_body`"), Json(body))
}

/// The body of an error: `status` is the name of a `google.rpc.Code`.
pub fn error_body(code: u16, status: &str, message: &str, details: &[Value]) -> Value {
    let mut error = json!({ "code": code, "message": message, "status": status });
    if !details.is_empty() {
        error["details"] = details.into();
    }
    json!({ "error": error })
}

/// `google.rpc.ErrorInfo`
pub fn error_info(reason: &str, metadata: &Value) -> Value {
    let name = "type.googleapis.com/google.rpc.ErrorInfo";
    json!({ "@type": name, "reason": reason, "domain": "googleapis.com", "metadata": metadata })
}

/// A field has an invalid value, or does not exist.
pub fn bad_request(message: &str, field: &str, description: &str) -> Value {
    let violations = json!([{ "field": field, "description": description }]);
    let details = json!({ "@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations });
    error_body(400, "INVALID_ARGUMENT", message, &[details])
}

/// The access token is invalid, or does not cover the call.
pub fn token_refused(fault: &Fault, service: &str) -> Value {
    if *fault == Fault::BeyondScope {
        let info = error_info("ACCESS_TOKEN_SCOPE_INSUFFICIENT", &json!({ "service": service }));
        return error_body(403, "PERMISSION_DENIED", "Request had insufficient authentication scopes.", &[info]);
    }
    let message = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other \
                   valid authentication credential. See \
                   https://developers.google.com/identity/sign-in/web/devconsole-project.";
    error_body(401, "UNAUTHENTICATED", message, &[])
}

pub fn permission_denied() -> Value {
    error_body(403, "PERMISSION_DENIED", "The caller does not have permission", &[])
}

pub fn not_found() -> Value {
    error_body(404, "NOT_FOUND", "Requested entity was not found.", &[])
}

pub fn internal() -> Value {
    error_body(500, "INTERNAL", "Internal error encountered.", &[])
}

pub fn unavailable() -> Value {
    error_body(503, "UNAVAILABLE", "The service is currently unavailable.", &[])
}

/// The operator's project has not enabled the API of this name at this host.
pub fn service_disabled(name: &str, service: &str) -> Value {
    let url = format!("https://console.developers.google.com/apis/api/{service}/overview?project=813744226420");
    let message = format!(
        "{name} has not been used in project 813744226420 before or it is disabled. Enable it by visiting {url} then \
         retry. If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry."
    );
    let links = json!([{ "description": "Google developers console API activation", "url": url }]);
    let help = json!({ "@type": "type.googleapis.com/google.rpc.Help", "links": links });
    let metadata = json!({ "service": service, "consumer": "projects/813744226420" });
    error_body(403, "PERMISSION_DENIED", &message, &[help, error_info("SERVICE_DISABLED", &metadata)])
}

/// The limit per minute is exhausted. It is 0 for a project without access to the API.
pub fn quota_exceeded(service: &str, limit: u32) -> Value {
    let message = format!(
        "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute' of service '{service}' for consumer \
         'project_number:813744226420'."
    );
    let metadata = json!({
        "service": service, "consumer": "projects/813744226420", "quota_location": "global",
        "quota_metric": format!("{service}/default_requests"), "quota_limit": "defaultPerMinutePerProject",
        "quota_limit_value": limit.to_string(), "quota_unit": "1/min/{project}",
    });
    error_body(429, "RESOURCE_EXHAUSTED", &message, &[error_info("RATE_LIMIT_EXCEEDED", &metadata)])
}

/// The response to an injected fault, where a platform has no other.
pub fn respond(call: Call, fault: InjectedFault, service: &str) -> Response {
    let body = match (call, fault) {
        (Call::Exchange | Call::Refresh, InjectedFault::Refused) => {
            return token_error(&Fault::InvalidGrant("the refresh token is revoked"));
        }
        (_, InjectedFault::Refused) => permission_denied(),
        (_, InjectedFault::RateLimited { .. }) => quota_exceeded(service, 300),
        (_, InjectedFault::Unavailable) => unavailable(),
        _ => internal(),
    };
    refusal(body).into_response()
}
