//! `GET /connect/callback/{platform}`: the platform redirects the browser here. Where users name
//! servers, each server has its own path below that.

use api::Segments;
use api::page::{PageError, parameters};
use axum::extract::State;
use axum::http::header::HOST;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use domain::connect_flow::EntryPoint;
use url::{Host, Url};

use crate::App;
use crate::flow_pages::action;
use crate::participant::{FlowAccessError, Visitor};

/// Processes the callback once and redirects to the page of the connect flow, so that the code
/// leaves the address bar and a reload repeats nothing. The visitor must be the participant who was
/// redirected; until that is checked, nothing of the callback is used.
pub(crate) async fn receive_callback(
    Segments(name): Segments<String>,
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
    visitor: Visitor,
) -> Result<Response, FlowAccessError> {
    handle_callback(&app, &name, None, &uri, &headers, visitor).await
}

/// Like `receive_callback`, for the redirect URI of one server.
pub(crate) async fn receive_server_callback(
    Segments((name, server)): Segments<(String, String)>,
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
    visitor: Visitor,
) -> Result<Response, FlowAccessError> {
    handle_callback(&app, &name, Some(&server), &uri, &headers, visitor).await
}

async fn handle_callback(
    app: &App,
    name: &str,
    server: Option<&str>,
    uri: &Uri,
    headers: &HeaderMap,
    visitor: Visitor,
) -> Result<Response, FlowAccessError> {
    let address = uri.path_and_query().map_or("/", |it| it.as_str());
    if is_called_by_ip(&app.api.origin, headers) {
        return Ok(Redirect::to(&format!("{}{address}", app.api.origin)).into_response());
    }
    let query = parameters(uri.query())?;
    let platform = app.platforms.get(name).ok_or_else(PageError::not_found)?;
    let urls = app.addresses(platform);
    let arrived_at = server.map_or_else(|| urls.redirect_uri.clone(), |it| urls.redirect_uri_for(it));
    let state_token = query.get("state").cloned().ok_or_else(missing_state_page)?;

    let visit = app.enter(state_token, visitor, EntryPoint::Callback, address).await?;
    let loaded = &visit.loaded;
    if loaded.flow.provider != name {
        return Err(FlowAccessError::Unknown);
    }

    let flows = app.connect_flows();
    if let Some(received) = flows.receive_callback(loaded, query, arrived_at).await? {
        let host = received.host().map(str::to_owned);
        let completion = Box::pin(flows.complete_callback(loaded, platform, received));
        app.api.with_permit(loaded.flow.user_id, host.as_deref(), completion).await??;
    }
    Ok(visit.participant.respond(Redirect::to(&action(loaded))))
}

/// Whether a service on this machine was reached by IP address. Some platforms redirect to
/// `127.0.0.1` instead of `localhost` (RFC 8252, section 8.3), where the browser does not send our
/// cookies.
pub(crate) fn is_called_by_ip(origin: &str, headers: &HeaderMap) -> bool {
    let is_localhost = Url::parse(origin).is_ok_and(|it| it.host_str() == Some("localhost"));
    let host = headers.get(HOST).and_then(|it| it.to_str().ok());
    let host_url = host.and_then(|it| Url::parse(&format!("http://{it}")).ok());
    is_localhost
        && match host_url.as_ref().and_then(Url::host) {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(_)) | None => false,
        }
}

fn missing_state_page() -> PageError {
    let text = "The platform sent you back without the parameter \"state\". Nothing was connected. Start over in the app or on the page that you came from.";
    PageError::new(StatusCode::BAD_REQUEST, "The link is incomplete", text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Harness, PlatformBehavior};

    #[test]
    fn only_a_local_service_reached_by_address_redirects_to_its_name() {
        let headers = |host: &str| [(HOST, host.parse().unwrap())].into_iter().collect();
        let local = "http://localhost:3000";
        for host in ["127.0.0.1:3000", "127.0.0.1", "[::1]:3000"] {
            assert!(is_called_by_ip(local, &headers(host)), "{host}");
            assert!(!is_called_by_ip("https://social.example", &headers(host)), "{host}");
        }
        for host in ["localhost:3000", "192.0.2.1:3000", "[2001:db8::1]:3000", "social.example", "a b"] {
            assert!(!is_called_by_ip(local, &headers(host)), "{host}");
        }
        assert!(!is_called_by_ip(local, &HeaderMap::new()));
    }

    #[tokio::test]
    async fn concurrent_callbacks_connect_once() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;

        let (one, two) = tokio::join!(harness.callback(&begun, "7"), harness.callback(&begun, "7"));

        assert_eq!((one.status, two.status), (303, 303));
        assert_eq!(harness.platform.completed(), 1, "the code is spent once");
        assert_eq!(harness.poll(&begun).await.body["status"], "completed");
        assert_eq!(harness.events.names(), ["connection.created"]);
        assert_eq!(harness.get("/api/v1/connections").await.body["data"].as_array().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn connecting_the_same_account_again_updates_it() {
        let harness = Harness::new().await;
        let first = harness.connect("7").await;
        harness.lose_grant(first).await;

        let second = harness.connect("7").await;

        assert_eq!(first, second);
        let shown = harness.get(&format!("/api/v1/connections/{first}")).await;
        assert_eq!(shown.body["needs_reconnection"], false);
        assert_eq!(harness.events.names(), ["connection.created"], "it is not new");
    }

    #[tokio::test]
    async fn refusal_ends_the_flow_and_is_shown_only_on_the_page() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;
        harness.visit(&format!("/connect/callback/plain?state={}&error=access_denied", begun.token)).await;

        assert_eq!(harness.poll(&begun).await.body, json!({"status": "failed"}));
        assert!(harness.page(&begun).await.html.contains("Access was denied"));
        assert!(harness.events.names().is_empty());
    }

    #[tokio::test]
    async fn unresponsive_platform_ends_the_connect_flow() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;
        harness.platform.set_behavior(PlatformBehavior::Broken);
        harness.callback(&begun, "7").await;

        assert_eq!(harness.poll(&begun).await.body, json!({"status": "failed"}));
        assert!(harness.page(&begun).await.html.contains("returned an unexpected response"));
    }

    #[tokio::test]
    async fn callback_with_two_codes_is_rejected_and_neither_is_used() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;

        let refused = harness.visit(&format!("/connect/callback/plain?state={}&code=7&code=8", begun.token)).await;

        assert_eq!((refused.status, harness.platform.completed()), (400, 0));
        assert!(refused.html.contains("code more than once"), "{}", refused.html);
        assert_eq!(harness.callback(&begun, "7").await.status, 303, "the true one still counts");
        assert_eq!(harness.poll(&begun).await.body["status"], "completed");
    }

    #[tokio::test]
    async fn late_callback_connects_nothing() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;
        harness.clock.advance(chrono::TimeDelta::seconds(600));

        harness.callback(&begun, "7").await;

        assert_eq!(harness.platform.completed(), 0);
        assert_eq!(harness.poll(&begun).await.status, 410);
        let page = harness.page(&begun).await;
        assert_eq!(page.status, 410);
        assert!(page.html.contains("expired"));
    }

    #[tokio::test]
    async fn account_names_are_shortened_and_lose_control_characters() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;

        harness.callback(&begun, &format!("%E2%80%AE{}", "7".repeat(700))).await;

        let connection = harness.poll(&begun).await.body["connection"].clone();
        let (username, name) = (connection["username"].as_str().unwrap(), connection["display_name"].as_str().unwrap());
        assert_eq!((username.chars().count(), name.len()), (100, 640));
        assert!(!format!("{username}{name}").contains('\u{202e}'));
    }

    #[tokio::test]
    async fn adapter_receives_the_url_at_which_the_callback_arrived() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;

        harness.visit(&format!("/connect/callback/plain/a-server?state={}&code=7", begun.token)).await;

        assert_eq!(harness.platform.arrivals(), ["https://social.example/connect/callback/plain/a-server"]);
    }

    #[tokio::test]
    async fn callback_for_another_platform_or_unknown_state_is_rejected() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;
        let visit = async |path: &str| harness.visit(path).await.status;

        assert_eq!(visit(&format!("/connect/callback/asking?state={}&code=7", begun.token)).await, 404);
        assert_eq!(visit("/connect/callback/plain?state=unknown&code=7").await, 404);
        assert_eq!(visit("/connect/callback/plain?code=7").await, 400);
        assert_eq!(visit("/connect/callback/nowhere?state=x").await, 404);
        assert_eq!(harness.poll(&begun).await.body["status"], "pending");
    }
}
