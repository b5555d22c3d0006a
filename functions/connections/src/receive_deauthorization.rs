//! Notifications from platforms: `POST /connect/deauthorize/{platform}`, a user has revoked a
//! grant; `POST /connect/delete-data/{platform}`, a user requests the deletion of their data, and
//! the page that confirms it.
//!
//! No session is needed: the platform signs the request with the secret of the app.

use api::page::{Page, PageError, PageForm, PageQuery, PageResult};
use api::{ApiError, ApiResult, Segments};
use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cloud::audit;
use cloud::events::publish_event;
use connecting::ConnectingError;
use domain::event::Event;
use domain::token;
use platforms::{DeauthorizationCallback, InvalidCallback};
use serde::{Deserialize, Serialize};
use storage::{CredentialsRecord, Deletion, Disconnected, grant_name};

use crate::App;

#[derive(Debug, Deserialize)]
pub(crate) struct Sent {
    signed_request: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct DeletionResponse {
    url: String,
    confirmation_code: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Code {
    code: String,
}

#[derive(Template)]
#[template(path = "deleted.html")]
struct DeletedPage {
    title: String,
    day: String,
    deleted: u32,
    left: u32,
}

pub(crate) async fn deauthorize(
    Segments(name): Segments<String>,
    State(app): State<App>,
    PageForm(form): PageForm<Sent>,
) -> ApiResult<StatusCode> {
    app.end_grant(&name, &form).await?;
    Ok(StatusCode::OK)
}

/// Deletes the accounts of the grant. Accounts that scheduled posts use only lose their
/// credentials; they go when their users disconnect them.
pub(crate) async fn delete_data(
    Segments(name): Segments<String>,
    State(app): State<App>,
    PageForm(form): PageForm<Sent>,
) -> ApiResult<Json<DeletionResponse>> {
    let records = app.end_grant(&name, &form).await?;
    let mut deletion = Deletion { provider: name, at: app.api.clock.now(), deleted: 0, left: 0 };
    for record in &records {
        app.delete_connections_of_grant(record, &mut deletion).await?;
    }
    // Letters and digits only, because people read and type it.
    let code = token::random_hex();
    app.api.store.put_deletion(&token::hash(&code), &deletion).await?;
    let url = format!("{}/connect/delete-data/{}?code={code}", app.api.origin, deletion.provider);
    Ok(Json(DeletionResponse { url, confirmation_code: code }))
}

pub(crate) async fn show_deletion(
    Segments(name): Segments<String>,
    State(app): State<App>,
    PageQuery(Code { code }): PageQuery<Code>,
) -> PageResult<Page> {
    let found = app.api.store.deletion(&token::hash(&code)).await?.filter(|it| it.provider == name);
    let platform = app.platforms.get(&name);
    let (Some(Deletion { at, deleted, left, .. }), Some(platform)) = (found, platform) else {
        return Err(PageError::not_found());
    };
    let day = at.format("%-d %B %Y").to_string();
    let page = DeletedPage { title: platform.rules().title, day, deleted, left };
    Page::render("Deleted data", &page)
}

impl App {
    /// Returns the records of the grant.
    async fn end_grant(&self, name: &str, form: &Sent) -> ApiResult<Vec<CredentialsRecord>> {
        let platform = self.platforms.get(name).ok_or(ApiError::NotFound)?;
        let DeauthorizationCallback { grant, at } =
            match platform.read_deauthorization(&form.signed_request, self.api.clock.now()).await {
                Ok(callback) => callback,
                Err(InvalidCallback::NoneHere) => return Err(ApiError::NotFound),
                Err(forged @ InvalidCallback::Forged) => return Err(ApiError::Malformed(forged.to_string())),
                Err(InvalidCallback::NotNow(not_now)) => {
                    tracing::error!(%not_now, platform = name, "a deauthorization callback could not be verified");
                    return Err(ApiError::Unavailable);
                }
            };
        let ended = self.credential_service().ended_there(&grant_name(name, &grant), at).await;
        ended.map_err(|error| match error {
            ConnectingError::Storage(error) => error.into(),
            other => {
                tracing::error!(error = %other, platform = name, "a grant that the platform ended is still active here");
                ApiError::Internal
            }
        })
    }

    async fn delete_connections_of_grant(&self, record: &CredentialsRecord, deletion: &mut Deletion) -> ApiResult<()> {
        for id in record.connections.iter().copied() {
            match self.api.store.delete_connection(record.user_id, id, deletion.at).await? {
                Disconnected::Deleted { connection, .. } => {
                    let entry = audit::Entry::new(audit::Event::ConnectionRemoved);
                    entry.user(record.user_id).connection(id).write();
                    let event = Event::disconnected(&connection, deletion.at);
                    publish_event(self.events.as_ref(), &event).await;
                    deletion.deleted += 1;
                }
                Disconnected::Pending(_) => deletion.left += 1,
                Disconnected::NotThere => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use serde_json::json;

    use crate::testing::Harness;

    /// A body that the test platform accepts as signed: `signed:` and the grant.
    fn form(message: &str) -> String {
        format!("signed_request={message}")
    }

    #[tokio::test]
    async fn deauthorization_requires_reconnecting_all_accounts_of_the_grant() {
        let harness = Harness::new().await;
        let mine = harness.connect("7").await;
        let theirs = harness.connect_as_another("7~theirs").await;
        let other = harness.connect("8").await;
        harness.clock.advance(TimeDelta::hours(1));

        let response = harness.post_signed("/connect/deauthorize/plain", &form("signed:7")).await;

        assert_eq!(response.status, 200);
        let needs = async |id: u64| {
            let shown = harness.get(&format!("/api/v1/connections/{id}")).await;
            shown.body["needs_reconnection"].as_bool().unwrap()
        };
        assert!(needs(mine).await && !needs(other).await);
        let shown = harness.get_as_another(&format!("/api/v1/connections/{theirs}")).await;
        assert_eq!(shown.body["needs_reconnection"], true);
        let notified: Vec<_> =
            harness.events.names().into_iter().filter(|it| it.ends_with("needs_reconnection")).collect();
        assert_eq!(notified.len(), 2);
        assert!(harness.platform.revoked().is_empty(), "it is ended already");
        // The platform may send it twice.
        assert_eq!(harness.post_signed("/connect/deauthorize/plain", &form("signed:7")).await.status, 200);
        assert_eq!(harness.events.names().len(), 5);
    }

    #[tokio::test]
    async fn grant_made_after_the_deauthorization_stays_active() {
        let harness = Harness::new().await;
        harness.clock.advance(TimeDelta::hours(1));
        let id = harness.connect("7").await;

        // Signed an hour ago.
        harness.post_signed("/connect/deauthorize/plain", &form("before:7")).await;

        let shown = harness.get(&format!("/api/v1/connections/{id}")).await;
        assert_eq!(shown.body["needs_reconnection"], false);
    }

    #[tokio::test]
    async fn forged_deauthorization_changes_nothing() {
        let harness = Harness::new().await;
        let id = harness.connect("7").await;
        for (path, message, status) in [
            ("/connect/deauthorize/plain", "forged:7", 400),
            ("/connect/delete-data/plain", "forged:7", 400),
            ("/connect/delete-data/plain", "", 400),
            ("/connect/delete-data/asking", "signed:7", 404),
            ("/connect/deauthorize/nowhere", "signed:7", 404),
        ] {
            assert_eq!(harness.post_signed(path, &form(message)).await.status, status, "{path} {message}");
        }
        assert_eq!(harness.post_signed("/connect/deauthorize/plain", "another=signed:7").await.status, 422);
        assert_eq!(harness.get(&format!("/api/v1/connections/{id}")).await.body["needs_reconnection"], false);
    }

    #[tokio::test]
    async fn deletion_is_confirmed_on_a_page_for_its_code() {
        let harness = Harness::new().await;
        let id = harness.connect("7").await;
        let other = harness.connect("8").await;
        harness.clock.advance(TimeDelta::hours(1));

        let response = harness.post_signed("/connect/delete-data/plain", &form("signed:7")).await;

        assert_eq!(response.status, 200);
        let code = response.body["confirmation_code"].as_str().unwrap();
        assert!(code.len() == 32 && code.bytes().all(|it| it.is_ascii_alphanumeric()), "{code}");
        let address = format!("/connect/delete-data/plain?code={code}");
        assert_eq!(
            response.body,
            json!({ "url": format!("https://social.example{address}"), "confirmation_code": code })
        );
        assert_eq!(harness.get(&format!("/api/v1/connections/{id}")).await.status, 404);
        assert_eq!(harness.get(&format!("/api/v1/connections/{other}")).await.status, 200);
        assert!(harness.events.names().contains(&"connection.deleted"));
        let page = harness.visit(&address).await;
        assert_eq!(page.status, 200);
        assert!(page.html.contains("1 account was deleted"), "{}", page.html);
        for wrong in ["plain?code=0123", "asking?code=", "plain"] {
            let wrong = if wrong.ends_with('=') { format!("{wrong}{code}") } else { wrong.to_owned() };
            assert_ne!(harness.visit(&format!("/connect/delete-data/{wrong}")).await.status, 200, "{wrong}");
        }
    }

    #[tokio::test]
    async fn deletion_for_an_unknown_account_is_confirmed_too() {
        let harness = Harness::new().await;
        let response = harness.post_signed("/connect/delete-data/plain", &form("signed:7")).await;
        assert_eq!(response.status, 200);
        let url = response.body["url"].as_str().unwrap().to_owned();
        let page = harness.visit(url.strip_prefix("https://social.example").unwrap()).await;
        assert!(page.html.contains("We store nothing about that account"), "{}", page.html);
    }
}
