//! What a platform asks of a post, as clients see it.

use domain::options::OptionValue;
use domain::rules::{Counting, FileRule, PostRule, Rule, Unit, When};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// The value of an entry that has no figure. What does not apply has no entry.
pub(crate) const YES: &str = "yes";

/// Where a rule holds.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = RuleCondition)]
pub(crate) struct WhenView {
    /// In entries of a post with this option
    #[schema(example = "kind")]
    option: String,
    /// of one of these values,
    #[schema(value_type = Vec<Value>, example = json!(["reel"]))]
    is: Vec<OptionValue>,
    /// and in those without the option, if this is true.
    or_absent: bool,
}

impl WhenView {
    pub(crate) fn of(when: &When) -> Self {
        let When { option, is, or_absent } = when.clone();
        Self { option, is, or_absent }
    }
}

/// Whether clients see a rule. The size to which the service reduces pictures before it sends them limits no post.
pub(crate) fn is_shown(rule: &Rule) -> bool {
    !matches!(rule, Rule::OfFiles(FileRule::FittedImageBytes { .. } | FileRule::FittedImageSide { .. }))
}

/// The value of a rule as it is shown.
pub(crate) fn value_of(rule: &Rule) -> Value {
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
        Rule::OfFiles(rule) => value_of_files(rule),
        Rule::OfPost(rule) => value_of_post(rule),
        Rule::MaxImageBytes { max } | Rule::MaxVideoBytes { max } => json!(max),
        Rule::MimeTypes { types } => types.iter().map(|it| it.as_str()).collect(),
        Rule::NotMixed | Rule::GifAlone | Rule::MediaRequired => json!(YES),
    }
}

fn value_of_files(rule: &FileRule) -> Value {
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

fn value_of_post(rule: &PostRule) -> Value {
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

/// What the number of a rule counts; `None` for other values.
pub(crate) fn unit_of(rule: &Rule) -> Option<&'static str> {
    match rule {
        Rule::MaxText { counting, .. }
        | Rule::MaxContentWarning { counting, .. }
        | Rule::MaxAltText { counting, .. }
        | Rule::MinAltText { counting, .. }
        | Rule::MaxVideoAltText { counting, .. } => Some(unit_name(counting)),
        Rule::MaxTextBytes { .. } | Rule::MaxImageBytes { .. } | Rule::MaxVideoBytes { .. } => Some("bytes"),
        Rule::MaxMedia { .. } | Rule::MaxImages { .. } | Rule::MaxVideos { .. } => Some("files"),
        Rule::OfFiles(rule) => rule.unit(),
        Rule::OfPost(rule) => unit_of_post(rule),
        Rule::MimeTypes { .. } | Rule::NotMixed | Rule::GifAlone | Rule::MediaRequired => None,
    }
}

fn unit_of_post(rule: &PostRule) -> Option<&'static str> {
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

/// The name of what texts are counted in.
pub(crate) fn unit_name(counting: &Counting) -> &'static str {
    match counting.unit {
        Unit::Graphemes | Unit::GraphemesOfUnicode15 => "graphemes",
        Unit::CodePoints => "characters",
        Unit::Utf16 => "utf16_units",
        Unit::Weighted => "weighted",
        Unit::EmojiBytes => "emoji_bytes",
    }
}
