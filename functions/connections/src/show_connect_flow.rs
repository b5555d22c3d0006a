//! `GET /connect/{state_token}`: the page of a connect flow, for each state.

use api::Segments;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use connecting::LoadedFlow;
use domain::connect_flow::{EntryPoint, FlowState};
use domain::connection::Connection;

use crate::App;
use crate::flow_pages::{TypedValues, action, with_refresh};
use crate::participant::{FlowAccessError, FlowVisit, Visitor};

/// Shows the page for the state of a connect flow. If the flow awaits an approval, polls the platform
/// first.
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
            let page = visit.end("This link has expired", "A link is valid for ten minutes.", &text, false, true)?;
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

/// A sentence that names the connected accounts, and the platform's name: some servers run other
/// software and have its name.
async fn describe_connected(
    app: &App,
    loaded: &LoadedFlow,
    title: String,
) -> Result<(String, String), FlowAccessError> {
    let connect_flow = &loaded.flow;
    let is_of_flow = |it: &Connection| {
        connect_flow.connection_id == Some(it.connection_id) || connect_flow.also_connected.contains(&it.connection_id)
    };
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

/// Makes a reason, which may be a platform's message, a sentence.
fn sentence(reason: &str) -> String {
    let reason = reason.trim().trim_end_matches('.');
    let mut chars = reason.chars();
    let first = chars.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_shown_as_a_sentence() {
        assert_eq!(sentence("you cancelled"), "You cancelled.");
        assert_eq!(sentence("Disconnect one first."), "Disconnect one first.");
    }
}
