//! What is published, and how it arrives.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::{AltText, FileType, MimeType};
use domain::rules::{PostRule, Rule};
use domain::text::PostText;
use platforms::{Account, Step};
use url::Url;

use crate::conformance::adapter_harness::AdapterHarness;
use crate::conformance::adapter_harness::files::{needs_media, supported_mime_types};
use crate::conformance::fake_platform::{Call, InjectedFault, PublicPost, StartFake};
use crate::conformance::samples::{Sample, sample};

/// The text is public once, unchanged, under the id that the adapter returns.
pub async fn text_is_published_once(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    if needs_media(&account) {
        return;
    }
    let mut post = harness.post(&account, "Hello, world", Vec::new());

    let delivery = harness.deliver(&mut post).await.unwrap();

    assert!(delivery.errors.is_empty(), "{:?}", delivery.errors);
    let url = delivery.published.url.expect("people can be led to it");
    assert!(Url::parse(&url).is_ok(), "{url}");
    let public = PublicPost {
        id: delivery.published.platform_post_id,
        text: harness.fake.displayed_text(&post.text),
        media: Vec::new(),
        reply_to: None,
    };
    assert_eq!(harness.fake.public_posts(), [public]);
}

/// Two posts of a file without a text, ten seconds apart. The call for the second is cut off before or
/// after it was carried out. Where the platform does not accept files alone, the rules say so.
pub async fn files_alone_are_published_once(start: StartFake) {
    for fault in [InjectedFault::CutBefore, InjectedFault::LoseResponse] {
        let harness = AdapterHarness::start(start).await;
        let account = harness.connect().await;
        let files = [1, 2].map(|number| sample(harness.main_type(&account), number));
        let breaches = account.rules.breaches("", std::slice::from_ref(&files[0].attachment), &harness.fake.options());
        let breaches: Vec<_> = breaches.into_iter().map(|it| it.rule).collect();
        if account.rules.rules.contains(&Rule::OfPost(PostRule::TextRequired)) {
            assert_eq!(breaches, ["text_required"]);
            return;
        }
        assert!(breaches.is_empty(), "{breaches:?}");
        let mut posts = files.map(|it| harness.post(&account, "", vec![it]));
        posts[1].publish_at += TimeDelta::seconds(10);
        for post in &mut posts {
            harness.prepare_all(post, &mut Vec::new()).await.unwrap();
        }
        let mut published = Vec::new();
        for (number, post) in (1..).zip(&mut posts) {
            if number == 2 && harness.fake.can_look_up() {
                harness.fake.inject_fault(Call::Publish, fault, 1);
            }
            published.push(harness.deliver(post).await.unwrap().published.platform_post_id);
        }

        let public = harness.fake.public_posts();
        let ids: Vec<_> = public.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, published, "{fault:?}");
        let is_file_alone = |it: &PublicPost| it.text == harness.fake.displayed_text("") && it.media.len() == 1;
        assert!(public.iter().all(is_file_alone), "{public:?}");
    }
}

/// Each type in a post of its own. A file arrives unchanged, or as a fitted picture where the
/// platform requires one.
pub async fn every_supported_file_type_is_published(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let is_complete =
        |it: &MimeType| account.rules.breaches("a", &[sample(*it, 1).attachment], &harness.fake.options()).is_empty();
    for (sent, mime_type) in (1..).zip(supported_mime_types(&account).into_iter().filter(is_complete)) {
        let file = sample(mime_type, 1);
        let mut post = harness.post(&account, mime_type.as_str(), vec![file.clone()]);

        let delivery = harness.deliver(&mut post).await.unwrap();

        assert!(delivery.errors.is_empty(), "{mime_type:?}: {:?}", delivery.errors);
        let public = harness.fake.public_posts();
        assert_eq!(public.len(), sent, "{mime_type:?}");
        let [shown] = public[sent - 1].media.as_slice() else { panic!("{mime_type:?} is not shown") };
        assert_arrived(&file, shown.mime_type, &shown.bytes);
    }
}

/// In the order of the post. Each is opened when its turn comes, so that few are in memory.
pub async fn maximum_number_of_files_is_published_in_order(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let is_image = harness.main_type(&account) == MimeType::Png;
    let count = if is_image { max_image_count(&account).unwrap_or(1).min(20) } else { 1 };
    let count = u8::try_from(count).unwrap();
    let files: Vec<_> = (1..=count).map(|number| sample(harness.main_type(&account), number)).collect();
    let mut post = harness.post(&account, "all of them", files.clone());

    harness.deliver(&mut post).await.unwrap();

    assert!(post.max_open() <= 1, "{} files were open at the same time", post.max_open());
    let public = harness.fake.public_posts();
    assert_eq!(public[0].media.len(), files.len());
    for (file, shown) in files.iter().zip(&public[0].media) {
        assert_arrived(file, shown.mime_type, &shown.bytes);
    }
}

pub async fn files_have_their_alt_texts(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let alt_text = |raw: &str| Some(AltText::parse(raw).unwrap());
    if !account.rules.rules.iter().any(|it| matches!(it, Rule::MaxAltText { .. })) {
        return;
    }
    for mime_type in supported_mime_types(&account) {
        let mut files = vec![sample(mime_type, 1)];
        files[0].attachment.alt_text = alt_text("A boat: \"Zoë\" & crew,\r\nat 船着場 🚣");
        let accepts_two = mime_type == MimeType::Png && max_image_count(&account) != Some(1);
        files.extend(accepts_two.then(|| sample(mime_type, 2)));
        let expected: Vec<Option<String>> =
            files.iter().map(|it| it.attachment.alt_text.as_ref().map(|it| it.as_str().to_owned())).collect();
        let expected = if harness.fake.has_alt_texts(mime_type) { expected } else { vec![None; expected.len()] };
        let mut post = harness.post(&account, &format!("described {mime_type:?}"), files);

        harness.deliver(&mut post).await.unwrap();

        let public = harness.fake.public_posts().pop().unwrap();
        let alt_texts: Vec<_> = public.media.into_iter().map(|it| it.alt_text).collect();
        assert_eq!(alt_texts, expected, "{mime_type:?}");
    }
}

/// `None` if the number of images is not limited.
fn max_image_count(account: &Account) -> Option<u32> {
    let limit = |it: &Rule| match it {
        Rule::MaxImages { max } | Rule::MaxMedia { max } => Some(*max),
        _ => None,
    };
    account.rules.rules.iter().filter_map(limit).min()
}

/// The longest texts that are tried, in any unit.
const ENOUGH: usize = 20_000;

/// The platform accepts the longest text that the rules allow, and refuses one that is longer by
/// one unit. So a rule that is too lax or too strict fails.
pub async fn rules_match_the_platform(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let filler = harness.required_files(&account, 1);
    let attachments: Vec<_> = filler.iter().map(|it| it.attachment.clone()).collect();
    let fits = |text: &str| {
        PostText::parse(text).is_ok_and(|text| {
            account.rules.breaches(Some(text.as_str()), &attachments, &harness.fake.options()).is_empty()
        })
    };

    for unit in ["x", "é", "e\u{301}", "漢", "👩‍👩‍👧‍👦", "🇩🇪", "क्ष"] {
        // The longest text of this unit that the rules accept.
        let (mut low, mut high) = (1, ENOUGH);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if fits(&unit.repeat(middle)) { low = middle } else { high = middle - 1 }
        }
        let longest = unit.repeat(low);
        let mut post = harness.post(&account, &longest, filler.clone());
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.public_posts().last().unwrap().text, longest);

        // A text that no post can have is not limited by the platform.
        if low == ENOUGH || PostText::parse(&unit.repeat(low + 1)).is_err() {
            continue;
        }
        let before = harness.fake.public_posts().len();
        let mut post = harness.post(&account, &unit.repeat(low + 1), filler.clone());
        let error = harness.deliver(&mut post).await.unwrap_err();
        let message = format!("{error:?}");
        assert!(message.starts_with("Refused"), "{low} of {unit:?}, and one more: {message}");
        assert_eq!(harness.fake.public_posts().len(), before);
    }
}

/// Nothing is lost, trimmed or normalized.
pub async fn text_in_all_scripts_arrives_unchanged(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let filler = harness.required_files(&account, 1);
    let texts = [
        "Привет, мир! #мир https://example.invalid/путь?q=1&r=2",
        "日本語のテキスト。#タグ と https://example.invalid/日本",
        "مرحبا بالعالم #سلام",
        "👩‍👩‍👧‍👦 a family, 🇩🇪 a flag, e\u{301} an accent <b>& \"quotes\" &amp; 'more'</b>",
        "two\nlines\n\nand a paragraph",
        "  white space before it, and after it \n",
        "(see https://example.invalid/a_(b)), then @nobody.invalid and a#b #1 #one2.",
    ];
    for text in texts {
        let mut post = harness.post(&account, text, filler.clone());
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.public_posts().last().unwrap().text, harness.fake.displayed_text(text));
    }
    assert_eq!(harness.fake.public_posts().len(), texts.len());
}

/// Also after characters of several bytes: platforms count positions in other units than
/// characters.
pub async fn links_cover_their_urls_in_the_text(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let filler = harness.required_files(&account, 1);
    let mut post =
        harness.post(&account, "👩‍👩‍👧‍👦 (https://example.invalid/1), мир: https://example.invalid/2?q=1.", filler);

    harness.deliver(&mut post).await.unwrap();

    if let Some(links) = harness.fake.links() {
        let written = ["https://example.invalid/1", "https://example.invalid/2?q=1"];
        assert_eq!(links, written.map(|it| harness.fake.displayed_text(it)));
    }
}

/// A worker may die after any step, before its outcome is stored. Then the step is repeated.
pub async fn repeated_steps_change_nothing(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let mut files = vec![sample(harness.main_type(&account), 1)];
    if harness.main_type(&account) == MimeType::Png && max_image_count(&account) != Some(1) {
        files.push(sample(MimeType::Jpeg, 2));
    }
    let mut post = harness.post(&account, "again and again", files.clone());
    if let Some(lead_time) = harness.lead(&[files[0].attachment.clone()]) {
        harness.clock.skip_to(post.publish_at - lead_time);
        loop {
            harness.prepare(&post).await.unwrap();
            match harness.prepare(&post).await.unwrap() {
                Step::Again { progress, at } => {
                    post.progress = Some(progress);
                    harness.clock.skip_to(at);
                }
                Step::Ready { progress } => {
                    post.progress = progress;
                    break;
                }
                Step::NeedsParent { .. } => panic!("a post follows nothing"),
            }
        }
        assert!(harness.fake.public_posts().is_empty(), "preparation makes nothing public");
    }
    harness.clock.skip_to(post.publish_at);
    let since = harness.clock.now();
    let published = harness.publish(&post).await;
    assert!(matches!(published, Ok(_) | Err(AttemptError::Accepted { .. })), "{published:?}");
    harness.clock.advance(harness.publisher().settle_time());

    if !harness.fake.can_look_up() {
        return;
    }
    // The worker died; the next one finds an open intent.
    let found = harness.settle(&post, since, true).await;
    let public = harness.fake.public_posts();
    assert_eq!(public.len(), 1);
    assert_eq!(found.unwrap().platform_post_id, public[0].id);
    assert!(published.is_err() || published.is_ok_and(|it| it.platform_post_id == public[0].id));
    assert_eq!(public[0].media.len(), files.len());
}

/// Checks that a file has arrived: a picture may have been encoded again, any other file has the
/// same bytes. A fake of a platform that transcodes shows it by the type.
fn assert_arrived(file: &Sample, mime_type: MimeType, bytes: &[u8]) {
    let sent = file.attachment.mime_type;
    let is_transcoded =
        mime_type.file_type() == FileType::Video && (sent == MimeType::Gif || sent.file_type() == FileType::Video);
    if (mime_type == sent || is_transcoded) && bytes == file.bytes {
        return;
    }
    assert_eq!(sent.file_type(), FileType::Image, "{mime_type:?} was changed");
    let (sent, shown) = (decode(&file.bytes), decode(bytes));
    assert_eq!((sent.width(), sent.height()), (shown.width(), shown.height()));
    let differing = sent
        .pixels()
        .zip(shown.pixels())
        .filter(|(one, other)| one.0.iter().zip(other.0).any(|(one, other)| 24 < one.abs_diff(other)));
    assert!(differing.count() < 64 * 48 / 20, "another picture arrived");
}

fn decode(bytes: &[u8]) -> image::RgbImage {
    image::load_from_memory(bytes).unwrap().to_rgb8()
}
