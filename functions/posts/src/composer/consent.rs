//! The consent that a platform requires for each post: which account needs one, and the form in
//! which a person gives it. The connections function shows the page with that form.

use api::page::{ConsentAction, ConsentProblem, Page, PageError, PageForm, PageResult, consent_page};
use api::{ClientIp, Fields, Segments, SignedIn};
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use chrono::{DateTime, Utc};
use cloud::audit::{self, Event};
use domain::id::{ConnectionId, MediaId};
use domain::media::MediaPath;
use domain::owner::Owner;
use domain::post::{Authority, Changes, IfMatch, NewTarget, Post, PostStatus, Target, TargetStatus};
use domain::time_zone::TimeZone;
use domain::validation_errors::ValidationErrors;
use serde_json::{Map, Value};

use super::report::Report;
use super::{Action, Entries, FORM_KIB, PageRequest, fields, redirect};
use crate::App;
use crate::error::PostsError;
use crate::posts_forms::{self, RevisionForm, find};
use crate::request;
use crate::response::links;

pub(super) struct GivenConsent {
    pub(super) account: ConnectionId,
    pub(super) entries: Entries,
    pub(super) problem: Option<ConsentProblem>,
    condition: IfMatch,
}

/// Publishes or schedules the post once no other account needs a consent.
pub(crate) async fn submit_consent(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    Segments((post, account)): Segments<(String, String)>,
    PageForm(given): PageForm<Entries, FORM_KIB>,
) -> PageResult<Response> {
    session.check(given.get("csrf"))?;
    let post = find(&app, &session, &post).await?;
    let target = ConnectionId::parse(&account).and_then(|id| post.targets.iter().find(|it| it.connection_id == id));
    let target = target.ok_or(PostsError::NotFound)?;
    let (action, asked) = match given.get("do") {
        "schedule" => (Action::Schedule, ConsentAction::Schedule),
        "publish_now" => (Action::PublishNow, ConsentAction::PublishNow),
        _ => return Err(PageError::forged()),
    };
    let at = given.get("at");

    let form = PageRequest::new(&app, &session).await?;
    let mut consent = GivenConsent::new(&post, target, &given, &session.zone())?;
    consent.entries.set_time(at);
    let waiting = form.awaiting_consent(Some(&post), &consent.entries, has_consented);
    let next = waiting.into_iter().find(|it| *it != consent.account);
    let mut body = consent.entries.body(form.options());
    let mut errors = ValidationErrors::new();
    if consent.problem.is_none() && next.is_none() {
        let scheduled_at = form.scheduled_at(Some(&post), action, &consent.entries, &mut errors);
        body.extend(scheduled_at.map(|it| ("scheduled_at".to_owned(), it)));
    }
    let request = consent.changes(fields(body, errors), Authority::default(), app.api.clock.now());
    let (id, GivenConsent { account, entries, problem, .. }) = (post.post_id, consent);
    let page = |account, problem| Redirect::to(&consent_page(account, id, asked, at, problem)).into_response();
    match form.change(address, post, request).await? {
        None => {
            if problem.is_none() {
                log_consent(session.user.into(), account, address);
            }
            Ok(match (problem, next) {
                (Some(problem), _) => page(account, Some(problem)),
                (None, Some(next)) => page(next, None),
                (None, None) => redirect(id, action, &entries).into_response(),
            })
        }
        Some(report) => {
            let post = find(&app, &session, &id.to_string()).await?;
            Ok(form.render(Some(&post), &entries, report).await?.into_response())
        }
    }
}

impl GivenConsent {
    pub(super) fn new(post: &Post, target: &Target, given: &Entries, zone: &TimeZone) -> PageResult<Self> {
        let promotes = given
            .is_checked("disclose")
            .then(|| (given.is_checked("brand_organic"), given.is_checked("brand_content")));
        let account = target.connection_id;
        let mut entries = Entries::from_post(post, zone);
        entries.choose(account, post.text_of(target).as_str(), given);
        Ok(Self {
            account,
            entries,
            problem: ConsentProblem::find(given.get("visibility"), promotes),
            condition: IfMatch::revision(given.revision().ok_or_else(PageError::forged)?),
        })
    }

    /// Stores the consent only if the choices have no problem.
    pub(super) fn changes(&self, fields: Fields, authority: Authority, now: DateTime<Utc>) -> Changes {
        let mut changes = request::changes(fields, authority, Some(self.condition.clone()), now);
        let targets = changes.targets.iter_mut().flatten();
        for target in targets.filter(|it| it.connection_id == self.account && self.problem.is_none()) {
            target.consented_at = Some(now);
        }
        changes
    }
}

/// Publishes a failed post again, or leads to the page of consent where a consent is missing.
pub(crate) async fn try_again(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    Segments(id): Segments<String>,
    form: PageForm<RevisionForm>,
) -> PageResult<Redirect> {
    let post = find(&app, &session, &id).await?;
    let waiting = post.accounts_awaiting_consent(&app.api.store.connections(session.user).await?);
    match waiting.first().filter(|_| post.status == PostStatus::Failed) {
        Some(account) => Ok(Redirect::to(&consent_page(*account, post.post_id, ConsentAction::PublishNow, "", None))),
        None => posts_forms::try_again(State(app), session, address, Segments(id), form).await,
    }
}

pub(super) fn log_consent(owner: Owner, account: ConnectionId, address: ClientIp) {
    let entry = audit::Entry::new(Event::ConsentGiven).user(owner.user_id).limited_to(owner.limited_to);
    entry.connection(account).address(address.0).write();
}

fn has_consented(target: &Target) -> bool {
    target.consented_at.is_some()
}

pub(crate) async fn show_file(
    State(app): State<App>,
    session: SignedIn,
    Segments((post, file)): Segments<(String, String)>,
) -> PageResult<Redirect> {
    file_link(&app, &find(&app, &session, &post).await?, &file).await
}

pub(super) async fn file_link(app: &App, post: &Post, file: &str) -> PageResult<Redirect> {
    let file = MediaId::parse(file).and_then(|id| post.files().find(|it| it.media_id == id));
    let file = file.ok_or(PostsError::NotFound)?;
    let path = MediaPath::new(post.user_id, file.media_id, file.mime_type);
    let links = links(&app.scheduling.bucket, [path].into_iter()).await;
    let link = links.get(&file.media_id).filter(|it| !it.is_empty());
    Ok(Redirect::temporary(link.ok_or(PostsError::NoLink)?))
}

impl PageRequest<'_> {
    /// Before this button publishes the post, a person has to agree to these accounts' terms.
    pub(super) fn accounts_before_publication(
        &self,
        post: Option<&Post>,
        action: Action,
        entries: &Entries,
    ) -> Vec<ConnectionId> {
        let mut errors = ValidationErrors::new();
        let scheduled_at = self.scheduled_at(post, action, entries, &mut errors);
        let stays_scheduled = post.is_some_and(|it| it.status == PostStatus::Scheduled);
        match scheduled_at {
            Some(at) if at.is_null() => Vec::new(),
            None if !stays_scheduled => Vec::new(),
            // A program may have scheduled the post without a consent. Without a change of its content, it stays so.
            _ if stays_scheduled => self.awaiting_consent(post, entries, |_| true),
            _ => self.awaiting_consent(post, entries, has_consented),
        }
    }

    /// The page with everything else that would prevent the publication, so that a person corrects it before agreeing.
    pub(super) async fn refuse_before_consent(
        &self,
        address: ClientIp,
        post: Option<&Post>,
        action: Action,
        entries: &Entries,
        waiting: &[ConnectionId],
    ) -> PageResult<Option<Page>> {
        let report = if post.is_none_or(|it| it.status == PostStatus::Draft) {
            self.check(address, action, &entries.with_any_visibility(waiting)).await?
        } else {
            // As a new post, a scheduled one would be counted twice, and a failed one may be public on some accounts.
            let (_, errors) = self.body(post, action, entries);
            if errors.is_empty() { Report::default() } else { Report::refused(errors) }
        };
        Ok(if report.status.is_success() { None } else { Some(self.render(post, entries, report).await?) })
    }

    /// The body that stores the entries, and makes the post a draft until a person has agreed.
    pub(super) fn unpublished_body(&self, post: &Post, entries: &Entries) -> Map<String, Value> {
        let mut body = self.body_without_time(Some(post), entries);
        if post.status == PostStatus::Scheduled {
            body.insert("scheduled_at".to_owned(), Value::Null);
        }
        body
    }

    /// A person has to agree to these accounts' terms before the post of these entries can be
    /// published. An unchanged target needs no consent if it `is_settled`.
    fn awaiting_consent(
        &self,
        post: Option<&Post>,
        entries: &Entries,
        is_settled: impl Fn(&Target) -> bool,
    ) -> Vec<ConnectionId> {
        let body = entries.body(self.options());
        let stored = post.map(|it| (it, Entries::from_post(it, &self.session.zone()).body(self.options())));
        let has_consent = |account: ConnectionId| {
            let Some((post, before)) = &stored else { return false };
            let target = post.targets.iter().find(|it| it.connection_id == account);
            let is_kept = || are_same_for(account, before, &body);
            target.is_some_and(|it| it.status == TargetStatus::Published || is_settled(it) && is_kept())
        };
        let needs_consent = |target: &NewTarget| {
            let account = self.connections.iter().find(|it| it.connection_id == target.connection_id);
            account.is_some_and(|it| it.rules.consent_options(&target.options.said).is_some())
        };
        let now = self.app.api.clock.now();
        let new = request::new_post(fields(body.clone(), ValidationErrors::new()), Authority::default(), now);
        let waiting = new.targets.iter().filter(|it| needs_consent(it)).map(|it| it.connection_id);
        waiting.filter(|it| !has_consent(*it)).collect()
    }
}

fn are_same_for(account: ConnectionId, one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let entry = |body: &Map<String, Value>| {
        let entries = body["platforms"].as_array().into_iter().flatten();
        entries.into_iter().find(|it| it["connected_account_id"] == account.get()).cloned()
    };
    ["content", "media", "thread"].iter().all(|it| one[*it] == other[*it]) && entry(one) == entry(other)
}
