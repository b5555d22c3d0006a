use api::page::{PlatformMark, date_and_time};
use domain::connection::Connection;
use domain::id::ConnectionId;
use domain::options::{OptionKind, OptionSpec, Required};
use domain::post::{Post, PostStatus, Target, TargetStatus};
use domain::web_address::is_web_address;

use super::super::entries::account_prefix;
use super::{Field, FileView, Form, ReplyView};
use crate::posts_page::public_link;

#[expect(clippy::struct_excessive_bools, reason = "each is a condition of the template")]
pub(super) struct AccountView {
    /// The name of the box.
    pub(super) name: String,
    pub(super) is_checked: bool,
    /// Nothing can be changed on an account on which the post is public.
    pub(super) is_public: bool,
    pub(super) avatar: Option<String>,
    pub(super) handle: String,
    pub(super) mark: PlatformMark,
    pub(super) platform: String,
    pub(super) state: Option<State>,
    pub(super) link: Option<String>,
    /// Why the post is not public there, errors in the account itself, and what to do about them.
    pub(super) messages: Vec<String>,
    pub(super) content: Field,
    pub(super) has_no_text: bool,
    pub(super) options: Vec<OptionView>,
    pub(super) consent_options: Vec<Field>,
    /// Whether the person has agreed to the platform's terms; `None` if the account is not chosen, or requires no consent.
    pub(super) consent: Option<String>,
    /// `None` if the account uses those of the post.
    pub(super) files: Option<Vec<FileView>>,
    pub(super) replies: Option<Vec<ReplyView>>,
    /// The part with the account's own text and options.
    pub(super) is_open: bool,
}

pub(super) struct State {
    pub(super) text: &'static str,
    pub(super) class: &'static str,
}

pub(super) struct OptionView {
    name: &'static str,
    pub(super) field: Field,
    pub(super) label: String,
    pub(super) about: &'static str,
    pub(super) input: Input,
    pub(super) is_required: bool,
    /// The page with its values; `None` if the platform lists none.
    pub(super) choices: Option<String>,
}

pub(super) enum Input {
    Select(Vec<(String, String)>),
    Number {
        min: i64,
        max: i64,
    },
    /// One entry per line.
    Lines,
    Line,
    Text,
}

impl Form<'_> {
    /// Includes accounts of the post that are no longer connected.
    pub(super) fn accounts(&self, post: Option<&Post>) -> Vec<AccountView> {
        let connections = self.context.connections;
        let target = |id: ConnectionId| post.into_iter().flat_map(|it| &it.targets).find(|it| it.connection_id == id);
        let connected = connections.iter().map(|it| self.account(it, post, target(it.connection_id)));
        let is_gone = |it: &&Target| connections.iter().all(|known| known.connection_id != it.connection_id);
        let gone = post.into_iter().flat_map(|it| &it.targets).filter(is_gone);
        connected.chain(gone.map(|it| self.disconnected(it))).collect()
    }

    fn account(&self, account: &Connection, post: Option<&Post>, target: Option<&Target>) -> AccountView {
        let name = account_prefix(account.connection_id);
        let field = |it: &str| self.field(&format!("{name}.{it}"));
        let has = |it: &str| self.entries.is_checked(&format!("{name}.{it}"));
        let is_checked = self.entries.is_checked(&name);
        let (content, has_no_text) = (field("content"), has("no_text"));
        let specs = self.context.vocabulary.options(&account.provider);
        let options: Vec<_> = specs.iter().map(|it| self.option(account.connection_id, it)).collect();
        let given = options.iter().filter(|it| !it.field.value.is_empty());
        let given = given.map(|it| (it.name.to_owned(), it.field.value.as_str().into())).collect();
        let on_page = account.rules.consent_options(&given);
        let is_on_page = |it: &OptionView| on_page.is_some_and(|names| names.iter().any(|name| name == it.name));
        let (consent_options, options): (Vec<_>, Vec<_>) = options.into_iter().partition(is_on_page);
        let prefix = format!("{name}.");
        let is_adjusted = !content.value.is_empty()
            || has_no_text
            || has("own_media")
            || has("own_thread")
            || options.iter().any(|it| !it.field.value.is_empty() || is_checked && it.is_required);
        let has_errors = self.errors.within(&name).next().is_some();
        let mut messages = self.messages(&name);
        messages.extend(target.and_then(|it| it.error_message.clone()));
        if account.needs_reconnection && is_checked {
            messages.push(format!(
                "Reconnect this account on the page Connections. {} no longer accepts it.",
                account.rules.title
            ));
        }
        AccountView {
            is_checked,
            is_public: target.is_some_and(|it| it.status == TargetStatus::Published),
            avatar: account.profile.avatar.clone().filter(|it| is_web_address(it)),
            handle: account.profile.shown_name(),
            mark: PlatformMark::new(&account.provider),
            platform: account.rules.title.clone(),
            state: target.zip(post).and_then(|(it, post)| State::new(it.status, post.status)),
            link: public_link(target.and_then(Target::published)),
            messages,
            content,
            has_no_text,
            options,
            consent_options: consent_options.into_iter().map(|it| it.field).collect(),
            consent: on_page.filter(|_| is_checked).map(|_| self.consent(&account.rules.title, target)),
            files: has("own_media").then(|| self.files(&prefix)),
            replies: has("own_thread").then(|| self.replies(&prefix)),
            is_open: is_adjusted || has_errors,
            name,
        }
    }

    fn disconnected(&self, target: &Target) -> AccountView {
        let name = account_prefix(target.connection_id);
        let mut messages = self.messages(&name);
        messages.push("This account is no longer connected.".to_owned());
        AccountView {
            is_checked: self.entries.is_checked(&name),
            is_public: target.status == TargetStatus::Published,
            avatar: None,
            handle: target.username.clone().unwrap_or_default(),
            mark: PlatformMark::new(&target.provider),
            platform: target.provider.clone(),
            state: None,
            link: public_link(target.published()),
            messages,
            content: self.field(&format!("{name}.content")),
            has_no_text: false,
            options: Vec::new(),
            consent_options: Vec::new(),
            consent: None,
            files: None,
            replies: None,
            is_open: false,
            name,
        }
    }

    fn consent(&self, platform: &str, target: Option<&Target>) -> String {
        match target.and_then(|it| it.consented_at) {
            Some(at) => {
                let at = date_and_time(at, &self.context.zone);
                format!("You agreed to {platform}’s terms: {at}. If you change the post, a page asks again.")
            }
            None => format!(
                "{platform} requires that you choose who can see the post and agree to its terms. A page asks for both \
                 when you schedule or publish."
            ),
        }
    }

    /// Errors that belong to no field of the form.
    fn messages(&self, name: &str) -> Vec<String> {
        let options = format!("{name}.options.");
        self.errors.within(name).filter(|it| !it.0.starts_with(&options)).map(|it| it.1.clone()).collect()
    }

    fn option(&self, account: ConnectionId, spec: &OptionSpec) -> OptionView {
        let name = spec.name;
        let field = self.field(&format!("{}.options.{name}", account_prefix(account)));
        let choices = || format!("/account/connections/{account}/choices/{name}");
        OptionView {
            name,
            input: Input::new(spec.kind, &field.value),
            field,
            label: label(name),
            about: spec.about,
            is_required: spec.required == Required::Always,
            choices: spec.kind.is_listed().then(choices),
        }
    }
}

impl State {
    fn new(target: TargetStatus, post: PostStatus) -> Option<Self> {
        let (text, class) = match target {
            TargetStatus::Published => ("Published", "good"),
            TargetStatus::Publishing => ("Publishing", "good"),
            TargetStatus::Failed => ("Failed", "bad"),
            TargetStatus::Pending if post == PostStatus::Draft => return None,
            TargetStatus::Pending => ("Scheduled", ""),
        };
        Some(Self { text, class })
    }
}

impl Input {
    /// A draft can have a value of another type, which the field keeps.
    fn new(kind: OptionKind, value: &str) -> Self {
        let select = |mut choices: Vec<(String, String)>| {
            if !value.is_empty() && choices.iter().all(|it| it.0 != value) {
                choices.push((value.to_owned(), value.to_owned()));
            }
            Self::Select(choices)
        };
        match kind {
            OptionKind::OneOf(values) => select(values.iter().map(|it| ((*it).to_owned(), label(it))).collect()),
            OptionKind::Flag => {
                select(vec![("true".to_owned(), "Yes".to_owned()), ("false".to_owned(), "No".to_owned())])
            }
            OptionKind::Number { min, max } if value.is_empty() || value.parse::<i64>().is_ok() => {
                Self::Number { min, max }
            }
            OptionKind::Texts { .. } | OptionKind::Ballot { .. } | OptionKind::TextsOf { .. } => Self::Lines,
            OptionKind::Text { .. } | OptionKind::TextWithout { .. } => Self::Text,
            _ => Self::Line,
        }
    }
}

/// "First comment", from `first_comment`.
fn label(name: &str) -> String {
    let mut chars = name.chars();
    let first: String = chars.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", chars.as_str().replace(['_', '-'], " "))
}
