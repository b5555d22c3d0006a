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
use super::fact::Fact;
use super::faults::Order;

/// The armed orders.
pub(super) async fn list_faults(State(sandbox): State<Sandbox>) -> Json<Vec<Order>> {
    Json(sandbox.faults().armed().to_vec())
}

/// Arms a fault for the next calls, and returns the armed orders.
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

/// The account whose orders are switched off; all orders without an account.
#[derive(Deserialize)]
pub(super) struct ClearQuery {
    account: Option<Account>,
}

/// Switches off all orders, or those of one account.
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

/// Arms a fault, and expires the access tokens if the fault needs that. The error is a text for the
/// page.
pub(super) fn arm(sandbox: &Sandbox, order: Order) -> Result<(), String> {
    let (kind, account) = (order.kind, order.account);
    sandbox.faults().arm(order).map_err(|invalid| invalid.to_string())?;
    if kind.is_for_refresh() {
        let mut ledger = sandbox.ledger();
        let grants = ledger.state().grants_of(account);
        ledger.record(Fact::Expired { grants }).map_err(|error| format!("the fault could not be stored: {error}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::SandboxHarness;
    use super::*;

    #[tokio::test]
    async fn armed_faults_are_listed_until_they_are_cleared() {
        let harness = SandboxHarness::new();
        let order = json!({"account": "meadow", "kind": "slow", "count": 3, "delay_ms": 100});

        let armed = harness.arm(order).await;
        let listed = harness.get("/sandbox/faults").await;
        let cleared = harness.send("DELETE", "/sandbox/faults", &[], Vec::new()).await;
        let after = harness.get("/sandbox/faults").await;

        assert_eq!((armed.status, cleared.status), (201, 204));
        let expected = json!({"id": 1, "account": "meadow", "kind": "slow", "count": 3, "delay_ms": 100, "file": 1});
        assert_eq!(listed.json(), json!([expected]));
        assert_eq!(after.json(), json!([]));
    }

    #[tokio::test]
    async fn faults_of_one_account_can_be_cleared() {
        let harness = SandboxHarness::new();
        harness.arm(json!({"account": "meadow", "kind": "slow"})).await;
        harness.arm(json!({"kind": "slow", "count": null})).await;

        let cleared = harness.send("DELETE", "/sandbox/faults?account=meadow", &[], Vec::new()).await;
        let unknown = harness.send("DELETE", "/sandbox/faults?account=nobody", &[], Vec::new()).await;

        assert_eq!((cleared.status, unknown.status), (204, 422));
        let left = harness.get("/sandbox/faults").await.json();
        assert_eq!(
            (&left[0]["account"], &left[0]["count"], left.as_array().unwrap().len()),
            (&json!(null), &json!(null), 1)
        );
    }

    #[tokio::test]
    async fn invalid_fault_is_rejected_with_the_reason() {
        let harness = SandboxHarness::new();
        for (order, reason) in [
            (json!({"kind": "explode"}), "unknown variant `explode`"),
            (json!({"kind": "slow", "account": "nobody"}), "choose one of harbour, lighthouse"),
            (json!({"kind": "slow", "count": 0}), "the number of calls must be from 1"),
            (json!({"kind": "slow", "delay_ms": 60_001}), "the delay must be from 0 to 60000 ms"),
            (json!({"kind": "slow", "file": 2}), "the first file must be from 1"),
            (json!({"kind": "slow", "delay": 1}), "unknown field `delay`"),
            (json!({"kind": "slow", "id": 1}), "unknown field `id`"),
            (json!({"count": 1}), "missing field `kind`"),
        ] {
            let answer = harness.try_arm(order).await;
            assert_eq!((answer.status, answer.error()), (422, "invalid_fault".into()));
            assert!(answer.text().contains(reason), "{}", answer.text());
        }
        assert_eq!(harness.get("/sandbox/faults").await.json(), json!([]));
    }
}
