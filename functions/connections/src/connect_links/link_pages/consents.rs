//! `/connect-links/{key}/consent`: the page of a connect link that asks for the consents of a post,
//! one account after another. The posts function receives the form, stores the consent and leads
//! back here. Without a further account, this page ends the link: it alone may change the link, and
//! nothing is left to decide.

use api::page::{ConsentProblem, Page, PageQuery, link_consent_form, link_consent_page};
use api::{GuestCookie, Segments};
use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use domain::connect_link::{LinkConsents, LinkError};
use domain::id::ConnectionId;
use domain::post::Post;
use serde::Deserialize;
use storage::ConnectionRecord;

use super::LinkVisit;
use crate::App;
use crate::consent_page::{ConsentForm, ConsentSubject, Exit};
use crate::error::ConnectionsError;
use crate::participant::FlowAccessError;
use crate::recipient::Recipient;

#[derive(Deserialize)]
pub(crate) struct LinkConsentQuery {
    /// Why the form was returned; it keeps what the person chose.
    problem: Option<ConsentProblem>,
}

pub(super) enum PostConsents {
    /// All for which the link asks, and no other account waits for one.
    Given,
    Waiting(Box<Post>, Box<ConnectionRecord>),
    /// The post was deleted, moved to another profile, changed or scheduled, or an account was disconnected.
    Gone,
}

#[derive(Template)]
#[template(path = "link_consent_start.html")]
struct StartPage<'a> {
    action: String,
    csrf: String,
    recipient: &'a Recipient,
}

/// The link can ask for nothing, and only returns.
#[derive(Template)]
#[template(path = "link_return.html")]
struct ReturnPage<'a> {
    heading: &'a str,
    text: String,
    end: String,
    csrf: String,
}

pub(crate) async fn show_link_consent(
    State(app): State<App>,
    Segments(key): Segments<String>,
    cookie: Option<GuestCookie>,
    PageQuery(query): PageQuery<LinkConsentQuery>,
) -> Result<Response, FlowAccessError> {
    let visit = app.visit_link(key, cookie).await?;
    let is_open = visit.check();
    // The link may have expired while the browser sent the last consent.
    if let Err(error) = is_open
        && !(error == LinkError::Expired && visit.is_own())
    {
        return visit.refuse(error).await;
    }
    let Some(consents) = &visit.loaded.link.consents else { return Ok(Redirect::to(&visit.page()).into_response()) };
    match (visit.post_consents(consents).await?, is_open) {
        (PostConsents::Given, _) => visit.complete().await,
        (_, Err(error)) => visit.refuse(error).await,
        (PostConsents::Waiting(post, record), Ok(())) => visit.consent(&post, &record, query.problem).await,
        (PostConsents::Gone, Ok(())) => {
            let text = format!("{} has deleted, changed or scheduled it.", visit.recipient);
            visit.return_page("The post is no longer waiting for you", text)
        }
    }
}

impl LinkVisit<'_> {
    /// Names the user who asks for the consents.
    pub(super) fn start_consents(&self, action: String) -> Result<Response, FlowAccessError> {
        let page = StartPage { action, csrf: self.cookie.csrf(), recipient: &self.recipient };
        let page = Page::render("Agree to a post", &page)?.branded(&self.app.connect_links.brand);
        Ok(self.cookie.respond(page))
    }

    pub(super) async fn post_consents(&self, consents: &LinkConsents) -> Result<PostConsents, FlowAccessError> {
        let (store, owner) = (&self.app.api.store, self.loaded.link.owner());
        let Some(post) = store.post(owner, consents.post_id).await? else { return Ok(PostConsents::Gone) };
        let waiting = post.accounts_awaiting_consent(&store.connections(owner).await?);
        let record = match waiting.first() {
            None if post.has_consents(&consents.accounts) => return Ok(PostConsents::Given),
            Some(account) if post.accepts_consents() => store.connection(owner, *account).await?,
            _ => None,
        };
        Ok(record.map_or(PostConsents::Gone, |it| PostConsents::Waiting(Box::new(post), Box::new(it))))
    }

    async fn complete(&self) -> Result<Response, FlowAccessError> {
        let (browser, now) = (self.cookie.owner(), self.app.api.clock.now());
        let completed =
            self.app.connect_flows().change_link(self.loaded.clone(), |it| it.complete(&browser, now)).await?;
        match completed {
            Ok(_) => Ok(Redirect::to(&self.page()).into_response()),
            Err(error) => self.refuse(error).await,
        }
    }

    async fn consent(
        &self,
        post: &Post,
        record: &ConnectionRecord,
        problem: Option<ConsentProblem>,
    ) -> Result<Response, FlowAccessError> {
        let account: ConnectionId = record.connection.connection_id;
        let target = post.targets.iter().find(|it| it.connection_id == account).ok_or(ConnectionsError::NoConsent)?;
        let platform = self.app.platforms.get(&record.connection.provider).ok_or(ConnectionsError::NoConsent)?;
        let creator = match self.app.creator(platform, record, post.media_of(target)).await {
            Err(ConnectionsError::LostGrant { title }) => Err(format!(
                "{title} no longer accepts this account. Ask {} for a link to connect it again.",
                self.recipient
            )),
            creator => creator?,
        };
        let (key, csrf) = (&self.loaded.key, self.cookie.csrf());
        let form = ConsentForm {
            csrf: &csrf,
            path: link_consent_form(key, account),
            fields: Vec::new(),
            files: format!("/connect-links/{key}/files"),
            problem,
            hints: vec![format!("After you agree, {} can publish the post.", self.recipient)],
            button: "Agree",
            exit: Exit::Cancel(format!("/connect-links/{key}/end")),
        };
        let page = ConsentSubject { post, target, connection: &record.connection, creator }.render(&form)?;
        Ok(self.cookie.respond(page.branded(&self.app.connect_links.brand)))
    }

    /// The page of a link that can ask for no consent any more.
    pub(super) fn return_page(&self, heading: &str, text: String) -> Result<Response, FlowAccessError> {
        let end = format!("/connect-links/{}/end", self.loaded.key);
        let page = Page::render(heading, &ReturnPage { heading, text, end, csrf: self.cookie.csrf() })?;
        let page = page.branded(&self.app.connect_links.brand).status(StatusCode::GONE);
        Ok(self.cookie.respond(page))
    }

    pub(super) fn page(&self) -> String {
        match self.loaded.link.consents {
            Some(_) => link_consent_page(&self.loaded.key, None),
            None => connecting::link_accounts_path(&self.loaded.key),
        }
    }
}
