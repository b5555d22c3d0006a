//! Arms faults with JSON requests, for tests and scripts.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::Sandbox;
use super::accounts::Account;
use super::faults::Order;

pub(super) async fn list_faults(State(sandbox): State<Sandbox>) -> Json<Vec<Order>> {
    Json(sandbox.faults().armed().to_vec())
}

/// Returns the armed orders.
pub(super) async fn arm_faults(State(sandbox): State<Sandbox>, headers: HeaderMap, body: Bytes) -> Response {
    // A page of another site can make a browser send forms and plain text, but not JSON.
    if headers.get(header::CONTENT_TYPE).is_none_or(|it| it != "application/json") {
        return invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/json");
    }
    let order = serde_json::from_slice(&body).map_err(|error| error.to_string());
    match order.and_then(|order| arm(&sandbox, order)) {
        Ok(()) => (StatusCode::CREATED, list_faults(State(sandbox)).await).into_response(),
        Err(message) => invalid(StatusCode::UNPROCESSABLE_ENTITY, &message),
    }
}

fn invalid(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": "invalid_fault", "message": message }))).into_response()
}

/// Without an account, all orders are switched off.
#[derive(Deserialize)]
pub(super) struct ClearQuery {
    account: Option<Account>,
}

pub(super) async fn clear_faults(
    State(sandbox): State<Sandbox>,
    query: Result<Query<ClearQuery>, QueryRejection>,
) -> Response {
    match query {
        Ok(Query(ClearQuery { account })) => {
            sandbox.faults().clear(account);
            StatusCode::NO_CONTENT.into_response()
        }
        Err(rejection) => invalid(StatusCode::UNPROCESSABLE_ENTITY, &rejection.body_text()),
    }
}

/// Expires the access tokens if the fault needs that. The error is a text for the page.
pub(super) fn arm(sandbox: &Sandbox, order: Order) -> Result<(), String> {
    let (kind, account) = (order.kind, order.account);
    sandbox.faults().arm(order).map_err(|invalid| invalid.to_string())?;
    if kind.is_for_refresh() {
        sandbox.expire_access(account).map_err(|error| format!("the fault could not be stored: {error}"))?;
    }
    Ok(())
}
