//! The page on which users arm faults.

use std::time::Duration;

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use domain::token;
use serde::Deserialize;

use super::accounts::Account;
use super::fault_kind::{FaultKind, GROUPS, Group};
use super::faults::Order;
use super::order_faults::arm;
use super::{Sandbox, pages};

#[derive(Template)]
#[template(path = "sandbox/switches.html")]
struct SwitchesPage<'a> {
    accounts: Vec<Account>,
    groups: [Group; 4],
    armed: Vec<Order>,
    form: FaultForm,
    csrf: &'a str,
    wrong: Option<String>,
}

pub(super) async fn show_switches(State(sandbox): State<Sandbox>) -> Response {
    switches_page(&sandbox, FaultForm::default(), None)
}

fn switches_page(sandbox: &Sandbox, form: FaultForm, wrong: Option<String>) -> Response {
    pages::show(&SwitchesPage {
        accounts: Account::all().collect(),
        groups: GROUPS,
        armed: sandbox.faults().armed().to_vec(),
        form,
        csrf: sandbox.form_token(),
        wrong,
    })
}

/// The form of the page, as the user entered it: an invalid form is shown again.
#[derive(Deserialize)]
#[serde(default)]
pub(super) struct FaultForm {
    csrf: String,
    /// Empty for any account.
    account: String,
    kind: String,
    /// Empty for all calls until it is switched off.
    count: String,
    seconds: String,
    file: String,
}

impl Default for FaultForm {
    fn default() -> Self {
        Self {
            csrf: String::new(),
            account: String::new(),
            kind: FaultKind::LoseAnswer.name().to_owned(),
            count: "1".to_owned(),
            seconds: "5".to_owned(),
            file: "1".to_owned(),
        }
    }
}

impl FaultForm {
    fn read(&self) -> Result<Order, String> {
        let mut kinds = GROUPS.iter().flat_map(|it| it.kinds);
        let kind = *kinds.find(|it| it.name() == self.kind).ok_or("Choose a fault.")?;
        let account = match self.account.as_str() {
            "" => None,
            handle => Some(Account::find(handle).ok_or("Choose one of the accounts.")?),
        };
        let whole = |text: &str, what: &str| {
            text.trim().parse::<u32>().map_err(|_| format!("{what} must be a whole number, such as 1."))
        };
        let count = match self.count.trim() {
            "" => None,
            count => Some(whole(count, "The number of calls")?),
        };
        // The form always has all fields; fields that this fault does not use are ignored.
        let file = if kind.is_for_files() { whole(&self.file, "The first file")? } else { 1 };
        let seconds = if kind.has_delay() { self.seconds.trim().parse().ok() } else { Some(0.0) };
        let delay = seconds
            .and_then(|it| Duration::try_from_secs_f64(it).ok())
            .ok_or("The delay must be from 0 to 60 seconds.")?;
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        Ok(Order { id: 0, account, kind, count, delay_ms, file })
    }
}

/// Arms the fault of the form.
pub(super) async fn arm_by_form(
    State(sandbox): State<Sandbox>,
    form: Result<Form<FaultForm>, FormRejection>,
) -> Response {
    let Ok(Form(form)) = form else { return incomplete_form_page() };
    if !is_valid_csrf(&sandbox, &form.csrf) {
        return invalid_csrf_page();
    }
    match form.read().and_then(|order| arm(&sandbox, order)) {
        Ok(()) => Redirect::to("/sandbox/switches").into_response(),
        Err(wrong) => {
            let page = switches_page(&sandbox, form, Some(wrong));
            (StatusCode::UNPROCESSABLE_ENTITY, page).into_response()
        }
    }
}

/// The order to switch off, or all orders.
#[derive(Deserialize)]
pub(super) struct SwitchOffForm {
    #[serde(default)]
    csrf: String,
    order: Option<u64>,
}

pub(super) async fn switch_off(
    State(sandbox): State<Sandbox>,
    form: Result<Form<SwitchOffForm>, FormRejection>,
) -> Response {
    let Ok(Form(form)) = form else { return incomplete_form_page() };
    if !is_valid_csrf(&sandbox, &form.csrf) {
        return invalid_csrf_page();
    }
    match form.order {
        Some(id) => sandbox.faults().switch_off(id),
        None => sandbox.faults().clear(None),
    }
    Redirect::to("/sandbox/switches").into_response()
}

/// Whether a form is from a page of this process. Comparing hashes takes a time that reveals
/// nothing about the token.
fn is_valid_csrf(sandbox: &Sandbox, csrf: &str) -> bool {
    token::hash(csrf) == token::hash(sandbox.form_token())
}

fn invalid_csrf_page() -> Response {
    let message = "The form is from before the last start of the service, or from another site. Open Faults again and \
                   repeat the change.";
    pages::message(StatusCode::FORBIDDEN, "Nothing was changed", message)
}

fn incomplete_form_page() -> Response {
    pages::message(StatusCode::BAD_REQUEST, "Invalid form", "The form is incomplete. Go back and try again.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{SandboxHarness, TestResponse};
    use super::*;

    async fn send(harness: &SandboxHarness, path: &str, pairs: &[(&str, &str)]) -> TestResponse {
        let page = harness.get("/sandbox/switches").await;
        let csrf = page.text().split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        harness.form(path, &[&[("csrf", csrf)], pairs].concat()).await
    }

    #[tokio::test]
    async fn cross_site_fault_request_is_rejected() {
        let harness = SandboxHarness::new();
        for content_type in ["text/plain", "application/x-www-form-urlencoded"] {
            let headers = [("content-type", content_type)];
            let answer = harness.send("POST", "/sandbox/faults", &headers, br#"{"kind":"slow"}"#.to_vec()).await;
            assert_eq!(answer.status, 415, "{content_type}");
        }
        let form = [("csrf", "guess"), ("kind", "slow"), ("count", "1"), ("seconds", "1")];
        assert_eq!(harness.form("/sandbox/switches", &form).await.status, 403);
        assert!(harness.sandbox.faults().armed().is_empty());

        harness.arm(json!({"kind": "slow"})).await;
        assert_eq!(harness.form("/sandbox/switches/off", &[("csrf", "guess")]).await.status, 403);
        assert_eq!(harness.form("/sandbox/switches/off", &[]).await.status, 403);
        assert_eq!(harness.sandbox.faults().armed().len(), 1);
    }

    #[tokio::test]
    async fn form_arms_a_fault_and_the_page_lists_it() {
        let harness = SandboxHarness::new();
        let form = [("account", ""), ("kind", "media_slow"), ("count", "2"), ("seconds", "0.5"), ("file", "3")];

        let armed = send(&harness, "/sandbox/switches", &form).await;
        let page = harness.get("/sandbox/switches").await;

        assert_eq!((armed.status, armed.header("location")), (303, "/sandbox/switches"));
        assert!(page.text().contains("Armed faults"), "{}", page.text());
        let faults = harness.sandbox.faults();
        let order = &faults.armed()[0];
        assert_eq!((order.kind, order.count, order.delay_ms, order.file), (FaultKind::MediaSlow, Some(2), 500, 3));
    }

    #[tokio::test]
    async fn fault_without_count_stays_until_switched_off() {
        let harness = SandboxHarness::new();
        for kind in ["busy", "slow"] {
            send(&harness, "/sandbox/switches", &[("kind", kind), ("count", "")]).await;
        }
        let page = harness.get("/sandbox/switches").await;
        assert!(page.text().contains("until it is switched off"), "{}", page.text());

        let off = send(&harness, "/sandbox/switches/off", &[("order", "1")]).await;
        let left: Vec<_> = harness.sandbox.faults().armed().iter().map(|it| (it.kind, it.count)).collect();
        send(&harness, "/sandbox/switches/off", &[]).await;

        assert_eq!(off.status, 303);
        assert_eq!(left, [(FaultKind::Slow, None)]);
        assert!(harness.sandbox.faults().armed().is_empty());
    }

    #[tokio::test]
    async fn invalid_form_shows_the_error_and_keeps_the_input() {
        let harness = SandboxHarness::new();
        for (name, value, text) in [
            ("count", "0", "the number of calls must be from 1 to 10000"),
            ("count", "x", "The number of calls must be a whole number"),
            ("seconds", "61", "the delay must be from 0 to 60000 ms"),
            ("seconds", "-1", "The delay must be from 0 to 60 seconds"),
            ("seconds", "NaN", "The delay must be from 0 to 60 seconds"),
            ("account", "nobody", "Choose one of the accounts"),
        ] {
            let page = send(&harness, "/sandbox/switches", &[("kind", "slow"), (name, value)]).await;

            assert_eq!(page.status, 422, "{name} {value}");
            assert!(page.text().contains(text), "{name} {value}: {}", page.text());
            assert!(page.text().contains("value=\"slow\" checked"), "{}", page.text());
        }
    }
}
