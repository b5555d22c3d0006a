//! The rules of a platform or an account in responses.

use domain::options::OptionValue;
use domain::rules::{Counting, FileRule, OptionCondition, PostRule, Rule, Rules, Unit};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// The value of a rule without a number. A rule that does not apply has no entry.
pub(crate) const YES: &str = "yes";

/// The entries of a post to which a rule applies.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = RuleCondition)]
pub(crate) struct WhenView {
    /// The rule applies to entries with this option
    #[schema(example = "kind")]
    option: String,
    /// of one of these values,
    #[schema(value_type = Vec<Value>, example = json!(["reel"]))]
    is: Vec<OptionValue>,
    /// and, if true, also to entries without the option.
    or_absent: bool,
}

/// A rule of a platform for posts.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlatformRule)]
pub(crate) struct RuleView {
    /// The name of the rule.
    #[schema(example = "max_text")]
    name: &'static str,
    /// A number or a list of strings; `yes` for a rule without a value.
    #[schema(value_type = Value, example = json!(500))]
    value: Value,
    /// Unit of a number; null for other values.
    #[schema(example = "graphemes")]
    unit: Option<&'static str>,
    /// The condition under which the rule applies; absent when it always applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    when: Option<WhenView>,
}

impl RuleView {
    /// Unconditional rules come first.
    pub(crate) fn all(rules: &Rules) -> Vec<Self> {
        let conditional = rules.depending.iter().flat_map(|it| it.rules.iter().map(|rule| (rule, Some(&it.when))));
        let unconditional = rules.rules.iter().map(|it| (it, None));
        unconditional.chain(conditional).filter(|(it, _)| is_shown(it)).map(|(it, when)| Self::new(it, when)).collect()
    }

    fn new(rule: &Rule, when: Option<&OptionCondition>) -> Self {
        Self { name: rule.id(), value: rule_value(rule), unit: rule_unit(rule), when: when.map(WhenView::new) }
    }
}

impl WhenView {
    pub(crate) fn new(when: &OptionCondition) -> Self {
        let OptionCondition { option, is, or_absent } = when.clone();
        Self { option, is, or_absent }
    }
}

/// Whether clients see the rule. The size to which the service shrinks images does not limit a post.
pub(crate) fn is_shown(rule: &Rule) -> bool {
    !matches!(rule, Rule::OfFiles(FileRule::FittedImageBytes { .. } | FileRule::FittedImageSide { .. }))
}

pub(crate) fn rule_value(rule: &Rule) -> Value {
    match rule {
        Rule::MaxText { max, .. }
        | Rule::MaxTextBytes { max, .. }
        | Rule::MaxContentWarning { max, .. }
        | Rule::MaxMedia { max }
        | Rule::MaxImages { max }
        | Rule::MaxVideos { max }
        | Rule::MaxAltText { max, .. }
        | Rule::MaxVideoAltText { max, .. } => json!(max),
        Rule::MinAltText { min, .. } => json!(min),
        Rule::OfFiles(rule) => files_rule_value(rule),
        Rule::OfPost(rule) => post_rule_value(rule),
        Rule::MaxImageBytes { max } | Rule::MaxVideoBytes { max } => json!(max),
        Rule::MimeTypes { types } => types.iter().map(|it| it.as_str()).collect(),
        Rule::NotMixed | Rule::GifAlone | Rule::MediaRequired => json!(YES),
    }
}

fn files_rule_value(rule: &FileRule) -> Value {
    match rule {
        FileRule::MaxImagePixels { max }
        | FileRule::MaxVideoPixels { max }
        | FileRule::MaxGifBytes { max }
        | FileRule::FittedImageBytes { max } => json!(max),
        FileRule::MaxFrameRate { max } | FileRule::MaxDuration { max } | FileRule::FittedImageSide { max } => {
            json!(max)
        }
        FileRule::MaxVideoWidth { max } => json!(max),
        FileRule::MinDuration { min } | FileRule::MinFrameRate { min } => json!(min),
        FileRule::ImageRatio { min, max }
        | FileRule::ImageRatioOrBorders { min, max, .. }
        | FileRule::VideoRatio { min, max } => {
            json!([min.to_string(), max.to_string()])
        }
        FileRule::VideoCodecs { codecs } => codecs.iter().map(|it| it.as_str()).collect(),
    }
}

fn post_rule_value(rule: &PostRule) -> Value {
    match rule {
        PostRule::MinImages { min } | PostRule::MinVideos { min } | PostRule::MinText { min, .. } => json!(min),
        PostRule::MaxTextWithMedia { max, .. }
        | PostRule::MaxTextWithVideo { max, .. }
        | PostRule::MaxHashtags { max }
        | PostRule::MaxMentions { max }
        | PostRule::MaxLinks { max, .. } => json!(max),
        PostRule::MaxAllBytes { max } => json!(max),
        PostRule::NotWithMedia { options }
        | PostRule::RequiredOptions { options }
        | PostRule::RefusedOptions { options }
        | PostRule::VideoOptions { options } => json!(options),
        PostRule::TextNotShown => json!(YES),
    }
}

/// The unit of a rule's number; `None` for other values.
pub(crate) fn rule_unit(rule: &Rule) -> Option<&'static str> {
    match rule {
        Rule::MaxText { counting, .. }
        | Rule::MaxContentWarning { counting, .. }
        | Rule::MaxAltText { counting, .. }
        | Rule::MinAltText { counting, .. }
        | Rule::MaxVideoAltText { counting, .. } => Some(unit_name(counting)),
        Rule::MaxTextBytes { .. } | Rule::MaxImageBytes { .. } | Rule::MaxVideoBytes { .. } => Some("bytes"),
        Rule::MaxMedia { .. } | Rule::MaxImages { .. } | Rule::MaxVideos { .. } => Some("files"),
        Rule::OfFiles(rule) => rule.unit(),
        Rule::OfPost(rule) => post_rule_unit(rule),
        Rule::MimeTypes { .. } | Rule::NotMixed | Rule::GifAlone | Rule::MediaRequired => None,
    }
}

fn post_rule_unit(rule: &PostRule) -> Option<&'static str> {
    match rule {
        PostRule::MinText { counting, .. }
        | PostRule::MaxTextWithMedia { counting, .. }
        | PostRule::MaxTextWithVideo { counting, .. } => Some(unit_name(counting)),
        PostRule::MinImages { .. } | PostRule::MinVideos { .. } => Some("files"),
        PostRule::MaxAllBytes { .. } => Some("bytes"),
        PostRule::MaxHashtags { .. } => Some("hashtags"),
        PostRule::MaxMentions { .. } => Some("mentions"),
        PostRule::MaxLinks { .. } => Some("links"),
        PostRule::NotWithMedia { .. }
        | PostRule::RequiredOptions { .. }
        | PostRule::RefusedOptions { .. }
        | PostRule::VideoOptions { .. }
        | PostRule::TextNotShown => None,
    }
}

pub(crate) fn unit_name(counting: &Counting) -> &'static str {
    match counting.unit {
        Unit::Graphemes | Unit::GraphemesOfUnicode15 => "graphemes",
        Unit::CodePoints => "characters",
        Unit::Utf16 => "utf16_units",
        Unit::Weighted => "weighted",
        Unit::EmojiBytes => "emoji_bytes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rules_that_limit_a_post_are_listed() {
        let fitted = || Rule::OfFiles(FileRule::FittedImageSide { max: 4096 });
        let rules = Rules::new("Example", [Rule::max_media(4), fitted()]).with_rules_when(
            OptionCondition::option("kind", ["reel"]),
            [fitted(), Rule::OfPost(PostRule::TextNotShown)],
        );

        let names: Vec<_> = RuleView::all(&rules).into_iter().map(|it| it.name).collect();

        assert_eq!(names, ["max_media", "text_not_shown"]);
    }
}
