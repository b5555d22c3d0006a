use domain::media::{MAX_FETCHED_PICTURE_BYTES, MimeType, Ratio, VideoCodec};
use domain::options::{OptionKind, OptionSpec, TextForm};
use domain::post::FIRST_COMMENT;
use domain::rules::{Counting, FileRule, OptionCondition, PostRule, Rule, Rules};

use super::TITLE;
use super::tag::Tag;

pub(super) const KIND: &str = "kind";
pub(super) const POST: &str = "post";
pub(super) const REEL: &str = "reel";
pub(super) const STORY: &str = "story";

pub(super) const FIT: &str = "fit";
pub(super) const BORDERS: &str = "borders";

pub(super) const COLLABORATORS: &str = "collaborators";

pub(super) const USER_TAGS: &str = "user_tags";

pub(super) const LOCATION: &str = "location";

pub(super) const SHARE_TO_FEED: &str = "share_to_feed";

pub(super) const COVER: &str = "cover_ms";

/// The aspect ratios that the feed permits.
pub(super) const NARROWEST: Ratio = Ratio::hundredths(80);
pub(super) const WIDEST: Ratio = Ratio::hundredths(191);

/// In pixels. Instagram scales pictures down to a width of 1,440 pixels.
pub(super) const MAX_SIDE: u32 = 8_192;

const NAME: TextForm = TextForm { pattern: "^[A-Za-z0-9._]+$", has: is_username, max: 30, examples: &["keeper_ada"] };

/// A username, with or without a position in the picture.
const TAG: TextForm = TextForm {
    pattern: "^[A-Za-z0-9._]+( (0|1|0?\\.[0-9]+|1\\.0+) (0|1|0?\\.[0-9]+|1\\.0+))?$",
    has: |it| Tag::read(it).is_some(),
    max: 50,
    examples: &["keeper_ada", "keeper_ada 0.5 0.8"],
};

const PLACE: TextForm = TextForm {
    pattern: "^[0-9]+$",
    has: |it| it.bytes().all(|it| it.is_ascii_digit()),
    max: 20,
    examples: &["7640348500"],
};

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        COLLABORATORS,
        OptionKind::TextsOf { most: 3, form: &NAME },
        "Accounts to invite as co-authors: up to 3 usernames without an @. Not for stories.",
    ),
    OptionSpec::new(
        COVER,
        OptionKind::Number { min: 0, max: 900_000 },
        "The frame of the video to show as its cover: its position in milliseconds. Defaults to the beginning.",
    ),
    OptionSpec::new(
        FIRST_COMMENT,
        OptionKind::Text { max: 2_200 },
        "A comment that the account adds below the post. If it fails, the post stays published.",
    ),
    OptionSpec::new(
        FIT,
        OptionKind::OneOf(&[BORDERS]),
        "`borders` adds white borders to images that are too tall or too wide for Instagram. By default, they are refused.",
    ),
    OptionSpec::new(
        KIND,
        OptionKind::OneOf(&[POST, REEL, STORY]),
        "Whether to publish a post, a reel (one video) or a story (one image or video, public for a day, without \
         the text). Defaults to a reel for a single video, otherwise to a post.",
    ),
    OptionSpec::new(
        LOCATION,
        OptionKind::TextOf(&PLACE),
        "The location: the numeric id of a Facebook Page that has an address.",
    ),
    OptionSpec::new(
        SHARE_TO_FEED,
        OptionKind::Flag,
        "Whether a reel may also appear in the feed, and not only among reels. Defaults to true.",
    ),
    OptionSpec::new(
        USER_TAGS,
        OptionKind::TextsOf { most: 20, form: &TAG },
        "Accounts to tag in the first image or the video: a username, or for images a username and its position, \
         such as `keeper_ada 0.5 0.8` (from the left and from the top, each from 0 to 1).",
    ),
];

fn is_username(it: &str) -> bool {
    it.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_'))
}

/// The unit of the text's length is not documented; UTF-16 is the strictest usual one.
pub(super) fn rules() -> Rules {
    use MimeType::{Jpeg, Mp4, Png, Quicktime, Webp};
    let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let shown = [
        Rule::max_text(2_200, Counting::utf16()),
        Rule::OfPost(PostRule::MaxHashtags { max: 30 }),
        Rule::OfPost(PostRule::MaxMentions { max: 20 }),
        Rule::OfFiles(FileRule::MaxDuration { max: 900 }),
    ];
    let post_rules = [
        Rule::max_alt_text(1_000, Counting::utf16()),
        Rule::OfFiles(FileRule::ImageRatioOrBorders {
            min: NARROWEST,
            max: WIDEST,
            option: FIT.to_owned(),
            is: BORDERS.to_owned(),
        }),
        Rule::OfFiles(FileRule::CroppedToFirst),
    ];
    let story_rules = [
        Rule::max_media(1),
        Rule::max_video_bytes(100_000_000),
        Rule::OfFiles(FileRule::MaxDuration { max: 60 }),
        Rule::OfPost(PostRule::TextNotShown),
        Rule::OfPost(PostRule::RefusedOptions {
            options: names(&[COLLABORATORS, COVER, FIRST_COMMENT, FIT, LOCATION, SHARE_TO_FEED]),
        }),
    ];
    let common_rules = [
        Rule::MediaRequired,
        Rule::max_media(10),
        Rule::mime_types([Jpeg, Png, Webp, Mp4, Quicktime]),
        Rule::max_video_bytes(300_000_000),
        Rule::OfFiles(FileRule::MinDuration { min: 3 }),
        Rule::OfFiles(FileRule::MinFrameRate { min: 23 }),
        Rule::OfFiles(FileRule::MaxFrameRate { max: 60 }),
        Rule::OfFiles(FileRule::MaxVideoWidth { max: 1_920 }),
        Rule::OfFiles(FileRule::VideoRatio { min: Ratio::hundredths(1), max: Ratio::hundredths(1_000) }),
        Rule::OfFiles(FileRule::VideoCodecs { codecs: vec![VideoCodec::H264, VideoCodec::Hevc] }),
        Rule::OfFiles(FileRule::FittedImageBytes { max: MAX_FETCHED_PICTURE_BYTES }),
        Rule::OfFiles(FileRule::FittedImageSide { max: MAX_SIDE }),
        Rule::OfPost(PostRule::VideoOptions { options: names(&[COVER, SHARE_TO_FEED]) }),
    ];
    Rules::new(TITLE, common_rules)
        .with_rules_when(OptionCondition::option(KIND, [POST, REEL]).or_absent(), shown)
        .with_rules_when(OptionCondition::option(KIND, [POST]).or_absent(), post_rules)
        .with_rules_when(
            OptionCondition::option(KIND, [REEL]),
            [Rule::OfPost(PostRule::MinVideos { min: 1 }), Rule::max_media(1)],
        )
        .with_rules_when(OptionCondition::option(KIND, [STORY]), story_rules)
}
