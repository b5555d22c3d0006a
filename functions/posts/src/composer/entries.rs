//! What the form of a post contains, and the body of `POST /posts` and `PATCH /posts/{post}` that it
//! stands for.
//!
//! The form names its fields like the API, with `to.{connection}` in place of `platforms.{index}`:
//! `content`, `to.7.options.language`, `thread.0.media.1.alt_text`.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDateTime, Utc};
use domain::id::{ConnectionId, UserId};
use domain::media::{AltText, Attachment, MediaPath};
use domain::options::{OptionKind, OptionSpec, OptionValue};
use domain::post::{MAX_MEDIA, MAX_TARGETS, Post, SegmentContent, Target};
use domain::rules::MAX_REPLIES;
use domain::text::Label;
use domain::time_zone::TimeZone;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::local_time;

/// Counts accounts with files or replies of their own.
const MAX_ACCOUNTS: usize = 100;

/// The value that browsers send for a checked box.
const ON: &str = "on";

/// The fields of the form, by name. A box that is not checked is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "BTreeMap<String, String>")]
pub(crate) struct Entries(BTreeMap<String, String>);

/// Browsers send line breaks as CRLF, whatever was typed.
impl From<BTreeMap<String, String>> for Entries {
    fn from(fields: BTreeMap<String, String>) -> Self {
        Self(fields.into_iter().map(|(name, value)| (name, value.replace("\r\n", "\n"))).collect())
    }
}

impl Entries {
    /// The time of the post is shown in this zone.
    pub(super) fn from_post(post: &Post, zone: &TimeZone) -> Self {
        let mut entries = Self::default();
        entries.set("content", post.text.as_str());
        entries.set_files("", &post.media, post.user_id);
        entries.set_replies("", &post.thread, post.user_id);
        entries.set("external_id", post.external_id.as_ref().map_or("", |it| it.as_str()));
        let labels: Vec<_> = post.labels.iter().map(Label::as_str).collect();
        entries.set("labels", &labels.join("\n"));
        entries.set("at", &post.scheduled_at.map(|it| local_time::show(it, zone)).unwrap_or_default());
        for target in &post.targets {
            entries.set_target(target, post.user_id);
        }
        entries
    }

    pub(super) fn duplicate(post: &Post) -> Self {
        let mut entries = Self::from_post(post, &TimeZone::utc());
        // An external id names one post.
        for name in ["at", "external_id"] {
            entries.set(name, "");
        }
        entries
    }

    fn set_target(&mut self, target: &Target, user: UserId) {
        let account = account_prefix(target.connection_id);
        self.check(&account);
        if let Some(text) = &target.text {
            self.set(&format!("{account}.content"), text.as_str());
            if text.is_empty() {
                self.check(&format!("{account}.no_text"));
            }
        }
        if let Some(media) = &target.media {
            self.check(&format!("{account}.own_media"));
            self.check(&format!("{account}.media_shown"));
            self.set_files(&format!("{account}."), media, user);
        }
        if let Some(thread) = &target.thread {
            self.check(&format!("{account}.own_thread"));
            self.check(&format!("{account}.thread_shown"));
            self.set_replies(&format!("{account}."), thread, user);
        }
        for (name, value) in target.options.iter() {
            let value = match value {
                OptionValue::Flag(flag) => flag.to_string(),
                OptionValue::Number(number) => number.to_string(),
                OptionValue::Text(text) => text.clone(),
                OptionValue::List(entries) => entries.join("\n"),
            };
            self.set(&format!("{account}.options.{name}"), &value);
        }
    }

    fn set_files(&mut self, prefix: &str, files: &[Attachment], user: UserId) {
        for (index, file) in files.iter().enumerate() {
            let path = MediaPath::new(user, file.media_id, file.mime_type).to_string();
            self.set(&format!("{prefix}media.{index}.path"), &path);
            let alt_text = file.alt_text.as_ref().map_or("", AltText::as_str);
            self.set(&format!("{prefix}media.{index}.alt_text"), alt_text);
        }
    }

    fn set_replies(&mut self, prefix: &str, thread: &[SegmentContent], user: UserId) {
        for (index, reply) in thread.iter().enumerate() {
            self.set(&format!("{prefix}thread.{index}.content"), reply.text.as_str());
            self.set_files(&format!("{prefix}thread.{index}."), &reply.media, user);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Empty if the form does not have the field.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub(super) fn is_checked(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Sets what a person chose for an account on the page of consent. `text` is what the account would publish.
    pub(super) fn choose(&mut self, account: ConnectionId, text: &str, given: &Self) {
        let prefix = account_prefix(account);
        let content = given.get("content");
        if content != text {
            self.set(&format!("{prefix}.content"), content);
            self.0.remove(&format!("{prefix}.no_text"));
            if content.trim().is_empty() {
                self.check(&format!("{prefix}.no_text"));
            }
        }
        let mut set_option = |name: &str, value: &str| self.set(&format!("{prefix}.options.{name}"), value);
        set_option("visibility", given.get("visibility"));
        if given.is_checked("title") {
            set_option("title", given.get("title"));
        }
        for name in ["comments", "duet", "stitch"] {
            set_option(name, if given.is_checked(name) { "true" } else { "" });
        }
        for name in ["brand_organic", "brand_content"] {
            set_option(name, if given.is_checked("disclose") && given.is_checked(name) { "true" } else { "" });
        }
    }

    /// As if a person had chosen who sees the post on these accounts, to check everything else.
    pub(super) fn with_any_visibility(&self, accounts: &[ConnectionId]) -> Self {
        let mut entries = self.clone();
        for account in accounts {
            entries.set(&format!("{}.options.visibility", account_prefix(*account)), "any");
        }
        entries
    }

    pub(super) fn set_time(&mut self, raw: &str) {
        self.set("at", raw);
    }

    /// The revision that the page showed; `None` if the entries are those of the stored post.
    pub(super) fn revision(&self) -> Option<u64> {
        self.get("revision").parse().ok()
    }

    /// Makes the entries a change of the current revision.
    pub(super) fn forget_revision(&mut self) {
        self.0.remove("revision");
    }

    pub(super) fn check(&mut self, name: &str) {
        self.set(name, ON);
    }

    /// The checked ones, each with its prefix in names.
    pub(super) fn accounts(&self) -> impl Iterator<Item = (ConnectionId, String)> {
        let checked: BTreeSet<_> =
            self.0.keys().filter_map(|it| ConnectionId::parse(it.strip_prefix("to.")?)).collect();
        // One more than permitted, which the API refuses.
        checked.into_iter().take(MAX_TARGETS + 1).map(|it| (it, account_prefix(it)))
    }

    /// The prefixes of the files, without those that are being removed.
    pub(super) fn files(&self, prefix: &str) -> Vec<String> {
        let names = (0..MAX_MEDIA).map(|it| format!("{prefix}media.{it}"));
        let is_kept = |it: &String| self.is_checked(&format!("{it}.path")) && !self.is_checked(&format!("{it}.remove"));
        names.filter(is_kept).collect()
    }

    /// The prefixes of the replies, without those that are being removed.
    pub(super) fn replies(&self, prefix: &str) -> Vec<String> {
        let names = (0..MAX_REPLIES).map(|it| format!("{prefix}thread.{it}"));
        let is_kept =
            |it: &String| self.is_checked(&format!("{it}.content")) && !self.is_checked(&format!("{it}.remove"));
        names.filter(is_kept).collect()
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = MediaPath> {
        let paths = self.0.iter().filter(|it| it.0.rsplit('.').next() == Some("path"));
        paths.filter_map(|it| MediaPath::parse(it.1).ok())
    }

    /// Adds what was uploaded, removes what is marked for removal and numbers the rest anew, so
    /// that names and paths of errors agree.
    pub(super) fn renumbered(&self) -> Self {
        let mut next = Self(self.0.iter().filter(|it| !is_numbered(it.0)).map(owned).collect());
        // An account that is not chosen keeps what was entered for it.
        let own = self.0.keys().filter_map(|it| it.strip_suffix(".own_media").or(it.strip_suffix(".own_thread")));
        let prefixes: BTreeSet<_> = own.take(2 * MAX_ACCOUNTS).map(|it| format!("{it}.")).collect();
        for prefix in prefixes.into_iter().chain([String::new()]) {
            next.move_files(self, &prefix, &prefix);
            next.move_replies(self, &prefix, &prefix);
        }
        next.copy_to_accounts();
        let uploaded = self.0.iter().filter(|it| it.0.starts_with("add."));
        for (index, (_, path)) in (next.files("").len()..MAX_MEDIA).zip(uploaded) {
            next.set(&format!("media.{index}.path"), path);
        }
        next
    }

    /// An account whose box for files or replies of its own was just checked begins with those of
    /// the post.
    fn copy_to_accounts(&mut self) {
        let source = self.clone();
        let has = |name: String| source.is_checked(&name);
        for account in source.0.keys().filter_map(|it| it.strip_suffix(".own_media")).take(MAX_ACCOUNTS) {
            let prefix = format!("{account}.");
            if !has(format!("{prefix}media_shown")) && source.files(&prefix).is_empty() {
                self.move_files(&source, "", &prefix);
            }
        }
        for account in source.0.keys().filter_map(|it| it.strip_suffix(".own_thread")).take(MAX_ACCOUNTS) {
            let prefix = format!("{account}.");
            if !has(format!("{prefix}thread_shown")) && source.replies(&prefix).is_empty() {
                self.move_replies(&source, "", &prefix);
            }
        }
    }

    fn move_replies(&mut self, source: &Self, from: &str, to: &str) {
        for (index, reply) in source.replies(from).into_iter().enumerate() {
            let next = format!("{to}thread.{index}");
            self.set(&format!("{next}.content"), source.get(&format!("{reply}.content")));
            self.move_files(source, &format!("{reply}."), &format!("{next}."));
        }
    }

    fn move_files(&mut self, source: &Self, from: &str, to: &str) {
        for (index, file) in source.files(from).into_iter().enumerate() {
            for part in ["path", "alt_text"] {
                self.set(&format!("{to}media.{index}.{part}"), source.get(&format!("{file}.{part}")));
            }
        }
    }

    /// The page offers this up to the most that any platform takes.
    pub(super) fn add_reply(&mut self) {
        self.set(&format!("thread.{}.content", self.replies("").len()), "");
    }

    /// Without a time. `options` are those of an account's platform.
    pub(super) fn body(&self, options: impl Fn(ConnectionId) -> &'static [OptionSpec]) -> Map<String, Value> {
        let platforms: Vec<_> = self.accounts().map(|(id, prefix)| self.target(id, &prefix, options(id))).collect();
        let labels = self.get("labels").lines().filter(|it| !it.trim().is_empty());
        let mut body = Map::new();
        body.insert("content".to_owned(), self.get("content").into());
        body.insert("media".to_owned(), self.media(""));
        body.insert("thread".to_owned(), self.thread(""));
        body.insert("platforms".to_owned(), platforms.into());
        body.insert("labels".to_owned(), labels.collect());
        body.insert("external_id".to_owned(), text_or_null(self.get("external_id")));
        body
    }

    fn target(&self, id: ConnectionId, prefix: &str, options: &[OptionSpec]) -> Value {
        let field = |it: &str| format!("{prefix}.{it}");
        let own_text = self.get(&field("content"));
        let content = if self.is_checked(&field("no_text")) { "".into() } else { text_or_null(own_text) };
        let media = self.is_checked(&field("own_media")).then(|| self.media(&field("")));
        let thread = self.is_checked(&field("own_thread")).then(|| self.thread(&field("")));
        let options = options.iter().filter_map(|it| {
            let value = option_value(it.kind, self.get(&format!("{prefix}.options.{}", it.name)))?;
            Some((it.name.to_owned(), value))
        });
        let options: Map<_, _> = options.collect();
        json!({
            "connected_account_id": id.get(), "content": content, "media": media, "thread": thread, "options": options,
        })
    }

    fn media(&self, prefix: &str) -> Value {
        let file = |it: String| {
            let alt_text = text_or_null(self.get(&format!("{it}.alt_text")));
            json!({"path": self.get(&format!("{it}.path")), "alt_text": alt_text})
        };
        self.files(prefix).into_iter().map(file).collect()
    }

    fn thread(&self, prefix: &str) -> Value {
        let reply = |it: String| {
            let content = self.get(&format!("{it}.content"));
            json!({"content": content, "media": self.media(&format!("{it}."))})
        };
        self.replies(prefix).into_iter().map(reply).collect()
    }

    /// `None` if the field is empty or not a time.
    pub(super) fn local_time(&self) -> Option<NaiveDateTime> {
        local_time::parse(self.get("at").trim())
    }

    pub(super) fn has_time(&self, at: DateTime<Utc>, zone: &TimeZone) -> bool {
        self.get("at") == local_time::show(at, zone)
    }

    /// `field` is a field in an error of the API.
    pub(super) fn field_name(&self, field: &str) -> String {
        let place = field.strip_prefix("platforms.").and_then(|it| {
            let (index, rest) = it.split_once('.')?;
            let (_, account) = self.accounts().nth(index.parse().ok()?)?;
            Some(if rest == "connected_account_id" { account } else { format!("{account}.{rest}") })
        });
        match place {
            Some(name) => name,
            None if field == "scheduled_at" => "at".to_owned(),
            None => field.to_owned(),
        }
    }
}

/// Also the name of the account's box.
pub(super) fn account_prefix(id: ConnectionId) -> String {
    format!("to.{id}")
}

fn owned((name, value): (&String, &String)) -> (String, String) {
    (name.clone(), value.clone())
}

fn is_numbered(name: &str) -> bool {
    let of_post = name.strip_prefix("to.").and_then(|it| it.split_once('.')).map_or(name, |it| it.1);
    of_post.starts_with("media.") || of_post.starts_with("thread.") || name.starts_with("add.")
}

fn text_or_null(text: &str) -> Value {
    if text.trim().is_empty() { Value::Null } else { text.into() }
}

/// `None` for an empty field. A value of another type is returned as a text, for the API to refuse.
fn option_value(kind: OptionKind, raw: &str) -> Option<Value> {
    let trimmed = raw.trim();
    if trimmed.is_empty() {
        return None;
    }
    Some(match kind {
        OptionKind::Flag if matches!(trimmed, "true" | "false") => (trimmed == "true").into(),
        OptionKind::Number { .. } => trimmed.parse::<i64>().map_or_else(|_| trimmed.into(), Value::from),
        OptionKind::Texts { .. } | OptionKind::Ballot { .. } | OptionKind::TextsOf { .. } => {
            trimmed.lines().map(str::trim).filter(|it| !it.is_empty()).collect()
        }
        OptionKind::Text { .. } => raw.into(),
        _ => trimmed.into(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use api::Fields;
    use domain::post::Authority;
    use domain::testing::{a_connection, a_post, a_user, accounts, an_attachment, ids, noon, text};
    use domain::text::{ExternalId, PostText};

    use super::*;
    use crate::request;

    const OPTIONS: &[OptionSpec] = &[
        OptionSpec::new("sensitive", OptionKind::Flag, ""),
        OptionSpec::new("minutes", OptionKind::Number { min: 1, max: 9 }, ""),
        OptionSpec::new("tags", OptionKind::Texts { most: 5, max: 20 }, ""),
        OptionSpec::new("title", OptionKind::Text { max: 100 }, ""),
    ];

    fn form(fields: &[(&str, &str)]) -> Entries {
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>().into()
    }

    #[test]
    fn form_of_a_stored_post_changes_nothing() {
        let user = a_user();
        let connections = [a_connection(&user), a_connection(&user), a_connection(&user)];
        let mut post = a_post(&user, None, &connections);
        post.text = text("Two\nlines");
        post.media = vec![
            Attachment { alt_text: AltText::parse("A boat\nat the pier").ok(), ..an_attachment(1) },
            an_attachment(2),
        ];
        post.thread = vec![SegmentContent { text: text("Reply"), media: vec![an_attachment(3)] }];
        post.labels = vec![Label::parse("spring").unwrap(), Label::parse("last, offer").unwrap()];
        post.external_id = ExternalId::parse("order-1").ok();
        post.targets[0].text = Some(text("Its own"));
        post.targets[0].options = [
            ("sensitive".to_owned(), OptionValue::Flag(false)),
            ("minutes".to_owned(), OptionValue::Number(5)),
            ("tags".to_owned(), OptionValue::List(vec!["a b".to_owned(), "c".to_owned()])),
            ("title".to_owned(), OptionValue::from("A title")),
        ]
        .into_iter()
        .collect();
        post.targets[1].text = Some(PostText::default());
        post.targets[1].media = Some(vec![an_attachment(4)]);
        post.targets[1].thread = Some(vec![SegmentContent { text: text("Another"), media: vec![an_attachment(5)] }]);
        post.targets[2].media = Some(Vec::new());
        post.targets[2].thread = Some(Vec::new());

        let body = Entries::from_post(&post, &TimeZone::utc()).renumbered().body(|_| OPTIONS);
        let changes = request::changes(Fields::from_body(body, request::FIELDS), Authority::default(), None, noon());
        let next = post.change(changes, Vec::new(), &accounts(&connections), &ids(), noon()).unwrap();

        assert_eq!(next, Post { revision: post.revision + 1, updated_at: next.updated_at, ..post });
    }

    #[test]
    fn removed_entries_are_left_out_and_the_rest_renumbered() {
        let entries = form(&[
            ("content", "a\r\nb"),
            ("media.0.path", "one"),
            ("media.0.remove", "on"),
            ("media.1.path", "two"),
            ("media.1.alt_text", "Two"),
            ("thread.0.content", "first"),
            ("thread.0.remove", "on"),
            ("thread.1.content", "second"),
            ("thread.1.media.0.path", "three"),
            ("add.0", "four"),
        ]);

        let body = entries.renumbered().body(|_| OPTIONS);

        assert_eq!(body["content"], "a\nb");
        assert_eq!(body["media"], json!([{"path": "two", "alt_text": "Two"}, {"path": "four", "alt_text": null}]));
        assert_eq!(body["thread"], json!([{"content": "second", "media": [{"path": "three", "alt_text": null}]}]));
    }

    #[test]
    fn account_that_is_not_chosen_keeps_its_files() {
        let entries = form(&[("to.9.own_media", "on"), ("to.9.media.0.path", "one"), ("to.9.content", "Its own")]);

        let mut kept = entries.renumbered().renumbered();
        kept.check("to.9");

        let target = &kept.body(|_| OPTIONS)["platforms"][0];
        assert_eq!(target["media"], json!([{"path": "one", "alt_text": null}]));
        assert_eq!(target["content"], "Its own");
    }

    #[test]
    fn own_files_and_replies_begin_as_those_of_the_post() {
        let post = [("media.0.path", "one"), ("media.1.path", "two"), ("thread.0.content", "more"), ("to.9", "on")];
        let checked = [("to.9.own_media", "on"), ("to.9.own_thread", "on")];
        let shown = form(&[post.as_slice(), &checked].concat()).renumbered();
        let target = |it: &Entries| it.body(|_| OPTIONS)["platforms"][0].clone();
        let file = |path: &str| json!({"path": path, "alt_text": null});
        assert_eq!(target(&shown)["media"], json!([file("one"), file("two")]));
        assert_eq!(target(&shown)["thread"], json!([{"content": "more", "media": []}]));

        // The page showed them, so what is gone was removed.
        let mut removed = shown;
        for name in ["media_shown", "thread_shown", "media.0.remove", "media.1.remove", "thread.0.remove"] {
            removed.check(&format!("to.9.{name}"));
        }
        let removed = removed.renumbered();
        assert_eq!((&target(&removed)["media"], &target(&removed)["thread"]), (&json!([]), &json!([])));
    }

    #[test]
    fn error_is_shown_at_the_field_of_its_account() {
        let entries = form(&[("to.12", "on"), ("to.9", "on"), ("to.7.content", "not chosen")]);
        for (field, name) in [
            ("platforms.0.content", "to.9.content"),
            ("platforms.1.options.title", "to.12.options.title"),
            ("platforms.1.connected_account_id", "to.12"),
            ("scheduled_at", "at"),
            ("media.0.alt_text", "media.0.alt_text"),
        ] {
            assert_eq!(entries.field_name(field), name);
        }
    }

    #[test]
    fn value_of_another_type_is_left_to_the_api() {
        let entries = form(&[("to.9", "on"), ("to.9.options.minutes", "soon"), ("to.9.options.sensitive", " true ")]);
        let body = entries.body(|_| OPTIONS);
        assert_eq!(body["platforms"][0]["options"], json!({"minutes": "soon", "sensitive": true}));
    }
}
