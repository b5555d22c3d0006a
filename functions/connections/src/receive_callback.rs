//! `GET /connect/callback/{platform}`: the person comes back with the
//! platform's answer. Where users name servers, each has an address of its own
//! below that.

use std::collections::BTreeMap;

use api::Segments;
use api::page::{PageError, parameters};
use axum::extract::State;
use axum::http::header::HOST;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use platforms::{Callback, Connect};
use storage::FlowState;
use url::{Host, Url};

use crate::App;
use crate::access_error::FlowAccessError;
use crate::connect_flow::{LoadedFlow, PendingAuthorization};
use crate::error::ConnectionsError;
use crate::participant::{EntryPoint, Visitor};
use crate::show_connect_flow::action;
use crate::timeouts::{COMPLETED_WITHIN, within};

/// Takes the platform's answer once and redirects to the page of the connect flow,
/// so that the answer leaves the address bar and reloading repeats nothing.
/// Whoever comes back has to be who was sent off; until that is known, nothing
/// of the answer is used.
pub(crate) async fn take_callback(
    Segments(name): Segments<String>,
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
    known: Visitor,
) -> Result<Response, FlowAccessError> {
    taken(&app, &name, None, &uri, &headers, known).await
}

/// The same at the address of one server.
pub(crate) async fn take_callback_of_server(
    Segments((name, server)): Segments<(String, String)>,
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
    known: Visitor,
) -> Result<Response, FlowAccessError> {
    taken(&app, &name, Some(&server), &uri, &headers, known).await
}

async fn taken(
    app: &App,
    name: &str,
    server: Option<&str>,
    uri: &Uri,
    headers: &HeaderMap,
    known: Visitor,
) -> Result<Response, FlowAccessError> {
    let address = uri.path_and_query().map_or("/", |it| it.as_str());
    if is_reached_by_address(&app.api.origin, headers) {
        return Ok(Redirect::to(&format!("{}{address}", app.api.origin)).into_response());
    }
    let query = parameters(uri.query())?;
    let platform = app.platforms.get(name).ok_or_else(PageError::not_found)?;
    let here = app.addresses(platform);
    let arrived_at = server.map_or_else(|| here.redirect_uri.clone(), |it| here.redirect_uri_of(it));
    let state_token = query.get("state").cloned().ok_or_else(without_state)?;

    let entered = app.enter(state_token, known, EntryPoint::Callback, address).await?;
    let visit = &entered.flow;
    if visit.flow.provider != name {
        return Err(FlowAccessError::Unknown);
    }

    let away = match visit.flow.state {
        FlowState::AwaitingCallback => Some(app.away(visit).await?),
        _ => None,
    };
    let host = away.as_ref().and_then(|it| it.host.clone());
    let arrival = Arrival { away, query, arrived_at };
    app.api.with_permit(visit.flow.user_id, host.as_deref(), Box::pin(arrival.take(app, platform, visit))).await??;
    Ok(entered.participant.answer(Redirect::to(&action(visit))))
}

/// What the person came back with.
struct Arrival {
    /// `None` when nobody is waited for.
    away: Option<PendingAuthorization>,
    query: BTreeMap<String, String>,
    arrived_at: String,
}

impl Arrival {
    /// A code can be exchanged once. When the browser sends it twice, only the
    /// first request exchanges it: the second one would be refused by the
    /// platform, and the connect flow would end as failed although it succeeded.
    async fn take(self, app: &App, platform: &dyn Connect, visit: &LoadedFlow) -> Result<(), FlowAccessError> {
        let Self { away: Some(away), query, arrived_at } = self else { return Ok(()) };
        let (store, now) = (&app.api.store, app.api.clock.now());
        if !store
            .advance_connect_flow(&visit.hash, &[FlowState::AwaitingCallback], FlowState::Completing, None, now)
            .await?
        {
            return Ok(());
        }
        let callback = app.callback(platform, away, query, arrived_at);
        if let Err(failure) = answer(app, platform, visit, &callback).await {
            tracing::error!(%failure, platform = platform.name(), "a platform's answer could not be taken");
            // The code is used up, so the connect flow cannot go on.
            app.end_without_account(visit, "something failed on our side").await?;
        }
        Ok(())
    }
}

/// Whether a service on this machine was reached by address instead of by name.
/// Some platforms send people back to `127.0.0.1` instead of `localhost`
/// (RFC 8252, section 8.3), where the browser does not send our cookies.
pub(crate) fn is_reached_by_address(origin: &str, headers: &HeaderMap) -> bool {
    let is_named = Url::parse(origin).is_ok_and(|it| it.host_str() == Some("localhost"));
    let host = headers.get(HOST).and_then(|it| it.to_str().ok());
    let reached = host.and_then(|it| Url::parse(&format!("http://{it}")).ok());
    is_named
        && match reached.as_ref().and_then(Url::host) {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(_)) | None => false,
        }
}

async fn answer(
    app: &App,
    platform: &dyn Connect,
    visit: &LoadedFlow,
    callback: &Callback,
) -> Result<(), ConnectionsError> {
    match within(COMPLETED_WITHIN, platform.complete(callback, app.api.clock.now())).await {
        Ok(accounts) => app.complete_flow(visit, platform, accounts).await,
        Err(refusal) => app.end_without_account(visit, &refusal.to_string()).await,
    }
}

fn without_state() -> PageError {
    let text = "The platform sent you back without saying what for. Go back to where you came from and start again.";
    PageError::new(StatusCode::BAD_REQUEST, "Something is missing", text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Harness, PlatformBehavior};

    #[test]
    fn only_a_local_service_that_is_reached_by_a_loopback_address_redirects_to_its_name() {
        let headers = |host: &str| [(HOST, host.parse().unwrap())].into_iter().collect();
        let local = "http://localhost:3000";
        for host in ["127.0.0.1:3000", "127.0.0.1", "[::1]:3000"] {
            assert!(is_reached_by_address(local, &headers(host)), "{host}");
            assert!(!is_reached_by_address("https://social.example", &headers(host)), "{host}");
        }
        for host in ["localhost:3000", "192.0.2.1:3000", "[2001:db8::1]:3000", "social.example", "a b"] {
            assert!(!is_reached_by_address(local, &headers(host)), "{host}");
        }
        assert!(!is_reached_by_address(local, &HeaderMap::new()));
    }

    #[tokio::test]
    async fn two_answers_at_once_connect_once() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;

        let (one, two) = tokio::join!(world.callback(&begun, "7"), world.callback(&begun, "7"));

        assert_eq!((one.status, two.status), (303, 303));
        assert_eq!(world.platform.completed(), 1, "the code is spent once");
        assert_eq!(world.poll(&begun).await.body["status"], "completed");
        assert_eq!(world.events.names(), ["connection.created"]);
        assert_eq!(world.get("/api/v1/connections").await.body["data"].as_array().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn connecting_the_same_account_again_renews_it() {
        let world = Harness::new().await;
        let first = world.connect("7").await;
        world.lose_grant(first).await;

        let second = world.connect("7").await;

        assert_eq!(first, second);
        let shown = world.get(&format!("/api/v1/connections/{first}")).await;
        assert_eq!(shown.body["needs_reconnection"], false);
        assert_eq!(world.events.names(), ["connection.created"], "it is not new");
    }

    #[tokio::test]
    async fn a_refusal_ends_the_connect_flow_and_is_told_on_the_page_alone() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;
        world.visit(&format!("/connect/callback/plain?state={}&error=access_denied", begun.token)).await;

        assert_eq!(world.poll(&begun).await.body, json!({"status": "failed"}));
        assert!(world.page(&begun).await.html.contains("Access was denied"));
        assert!(world.events.names().is_empty());
    }

    #[tokio::test]
    async fn a_platform_that_does_not_answer_ends_the_connect_flow() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;
        world.platform.set_mood(PlatformBehavior::Broken);
        world.callback(&begun, "7").await;

        assert_eq!(world.poll(&begun).await.body, json!({"status": "failed"}));
        assert!(world.page(&begun).await.html.contains("did not answer as expected"));
    }

    #[tokio::test]
    async fn an_answer_with_two_codes_is_refused_and_neither_is_used() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;

        let refused = world.visit(&format!("/connect/callback/plain?state={}&code=7&code=8", begun.token)).await;

        assert_eq!((refused.status, world.platform.completed()), (400, 0));
        assert!(refused.html.contains("code more than once"), "{}", refused.html);
        assert_eq!(world.callback(&begun, "7").await.status, 303, "the true one still counts");
        assert_eq!(world.poll(&begun).await.body["status"], "completed");
    }

    #[tokio::test]
    async fn an_answer_that_comes_too_late_connects_nothing() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;
        world.clock.advance(chrono::TimeDelta::seconds(600));

        world.callback(&begun, "7").await;

        assert_eq!(world.platform.completed(), 0);
        assert_eq!(world.poll(&begun).await.status, 410);
        let page = world.page(&begun).await;
        assert_eq!(page.status, 410);
        assert!(page.html.contains("expired"));
    }

    #[tokio::test]
    async fn names_of_platforms_are_cut_and_freed_of_marks() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;

        world.callback(&begun, &format!("%E2%80%AE{}", "7".repeat(700))).await;

        let connection = world.poll(&begun).await.body["connection"].clone();
        let (username, name) = (connection["username"].as_str().unwrap(), connection["display_name"].as_str().unwrap());
        assert_eq!((username.chars().count(), name.len()), (100, 640));
        assert!(!format!("{username}{name}").contains('\u{202e}'));
    }

    #[tokio::test]
    async fn an_adapter_is_told_where_an_answer_arrived() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;

        world.visit(&format!("/connect/callback/plain/a-server?state={}&code=7", begun.token)).await;

        assert_eq!(world.platform.arrivals(), ["https://social.example/connect/callback/plain/a-server"]);
    }

    #[tokio::test]
    async fn an_answer_for_another_platform_or_for_nothing_is_refused() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;
        let visit = async |path: &str| world.visit(path).await.status;

        assert_eq!(visit(&format!("/connect/callback/asking?state={}&code=7", begun.token)).await, 404);
        assert_eq!(visit("/connect/callback/plain?state=unknown&code=7").await, 404);
        assert_eq!(visit("/connect/callback/plain?code=7").await, 400);
        assert_eq!(visit("/connect/callback/nowhere?state=x").await, 404);
        assert_eq!(world.poll(&begun).await.body["status"], "pending");
    }
}
