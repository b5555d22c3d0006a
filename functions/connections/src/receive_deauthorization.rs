//! What platforms tell by themselves: `POST /connect/deauthorize/{platform}`, that a
//! person has ended there what they granted; `POST /connect/delete-data/{platform}`, that
//! they want deleted what is known of them, and the page that shows that it was.
//!
//! Nobody is signed in: the platform signs what it says with the secret of the app.

use api::page::{Asked, Filled, Page, PageError, PageResult};
use api::{ApiError, ApiResult, Segments};
use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cloud::audit;
use domain::event::Event;
use domain::token::{self, random_u64};
use platforms::{DeauthorizationCallback, InvalidCallback};
use publishing::{PublishingError, publish_event};
use serde::{Deserialize, Serialize};
use storage::{CredentialsRecord, Deletion, Disconnected, grant_name};

use crate::App;

/// What a platform sends.
#[derive(Debug, Deserialize)]
pub(crate) struct Sent {
    signed_request: String,
}

/// What it is answered where data is to be deleted.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    /// Where the person can see what became of it.
    url: String,
    /// What they can ask about it by.
    confirmation_code: String,
}

/// What the page is asked by.
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

/// The accounts of the grant have to be connected again.
pub(crate) async fn deauthorize(
    Segments(name): Segments<String>,
    State(app): State<App>,
    Filled(sent): Filled<Sent>,
) -> ApiResult<StatusCode> {
    app.ended_there(&name, &sent).await?;
    Ok(StatusCode::OK)
}

/// The accounts of the grant are deleted; those that scheduled posts name have lost what
/// acts for them, and go when their users disconnect them.
pub(crate) async fn delete_data(
    Segments(name): Segments<String>,
    State(app): State<App>,
    Filled(sent): Filled<Sent>,
) -> ApiResult<Json<Answer>> {
    let ended = app.ended_there(&name, &sent).await?;
    let mut deletion = Deletion { provider: name, at: app.api.clock.now(), deleted: 0, left: 0 };
    for record in &ended {
        app.delete_all_of(record, &mut deletion).await?;
    }
    // Letters and digits alone: people are shown it, and type it.
    let code = format!("{:016x}{:016x}", random_u64(), random_u64());
    app.api.store.put_deletion(&token::hash(&code), &deletion).await?;
    let url = format!("{}/connect/delete-data/{}?code={code}", app.api.origin, deletion.provider);
    Ok(Json(Answer { url, confirmation_code: code }))
}

/// `GET /connect/delete-data/{platform}?code=…`
pub(crate) async fn show_deletion(
    Segments(name): Segments<String>,
    State(app): State<App>,
    Asked(Code { code }): Asked<Code>,
) -> PageResult<Page> {
    let found = app.api.store.deletion(&token::hash(&code)).await?.filter(|it| it.provider == name);
    let platform = app.platforms.get(&name);
    let (Some(Deletion { at, deleted, left, .. }), Some(platform)) = (found, platform) else {
        return Err(PageError::not_found());
    };
    let day = at.format("%-d %B %Y").to_string();
    let page = DeletedPage { title: platform.rules().title, day, deleted, left };
    Page::of("Deleted data", &page)
}

impl App {
    /// Ends what a platform says has ended there. Returns the records of it.
    async fn ended_there(&self, name: &str, sent: &Sent) -> ApiResult<Vec<CredentialsRecord>> {
        let platform = self.platforms.get(name).ok_or(ApiError::NotFound)?;
        let DeauthorizationCallback { grant, at } =
            match platform.read_deauthorization(&sent.signed_request, self.api.clock.now()).await {
                Ok(notice) => notice,
                Err(InvalidCallback::NoneHere) => return Err(ApiError::NotFound),
                Err(forged @ InvalidCallback::Forged) => return Err(ApiError::Malformed(forged.to_string())),
                Err(InvalidCallback::NotNow(not_now)) => {
                    tracing::error!(%not_now, platform = name, "what a platform says could not be checked");
                    return Err(ApiError::Unavailable);
                }
            };
        let ended = self.custody().ended_there(&grant_name(name, &grant), at).await;
        ended.map_err(|error| match error {
            PublishingError::Storage(error) => error.into(),
            other => {
                tracing::error!(error = %other, platform = name, "a grant that was ended there goes on here");
                ApiError::Internal
            }
        })
    }

    async fn delete_all_of(&self, record: &CredentialsRecord, deletion: &mut Deletion) -> ApiResult<()> {
        for id in record.connections.iter().copied() {
            match self.api.store.delete_connection(record.user_id, id, deletion.at).await? {
                Disconnected::Deleted { connection, .. } => {
                    let entry = audit::Entry::new(audit::Event::ConnectionRemoved);
                    entry.user(record.user_id).connection(id).write();
                    let event = Event::disconnected(&connection, deletion.at);
                    publish_event(&self.api.store, self.events.as_ref(), &event).await;
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

    /// What the test's platform takes for signed: `signed:` and the grant.
    fn form(message: &str) -> String {
        format!("signed_request={message}")
    }

    #[tokio::test]
    async fn a_grant_that_was_ended_there_wants_its_users_again() {
        let world = Harness::new().await;
        let mine = world.connect("7").await;
        let theirs = world.connect_as_another("7~theirs").await;
        let other = world.connect("8").await;
        world.clock.advance(TimeDelta::hours(1));

        let answer = world.told("/connect/deauthorize/plain", &form("signed:7")).await;

        assert_eq!(answer.status, 200);
        let needs = async |id: u64| {
            let shown = world.get(&format!("/api/v1/connections/{id}")).await;
            shown.body["needs_reconnection"].as_bool().unwrap()
        };
        assert!(needs(mine).await && !needs(other).await);
        let shown = world.get_as_another(&format!("/api/v1/connections/{theirs}")).await;
        assert_eq!(shown.body["needs_reconnection"], true);
        let told: Vec<_> = world.events.names().into_iter().filter(|it| it.ends_with("needs_reconnection")).collect();
        assert_eq!(told.len(), 2);
        assert!(world.platform.revoked().is_empty(), "it is ended already");
        // The platform may say it twice.
        assert_eq!(world.told("/connect/deauthorize/plain", &form("signed:7")).await.status, 200);
        assert_eq!(world.events.names().len(), 5);
    }

    #[tokio::test]
    async fn what_was_granted_since_goes_on() {
        let world = Harness::new().await;
        world.clock.advance(TimeDelta::hours(1));
        let id = world.connect("7").await;

        // Said an hour ago.
        world.told("/connect/deauthorize/plain", &form("before:7")).await;

        let shown = world.get(&format!("/api/v1/connections/{id}")).await;
        assert_eq!(shown.body["needs_reconnection"], false);
    }

    #[tokio::test]
    async fn a_forged_message_ends_nothing() {
        let world = Harness::new().await;
        let id = world.connect("7").await;
        for (path, message, status) in [
            ("/connect/deauthorize/plain", "forged:7", 400),
            ("/connect/delete-data/plain", "forged:7", 400),
            ("/connect/delete-data/plain", "", 400),
            ("/connect/delete-data/asking", "signed:7", 404),
            ("/connect/deauthorize/nowhere", "signed:7", 404),
        ] {
            assert_eq!(world.told(path, &form(message)).await.status, status, "{path} {message}");
        }
        assert_eq!(world.told("/connect/deauthorize/plain", "another=signed:7").await.status, 422);
        assert_eq!(world.get(&format!("/api/v1/connections/{id}")).await.body["needs_reconnection"], false);
    }

    #[tokio::test]
    async fn data_is_deleted_and_whoever_has_the_code_can_see_that() {
        let world = Harness::new().await;
        let id = world.connect("7").await;
        let other = world.connect("8").await;
        world.clock.advance(TimeDelta::hours(1));

        let answer = world.told("/connect/delete-data/plain", &form("signed:7")).await;

        assert_eq!(answer.status, 200);
        let code = answer.body["confirmation_code"].as_str().unwrap();
        assert!(code.len() == 32 && code.bytes().all(|it| it.is_ascii_alphanumeric()), "{code}");
        let address = format!("/connect/delete-data/plain?code={code}");
        assert_eq!(
            answer.body,
            json!({ "url": format!("https://social.example{address}"), "confirmation_code": code })
        );
        assert_eq!(world.get(&format!("/api/v1/connections/{id}")).await.status, 404);
        assert_eq!(world.get(&format!("/api/v1/connections/{other}")).await.status, 200);
        assert!(world.events.names().contains(&"connection.deleted"));
        let page = world.visit(&address).await;
        assert_eq!(page.status, 200);
        assert!(page.html.contains("1 account was deleted"), "{}", page.html);
        for wrong in ["plain?code=0123", "asking?code=", "plain"] {
            let wrong = if wrong.ends_with('=') { format!("{wrong}{code}") } else { wrong.to_owned() };
            assert_ne!(world.visit(&format!("/connect/delete-data/{wrong}")).await.status, 200, "{wrong}");
        }
    }

    #[tokio::test]
    async fn of_whom_nothing_is_known_the_answer_is_the_same() {
        let world = Harness::new().await;
        let answer = world.told("/connect/delete-data/plain", &form("signed:7")).await;
        assert_eq!(answer.status, 200);
        let url = answer.body["url"].as_str().unwrap().to_owned();
        let page = world.visit(url.strip_prefix("https://social.example").unwrap()).await;
        assert!(page.html.contains("Nothing is kept here"), "{}", page.html);
    }
}
