//! `/account/posts/new` and `/account/posts/{post}`: the form in which users write, check, schedule
//! and change a post, and see its state on each account.
//!
//! The form is parsed and checked by the code of `POST /posts` and `PATCH /posts/{post}`. It works
//! without scripts: a button that adds or removes a part of the post sends the form, and the page
//! returns with everything that was entered.

pub(crate) mod consent;
mod entries;
pub(crate) mod link_consent;
mod local_time;
mod preview;
mod report;
mod view;

use std::time::Duration;

use api::page::{AccountPage, ConsentAction, Page, PageError, PageForm, PageQuery, PageResult, consent_page};
use api::{ClientIp, Fields, Segments, SignedIn};
use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use domain::connection::Connection;
use domain::id::{ConnectionId, PostId};
use domain::idempotency::IdempotencyKey;
use domain::options::OptionSpec;
use domain::post::{Authority, Changes, IfMatch, Post, PostStatus};
use domain::schedule;
use domain::token;
use domain::validation_errors::ValidationErrors;
use http::{StatusCode, Uri};
use scheduling::{Changed, Created, PostValidated};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Map, Value};
use storage::IdempotentRequest;

use self::entries::Entries;
use self::report::{Notice, Report};
use self::view::{ComposerPage, Context};
use crate::App;
use crate::error::PostsError;
use crate::posts_forms::find;
use crate::request;
use crate::response::links;

/// The largest form in KiB. The texts of a post may have 300,000 bytes, and a form writes most
/// bytes of a text that is not ASCII as three.
const FORM_KIB: usize = 1024;

#[derive(Deserialize)]
pub(crate) struct NewPostQuery {
    /// A post to start from.
    from: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct PostQuery {
    done: Option<Done>,
    /// The time that was entered for a draft, which does not store it.
    at: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Done {
    Saved,
    Scheduled,
    Publishing,
    Unscheduled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A draft stays a draft, and a scheduled post gets the time in the form.
    Save,
    /// Schedules the post for the time in the form.
    Schedule,
    PublishNow,
    Unschedule,
    /// Reports everything that would prevent scheduling, and stores nothing.
    Check,
    /// Stores nothing.
    AddReply,
    /// Shows the form again, with uploaded files and without what is marked for removal. Stores
    /// nothing.
    Refresh,
}

impl Action {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "save" => Self::Save,
            "schedule" => Self::Schedule,
            "publish_now" => Self::PublishNow,
            "unschedule" => Self::Unschedule,
            "check" => Self::Check,
            "add_reply" => Self::AddReply,
            "refresh" => Self::Refresh,
            _ => return None,
        })
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Schedule => "scheduled",
            Self::PublishNow => "publishing",
            Self::Unschedule => "unscheduled",
            Self::Save | Self::Check | Self::AddReply | Self::Refresh => "saved",
        }
    }
}

pub(crate) async fn show_new(
    State(app): State<App>,
    session: SignedIn,
    PageQuery(query): PageQuery<NewPostQuery>,
) -> PageResult<Page> {
    let entries = match query.from {
        Some(from) => Entries::duplicate(&find(&app, &session, &from).await?),
        None => Entries::default(),
    };
    PageRequest::new(&app, &session).await?.render(None, &entries, Report::default()).await
}

pub(crate) async fn show(
    State(app): State<App>,
    session: SignedIn,
    Segments(post): Segments<String>,
    PageQuery(query): PageQuery<PostQuery>,
) -> PageResult<Page> {
    let post = find(&app, &session, &post).await?;
    let mut entries = Entries::from_post(&post, &session.zone());
    if let Some(at) = query.at.filter(|_| post.status == PostStatus::Draft) {
        entries.set_time(&at);
    }
    let report = Report { notice: query.done.and_then(|it| it.notice(&post)), ..Report::default() };
    PageRequest::new(&app, &session).await?.render(Some(&post), &entries, report).await
}

pub(crate) async fn submit_new(
    State(app): State<App>,
    session: Option<SignedIn>,
    address: ClientIp,
    uri: Uri,
    PageForm(entries): PageForm<Entries, FORM_KIB>,
) -> PageResult<Response> {
    let Some(session) = session else { return Ok(signed_out(&uri, &entries)?.into_response()) };
    let (action, entries) = read(&entries)?;
    let form = PageRequest::new(&app, &session).await?;
    if let Some(page) = form.render_unstored(address, None, action, &entries).await? {
        return Ok(page.into_response());
    }
    let waiting = form.accounts_before_publication(None, action, &entries);
    let (body, errors) = if waiting.is_empty() {
        form.body(None, action, &entries)
    } else {
        if let Some(page) = form.refuse_before_consent(address, None, action, &entries, &waiting).await? {
            return Ok(page.into_response());
        }
        form.body(None, Action::Save, &entries)
    };
    let key = idempotent(&session, &entries, &body)?;
    let request = request::new_post(fields(body, errors), Authority::default(), app.api.clock.now());
    let created = app.scheduling.create_post(session.user, request, Some(&key)).await.map_err(PostsError::from)?;
    let report = match created {
        Created::New(post) | Created::Replayed(post) => {
            return Ok(redirect_after(post.post_id, action, &entries, waiting.first().copied()).into_response());
        }
        Created::Refused(reason) => Report::not_created(&session, address, reason)?,
    };
    Ok(form.render(None, &entries, report).await?.into_response())
}

pub(crate) async fn submit(
    State(app): State<App>,
    session: Option<SignedIn>,
    address: ClientIp,
    uri: Uri,
    Segments(post): Segments<String>,
    PageForm(entries): PageForm<Entries, FORM_KIB>,
) -> PageResult<Response> {
    let Some(session) = session else { return Ok(signed_out(&uri, &entries)?.into_response()) };
    let (action, mut entries) = read(&entries)?;
    let post = find(&app, &session, &post).await?;
    let form = PageRequest::new(&app, &session).await?;
    if let Some(page) = form.render_unstored(address, Some(&post), action, &entries).await? {
        return Ok(page.into_response());
    }
    let waiting = form.accounts_before_publication(Some(&post), action, &entries);
    let (body, errors) = if waiting.is_empty() {
        form.body(Some(&post), action, &entries)
    } else {
        if let Some(page) = form.refuse_before_consent(address, Some(&post), action, &entries, &waiting).await? {
            return Ok(page.into_response());
        }
        (form.unpublished_body(&post, &entries), ValidationErrors::new())
    };
    let condition = Some(IfMatch::revision(entries.revision().ok_or_else(PageError::forged)?));
    let request = request::changes(fields(body, errors), Authority::default(), condition, app.api.clock.now());
    let id = post.post_id;
    let Some(report) = form.change(address, post, request).await? else {
        return Ok(redirect_after(id, action, &entries, waiting.first().copied()).into_response());
    };
    if report.status == StatusCode::PRECONDITION_FAILED {
        entries.forget_revision();
    }
    let post = find(&app, &session, &id.to_string()).await?;
    Ok(form.render(Some(&post), &entries, report).await?.into_response())
}

/// The button, and the entries without what is marked for removal.
fn read(entries: &Entries) -> PageResult<(Action, Entries)> {
    let action = Action::parse(entries.get("do")).ok_or_else(PageError::forged)?;
    Ok((action, entries.renumbered()))
}

#[derive(Template)]
#[template(path = "signed_out.html")]
struct SignedOutPage<'a> {
    action: &'a str,
    fields: Vec<(&'a str, &'a str)>,
}

fn signed_out(uri: &Uri, entries: &Entries) -> PageResult<Page> {
    let page = SignedOutPage { action: uri.path(), fields: entries.iter().collect() };
    Ok(Page::render("You are signed out", &page)?.status(StatusCode::UNAUTHORIZED))
}

struct PageRequest<'a> {
    app: &'a App,
    session: &'a SignedIn,
    /// By platform and name.
    connections: Vec<Connection>,
}

impl<'a> PageRequest<'a> {
    async fn new(app: &'a App, session: &'a SignedIn) -> PageResult<Self> {
        let mut connections = app.api.store.connections(session.user).await?;
        connections.sort_by_key(|it| (it.rules.title.clone(), it.profile.shown_name()));
        Ok(Self { app, session, connections })
    }

    /// The page for a button that stores nothing, or for a form without the CSRF token of this
    /// session; `None` for another button.
    async fn render_unstored(
        &self,
        address: ClientIp,
        post: Option<&Post>,
        action: Action,
        entries: &Entries,
    ) -> PageResult<Option<Page>> {
        if self.session.check(entries.get("csrf")).is_err() {
            let report = Report::bad(
                StatusCode::FORBIDDEN,
                "Nothing was stored, because this form was opened before you signed in. Check the post, then press the \
                 button again.",
            );
            return Ok(Some(self.render(post, entries, report).await?));
        }
        let mut shown = entries.clone();
        let report = match action {
            Action::Save | Action::Schedule | Action::PublishNow | Action::Unschedule => return Ok(None),
            Action::AddReply => {
                shown.add_reply();
                Report::default()
            }
            Action::Refresh => Report::default(),
            Action::Check => self.check(address, action, entries).await?,
        };
        Ok(Some(self.render(post, &shown, report).await?))
    }

    /// Reports what would prevent the publication of a post with these entries.
    async fn check(&self, address: ClientIp, action: Action, entries: &Entries) -> PageResult<Report> {
        let (body, errors) = self.body(None, action, entries);
        let request = request::new_post(fields(body, errors), Authority::default(), self.app.api.clock.now());
        Ok(match self.app.scheduling.validate_post(self.session.user, request).await.map_err(PostsError::from)? {
            PostValidated::Fine(warnings) => {
                let notice = Notice { text: "This post can be published as it is.".to_owned(), is_bad: false };
                Report { notice: Some(notice), warnings, ..Report::default() }
            }
            PostValidated::Refused(reason) => Report::not_created(self.session, address, reason)?,
        })
    }

    /// Returns why the post was not changed.
    async fn change(&self, address: ClientIp, post: Post, request: Changes) -> PageResult<Option<Report>> {
        let changed =
            self.app.scheduling.change_post(self.session.user, post, request).await.map_err(PostsError::from)?;
        Ok(Some(match changed {
            Changed::Done(_) => return Ok(None),
            // A signed-in user may write all posts of the account.
            Changed::NotThere | Changed::DraftsOnly => return Err(PostsError::NotFound.into()),
            Changed::Stale | Changed::NeedsRevision => Report::bad(
                StatusCode::PRECONDITION_FAILED,
                "The post was changed after you opened this page, so nothing was stored. Open the post again to see \
                 the change. If you press the button here again, your version replaces it.",
            ),
            Changed::NotInPlan(why) => Report::not_in_plan(self.session, address, &why),
            Changed::Invalid(errors) => Report::refused(errors),
        }))
    }

    fn options(&self) -> impl Fn(ConnectionId) -> &'static [OptionSpec] {
        options(self.app, &self.connections)
    }

    /// Also returns the errors of the form itself.
    fn body(&self, post: Option<&Post>, action: Action, entries: &Entries) -> (Map<String, Value>, ValidationErrors) {
        let mut errors = ValidationErrors::new();
        let scheduled_at = self.scheduled_at(post, action, entries, &mut errors);
        if scheduled_at.as_ref().is_some_and(|it| !it.is_null()) && entries.accounts().next().is_none() {
            errors.add_sentence("platforms", "Choose at least one account");
        }
        let mut body = self.body_without_time(post, entries);
        body.extend(scheduled_at.map(|it| ("scheduled_at".to_owned(), it)));
        (body, errors)
    }

    fn body_without_time(&self, post: Option<&Post>, entries: &Entries) -> Map<String, Value> {
        let options = self.options();
        let mut body = entries.body(&options);
        if let Some(post) = post {
            let stored = Entries::from_post(post, &self.session.zone()).body(&options);
            // Unchanged accounts are left out, because a request can name only connected ones.
            if stored["platforms"] == body["platforms"] {
                body.remove("platforms");
            }
        }
        body
    }

    /// `None` if the button leaves the time as it is.
    fn scheduled_at(
        &self,
        post: Option<&Post>,
        action: Action,
        entries: &Entries,
        errors: &mut ValidationErrors,
    ) -> Option<Value> {
        let zone = self.session.zone();
        let at = entries.local_time().map(|it| zone.instant(it));
        let before = post.and_then(|it| it.scheduled_at);
        match (action, at) {
            (Action::PublishNow, _) => Some(schedule::NOW.into()),
            (Action::Unschedule, _) => Some(Value::Null),
            (Action::Save, _) if before.is_none_or(|it| entries.has_time(it, &zone)) => None,
            (Action::Check, None) => None,
            (_, Some(Ok(at))) => Some(schedule::show(at).into()),
            // All other errors are reported too.
            (_, Some(Err(skipped))) => {
                errors.add_sentence("scheduled_at", skipped);
                Some(schedule::NOW.into())
            }
            (_, None) => {
                errors.add_sentence("scheduled_at", "Enter a date and a time");
                Some(schedule::NOW.into())
            }
        }
    }

    /// `None` without accounts, or with errors.
    async fn draft(&self, entries: &Entries) -> PageResult<Option<Box<Post>>> {
        if entries.accounts().next().is_none() {
            return Ok(None);
        }
        let body = entries.body(self.options());
        let request =
            request::new_post(fields(body, ValidationErrors::new()), Authority::default(), self.app.api.clock.now());
        Ok(self.app.scheduling.draft(self.session.user, request).await.map_err(PostsError::from)?)
    }

    /// The accounts of the profile to which the post or the first chosen account belongs, otherwise the user's own.
    fn offered_connections(&self, post: Option<&Post>, entries: &Entries) -> Vec<Connection> {
        let chosen = entries.accounts().next();
        let chosen = chosen.and_then(|(id, _)| self.connections.iter().find(|it| it.connection_id == id));
        let of_profile = match post.filter(|it| !it.targets.is_empty() || it.of_profile.is_some()) {
            Some(post) => post.of_profile.as_ref(),
            None => chosen.and_then(|it| it.of_profile.as_ref()),
        };
        self.connections.iter().filter(|it| it.of_profile.as_ref() == of_profile).cloned().collect()
    }

    async fn render(&self, post: Option<&Post>, entries: &Entries, report: Report) -> PageResult<Page> {
        let (app, session) = (self.app, self.session);
        let files = entries.paths().filter(|it| it.user() == session.user);
        let connections = self.offered_connections(post, entries);
        let context = Context {
            csrf: session.csrf(),
            key: token::random_token().expose_secret().to_owned(),
            links: links(&app.scheduling.bucket, files).await,
            connections: &connections,
            vocabulary: &app.scheduling.rules.vocabulary,
            zone: session.zone(),
            now: app.api.clock.now(),
        };
        let stored = post.filter(|_| entries.revision().is_none());
        let draft = match stored {
            Some(_) => None,
            None => self.draft(entries).await?,
        };
        let page = ComposerPage::new(&context, post, stored.or(draft.as_deref()), entries, &report);
        let title = if post.is_some() { "Your post" } else { "New post" };
        let page = Page::render(title, &page)?.signed_in(session).with_account_navigation(AccountPage::Posts);
        Ok(page.with_images().with_uploads(upload_origin(app).await).status(report.status))
    }
}

fn options(app: &App, connections: &[Connection]) -> impl Fn(ConnectionId) -> &'static [OptionSpec] {
    |id| {
        let account = connections.iter().find(|it| it.connection_id == id);
        app.scheduling.rules.vocabulary.options(account.map_or("", |it| it.provider.as_str()))
    }
}

fn fields(body: Map<String, Value>, errors: ValidationErrors) -> Fields {
    let mut fields = Fields::from_body(body, request::FIELDS);
    fields.faults().extend(errors);
    fields
}

/// One form creates one post, however often it is sent.
fn idempotent(session: &SignedIn, entries: &Entries, body: &Map<String, Value>) -> PageResult<IdempotentRequest> {
    let key = IdempotencyKey::parse(entries.get("key").as_bytes()).map_err(|_| PageError::forged())?;
    let body_hash = token::hash(&Value::Object(body.clone()).to_string());
    Ok(IdempotentRequest { owner: session.user.into(), route: "POST /account/posts/new", key, body_hash })
}

fn redirect(post: PostId, action: Action, entries: &Entries) -> Redirect {
    let page = format!("/account/posts/{post}?done={}", action.done());
    match entries.local_time().filter(|_| action == Action::Save) {
        Some(_) => Redirect::to(&format!("{page}&at={}", entries.get("at").trim())),
        None => Redirect::to(&page),
    }
}

/// Leads to the page of consent first, if an account needs one.
fn redirect_after(post: PostId, action: Action, entries: &Entries, account: Option<ConnectionId>) -> Redirect {
    let asked = if action == Action::PublishNow { ConsentAction::PublishNow } else { ConsentAction::Schedule };
    match account {
        Some(account) => Redirect::to(&consent_page(account, post, asked, entries.get("at").trim(), None)),
        None => redirect(post, action, entries),
    }
}

/// The origin of a signed link. Empty if none can be signed.
async fn upload_origin(app: &App) -> String {
    let link = app.scheduling.bucket.presigned_get("media", Duration::from_mins(1)).await.unwrap_or_default();
    link.parse::<Uri>().ok().and_then(|it| Some(format!("{}://{}", it.scheme()?, it.authority()?))).unwrap_or_default()
}

impl Done {
    /// `None` once it is no longer true.
    fn notice(self, post: &Post) -> Option<Notice> {
        let text = match self {
            Self::Saved if post.status == PostStatus::Draft => {
                "Saved as a draft, without a time. To publish it at a time, press Schedule."
            }
            Self::Saved => "Saved.",
            Self::Scheduled if post.status == PostStatus::Scheduled => "The post is scheduled.",
            Self::Publishing if matches!(post.status, PostStatus::Scheduled | PostStatus::Publishing) => {
                "The post is being published. Reload the page to see the result."
            }
            Self::Unscheduled if post.status == PostStatus::Draft => "The post is now a draft.",
            Self::Scheduled | Self::Publishing | Self::Unscheduled => return None,
        };
        Some(Notice { text: text.to_owned(), is_bad: false })
    }
}
