//! Ordering faults: as JSON for tests, as a form for people.

use askama::Template;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Form, Json};
use serde::Deserialize;
use serde_json::json;

use super::accounts::Account;
use super::faults::{Kind, Order};
use super::{Sandbox, pages};

/// What is armed.
pub(super) async fn list_faults(State(sandbox): State<Sandbox>) -> Json<Vec<Order>> {
    Json(sandbox.faults().armed().to_vec())
}

/// Arms a fault for the next publish calls, and tells what is armed now.
pub(super) async fn arm_faults(State(sandbox): State<Sandbox>, body: Bytes) -> Response {
    let armed = serde_json::from_slice(&body).map_err(|error| error.to_string()).and_then(|order| arm(&sandbox, order));
    match armed {
        Ok(armed) => (StatusCode::CREATED, Json(armed)).into_response(),
        Err(message) => {
            let body = Json(json!({ "error": "invalid_fault", "message": message }));
            (StatusCode::UNPROCESSABLE_ENTITY, body).into_response()
        }
    }
}

/// Disarms everything.
pub(super) async fn clear_faults(State(sandbox): State<Sandbox>) -> StatusCode {
    sandbox.faults().clear();
    StatusCode::NO_CONTENT
}

fn arm(sandbox: &Sandbox, order: Order) -> Result<Vec<Order>, String> {
    let mut faults = sandbox.faults();
    faults.arm(order).map_err(|invalid| invalid.to_string())?;
    Ok(faults.armed().to_vec())
}

#[derive(Template)]
#[template(path = "sandbox/switches.html")]
struct SwitchesPage {
    accounts: Vec<Account>,
    kinds: [Kind; 6],
    armed: Vec<Order>,
    fault: Option<String>,
}

/// The page with the switches.
pub(super) async fn show_switches(State(sandbox): State<Sandbox>) -> Response {
    switches_page(&sandbox, None)
}

fn switches_page(sandbox: &Sandbox, fault: Option<String>) -> Response {
    pages::show(&SwitchesPage {
        accounts: Account::all().collect(),
        kinds: Kind::ALL,
        armed: sandbox.faults().armed().to_vec(),
        fault,
    })
}

/// The form of the page; an empty account is any account.
#[derive(Deserialize)]
pub(super) struct OrderForm {
    #[serde(default)]
    account: String,
    kind: Kind,
    count: u32,
    delay_ms: u64,
}

/// Arms what the form says.
pub(super) async fn arm_by_form(
    State(sandbox): State<Sandbox>,
    form: Result<Form<OrderForm>, FormRejection>,
) -> Response {
    match read(form).and_then(|order| arm(&sandbox, order)) {
        Ok(_) => Redirect::to("/sandbox/switches").into_response(),
        Err(message) => {
            let page = switches_page(&sandbox, Some(message));
            (StatusCode::UNPROCESSABLE_ENTITY, page).into_response()
        }
    }
}

fn read(form: Result<Form<OrderForm>, FormRejection>) -> Result<Order, String> {
    let Form(OrderForm { account, kind, count, delay_ms }) = form.map_err(|rejection| rejection.body_text())?;
    let account = match account.as_str() {
        "" => None,
        _ => Some(Account::try_from(account).map_err(|it| it.to_string())?),
    };
    Ok(Order { account, kind, count, delay_ms })
}

/// Disarms everything.
pub(super) async fn clear_by_form(State(sandbox): State<Sandbox>) -> Redirect {
    sandbox.faults().clear();
    Redirect::to("/sandbox/switches")
}

#[cfg(test)]
mod tests {
    use super::super::testing::Network;
    use super::*;

    #[tokio::test]
    async fn armed_faults_are_listed_until_they_are_cleared() {
        let network = Network::new();
        let order = json!({"account": "meadow", "kind": "slow", "count": 3, "delay_ms": 100});

        let armed = network.arm(order.clone()).await;
        let listed = network.get("/sandbox/faults").await;
        let cleared = network.send("DELETE", "/sandbox/faults", &[], Vec::new()).await;
        let after = network.get("/sandbox/faults").await;

        assert_eq!((armed.status, cleared.status), (201, 204));
        assert_eq!(listed.json(), json!([order]));
        assert_eq!(after.json(), json!([]));
    }

    #[tokio::test]
    async fn a_bad_order_is_refused_with_the_reason() {
        let network = Network::new();
        for (order, reason) in [
            (json!({"kind": "explode"}), "unknown variant `explode`"),
            (json!({"kind": "slow", "account": "nobody"}), "choose one of harbour, lighthouse"),
            (json!({"kind": "slow", "count": 0}), "count must be from 1"),
            (json!({"kind": "slow", "delay_ms": 60_001}), "delay_ms must be from 0 to 60000"),
            (json!({"kind": "slow", "delay": 1}), "unknown field `delay`"),
            (json!({"count": 1}), "missing field `kind`"),
        ] {
            let answer = network.try_arm(order).await;
            assert_eq!((answer.status, answer.error()), (422, "invalid_fault".into()));
            assert!(answer.text().contains(reason), "{}", answer.text());
        }
        assert_eq!(network.get("/sandbox/faults").await.json(), json!([]));
    }

    #[tokio::test]
    async fn the_page_arms_shows_and_clears() {
        let network = Network::new();
        let form = [("account", ""), ("kind", "lose_answer"), ("count", "2"), ("delay_ms", "0")];

        let armed = network.form("/sandbox/switches", &form).await;
        let page = network.get("/sandbox/switches").await;
        let cleared = network.form("/sandbox/switches/clear", &[]).await;

        assert_eq!((armed.status, armed.header("location")), (303, "/sandbox/switches"));
        assert!(page.text().contains("Armed now"), "{}", page.text());
        assert_eq!(cleared.status, 303);
        assert!(network.sandbox.faults().armed().is_empty());
    }

    #[tokio::test]
    async fn the_page_says_what_is_wrong() {
        let network = Network::new();
        let form = [("kind", "slow"), ("count", "0"), ("delay_ms", "0")];

        let page = network.form("/sandbox/switches", &form).await;

        assert_eq!(page.status, 422);
        assert!(page.text().contains("count must be from 1 to 10000"), "{}", page.text());
    }
}
