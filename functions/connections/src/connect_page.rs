//! `GET` and `POST /connect/{state_token}`: the page of a connect flow, and its form.

use std::collections::BTreeMap;

use api::Segments;
use api::page::PageForm;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use connecting::{Choice, LoadedFlow, Selection, Submission};
use domain::connect_flow::{EntryPoint, FlowLockError, FlowState};
use domain::connection::Connection;
use platforms::{Connect, FieldValues};
use storage::MAX_CONNECTED;

use crate::App;
use crate::flow_pages::{ACCOUNT_FIELD, TypedValues, action, sentence, with_refresh};
use crate::participant::{FlowAccessError, FlowVisit, Visitor};

type Form = BTreeMap<String, String>;

/// If the flow awaits an approval, polls the platform first.
pub(crate) async fn show_connect_flow(
    Segments(state_token): Segments<String>,
    State(app): State<App>,
    visitor: Visitor,
) -> Result<Response, FlowAccessError> {
    let address = format!("/connect/{state_token}");
    let visit = app.enter(state_token, visitor, EntryPoint::Page, &address).await?;
    Ok(visit.participant.respond(page(&app, &visit).await?))
}

async fn page(app: &App, visit: &FlowVisit) -> Result<Response, FlowAccessError> {
    let now = app.api.clock.now();
    let connect_flow = &visit.loaded.flow;
    let platform = app.platforms.get(&connect_flow.provider).ok_or(FlowAccessError::Unknown)?;
    let title = platform.rules().title;
    if let (FlowState::Completed, Some(link)) = (connect_flow.state, visit.link_page()) {
        return Ok(Redirect::to(&link).into_response());
    }
    Ok(match connect_flow.state {
        FlowState::Completed => {
            let (notice, title) = describe_connected(app, &visit.loaded, title).await?;
            let close = "You can close this page and return to your app.";
            let left_out = connect_flow.reason.as_deref().map(|it| format!("{it} {close}"));
            let text = left_out.as_deref().unwrap_or(close);
            visit.end(&format!("{title} is connected"), &notice, text, true, false)?.into_response()
        }
        FlowState::Failed => {
            let reason = connect_flow.reason.as_deref().unwrap_or("the platform refused access");
            let text = format!("Nothing was connected. {}", visit.how_to_retry());
            visit.end(&format!("{title} is not connected"), &sentence(reason), &text, false, true)?.into_response()
        }
        _ if !connect_flow.is_open(now) => {
            let text = format!("Nothing was connected. {}", visit.how_to_retry());
            let (heading, notice) = if connect_flow.link.is_some() {
                ("This took too long", "You have ten minutes to connect an account.")
            } else {
                ("This link has expired", "A link is valid for ten minutes.")
            };
            let page = visit.end(heading, notice, &text, false, true)?;
            page.status(StatusCode::GONE).into_response()
        }
        FlowState::CollectingInput | FlowState::AwaitingCallback => {
            visit.form(app, platform, TypedValues::default())?.into_response()
        }
        FlowState::AwaitingApproval if app.check_approval(&visit.loaded).await? => {
            Redirect::to(&action(&visit.loaded)).into_response()
        }
        FlowState::AwaitingApproval => {
            let instructions = app.connect_flows().instructions(&visit.loaded).await?;
            visit.wait(&title, &instructions)?
        }
        FlowState::Completing => {
            let notice = format!("Waiting for {title} to respond.");
            let page = visit.end("One moment", &notice, "This page reloads automatically.", true, false)?;
            with_refresh(page, HeaderValue::from_static("2"))
        }
        FlowState::ChoosingAccounts => {
            let choices = app.connect_flows().account_choices(&visit.loaded).await?;
            visit.choose(&title, &choices, None)?.into_response()
        }
    })
}

/// Names the platform, too: some servers run other software and have its name.
async fn describe_connected(
    app: &App,
    loaded: &LoadedFlow,
    title: String,
) -> Result<(String, String), FlowAccessError> {
    let connect_flow = &loaded.flow;
    let is_of_flow = |it: &Connection| connect_flow.connections().any(|id| id == it.connection_id);
    let mut connected = app.api.store.connections(connect_flow.user_id).await?;
    connected.retain(is_of_flow);
    let title = connected.first().map_or(title, |it| it.rules.title.clone());
    let names: Vec<String> = connected.iter().map(|it| it.profile.shown_name()).collect();
    let sentence = match &names[..] {
        [] => format!("Your {title} account is connected."),
        [name] => format!("{name} on {title} is connected."),
        [others @ .., last] => format!("{} and {last} on {title} are connected.", others.join(", ")),
    };
    Ok((sentence, title))
}

/// A form that arrives late or twice changes nothing and shows the state of the flow.
pub(crate) async fn submit_connect_flow(
    Segments(state_token): Segments<String>,
    State(app): State<App>,
    visitor: Visitor,
    PageForm(mut form): PageForm<Form>,
) -> Result<Response, FlowAccessError> {
    let address = format!("/connect/{state_token}");
    let visit = app.enter(state_token, visitor, EntryPoint::Form, &address).await?;
    visit.participant.check(&form.remove("csrf").unwrap_or_default())?;
    Ok(visit.participant.respond(submit(&app, &visit, form).await?))
}

async fn submit(app: &App, visit: &FlowVisit, form: Form) -> Result<Response, FlowAccessError> {
    let loaded = &visit.loaded;
    let platform = app.platforms.get(&loaded.flow.provider).ok_or(FlowAccessError::Unknown)?;
    if !loaded.flow.is_open(app.api.clock.now()) {
        return Ok(flow_page(visit));
    }
    match loaded.flow.state {
        state if state.can_cancel() && form.contains_key("cancel") => {
            app.connect_flows().cancel(loaded, platform).await?;
            Ok(flow_page(visit))
        }
        FlowState::CollectingInput | FlowState::AwaitingCallback => submit_fields(app, platform, visit, form).await,
        FlowState::ChoosingAccounts => choose(app, platform, visit, &form).await,
        FlowState::AwaitingApproval | FlowState::Completing | FlowState::Completed | FlowState::Failed => {
            Ok(flow_page(visit))
        }
    }
}

/// Without a permit for the server that the user named, the submission is not processed and does
/// not count.
async fn submit_fields(
    app: &App,
    platform: &dyn Connect,
    visit: &FlowVisit,
    form: Form,
) -> Result<Response, FlowAccessError> {
    let values = field_values(platform, &form);
    let (flows, by) = (app.connect_flows(), visit.participant.flow_owner());
    let submission = Box::pin(flows.submit_fields(&visit.loaded, platform, &by, &values));
    let host = platform.named_host(&values);
    let submission = app.api.with_permit(visit.loaded.flow.user_id, host.as_deref(), submission).await??;
    let typed = match submission {
        Submission::Redirect { url } => return visit.redirect(platform, &url),
        Submission::Done => return Ok(flow_page(visit)),
        Submission::NotProcessed(error) => return not_processed(visit, error),
        Submission::InvalidFields(field_errors) => TypedValues { values: form, field_errors, error: None },
        Submission::Failed(error) => {
            TypedValues { values: form, error: Some(error.to_string()), ..TypedValues::default() }
        }
    };
    Ok(visit.form(app, platform, typed)?.into_response())
}

fn field_values(platform: &dyn Connect, form: &Form) -> FieldValues {
    let value = |name: &str| form.get(name).map(|it| it.trim()).unwrap_or_default();
    platform.fields().iter().map(|it| (it.name.to_owned(), value(it.name).into())).collect()
}

async fn choose(
    app: &App,
    platform: &dyn Connect,
    visit: &FlowVisit,
    form: &Form,
) -> Result<Response, FlowAccessError> {
    let selection = if form.contains_key("all") {
        Selection::All
    } else {
        let account_id = |name: &String| name.strip_prefix(ACCOUNT_FIELD).map(str::to_owned);
        Selection::Accounts(form.keys().filter_map(account_id).collect())
    };
    let by = visit.participant.flow_owner();
    let (choices, error) = match app.connect_flows().choose_accounts(&visit.loaded, platform, &by, &selection).await? {
        Choice::Done => return Ok(flow_page(visit)),
        Choice::NotProcessed(error) => return not_processed(visit, error),
        Choice::InvalidCount { choices, selected: 0 } => (choices, "Select at least one account.".to_owned()),
        Choice::InvalidCount { choices, selected } => {
            let error = format!(
                "Select at most {MAX_CONNECTED} accounts at a time; you selected {selected}. To connect the others, repeat the steps afterwards."
            );
            (choices, error)
        }
    };
    Ok(visit.choose(&platform.rules().title, &choices, Some(&error))?.into_response())
}

fn not_processed(visit: &FlowVisit, error: FlowLockError) -> Result<Response, FlowAccessError> {
    match error {
        FlowLockError::Busy => {
            let text = "Your last submission is still being processed. Wait a few seconds, then reload the page.";
            visit.refuse(StatusCode::CONFLICT, "Still processing", text, false)
        }
        FlowLockError::Theirs => Err(FlowAccessError::AnotherBrowser),
        FlowLockError::MovedOn => Ok(flow_page(visit)),
        FlowLockError::Spent => {
            let text = format!("You have made ten attempts. {}", visit.how_to_retry());
            visit.refuse(StatusCode::TOO_MANY_REQUESTS, "Too many attempts", &text, true)
        }
    }
}

fn flow_page(visit: &FlowVisit) -> Response {
    Redirect::to(&action(&visit.loaded)).into_response()
}

#[cfg(test)]
mod tests;
