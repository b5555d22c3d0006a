//! The consent of a customer with a connect link, who has no session. The connections function
//! shows the page of the link; it explains what has changed, and ends the link.

use api::page::{PageError, PageForm, PageResult, link_consent_page};
use api::{ClientIp, GuestCookie, RequestedLink, Segments};
use axum::extract::State;
use axum::response::Redirect;
use chrono::{DateTime, Utc};
use domain::connect_link::LinkError;
use domain::connection::Connection;
use domain::id::ConnectionId;
use domain::post::{Accounts, Authority, Changes, Post};
use domain::time_zone::TimeZone;
use domain::validation_errors::ValidationErrors;
use http::StatusCode;
use scheduling::Changed;

use super::consent::{GivenConsent, file_link, log_consent};
use super::{Entries, FORM_KIB, fields, options};
use crate::App;
use crate::error::PostsError;
use crate::posts_forms::to_sentence;

enum LinkPost {
    Found(Box<Post>),
    /// The page of the link explains why there is none.
    None(Redirect),
}

/// Publishes and schedules nothing.
pub(crate) async fn submit_link_consent(
    State(app): State<App>,
    cookie: Option<GuestCookie>,
    address: ClientIp,
    Segments((key, account)): Segments<(String, String)>,
    PageForm(given): PageForm<Entries, FORM_KIB>,
) -> PageResult<Redirect> {
    let visit = find_link(&app, key, cookie).await?;
    visit.cookie.check(given.get("csrf"))?;
    match find_post(&app, &visit).await? {
        LinkPost::Found(post) => {
            let stored = store_consent(&app, &visit, address, *post, &account, &given).await;
            stored.map_err(|error| error.with_link(link_consent_page(&visit.key, None), "Go back to the post"))
        }
        LinkPost::None(page) => Ok(page),
    }
}

async fn store_consent(
    app: &App,
    visit: &RequestedLink,
    address: ClientIp,
    post: Post,
    account: &str,
    given: &Entries,
) -> PageResult<Redirect> {
    let owner = visit.link.owner();
    let page = |problem| Redirect::to(&link_consent_page(&visit.key, problem));
    let connections = app.api.store.connections(owner).await?;
    let waiting = post.accounts_awaiting_consent(&connections);
    let account = ConnectionId::parse(account).filter(|it| post.accepts_consents() && waiting.contains(it));
    let target = account.and_then(|id| post.targets.iter().find(|it| it.connection_id == id));
    let Some(target) = target else { return Ok(page(None)) };

    let consent = GivenConsent::new(&post, target, given, &TimeZone::utc())?;
    let body = consent.entries.body(options(app, &connections));
    // A draft that a drafts-only token wrote remains one: the customer sees only a part of it.
    let authority = if post.is_scheduled_by_revision() { Authority::Drafts } else { Authority::Posts };
    let now = app.api.clock.now();
    let request = consent.changes(fields(body, ValidationErrors::new()), authority, now);
    if consent.problem.is_none() {
        check_publishable(app, &post, &request, target.connection_id, connections, now)?;
    }
    match app.scheduling.change_post(owner, post, request).await.map_err(PostsError::from)? {
        Changed::Done(_) => {
            if consent.problem.is_none() {
                log_consent(owner, consent.account, address);
            }
            Ok(page(consent.problem))
        }
        Changed::NotThere | Changed::DraftsOnly => Ok(page(None)),
        Changed::Stale | Changed::NeedsRevision => Err(PostsError::Stale.into()),
        // The reason is about the user, whom the customer may not know.
        Changed::NotInPlan(_) => Err(refused("Ask the sender of the link for help.")),
        Changed::Invalid(errors) => Err(refused(&sentences(&errors, ""))),
    }
}

pub(crate) async fn show_link_file(
    State(app): State<App>,
    cookie: Option<GuestCookie>,
    Segments((key, file)): Segments<(String, String)>,
) -> PageResult<Redirect> {
    let visit = find_link(&app, key, cookie).await?;
    match find_post(&app, &visit).await? {
        LinkPost::Found(post) => file_link(&app, &post, &file).await,
        LinkPost::None(page) => Ok(page),
    }
}

async fn find_link(app: &App, key: String, cookie: Option<GuestCookie>) -> PageResult<RequestedLink> {
    app.api.visit_link(key, cookie).await?.ok_or_else(PageError::unknown_link)
}

async fn find_post(app: &App, visit: &RequestedLink) -> PageResult<LinkPost> {
    let post = match (visit.link.check(Some(&visit.cookie.owner()), app.api.clock.now()), &visit.link.consents) {
        (Err(LinkError::AnotherBrowser), _) => return Err(PageError::another_browser()),
        (Ok(()), Some(consents)) => app.api.store.post(visit.link.owner(), consents.post_id).await?,
        (Err(_), _) | (Ok(()), None) => None,
    };
    let page = || LinkPost::None(Redirect::to(&link_consent_page(&visit.key, None)));
    Ok(post.map_or_else(page, |it| LinkPost::Found(Box::new(it))))
}

/// Refuses what the platform of this account would not publish, because a correction needs another consent.
fn check_publishable(
    app: &App,
    post: &Post,
    request: &Changes,
    account: ConnectionId,
    connections: Vec<Connection>,
    now: DateTime<Utc>,
) -> PageResult<()> {
    let mut scheduled = Changes { scheduled_at: Some(Some(now)), ..request.clone() };
    let target = request.targets.iter().flatten().find(|it| it.connection_id == account).ok_or(PostsError::NotFound)?;
    let prefix = format!("platforms.{}.", target.index);
    if let Some(connection) = connections.iter().find(|it| it.connection_id == account) {
        let (vocabulary, field) = (&app.scheduling.rules.vocabulary, format!("{prefix}options"));
        vocabulary.check_values(&connection.provider, &target.options.said, &field, &mut scheduled.faults);
    }
    let accounts: Accounts = connections.into_iter().map(|it| (it.connection_id, it)).collect();
    match post.change(scheduled, Vec::new(), &accounts, &app.api.ids, now) {
        Ok(_) => Ok(()),
        Err(errors) => {
            // The other accounts have pages of their own.
            let sentences = sentences(&errors, &prefix);
            if sentences.is_empty() { Ok(()) } else { Err(refused(&sentences)) }
        }
    }
}

fn sentences(errors: &ValidationErrors, prefix: &str) -> String {
    let own = errors.iter().filter(|(field, _)| field.starts_with(prefix));
    own.map(|(field, message)| to_sentence(field, message)).collect::<Vec<_>>().join(" ")
}

fn refused(text: &str) -> PageError {
    PageError::new(StatusCode::UNPROCESSABLE_ENTITY, "Nothing was stored", text)
}

#[cfg(test)]
mod tests;
