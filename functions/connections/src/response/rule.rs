//! The rules of a platform or an account in responses.

use contract::{PlatformRule, RuleCondition};
use domain::rules::{Counting, FileRule, OptionCondition, PostRule, Rule, Rules, Unit};
use serde_json::{Value, json};

/// The value of a rule without a number. A rule that does not apply has no entry.
pub(crate) const YES: &str = "yes";

/// Unconditional rules come first, and the length of a thread last.
pub(crate) fn rules_view(rules: &Rules) -> Vec<PlatformRule> {
    let conditional = rules.depending.iter().flat_map(|it| it.rules.iter().map(|rule| (rule, Some(&it.when))));
    let unconditional = rules.rules.iter().map(|it| (it, None));
    let max_thread =
        PlatformRule { name: "max_thread".to_owned(), value: json!(rules.max_thread), unit: None, when: None };
    let shown = unconditional.chain(conditional).filter(|(it, _)| is_shown(it));
    shown.map(|(it, when)| rule_view(it, when)).chain([max_thread]).collect()
}

fn rule_view(rule: &Rule, when: Option<&OptionCondition>) -> PlatformRule {
    PlatformRule {
        name: rule.id().to_owned(),
        value: rule_value(rule),
        unit: rule_unit(rule).map(str::to_owned),
        when: when.map(condition_view),
    }
}

pub(crate) fn condition_view(when: &OptionCondition) -> RuleCondition {
    let OptionCondition { option, is, or_absent } = when;
    RuleCondition { option: option.clone(), is: is.iter().map(|it| json!(it)).collect(), or_absent: *or_absent }
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
        Rule::MaxImageBytes { max } | Rule::MaxVideoBytes { max } | Rule::MaxDocumentBytes { max } => json!(max),
        Rule::MimeTypes { types } => types.iter().map(|it| it.as_str()).collect(),
        Rule::NotMixed | Rule::GifAlone | Rule::DocumentAlone | Rule::MediaRequired => json!(YES),
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
        FileRule::MaxVideoWidth { max } | FileRule::MaxPages { max } => json!(max),
        FileRule::MinDuration { min } | FileRule::MinFrameRate { min } | FileRule::MinImageSide { min } => json!(min),
        FileRule::ImageRatio { min, max }
        | FileRule::ImageRatioOrBorders { min, max, .. }
        | FileRule::VideoRatio { min, max } => {
            json!([min.to_string(), max.to_string()])
        }
        FileRule::VideoCodecs { codecs } => codecs.iter().map(|it| it.as_str()).collect(),
        FileRule::CroppedToFirst | FileRule::ReadableDocuments => json!(YES),
    }
}

fn post_rule_value(rule: &PostRule) -> Value {
    match rule {
        PostRule::MinImages { min } | PostRule::MinVideos { min } | PostRule::MinText { min, .. } => json!(min),
        PostRule::MaxTextWithMedia { max, .. }
        | PostRule::MaxTextWithVideo { max, .. }
        | PostRule::MaxHashtags { max }
        | PostRule::MaxMentions { max }
        | PostRule::MaxLinks { max, .. }
        | PostRule::MaxTagLength { max }
        | PostRule::UploadsPerDay { max } => json!(max),
        PostRule::MaxAllBytes { max } => json!(max),
        PostRule::NotWithMedia { options }
        | PostRule::RequiredOptions { options }
        | PostRule::RefusedOptions { options }
        | PostRule::VideoOptions { options }
        | PostRule::ImageOptions { options }
        | PostRule::DocumentOptions { options }
        | PostRule::ConsentOptions { options } => json!(options),
        PostRule::TextNotShown | PostRule::TextRequired | PostRule::PrivateUntilAudit => json!(YES),
    }
}

/// `None` for values other than numbers.
fn rule_unit(rule: &Rule) -> Option<&'static str> {
    match rule {
        Rule::MaxText { counting, .. }
        | Rule::MaxContentWarning { counting, .. }
        | Rule::MaxAltText { counting, .. }
        | Rule::MinAltText { counting, .. }
        | Rule::MaxVideoAltText { counting, .. } => Some(unit_name(counting)),
        Rule::MaxTextBytes { .. }
        | Rule::MaxImageBytes { .. }
        | Rule::MaxVideoBytes { .. }
        | Rule::MaxDocumentBytes { .. } => Some("bytes"),
        Rule::MaxMedia { .. } | Rule::MaxImages { .. } | Rule::MaxVideos { .. } => Some("files"),
        Rule::OfFiles(rule) => rule.unit(),
        Rule::OfPost(rule) => post_rule_unit(rule),
        Rule::MimeTypes { .. } | Rule::NotMixed | Rule::GifAlone | Rule::DocumentAlone | Rule::MediaRequired => None,
    }
}

fn post_rule_unit(rule: &PostRule) -> Option<&'static str> {
    match rule {
        PostRule::MinText { counting, .. }
        | PostRule::MaxTextWithMedia { counting, .. }
        | PostRule::MaxTextWithVideo { counting, .. } => Some(unit_name(counting)),
        PostRule::MinImages { .. } | PostRule::MinVideos { .. } => Some("files"),
        PostRule::MaxTagLength { .. } => Some("characters"),
        PostRule::MaxAllBytes { .. } => Some("bytes"),
        PostRule::UploadsPerDay { .. } => Some("uploads"),
        PostRule::MaxHashtags { .. } => Some("hashtags"),
        PostRule::MaxMentions { .. } => Some("mentions"),
        PostRule::MaxLinks { .. } => Some("links"),
        PostRule::NotWithMedia { .. }
        | PostRule::RequiredOptions { .. }
        | PostRule::RefusedOptions { .. }
        | PostRule::VideoOptions { .. }
        | PostRule::ImageOptions { .. }
        | PostRule::DocumentOptions { .. }
        | PostRule::ConsentOptions { .. }
        | PostRule::TextNotShown
        | PostRule::TextRequired
        | PostRule::PrivateUntilAudit => None,
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

        let names: Vec<_> = rules_view(&rules).into_iter().map(|it| it.name).collect();

        assert_eq!(names, ["max_media", "text_not_shown", "max_thread"]);
    }
}
