//! The kinds of posts: a post, a reel or a story; and what each may have.

use domain::delivery::AttemptError;
use domain::media::{Attachment, FileType, MimeType, PictureBounds, Ratio};
use domain::post::FIRST_COMMENT;
use domain::rules::{Counting, FileRule, OptionCondition, PostRule, Rule, Rules};

use super::{KIND, LINK, TITLE, VIDEO_TITLE};
use crate::publish_request::PublishRequest;

/// Bounds of pictures that Facebook does not accept unchanged: "files can not exceed 4 MB" on most
/// of its pages, 10 MB on some.
pub(super) const BOUNDS: PictureBounds = PictureBounds::new(4_000_000, 8_192);

#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'a> {
    /// Text, with or without a link and pictures.
    Post(&'a [Attachment]),
    Video(&'a Attachment),
    Reel(&'a Attachment),
    PhotoStory(&'a [Attachment]),
    VideoStory(&'a Attachment),
}

impl<'a> Form<'a> {
    pub(super) fn from_request(request: &PublishRequest<'a>) -> Result<Self, AttemptError> {
        let is_video = |it: &Attachment| it.mime_type.file_type() == FileType::Video;
        let refused = |reason: &str| Err(AttemptError::Refused { reason: reason.to_owned() });
        match (request.options.text(KIND).unwrap_or("post"), request.media) {
            ("reel", [file]) if is_video(file) => Ok(Self::Reel(file)),
            ("reel", _) => refused("option kind: a reel is one video; add it, or leave the option out"),
            ("story", [file]) if is_video(file) => Ok(Self::VideoStory(file)),
            ("story", [_]) => Ok(Self::PhotoStory(request.media)),
            ("story", _) => refused("option kind: a story is one image or one video"),
            (_, [file]) if is_video(file) => Ok(Self::Video(file)),
            (_, files) if files.iter().any(is_video) => refused("a Facebook post has images or one video, not both"),
            (_, files) => Ok(Self::Post(files)),
        }
    }

    pub(super) fn pictures(self) -> &'a [Attachment] {
        match self {
            Self::Post(files) | Self::PhotoStory(files) => files,
            Self::Video(_) | Self::Reel(_) | Self::VideoStory(_) => &[],
        }
    }

    pub(super) fn video(self) -> Option<&'a Attachment> {
        match self {
            Self::Video(file) | Self::Reel(file) | Self::VideoStory(file) => Some(file),
            Self::Post(_) | Self::PhotoStory(_) => None,
        }
    }
}

pub(super) fn rules(may_comment: bool) -> Rules {
    use MimeType::{Gif, Jpeg, Mp4, Png, Quicktime, Webp};
    let refused = |options: &[&str]| {
        Rule::OfPost(PostRule::RefusedOptions { options: options.iter().map(|it| (*it).to_owned()).collect() })
    };
    let mut rules = vec![
        Rule::max_text(63_206, Counting::utf16()),
        Rule::max_images(10),
        Rule::max_videos(1),
        Rule::NotMixed,
        Rule::mime_types([Jpeg, Png, Gif, Webp, Mp4, Quicktime]),
        Rule::max_video_bytes(10_000_000_000),
        Rule::OfFiles(FileRule::MaxDuration { max: 14_400 }),
        Rule::OfFiles(FileRule::FittedImageBytes { max: BOUNDS.max_bytes }),
        Rule::max_alt_text(1_000, Counting::utf16()),
        Rule::OfPost(PostRule::NotWithMedia { options: vec![LINK.to_owned()] }),
        Rule::OfPost(PostRule::VideoOptions { options: vec![VIDEO_TITLE.to_owned()] }),
    ];
    if !may_comment {
        rules.push(refused(&[FIRST_COMMENT]));
    }
    let vertical_video = || {
        let (min, max) = (Ratio::hundredths(55), Ratio::hundredths(57));
        [FileRule::MinDuration { min: 3 }, FileRule::MaxFrameRate { max: 60 }, FileRule::VideoRatio { min, max }]
            .map(Rule::OfFiles)
    };
    let mut reel_rules = vec![Rule::OfPost(PostRule::MinVideos { min: 1 }), refused(&[LINK])];
    reel_rules.push(Rule::OfFiles(FileRule::MaxDuration { max: 90 }));
    reel_rules.extend(vertical_video());
    let mut story_rules = vec![Rule::MediaRequired, Rule::max_media(1), Rule::OfPost(PostRule::TextNotShown)];
    story_rules.push(refused(&[FIRST_COMMENT, LINK, VIDEO_TITLE]));
    story_rules.push(Rule::OfFiles(FileRule::MaxDuration { max: 60 }));
    story_rules.extend(vertical_video());
    Rules::new(TITLE, rules)
        .with_rules_when(OptionCondition::option(KIND, ["reel"]), reel_rules)
        .with_rules_when(OptionCondition::option(KIND, ["story"]), story_rules)
}
