//! `/account/connections/{connection}/consent/{post}`: the page on which a person chooses a post's
//! settings for an account and agrees to the platform's terms. Its order and texts are those that
//! TikTok's audit requires. The customer with a connect link sees the same page. The posts function
//! receives the form.

use api::page::{AccountPage, ConsentAction, ConsentProblem, Page, PageQuery, PageResult, PlatformMark, consent_form};
use api::{Segments, SignedIn};
use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use domain::connection::Connection;
use domain::delivery::AttemptError;
use domain::id::{ConnectionId, PostId};
use domain::media::{Attachment, FileType};
use domain::post::{Post, PostStatus, Target};
use platforms::{Connect, CreatorInfo, Credentials};
use serde::Deserialize;
use storage::ConnectionRecord;

use crate::App;
use crate::error::ConnectionsError;

#[derive(Deserialize)]
pub(crate) struct ConsentQuery {
    r#do: ConsentAction,
    /// The local time of the post.
    #[serde(default)]
    at: String,
    /// Why the form was returned; it keeps what the person chose.
    problem: Option<ConsentProblem>,
}

#[derive(Template)]
#[template(path = "consent.html")]
struct ConsentPage<'a> {
    form: &'a ConsentForm<'a>,
    post: &'a Post,
    mark: PlatformMark,
    platform: &'a str,
    username: &'a str,
    text: &'a str,
    /// For images.
    title: Option<&'a str>,
    files: Vec<FileView>,
    /// "video" or "photo".
    noun: &'static str,
    /// The account's settings now, or why it cannot publish the post.
    creator: &'a Result<CreatorInfo, String>,
    switches: Vec<Switch>,
    chosen: Chosen<'a>,
}

/// A post for an account, as the person sees it before agreeing.
pub(crate) struct ConsentSubject<'a> {
    pub(crate) post: &'a Post,
    pub(crate) target: &'a Target,
    pub(crate) connection: &'a Connection,
    /// The account's settings now, or why it cannot publish the post.
    pub(crate) creator: Result<CreatorInfo, String>,
}

/// The parts in which the page of a user and that of a customer differ.
pub(crate) struct ConsentForm<'a> {
    pub(crate) csrf: &'a str,
    pub(crate) path: String,
    pub(crate) fields: Vec<(&'static str, &'a str)>,
    /// The path below which the files of the post are.
    pub(crate) files: String,
    pub(crate) problem: Option<ConsentProblem>,
    /// Sentences above the button, about the time after the consent.
    pub(crate) hints: Vec<String>,
    pub(crate) button: &'static str,
    pub(crate) exit: Exit,
}

pub(crate) enum Exit {
    Back(String),
    /// A form that is sent to this path.
    Cancel(String),
}

/// Something that the person may allow other users to do.
struct Switch {
    option: &'static str,
    label: &'static str,
    is_on: bool,
    /// Whether the account permits it for no post.
    is_off: bool,
}

struct FileView {
    link: String,
    is_video: bool,
    alt_text: String,
}

/// Nothing is chosen when the page is opened, whatever a program has set.
struct Chosen<'a>(Option<&'a Target>);

impl Chosen<'_> {
    fn has_visibility(&self, value: &str) -> bool {
        self.0.is_some_and(|it| it.options.text("visibility") == Some(value))
    }

    fn is_on(&self, option: &str) -> bool {
        self.0.and_then(|it| it.options.flag(option)).unwrap_or(false)
    }
}

pub(crate) async fn show_consent(
    State(app): State<App>,
    session: SignedIn,
    Segments((connection, post)): Segments<(String, String)>,
    PageQuery(query): PageQuery<ConsentQuery>,
) -> PageResult<Response> {
    let (connection_id, post_id) =
        ConnectionId::parse(&connection).zip(PostId::parse(&post)).ok_or(ConnectionsError::NoConsent)?;
    let store = &app.api.store;
    let post = store.post(session.user, post_id).await?.ok_or(ConnectionsError::NoConsent)?;
    let record = store.connection(session.user, connection_id).await?.ok_or(ConnectionsError::NoConsent)?;
    let connection = &record.connection;
    let target = post.targets.iter().find(|it| it.connection_id == connection_id).ok_or(ConnectionsError::NoConsent)?;
    let platform = app.platforms.get(&connection.provider).ok_or(ConnectionsError::NoConsent)?;
    if !post.accepts_consents() {
        return Ok(Redirect::to(&format!("/account/posts/{post_id}")).into_response());
    }

    let creator = app.creator(platform, &record, post.media_of(target)).await?;
    let back = if query.at.is_empty() {
        format!("/account/posts/{post_id}")
    } else {
        format!("/account/posts/{post_id}?at={}", query.at)
    };
    let mut hints = Vec::new();
    if query.r#do == ConsentAction::Schedule {
        hints.push(format!("The post is scheduled for {} ({}).", query.at.replace('T', " "), session.zone().city()));
    }
    if post.status == PostStatus::Draft {
        hints.push("Until you agree, the post is a draft.".to_owned());
    }
    let form = ConsentForm {
        csrf: session.csrf(),
        path: consent_form(connection_id, post_id),
        fields: vec![("do", query.r#do.name()), ("at", &query.at)],
        files: format!("/account/posts/{post_id}/files"),
        problem: query.problem,
        hints,
        button: if query.r#do == ConsentAction::Schedule { "Schedule" } else { "Publish now" },
        exit: Exit::Back(back),
    };
    let page = ConsentSubject { post: &post, target, connection, creator }.render(&form)?.signed_in(&session);
    Ok(page.with_account_navigation(AccountPage::Posts).into_response())
}

impl App {
    /// The account's settings now, or why it cannot publish a post with these files.
    pub(crate) async fn creator(
        &self,
        platform: &dyn Connect,
        record: &ConnectionRecord,
        media: &[Attachment],
    ) -> Result<Result<CreatorInfo, String>, ConnectionsError> {
        let (now, title) = (self.api.clock.now(), &record.connection.rules.title);
        let read = |credentials: Credentials| async move { platform.creator_info(&credentials, now).await };
        match self.call_platform(platform, record, read).await? {
            Ok(Some(creator)) => Ok(check_duration(creator, media)),
            Ok(None) => Err(ConnectionsError::NoConsent),
            Err(AttemptError::Unauthorized { .. }) => Err(ConnectionsError::LostGrant { title: title.clone() }),
            Err(error) => Ok(Err(format!(
                "{title} does not accept a post of this account at the moment: {}. Try again later.",
                error.reason().trim_end_matches('.')
            ))),
        }
    }
}

impl ConsentSubject<'_> {
    pub(crate) fn render(&self, form: &ConsentForm<'_>) -> PageResult<Page> {
        let Self { post, target, connection, creator } = self;
        let media = post.media_of(target);
        let is_video = media.iter().any(|it| it.mime_type.file_type() == FileType::Video);
        let chosen = Chosen(form.problem.map(|_| *target));
        let page = ConsentPage {
            form,
            post,
            mark: PlatformMark::new(&connection.provider),
            platform: &connection.rules.title,
            username: &connection.profile.shown_name(),
            text: post.text_of(target).as_str(),
            title: (!is_video).then(|| target.options.text("title").unwrap_or_default()),
            files: media.iter().map(|it| FileView::new(&form.files, it)).collect(),
            noun: if is_video { "video" } else { "photo" },
            switches: switches(creator, is_video, &chosen),
            creator,
            chosen,
        };
        Ok(Page::render(format!("Post to {}", page.platform), &page)?.with_images().with_consent())
    }
}

/// Photos have comments alone.
fn switches(creator: &Result<CreatorInfo, String>, is_video: bool, chosen: &Chosen<'_>) -> Vec<Switch> {
    let Ok(creator) = creator else { return Vec::new() };
    let labels = [("comments", "Comment"), ("duet", "Duet"), ("stitch", "Stitch")];
    let switch = |(option, label)| Switch {
        option,
        label,
        is_on: chosen.is_on(option),
        is_off: creator.turned_off.contains(&option),
    };
    labels.into_iter().take(if is_video { 3 } else { 1 }).map(switch).collect()
}

impl FileView {
    fn new(files: &str, file: &Attachment) -> Self {
        Self {
            link: format!("{files}/{}", file.media_id),
            is_video: file.mime_type.file_type() == FileType::Video,
            alt_text: file.alt_text.as_ref().map(|it| it.as_str().to_owned()).unwrap_or_default(),
        }
    }
}

/// The account may permit shorter videos than the platform.
fn check_duration(creator: CreatorInfo, media: &[Attachment]) -> Result<CreatorInfo, String> {
    let longest = media.iter().filter_map(|it| it.facts?.duration_ms).max();
    match creator.max_video_duration.zip(longest) {
        Some((max, duration_ms)) if max.saturating_mul(1_000) < duration_ms => Err(format!(
            "This account can post videos of at most {max} s, and this one has {} s. Choose a shorter video.",
            duration_ms.div_ceil(1_000)
        )),
        _ => Ok(creator),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Harness, PlatformBehavior};

    fn path(account: u64, post: u64) -> String {
        format!("/account/connections/{account}/consent/{post}?do=publish_now")
    }

    #[tokio::test]
    async fn page_has_what_the_account_permits_and_nothing_is_chosen() {
        let harness = Harness::new().await;
        let account = harness.connect("7").await;
        let options = [("visibility", "SELF_ONLY".into()), ("stitch", true.into()), ("brand_organic", true.into())];
        let post = harness.draft(account, 60_000, &options).await;
        let path = path(account, post);

        let opened = harness.visit(&path).await;

        assert_eq!(opened.status, 200, "{}", opened.html);
        let form = format!("action=\"/account/posts/{post}/consent/{account}\"");
        for shown in [
            "Ada &#60;Keeper&#62;",
            &form,
            "<option value=\"SELF_ONLY\">self_only</option>",
            "name=\"duet\" disabled",
            "name=\"stitch\">",
            "Music Usage Confirmation",
        ] {
            assert!(opened.html.contains(shown), "{shown}: {}", opened.html);
        }
        assert!(!opened.html.contains(" checked") && !opened.html.contains(" selected"), "{}", opened.html);
        let returned = harness.visit(&format!("{path}&problem=private_brand")).await.html;
        for kept in
            ["selected>self_only", "name=\"stitch\" checked", "name=\"brand_organic\" checked", "role=\"alert\""]
        {
            assert!(returned.contains(kept), "{kept}: {returned}");
        }
    }

    #[tokio::test]
    async fn post_that_the_account_cannot_publish_has_no_form() {
        let harness = Harness::new().await;
        let account = harness.connect("7").await;
        let (long, short) = (harness.draft(account, 60_001, &[]).await, harness.draft(account, 1_000, &[]).await);

        let refused = harness.visit(&path(account, long)).await.html;

        assert!(
            refused.contains("at most 60 s, and this one has 61 s") && !refused.contains("<button type=\"submit\">")
        );
        harness.platform.set_behavior(PlatformBehavior::Broken);
        let refused = harness.visit(&path(account, short)).await.html;
        assert!(refused.contains("at the moment: too many posts. Try again later."), "{refused}");
    }

    #[tokio::test]
    async fn other_users_do_not_get_the_page() {
        let harness = Harness::new().await;
        let account = harness.connect("7").await;
        let theirs = harness.connect_as_another("8").await;
        let post = harness.draft(account, 1_000, &[]).await;

        let other = harness.visit_in(harness.browser_of_another(), &path(account, post)).await;
        assert_eq!(other.status, 404);
        assert_eq!(harness.visit_in(harness.browser_of_another(), &path(theirs, post)).await.status, 404);
        assert_eq!(harness.visit(&path(theirs, post)).await.status, 404);
        assert_eq!(harness.visit(&path(account, post + 1)).await.status, 404);
    }
}
