//! Behavior specific to Telegram.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

use domain::delivery::{AttemptError, Published, Resolution};
use domain::media::{Facts, MimeType, Pixels};
use domain::options::{OptionValue, Options};
use domain::text::PostText;
use fakes::telegram::{CHANNEL, CHAT, GROUP, TOKEN, Telegram};
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::conformance::samples::{Sample, sample};
use platforms::{ConnectError, FieldValues, RefreshError};

/// The new id of a group that becomes a supergroup.
const SUPERGROUP: i64 = -1_009_876_543_210;

fn typed(token: &str, chat: &str) -> FieldValues {
    FieldValues::from([("token".to_owned(), token.into()), ("chat".to_owned(), chat.into())])
}

fn pictures(count: u8) -> Vec<Sample> {
    (1..=count).map(|it| sample(MimeType::Png, it)).collect()
}

#[tokio::test]
async fn a_channel_may_be_named_by_its_name_its_link_or_its_number() {
    let harness = AdapterHarness::<Telegram>::new().await;
    for chat in [format!("@{CHANNEL}"), CHANNEL.to_owned(), format!("https://t.me/{CHANNEL}"), CHAT.to_string()] {
        let (step, _) = harness.authorize(&typed(TOKEN, &chat)).await.unwrap();
        let platforms::AuthorizeStep::Accounts(accounts) = step else { panic!("{step:?}") };
        assert_eq!(accounts[0].profile.account_id, CHAT.to_string(), "{chat}");
        assert_eq!(accounts[0].profile.profile_url.as_deref(), Some("https://t.me/lighthouse_news"));
    }
}

#[tokio::test]
async fn invalid_input_is_an_error_of_its_field() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let unknown = TOKEN.replace("AAF", "BBF");
    for (token, chat, field) in [
        ("no token", CHANNEL, "token"),
        (unknown.as_str(), CHANNEL, "token"),
        (TOKEN, "@nobody_is_here", "chat"),
        (TOKEN, "a b", "chat"),
    ] {
        let refusal = harness.authorize(&typed(token, chat)).await.map(|it| it.0).unwrap_err();
        let ConnectError::Field { name, message } = refusal else { panic!("{refusal:?}") };
        assert_eq!(name, field, "{message}");
        assert!(!message.contains(TOKEN) && !message.contains(&unknown), "{message}");
    }
}

#[tokio::test]
async fn readers_follow_the_link_to_the_first_message_of_an_album() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let mut first = harness.post(&account, "three of them", pictures(3));
    let mut second = harness.post(&account, "and one", Vec::new());

    let first = harness.deliver(&mut first).await.unwrap().published;
    let second = harness.deliver(&mut second).await.unwrap().published;

    assert_eq!(first.url.as_deref(), Some("https://t.me/lighthouse_news/1"));
    assert_eq!(second.url.as_deref(), Some("https://t.me/lighthouse_news/4"));
}

#[tokio::test]
async fn options_become_fields_of_telegram() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let flag = |name: &str, value| (name.to_owned(), OptionValue::Flag(value));
    let word = |name: &str, value: &str| (name.to_owned(), OptionValue::Text(value.to_owned()));
    let options: Options = [
        flag("silent", true),
        flag("protect_content", true),
        flag("link_preview", false),
        word("parse_mode", "html"),
        ("thread".to_owned(), OptionValue::Number(7)),
    ]
    .into_iter()
    .collect();
    let mut post = harness.post(&account, "<b>bold</b> &amp; more", Vec::new());
    post.options = options;

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.public_posts()[0].text, "bold & more");
    let said = [
        "disable_notification=true",
        "protect_content=true",
        "message_thread_id=7",
        "link_preview_options={\"is_disabled\":true}",
        "parse_mode=HTML",
    ];
    assert_eq!(harness.fake.latest_fields(), said);

    let mut plain = harness.post(&account, "<b>not bold</b>", pictures(1));
    harness.deliver(&mut plain).await.unwrap();
    assert_eq!(harness.fake.public_posts()[1].text, "<b>not bold</b>");
    assert!(harness.fake.latest_fields().is_empty());
}

#[tokio::test]
async fn document_is_sent_as_a_document_with_its_caption() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let mut post = harness.post(&account, "our plan", vec![sample(MimeType::Pdf, 1)]);

    harness.deliver(&mut post).await.unwrap();

    let public = harness.fake.public_posts().pop().unwrap();
    assert_eq!((public.text.as_str(), public.media[0].mime_type), ("our plan", MimeType::Pdf));
}

#[tokio::test]
async fn reply_follows_the_first_message_of_an_album() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let root = harness.deliver(&mut harness.post(&account, "one", Vec::new())).await.unwrap().published;
    let mut parent = root.clone();
    for (text, files) in [("two", 3), ("", 2), ("four", 1), ("", 1), ("six", 0)] {
        let mut reply = harness.reply(&account, (&root, &parent), text, pictures(files));
        reply.options = [("thread".to_owned(), OptionValue::Number(7))].into_iter().collect();

        let published = harness.deliver(&mut reply).await.unwrap().published;

        let shown = harness.fake.public_posts().pop().unwrap();
        assert_eq!((shown.text.as_str(), shown.media.len()), (text, usize::from(files)));
        assert_eq!(shown.reply_to, Some(parent.platform_post_id), "{text} with {files} files");
        assert_eq!(harness.fake.latest_fields(), ["message_thread_id=7"]);
        parent = published;
    }
}

#[tokio::test]
async fn reply_to_a_deleted_message_is_refused() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let deleted = Published::new("404", harness.clock.now());

    let refused = harness.publish(&harness.reply(&account, (&deleted, &deleted), "two", Vec::new())).await.unwrap_err();

    assert!(
        matches!(&refused, AttemptError::Refused { reason } if reason.contains("message to be replied not found")),
        "{refused:?}"
    );
}

/// A bot cannot read what the chat shows, so the thread ends there.
#[tokio::test]
async fn lost_reply_is_left_to_the_user() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let root = harness.deliver(&mut harness.post(&account, "one", Vec::new())).await.unwrap().published;
    let reply = harness.reply(&account, (&root, &root), "two", Vec::new());
    let since = harness.clock.now();
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    harness.publish(&reply).await.unwrap_err();

    let resolution = harness.resolve(&reply, since).await;

    assert!(matches!(resolution, Resolution::Undeterminable { .. }), "{resolution:?}");
}

#[tokio::test]
async fn a_group_that_moved_is_followed() {
    let harness = AdapterHarness::<Telegram>::new().await;
    harness.fake.make_group();
    let account = harness.connect().await;
    harness.fake.moves_to(SUPERGROUP);

    for (sent, text) in (1..).zip(["here as well", "and here", "and here again"]) {
        let mut post = harness.post(&account, text, pictures(1));
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.public_posts().len(), sent);
    }

    // The refused call, and the call that reads the group's new id.
    assert_eq!(harness.fake.calls_to_old_id(), 2, "the new id is kept");
    let kept = harness.credentials().await.unwrap();
    let about =
        harness.connector().account_details(&account.profile, &kept, harness.clock.now()).await.unwrap().unwrap();
    assert_eq!(about.profile.account_id, account.profile.account_id, "it is the same account");
}

#[tokio::test]
async fn only_telegrams_response_ends_a_group() {
    let harness = AdapterHarness::<Telegram>::new().await;
    harness.fake.make_group();
    harness.connect().await;
    let pages = [401, 403, 404].map(|status| InjectedFault::Intermediary { status });
    for fault in
        pages.into_iter().chain([InjectedFault::CutBefore, InjectedFault::ServerError, InjectedFault::HtmlPage])
    {
        harness.fake.inject_fault(Call::Refresh, fault, 1);
        let refusal = harness.refresh().await.unwrap_err();
        assert!(matches!(refusal, RefreshError::Unreachable(_)), "{fault:?}: {refusal:?}");
    }
    harness.refresh().await.unwrap();

    harness.fake.revoke();
    let refusal = harness.refresh().await.unwrap_err();
    assert!(matches!(refusal, RefreshError::Gone(_)), "{refusal:?}");
}

#[tokio::test]
async fn group_that_moved_can_be_connected_by_its_old_id() {
    let harness = AdapterHarness::<Telegram>::new().await;
    harness.fake.make_group();
    harness.fake.moves_to(SUPERGROUP);

    let (step, _) = harness.authorize(&typed(TOKEN, &GROUP.to_string())).await.unwrap();

    let platforms::AuthorizeStep::Accounts(accounts) = step else { panic!("{step:?}") };
    assert_eq!(accounts[0].profile.account_id, SUPERGROUP.to_string());
}

/// Error messages of the Bot API server, of `can_send_message` in `TDLib`, and of `MTProto`.
#[tokio::test]
async fn bot_that_may_not_write_waits_for_its_person() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    for description in [
        "have no rights to send a message",
        "have no write access to the chat",
        "not enough rights to send text messages to the chat",
        "need administrator rights in the channel chat",
        "CHAT_WRITE_FORBIDDEN",
        "CHAT_ADMIN_REQUIRED",
        "CHAT_RESTRICTED",
        "CHANNEL_PRIVATE",
        "USER_BANNED_IN_CHANNEL",
        "group chat was deactivated",
    ] {
        let post = harness.post(&account, "nobody hears", Vec::new());
        harness.fake.refuses(Some(description));

        let error = harness.publish(&post).await.unwrap_err();

        assert!(matches!(&error, AttemptError::Unauthorized { reason } if reason.contains(description)), "{error:?}");
    }
    harness.fake.refuses(None);
    harness.deliver(&mut harness.post(&account, "it may again", Vec::new())).await.unwrap();
}

#[tokio::test]
async fn chat_without_a_kind_of_file_refuses_the_post_alone() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    harness.fake.forbid_files("photos");
    for count in [1, 2] {
        let mut post = harness.post(&account, "not here", pictures(count));
        let refused = harness.deliver(&mut post).await.unwrap_err();
        let actual = "not enough rights to send photos to the chat";
        assert!(matches!(&refused, AttemptError::Refused { reason } if reason.contains(actual)), "{refused:?}");
    }
    harness.deliver(&mut harness.post(&account, "words are", Vec::new())).await.unwrap();
}

#[tokio::test]
async fn album_of_which_a_file_failed_may_be_public_in_part() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let mut files = pictures(3);
    // The stored facts of the file do not show the ratio.
    files[1].bytes = tall_png();
    files[1].attachment.size_bytes = files[1].bytes.len() as u64;
    let post = harness.due(&account, "two of three", files).await;

    let error = harness.publish(&post).await.unwrap_err();

    let AttemptError::Unknown { reason, .. } = &error else { panic!("{error:?}") };
    assert!(reason.contains("failed to send message #2"), "{reason}");
    assert_eq!(harness.fake.public_posts()[0].media.len(), 2);
}

#[tokio::test]
async fn only_mpeg_4_is_a_video() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let errors = |mime_type| {
        let files = [sample(mime_type, 1).attachment];
        account.rules.breaches(&PostText::parse("look").unwrap(), &files, &Options::default())
    };
    assert_eq!(errors(MimeType::Mp4), []);
    assert_eq!(errors(MimeType::Quicktime)[0].field, "media");

    let mut post = harness.post(&account, "a document", vec![sample(MimeType::Png, 1), sample(MimeType::Quicktime, 2)]);
    let refused = harness.deliver(&mut post).await.unwrap_err();
    let actual = "can't use the media of the specified type in the album";
    assert!(matches!(&refused, AttemptError::Refused { reason } if reason.contains(actual)), "{refused:?}");
}

/// A picture whose height is more than twenty times its width.
fn tall_png() -> Vec<u8> {
    let mut bytes = sample(MimeType::Png, 2).bytes;
    // Its header (IHDR): width and height, four bytes each.
    bytes[16..24].copy_from_slice(&[0, 0, 0, 10, 0, 0, 1, 44]);
    bytes
}

#[tokio::test]
async fn a_token_that_was_revoked_asks_for_the_person() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    harness.fake.revoke_token();
    let post = harness.post(&account, "nobody hears", Vec::new());

    let error = harness.publish(&post).await.unwrap_err();

    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
}

#[tokio::test]
async fn more_than_a_chat_takes_in_a_minute_waits() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let posts: Vec<_> = (0..21).map(|it| harness.post(&account, &format!("number {it}"), Vec::new())).collect();
    for post in &posts[..20] {
        harness.publish(post).await.unwrap();
    }

    let error = harness.publish(&posts[20]).await.unwrap_err();

    let AttemptError::RetryLater { retry_at: Some(at), .. } = error else { panic!("{error:?}") };
    assert_eq!(at, harness.clock.now() + chrono::TimeDelta::seconds(60));
}

#[tokio::test]
async fn a_picture_that_is_too_large_is_made_smaller_first() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let mut large = sample(MimeType::Webp, 1);
    large.attachment.facts = Some(Facts { pixels: Pixels::new(6_000, 100), ..Facts::default() });
    let mut post = harness.post(&account, "small enough", vec![large, sample(MimeType::Jpeg, 2)]);

    harness.deliver(&mut post).await.unwrap();

    let shown: Vec<_> = harness.fake.public_posts()[0].media.iter().map(|it| it.mime_type).collect();
    assert_eq!(shown, [MimeType::Png, MimeType::Jpeg], "the first one was made anew");
}

#[tokio::test]
async fn each_file_of_an_album_is_opened_when_its_turn_comes() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let post = harness.due(&account, "ten of them", pictures(10)).await;

    harness.publish(&post).await.unwrap();

    let arrived: Vec<_> = harness.fake.public_posts()[0].media.iter().map(|it| it.bytes.clone()).collect();
    assert_eq!(arrived, pictures(10).into_iter().map(|it| it.bytes).collect::<Vec<_>>());
    assert_eq!(post.max_open(), 1);
}

#[tokio::test]
async fn a_text_that_is_marked_up_is_as_long_as_it_is_shown() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let files: Vec<_> = pictures(1).into_iter().map(|it| it.attachment).collect();
    for (mode, word, is_counted) in
        [("none", "<b>boat</b> ", true), ("html", "<b>boat</b> ", false), ("markdown", "*_~boat~_* ", false)]
    {
        let options: Options = [("parse_mode".to_owned(), OptionValue::from(mode))].into_iter().collect();
        for (words, media) in [(200, files.as_slice()), (800, &[])] {
            let words = PostText::parse(&word.repeat(words)).unwrap();
            let errors = account.rules.breaches(&words, media, &options);
            assert_eq!(!errors.is_empty(), is_counted, "{mode}: {errors:?}");
        }
    }

    let marked_up = |words: usize| {
        let mut post = harness.post(&account, &"<b>boat</b> ".repeat(words), pictures(1));
        post.options = [("parse_mode".to_owned(), OptionValue::from("html"))].into_iter().collect();
        post
    };
    harness.deliver(&mut marked_up(200)).await.unwrap();
    assert_eq!(harness.fake.public_posts()[0].text, "boat ".repeat(200).trim());
    let refused = harness.deliver(&mut marked_up(210)).await.unwrap_err();
    assert!(matches!(&refused, AttemptError::Refused { reason } if reason.contains("too long")), "{refused:?}");
}

#[tokio::test]
async fn a_text_beside_files_is_shorter() {
    let harness = AdapterHarness::<Telegram>::new().await;
    let account = harness.connect().await;
    let files: Vec<_> = pictures(1).into_iter().map(|it| it.attachment).collect();
    let errors = |length: usize| {
        let text = PostText::parse(&"x".repeat(length)).unwrap();
        account.rules.breaches(&text, &files, &Options::default())
    };
    assert_eq!(errors(1_024), []);
    assert_eq!(errors(1_025)[0].field, "content");

    let mut longest = harness.post(&account, &"x".repeat(1_024), pictures(1));
    harness.deliver(&mut longest).await.unwrap();
    let mut longer = harness.post(&account, &"x".repeat(1_025), pictures(1));
    let refused = harness.deliver(&mut longer).await.unwrap_err();
    assert!(matches!(refused, AttemptError::Refused { .. }), "{refused:?}");
}
