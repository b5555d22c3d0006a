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

/// As the user entered it: an invalid form is shown again.
#[derive(Deserialize)]
#[serde(default)]
pub(super) struct FaultForm {
    csrf: String,
    /// Empty for any account.
    account: String,
    kind: String,
    /// Empty for all calls until the order is switched off.
    count: String,
    seconds: String,
    file: String,
}

impl Default for FaultForm {
    fn default() -> Self {
        Self {
            csrf: String::new(),
            account: String::new(),
            kind: "lose_answer".to_owned(),
            count: "1".to_owned(),
            seconds: "5".to_owned(),
            file: "1".to_owned(),
        }
    }
}

impl FaultForm {
    fn read(&self) -> Result<Order, String> {
        let kind = FaultKind::find(&self.kind).ok_or("Choose a fault.")?;
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

/// Without an order, all are switched off.
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

/// Comparing hashes takes a time that reveals nothing about the token.
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
