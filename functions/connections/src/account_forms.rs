//! The buttons of `/account/connections`: connect, reconnect, disconnect.

use api::page::{PageError, PageForm, PageResult};
use api::{ClientIp, Segments, SignedIn};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use connecting::StartedFlow;
use domain::id::{ConnectionId, ProfileId};
use serde::Deserialize;

use crate::App;
use crate::delete_connection::DisconnectOutcome;
use crate::error::ConnectionsError;
use crate::flow_pages::{redirect_page, with_refresh};
use crate::recipient::Recipient;

const HERE: &str = "/account/connections";

#[derive(Deserialize)]
pub(crate) struct ConnectForm {
    csrf: String,
    platform: String,
    /// The customer whose account is reconnected.
    profile: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct DisconnectForm {
    csrf: String,
}

pub(crate) async fn connect(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    PageForm(form): PageForm<ConnectForm>,
) -> PageResult<Response> {
    session.check(&form.csrf)?;
    let Some(platform) = app.platforms.get(&form.platform) else {
        let text = "It is no longer set up in this deployment. Choose a platform from the list.";
        return Err(error_page(StatusCode::UNPROCESSABLE_ENTITY, "This platform is not available", text));
    };
    let of_profile = match form.profile.as_deref().map(ProfileId::parse) {
        None => None,
        Some(id) => {
            let profile = match id {
                Some(id) => app.api.store.profile(session.user, id).await?,
                None => None,
            };
            Some(profile.ok_or_else(PageError::forged)?.reference())
        }
    };
    let page =
        match app.connect_flows().start(session.user, of_profile, platform).await.map_err(ConnectionsError::from)? {
            StartedFlow::Started { page, .. } => page,
            StartedFlow::OverPlan(reason) => {
                session.audit_plan_refusal(address, &reason);
                return Err(error_page(StatusCode::FORBIDDEN, "Your plan's limit is reached", &reason));
            }
        };
    if let Some(path) = page.strip_prefix(&app.api.origin).filter(|it| it.starts_with("/connect/")) {
        return Ok(Redirect::to(path).into_response());
    }
    let (page, refresh) = redirect_page(platform, &Recipient::new(session.person()), &page)?;
    Ok(with_refresh(page.signed_in(&session), refresh))
}

pub(crate) async fn disconnect(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    Segments(connection): Segments<String>,
    PageForm(form): PageForm<DisconnectForm>,
) -> PageResult<Redirect> {
    session.check(&form.csrf)?;
    let id = ConnectionId::parse(&connection).ok_or_else(not_found_page)?;
    match app.disconnect(session.user, id, address.0).await? {
        DisconnectOutcome::Done => Ok(Redirect::to("/account/connections?disconnected=true")),
        DisconnectOutcome::Needed(why) => {
            let text = format!("{why} Cancel the scheduled posts first.");
            let page = PageError::new(StatusCode::UNPROCESSABLE_ENTITY, "The account is still connected", text);
            Err(page.with_link("/account/posts", "Go to your posts"))
        }
        DisconnectOutcome::NotThere => Err(not_found_page()),
    }
}

fn not_found_page() -> PageError {
    let text = "It is already disconnected, or it belongs to another user.";
    error_page(StatusCode::NOT_FOUND, "Account not found", text)
}

fn error_page(status: StatusCode, title: &str, text: &str) -> PageError {
    PageError::new(status, title, text).with_link(HERE, "Go to your connections")
}
