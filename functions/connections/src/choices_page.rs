//! `/account/connections/{connection}/choices/{option}`: the page with the values of an option. The
//! form of a post links to it, and the script of that form reads the values as JSON.

use api::page::{AccountPage, Page, PageResult};
use api::{ApiError, Params, Segments, SignedIn};
use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CACHE_CONTROL};
use axum::response::{IntoResponse, Response};
use contract::ChoiceList;

use crate::App;
use crate::choices::{Choices, MAX_QUERY};

#[derive(Template)]
#[template(path = "choices.html")]
struct ChoicesPage<'a> {
    option: String,
    platform: &'a str,
    account: String,
    choices: &'a Choices,
}

pub(crate) async fn show_choices(
    State(app): State<App>,
    session: SignedIn,
    Segments((connection, option)): Segments<(String, String)>,
    params: Params,
    headers: HeaderMap,
) -> Response {
    let choices = app.choices(session.user, &connection, &option, params).await;
    if accepts_json(&headers) {
        let listed = choices.map(|it| Json(ChoiceList::from(it))).map_err(ApiError::from);
        return ([(CACHE_CONTROL, "no-store")], listed).into_response();
    }
    choices.map_err(Into::into).and_then(|it| page(&session, &it)).into_response()
}

/// The header of a browser that opens a page does not name JSON.
fn accepts_json(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|it| it.to_str().ok()).is_some_and(|it| it.contains("application/json"))
}

fn page(session: &SignedIn, choices: &Choices) -> PageResult<Page> {
    let connection = &choices.connection;
    let page = ChoicesPage {
        option: choices.option.name.replace('_', " "),
        platform: &connection.rules.title,
        account: connection.profile.shown_name(),
        choices,
    };
    let title = format!("Values for {}", page.option);
    Ok(Page::render(title, &page)?.signed_in(session).with_account_navigation(AccountPage::Connections))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{Harness, PlatformBehavior};

    fn path(connection: u64) -> String {
        format!("/account/connections/{connection}/choices/board")
    }

    #[tokio::test]
    async fn script_gets_json() {
        let harness = Harness::new().await;
        let path = path(harness.connect("7").await);

        let listed = harness.fetch_in(harness.browser(), &path).await;

        assert_eq!(listed.body["data"][1], json!({"value": "b2", "label": "Weather"}));
        assert_eq!(listed.cache_control.as_deref(), Some("no-store"));
        harness.platform.set_behavior(PlatformBehavior::Broken);
        let failed = harness.fetch_in(harness.browser(), &path).await;
        assert_eq!((failed.status, failed.retry_after.as_deref()), (503, Some("45")));
        assert!(failed.body["message"].as_str().unwrap().ends_with("Try again in 45 s"), "{}", failed.body);
    }

    #[tokio::test]
    async fn lost_grant_leads_to_the_connections() {
        let harness = Harness::new().await;
        let id = harness.connect("7").await;
        harness.lose_grant(id).await;

        let page = harness.visit(&path(id)).await;
        assert_eq!(page.status, 409, "{}", page.html);
        assert!(page.html.contains("href=\"/account/connections\""), "{}", page.html);

        let json = harness.fetch_in(harness.browser(), &path(id)).await;
        assert_eq!(json.status, 409);
        assert!(json.body["message"].as_str().unwrap().ends_with("Reconnect the account"), "{}", json.body);
    }

    #[tokio::test]
    async fn unresponsive_platform_gets_503_with_retry_after() {
        let harness = Harness::new().await;
        let path = path(harness.connect("7").await);
        harness.platform.set_behavior(PlatformBehavior::Broken);

        let page = harness.visit(&path).await;

        assert_eq!((page.status, page.retry_after.as_deref()), (503, Some("45")));
        assert!(page.html.contains("cannot list the values at the moment"), "{}", page.html);
        assert!(page.html.contains("Reload this page in 45 s."), "{}", page.html);
    }

    #[tokio::test]
    async fn named_server_is_called_with_a_permit() {
        let harness = Harness::new().await;
        let path = path(harness.connect("7~named").await);
        harness.hold_permits().await;

        let denied = harness.visit(&path).await;
        assert_eq!((denied.status, denied.retry_after.as_deref()), (429, Some("5")));

        harness.release_permits().await;
        assert_eq!(harness.visit(&path).await.status, 200);
    }
}
