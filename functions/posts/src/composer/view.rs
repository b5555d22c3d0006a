mod account;

use std::collections::BTreeMap;

use api::page::{date_and_time, distance};
use askama::Template;
use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::id::MediaId;
use domain::media::{FileType, MediaPath, MimeType};
use domain::options::PlatformOptions;
use domain::post::{Post, PostStatus, Target};
use domain::rules::MAX_REPLIES;
use domain::time_zone::TimeZone;

use self::account::{AccountView, Input};
use super::entries::Entries;
use super::preview::{AccountPreview, Previews};
use super::report::{Notice, Report};
use crate::posts_forms::to_sentence;

pub(super) struct Context<'a> {
    pub(super) csrf: &'a str,
    /// For the form of a new post.
    pub(super) key: String,
    pub(super) links: BTreeMap<MediaId, String>,
    pub(super) connections: &'a [Connection],
    pub(super) vocabulary: &'a PlatformOptions,
    pub(super) zone: TimeZone,
    pub(super) now: DateTime<Utc>,
}

impl Context<'_> {
    fn previews(&self, post: &Post) -> Vec<AccountPreview> {
        let has_option =
            |platform: &str, name: &str| self.vocabulary.options(platform).iter().any(|it| it.name == name);
        Previews { post, connections: self.connections, links: &self.links, has_option: &has_option }.all()
    }
}

#[derive(Template)]
#[template(path = "composer.html")]
pub(super) struct ComposerPage<'a> {
    csrf: &'a str,
    key: &'a str,
    action: String,
    post: Option<&'a Post>,
    revision: u64,
    /// Whether the post can be changed.
    is_open: bool,
    /// The action of the Enter key in a field.
    default_action: &'static str,
    state: Option<String>,
    notice: Option<&'a Notice>,
    problems: Vec<Problem>,
    warnings: Vec<String>,
    content: Field,
    /// The types of files that can be chosen.
    accept: String,
    files: Vec<FileView>,
    replies: Vec<ReplyView>,
    can_add_reply: bool,
    /// A file or a reply can be marked for removal.
    has_parts: bool,
    accounts: Vec<AccountView>,
    /// Empty if no account is chosen, or if the entries have errors.
    previews: Vec<AccountPreview>,
    labels: Field,
    external_id: Field,
    at: Field,
    /// The zone's city, or UTC.
    city: String,
    buttons: Vec<Button>,
}

struct Problem {
    /// The id of the field's element; `None` if the page has no such field.
    anchor: Option<String>,
    text: String,
}

/// The name is also the id of the element.
struct Field {
    name: String,
    value: String,
    errors: Vec<String>,
}

struct FileView {
    path: Field,
    alt_text: Field,
    remove: String,
    link: String,
    is_image: bool,
    /// "Image", "Video" or "Document".
    kind: &'static str,
}

struct ReplyView {
    content: Field,
    files: Vec<FileView>,
    remove: String,
}

struct Button {
    action: &'static str,
    label: &'static str,
    class: &'static str,
}

struct Errors(Vec<(String, String)>);

impl Errors {
    fn new(entries: &Entries, report: &Report) -> Self {
        let named = report.errors.iter().map(|(field, text)| (entries.field_name(field), to_sentence(field, text)));
        Self(named.collect())
    }

    fn at(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|it| it.0 == name).map(|it| it.1.clone()).collect()
    }

    /// Errors of the field and of its parts.
    fn within(&self, name: &str) -> impl Iterator<Item = &(String, String)> {
        self.0.iter().filter(move |it| it.0.strip_prefix(name).is_some_and(|it| it.is_empty() || it.starts_with('.')))
    }
}

impl<'a> ComposerPage<'a> {
    /// `draft` is the post that the entries would make, if there is one.
    pub(super) fn new(
        context: &'a Context<'a>,
        post: Option<&'a Post>,
        draft: Option<&Post>,
        entries: &Entries,
        report: &'a Report,
    ) -> Self {
        let errors = Errors::new(entries, report);
        let form = Form { context, entries, errors: &errors };
        let is_open = post.is_none_or(|it| it.check_changeable().is_ok());
        let mut accounts = form.accounts(post);
        accounts.retain(|it| is_open || it.is_checked);
        let mut page = Self {
            csrf: context.csrf,
            key: &context.key,
            action: post.map_or_else(|| "/account/posts/new".to_owned(), |it| format!("/account/posts/{}", it.post_id)),
            revision: entries.revision().or(post.map(|it| it.revision)).unwrap_or_default(),
            is_open,
            // A failed post is published again only by its own buttons.
            default_action: if post.is_some_and(|it| it.status == PostStatus::Failed) { "check" } else { "save" },
            state: post.map(|it| state_sentence(it, &context.zone, context.now)),
            notice: report.notice.as_ref(),
            problems: Vec::new(),
            warnings: report
                .warnings
                .iter()
                .map(|it| to_sentence(&it.field, &format!("{} {}", it.field, it.message)))
                .collect(),
            content: form.field("content"),
            accept: MimeType::ALL.map(MimeType::as_str).join(","),
            files: form.files(""),
            replies: form.replies(""),
            can_add_reply: entries.replies("").len() < MAX_REPLIES,
            has_parts: false,
            accounts,
            previews: draft.map(|it| context.previews(it)).unwrap_or_default(),
            labels: form.field("labels"),
            external_id: form.field("external_id"),
            at: form.field("at"),
            city: context.zone.city(),
            buttons: buttons(post),
            post,
        };
        let has_own = |it: &AccountView| {
            it.files.iter().flatten().next().is_some() || it.replies.iter().flatten().next().is_some()
        };
        page.has_parts = !page.files.is_empty() || !page.replies.is_empty() || page.accounts.iter().any(has_own);
        page.problems = errors.0.iter().map(|(name, text)| page.problem(name, text)).collect();
        page
    }

    fn problem(&self, name: &str, text: &str) -> Problem {
        let account = self.accounts.iter().find(|it| name == it.name || name.starts_with(&format!("{}.", it.name)));
        let anchor = account.map(|it| it.name.as_str()).or_else(|| {
            let top = name.split('.').next().unwrap_or_default();
            ["content", "media", "thread", "platforms", "labels", "external_id", "at"].into_iter().find(|it| *it == top)
        });
        let text = match account {
            Some(account) => format!("{}, {}: {text}", account.platform, account.handle),
            None => text.to_owned(),
        };
        Problem { anchor: anchor.map(str::to_owned), text }
    }
}

struct Form<'a> {
    context: &'a Context<'a>,
    entries: &'a Entries,
    errors: &'a Errors,
}

impl Form<'_> {
    fn field(&self, name: &str) -> Field {
        Field { name: name.to_owned(), value: self.entries.get(name).to_owned(), errors: self.errors.at(name) }
    }

    fn files(&self, prefix: &str) -> Vec<FileView> {
        self.entries.files(prefix).into_iter().map(|it| self.file(&it)).collect()
    }

    fn file(&self, name: &str) -> FileView {
        let path = self.field(&format!("{name}.path"));
        let parsed = MediaPath::parse(&path.value).ok();
        let file_type = parsed.map(|it| it.mime().file_type());
        let mut alt_text = self.field(&format!("{name}.alt_text"));
        alt_text.errors.extend(self.errors.at(name));
        FileView {
            alt_text,
            remove: format!("{name}.remove"),
            link: parsed.and_then(|it| self.context.links.get(&it.media()).cloned()).unwrap_or_default(),
            is_image: file_type == Some(FileType::Image),
            kind: match file_type {
                Some(FileType::Image) => "Image",
                Some(FileType::Video) => "Video",
                Some(FileType::Document) | None => "Document",
            },
            path,
        }
    }

    fn replies(&self, prefix: &str) -> Vec<ReplyView> {
        let reply = |it: String| ReplyView {
            content: self.field(&format!("{it}.content")),
            files: self.files(&format!("{it}.")),
            remove: format!("{it}.remove"),
        };
        self.entries.replies(prefix).into_iter().map(reply).collect()
    }
}

/// "Scheduled for 21 November 2026, 09:30 UTC (in 2 hours)."
fn state_sentence(post: &Post, zone: &TimeZone, now: DateTime<Utc>) -> String {
    let at =
        post.scheduled_at.map(|it| format!("{} ({})", date_and_time(it, zone), distance(it, now))).unwrap_or_default();
    match post.status {
        PostStatus::Draft if post.is_scheduled_by_revision() => {
            "An app that can only write drafts wrote this draft. Review it before you schedule it.".to_owned()
        }
        PostStatus::Draft => "Draft. It is published only when you schedule it.".to_owned(),
        PostStatus::Scheduled => format!("Scheduled for {at}."),
        PostStatus::Publishing => format!("Being published since {at}."),
        PostStatus::Published => format!("Published: {at}."),
        PostStatus::Failed => format!("Failed: {at}. Change what is wrong, then publish it again."),
    }
}

/// The most likely one first.
fn buttons(post: Option<&Post>) -> Vec<Button> {
    let button = |action, label, class| Button { action, label, class };
    let unschedule = || button("unschedule", "Change to draft", "quiet");
    match post.map(|it| it.status) {
        None | Some(PostStatus::Draft) => vec![
            button("schedule", "Schedule", ""),
            button("publish_now", "Publish now", "quiet"),
            button("save", "Save draft", "quiet"),
            button("check", "Check", "quiet"),
        ],
        Some(PostStatus::Scheduled) => {
            vec![button("save", "Save changes", ""), button("publish_now", "Publish now", "quiet"), unschedule()]
        }
        Some(PostStatus::Failed) => {
            let is_public = post.into_iter().flat_map(|it| &it.targets).any(Target::is_public);
            let retry = [button("publish_now", "Publish again now", ""), button("schedule", "Schedule again", "quiet")];
            retry.into_iter().chain((!is_public).then(unschedule)).collect()
        }
        Some(PostStatus::Publishing | PostStatus::Published) => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
