//! What each account of a post would show, from the code that publishes: the segments of a target,
//! the text as it is displayed, and its length as the platform counts it.

use std::collections::BTreeMap;

use api::page::PlatformMark;
use domain::connection::Connection;
use domain::id::MediaId;
use domain::media::{Attachment, FileType};
use domain::options::Options;
use domain::post::{Post, Segment, SegmentKind, Target};
use domain::rich_text::{self, DisplayText, Link};
use domain::rules::{Frame, Rules};
use domain::web_address::is_web_address;
use http::Uri;

/// Decides whether the first link of a post is shown as a card.
const LINK_PREVIEW: &str = "link_preview";

pub(super) struct AccountPreview {
    pub(super) avatar: Option<String>,
    pub(super) handle: String,
    pub(super) mark: PlatformMark,
    pub(super) platform: String,
    pub(super) segments: Vec<SegmentPreview>,
}

pub(super) struct SegmentPreview {
    /// "Reply 1"; `None` for the post.
    pub(super) label: Option<String>,
    pub(super) text: Vec<TextPart>,
    pub(super) is_hidden: bool,
    /// "212 of 300 characters".
    pub(super) length: Option<String>,
    pub(super) images: Vec<ImagePreview>,
    /// The kinds of the other files, such as "Video".
    pub(super) others: Vec<&'static str>,
    /// Changes of the images.
    pub(super) notes: Vec<String>,
    pub(super) errors: Vec<String>,
    /// The host of the first link.
    pub(super) card: Option<String>,
}

pub(super) struct ImagePreview {
    pub(super) link: String,
    /// `None` if the image is shown as it is.
    pub(super) frame: Option<Frame>,
}

pub(super) struct TextPart {
    pub(super) text: String,
    pub(super) is_link: bool,
}

pub(super) struct Previews<'a> {
    pub(super) post: &'a Post,
    pub(super) connections: &'a [Connection],
    pub(super) links: &'a BTreeMap<MediaId, String>,
    pub(super) has_option: &'a dyn Fn(&str, &str) -> bool,
}

impl Previews<'_> {
    pub(super) fn all(&self) -> Vec<AccountPreview> {
        let account = |target: &Target| {
            let connection = self.connections.iter().find(|it| it.connection_id == target.connection_id)?;
            Some(self.account(connection, target))
        };
        self.post.targets.iter().filter_map(account).collect()
    }

    fn account(&self, account: &Connection, target: &Target) -> AccountPreview {
        let has_cards = (self.has_option)(&account.provider, LINK_PREVIEW);
        let segments = self.post.segments(target).into_iter().enumerate();
        AccountPreview {
            avatar: account.profile.avatar.clone().filter(|it| is_web_address(it)),
            handle: account.profile.shown_name(),
            mark: PlatformMark::new(&account.provider),
            platform: account.rules.title.clone(),
            segments: segments.map(|(index, it)| self.segment(index, &it, account, target, has_cards)).collect(),
        }
    }

    fn segment(
        &self,
        index: usize,
        segment: &Segment<'_>,
        account: &Connection,
        target: &Target,
        has_cards: bool,
    ) -> SegmentPreview {
        let of_replies;
        let options = match segment.kind {
            SegmentKind::Post => &target.options,
            SegmentKind::Reply => {
                of_replies = target.options.of_replies();
                &of_replies
            }
            SegmentKind::Comment => Options::NONE,
        };
        let rules = &account.rules;
        let (text, links) = displayed(segment.text, rules);
        let other = |it: &Attachment| match it.mime_type.file_type() {
            FileType::Image => None,
            FileType::Video => Some("Video"),
            FileType::Document => Some("Document"),
        };
        SegmentPreview {
            label: match segment.kind {
                SegmentKind::Post => None,
                SegmentKind::Reply => Some(format!("Reply {index}")),
                SegmentKind::Comment => Some("First comment".to_owned()),
            },
            text: parts(&text, &links),
            is_hidden: segment.kind == SegmentKind::Post && rules.hides_text(options) && !text.is_empty(),
            // The text of a comment has limits of its own.
            length: (segment.kind != SegmentKind::Comment)
                .then(|| rules.text_length(segment.text, segment.media, options))
                .flatten()
                .map(|it| it.to_string()),
            images: self.images(segment.media, rules, options),
            others: segment.media.iter().filter_map(other).collect(),
            notes: notes(segment.media, rules, options),
            errors: errors(segment, rules, options),
            card: links
                .first()
                .filter(|_| has_cards && segment.media.is_empty() && segment.kind == SegmentKind::Post)
                .filter(|_| options.flag(LINK_PREVIEW) != Some(false))
                .and_then(|it| it.uri.parse::<Uri>().ok()?.host().map(str::to_owned)),
        }
    }

    fn images(&self, media: &[Attachment], rules: &Rules, options: &Options) -> Vec<ImagePreview> {
        let images = media.iter().enumerate().filter(|(_, it)| it.mime_type.file_type() == FileType::Image);
        let image = |(index, file): (usize, &Attachment)| {
            let link = self.links.get(&file.media_id)?.clone();
            Some(ImagePreview { link, frame: rules.image_frame(media, index, options) })
        };
        images.filter_map(image).collect()
    }
}

/// With the links at their positions, shortened where the platform does so.
fn displayed(written: &str, rules: &Rules) -> (String, Vec<Link>) {
    if rules.shortens_links() {
        let DisplayText { text, links } = DisplayText::new(written);
        return (text, links);
    }
    (written.to_owned(), rich_text::links(written))
}

fn parts(text: &str, links: &[Link]) -> Vec<TextPart> {
    let part = |text: &str, is_link| TextPart { text: text.to_owned(), is_link };
    let mut parts = Vec::new();
    let mut end = 0;
    for link in links {
        parts.push(part(&text[end..link.range.start], false));
        parts.push(part(&text[link.range.clone()], true));
        end = link.range.end;
    }
    parts.push(part(&text[end..], false));
    parts.retain(|it| !it.text.is_empty());
    parts
}

fn errors(segment: &Segment<'_>, rules: &Rules, options: &Options) -> Vec<String> {
    let violations = match segment.kind {
        SegmentKind::Post => rules.breaches(segment.text, segment.media, options),
        SegmentKind::Reply => rules.reply_breaches(segment.text, segment.media, options),
        // An option, which the form checks.
        SegmentKind::Comment => Vec::new(),
    };
    violations.into_iter().map(|it| format!("{}.", it.message)).collect()
}

fn notes(media: &[Attachment], rules: &Rules, options: &Options) -> Vec<String> {
    let note = |(index, file): (usize, &Attachment)| {
        let number = index + 1;
        let resized = rules.resize_descriptions(file, options).into_iter();
        let frame = rules.image_frame(media, index, options);
        let framed = match frame {
            Some(it) if it.is_cropped() => Some(format!("File {number} is cropped to the aspect ratio of file 1.")),
            Some(_) => Some(format!("File {number} gets white borders.")),
            None => None,
        };
        resized.map(|it| format!("File {number} is made smaller: {it}.")).chain(framed).collect::<Vec<_>>()
    };
    media.iter().enumerate().flat_map(note).collect()
}

#[cfg(test)]
mod tests {
    use domain::media::{Facts, MimeType, Pixels, Ratio};
    use domain::options::OptionValue;
    use domain::post::{NewPost, NewSegment};
    use domain::rules::{Counting, FileRule, Rule};
    use domain::testing::{a_connection, a_new_post, a_user, accounts, an_attachment, ids, noon, text};

    use super::*;

    fn previews(new: NewPost, account: &Connection, options: Options) -> Vec<AccountPreview> {
        let accounts = accounts(std::slice::from_ref(account));
        let mut post = Post::create(new, &[], &a_user(), &accounts, &ids(), noon()).unwrap();
        post.targets[0].options = options;
        let connections = std::slice::from_ref(account);
        Previews { post: &post, connections, links: &BTreeMap::new(), has_option: &|_, _| true }.all()
    }

    fn shown(segment: &SegmentPreview) -> String {
        let part = |it: &TextPart| if it.is_link { format!("[{}]", it.text) } else { it.text.clone() };
        segment.text.iter().map(part).collect()
    }

    #[test]
    fn links_are_shown_and_counted_as_the_platform_shows_them() {
        let mut account = a_connection(&a_user());
        let written = "See https://example.com/a/very/long/path/ now";
        let new = || NewPost { text: text(written), ..a_new_post(None, std::slice::from_ref(&account)) };
        let segment = &previews(new(), &account, Options::default())[0].segments[0];
        assert_eq!(shown(segment), "See [https://example.com/a/very/long/path/] now");
        assert_eq!(segment.length.as_deref(), Some("45 of 500 characters"));
        assert_eq!(segment.card.as_deref(), Some("example.com"));

        let new = new();
        account.rules = Rules::new("Example", [Rule::max_text(30, Counting::graphemes().short_links())]);
        let no_card = [(LINK_PREVIEW.to_owned(), OptionValue::Flag(false))].into_iter().collect();
        let segment = &previews(new, &account, no_card)[0].segments[0];
        assert_eq!(shown(segment), "See [example.com/a/very/long/...] now");
        assert_eq!(segment.length.as_deref(), Some("35 of 30 characters"));
        assert_eq!(
            segment.errors,
            ["Example accepts at most 30 characters (links count as they are shown, shortened); this has 35."]
        );
        assert_eq!(segment.card, None);
    }

    #[test]
    fn changed_images_are_noted() {
        let image = |width, height| {
            let facts = Some(Facts { pixels: Some(Pixels { width, height }), ..Facts::default() });
            Attachment { mime_type: MimeType::Jpeg, facts, ..an_attachment(1) }
        };
        let (min, max) = (Ratio::hundredths(80), Ratio::hundredths(191));
        let borders = FileRule::ImageRatioOrBorders { min, max, option: "fit".to_owned(), is: "borders".to_owned() };
        let fitted = FileRule::FittedImageSide { max: 1_000 };
        let rules = Rules::new("Example", [fitted, borders, FileRule::CroppedToFirst].map(Rule::OfFiles));
        let options = [("fit".to_owned(), OptionValue::Text("borders".to_owned()))].into_iter().collect();

        assert_eq!(
            notes(&[image(500, 2_000), image(300, 300)], &rules, &options),
            [
                "File 1 is made smaller: 1000 pixels on its longer side instead of 2000.",
                "File 1 gets white borders.",
                "File 2 is cropped to the aspect ratio of file 1.",
            ]
        );
    }

    #[test]
    fn replies_and_first_comment_follow_the_post() {
        let account = a_connection(&a_user());
        let reply = NewSegment { field: "thread.0".to_owned(), text: text("more"), media: Vec::new() };
        let new = NewPost { thread: vec![reply], ..a_new_post(None, std::slice::from_ref(&account)) };
        let comment = [("first_comment".to_owned(), OptionValue::Text("the first".to_owned()))].into_iter().collect();

        let all = previews(new, &account, comment);

        let labeled: Vec<_> = all[0].segments.iter().map(|it| (it.label.as_deref(), shown(it))).collect();
        assert_eq!(
            labeled,
            [
                (None, "Hello".to_owned()),
                (Some("Reply 1"), "more".to_owned()),
                (Some("First comment"), "the first".to_owned()),
            ]
        );
        assert!(all[0].segments[2].length.is_none());
    }
}
