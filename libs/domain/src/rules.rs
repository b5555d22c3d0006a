//! The rules of a platform for posts, as data: checked when a post is scheduled, stored with each
//! connection, and shown to users in its `meta`.

mod counting;
mod depending;
mod emoji;
mod file_rule;
mod frame;
mod known;
mod links;
mod mentions;
mod post_rule;
mod price;
mod rule;
#[cfg(test)]
mod tests;
mod tokens;
mod weighted;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::media::Attachment;
use crate::options::Options;
pub use counting::{Counting, Unit};
pub use depending::{ConditionalRules, OptionCondition};
pub use file_rule::FileRule;
pub use frame::Frame;
use known::known;
pub use post_rule::PostRule;
pub use price::Price;
pub use rule::Rule;

/// The most replies of a thread, on any platform.
pub const MAX_REPLIES: usize = 24;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    pub title: String,
    /// Each kind of rule at most once, in the order in which they are shown.
    #[serde(deserialize_with = "known")]
    pub rules: Vec<Rule>,
    /// Further rules that apply where an option has one of some values.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "known")]
    pub depending: Vec<ConditionalRules>,
    /// The most replies that can continue a post as a thread; 0 where there are none.
    #[serde(default)]
    pub max_thread: u32,
    /// The cost of a post for the operator; `None` if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLength {
    pub length: u64,
    pub max: u32,
}

impl TextLength {
    /// Negative if the text is too long.
    pub fn room(&self) -> i64 {
        i64::from(self.max).saturating_sub_unsigned(self.length)
    }
}

impl fmt::Display for TextLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} characters", self.length, self.max)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleViolation {
    pub rule: &'static str,
    /// The field of the target with the error: `content`, `media` or one of its options.
    pub field: Cow<'static, str>,
    /// A message for the user with the platform, the limit and the actual value.
    pub message: String,
}

impl Rules {
    pub fn new(title: impl Into<String>, rules: impl Into<Vec<Rule>>) -> Self {
        Self { title: title.into(), rules: rules.into(), depending: Vec::new(), max_thread: 0, price: None }
    }

    #[must_use]
    pub fn with_rules_when(mut self, when: OptionCondition, rules: impl Into<Vec<Rule>>) -> Self {
        self.depending.push(ConditionalRules { when, rules: rules.into() });
        self
    }

    /// Permits threads of any length that the API accepts.
    #[must_use]
    pub fn with_threads(self) -> Self {
        Self { max_thread: u32::try_from(MAX_REPLIES).unwrap_or(u32::MAX), ..self }
    }

    #[must_use]
    pub fn with_price(self, price: Price) -> Self {
        Self { price: Some(price), ..self }
    }

    /// The rules for a post with these options, each with its condition; `None` if it always
    /// applies.
    pub fn applicable<'a>(
        &'a self,
        options: &'a Options,
    ) -> impl Iterator<Item = (&'a Rule, Option<&'a OptionCondition>)> {
        let depending = self.depending.iter().filter(|it| it.when.holds(options));
        let depending = depending.flat_map(|it| it.rules.iter().map(|rule| (rule, Some(&it.when))));
        self.rules.iter().map(|rule| (rule, None)).chain(depending)
    }

    /// The length of the text of a post with these files and options, and the most that the platform
    /// accepts; `None` without a limit. Of several limits, the one that leaves the least room.
    pub fn text_length(&self, text: &str, media: &[Attachment], options: &Options) -> Option<TextLength> {
        let limits = self.applicable(options).filter_map(|(rule, _)| rule.text_limit(media));
        let lengths = limits.map(|(max, counting)| {
            let length = counting.length(text) + counting.warning_length(options);
            TextLength { length, max }
        });
        lengths.min_by_key(TextLength::room)
    }

    pub fn hides_text(&self, options: &Options) -> bool {
        self.applicable(options).any(|(rule, _)| matches!(rule, Rule::OfPost(PostRule::TextNotShown)))
    }

    /// Whether the platform shows a post with these options to the account alone, because it has not audited the
    /// operator's app.
    pub fn is_private_until_audit(&self, options: &Options) -> bool {
        self.applicable(options).any(|(rule, _)| matches!(rule, Rule::OfPost(PostRule::PrivateUntilAudit)))
    }

    pub fn lacks_audit(&self) -> bool {
        let depending = self.depending.iter().flat_map(|it| &it.rules);
        self.rules.iter().chain(depending).any(|it| matches!(it, Rule::OfPost(PostRule::PrivateUntilAudit)))
    }

    /// How many uploads the platform accepts a day from all accounts of the deployment together.
    pub fn uploads_per_day(&self) -> Option<u32> {
        self.rules.iter().find_map(|it| match it {
            Rule::OfPost(PostRule::UploadsPerDay { max }) => Some(*max),
            _ => None,
        })
    }

    /// The options that a person has to choose before agreeing to the platform's terms for a post with these options;
    /// `None` where no post needs such a consent.
    pub fn consent_options<'a>(&'a self, options: &'a Options) -> Option<&'a [String]> {
        self.applicable(options).find_map(|(rule, _)| match rule {
            Rule::OfPost(PostRule::ConsentOptions { options }) => Some(options.as_slice()),
            _ => None,
        })
    }

    /// How the image is made smaller, such as "1 MiB instead of 2 MiB": one text for each limit that
    /// it exceeds.
    pub fn resize_descriptions(&self, file: &Attachment, options: &Options) -> Vec<String> {
        self.file_rules(options).filter_map(|it| it.resize_description(file)).collect()
    }

    fn file_rules<'a>(&'a self, options: &'a Options) -> impl Iterator<Item = &'a FileRule> {
        self.applicable(options).filter_map(|(rule, _)| match rule {
            Rule::OfFiles(rule) => Some(rule),
            _ => None,
        })
    }

    pub fn shortens_links(&self) -> bool {
        self.rules.iter().any(|it| matches!(it, Rule::MaxText { counting, .. } if counting.short_links))
    }

    pub fn thread_breaches(&self, replies: usize) -> Option<RuleViolation> {
        let title = &self.title;
        let message = match self.max_thread {
            _ if replies == 0 => return None,
            0 => format!(
                "{title} has no threads; give this account \"thread\": [] and a content of its own with the whole text"
            ),
            max if usize::try_from(max).is_ok_and(|max| replies <= max) => return None,
            max => format!("{title} takes at most {max} replies in a thread; this has {replies}"),
        };
        Some(RuleViolation { rule: "max_thread", field: "thread".into(), message })
    }

    pub fn reply_breaches(&self, text: &str, media: &[Attachment], options: &Options) -> Vec<RuleViolation> {
        let mut breaches = self.breaches(text, media, &options.of_replies());
        breaches.retain(|it| matches!(&*it.field, "content" | "media"));
        breaches
    }

    pub fn breaches<'t>(
        &self,
        text: impl Into<Option<&'t str>>,
        media: &[Attachment],
        options: &Options,
    ) -> Vec<RuleViolation> {
        let text = text.into().unwrap_or_default();
        let check_rule = |(rule, when): (&Rule, Option<&OptionCondition>)| {
            let (id, field, title) = (rule.id(), rule.field(options), &self.title);
            let clause = when.map_or_else(String::new, |it| it.description(options).to_string());
            let messages = rule.faults(text, media, options).into_iter();
            messages.map(move |it| RuleViolation {
                rule: id,
                field: field.clone(),
                message: format!("{title}{clause} {it}"),
            })
        };
        self.applicable(options).flat_map(check_rule).collect()
    }
}
