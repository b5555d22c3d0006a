//! Behavior specific to Telegram.

use fakes::telegram::{CHANNEL, CHAT, GROUP, TOKEN, Telegram};

use crate::prelude::*;

/// The new id of a group that becomes a supergroup.
const SUPERGROUP: i64 = -1_009_876_543_210;

fn typed(token: &str, chat: &str) -> FieldValues {
    FieldValues::from([("token".to_owned(), token.into()), ("chat".to_owned(), chat.into())])
}

fn pictures(count: u8) -> Vec<Sample> {
    (1..=count).map(|it| sample(MimeType::Png, it)).collect()
}

#[tokio::test]
async fn channel_is_found_by_its_username_link_or_id() {
    let harness = AdapterHarness::<Telegram>::new().await;
    for chat in [format!("@{CHANNEL}"), CHANNEL.to_owned(), format!("https://t.me/{CHANNEL}"), CHAT.to_string()] {
        let profile = account_for(&harness, &typed(TOKEN, &chat)).await.profile;
        assert_eq!(profile.account_id, CHAT.to_string(), "{chat}");
        assert_eq!(profile.profile_url.as_deref(), Some("https://t.me/lighthouse_news"));
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
        let (name, message) = field_error(&harness, &typed(token, chat)).await;
        assert_eq!(name, field, "{message}");
        assert!(!message.contains(TOKEN) && !message.contains(&unknown), "{message}");
    }
}

#[tokio::test]
async fn url_leads_to_the_first_message_of_an_album() {
    let (harness, account) = connected::<Telegram>().await;
    let first = harness.deliver(&mut harness.post(&account, "three of them", pictures(3))).await.unwrap().published;
    let second = publish_text(&harness, &account, "and one").await;

    assert_eq!(first.url.as_deref(), Some("https://t.me/lighthouse_news/1"));
    assert_eq!(second.url.as_deref(), Some("https://t.me/lighthouse_news/4"));
}

#[tokio::test]
async fn options_become_fields_of_telegram() {
    let (harness, account) = connected::<Telegram>().await;
    let mut post = harness.post(&account, "<b>bold</b> &amp; more", Vec::new());
    post.options = options(json!({
        "silent": true, "protect_content": true, "link_preview": false, "parse_mode": "html", "thread": 7,
    }));

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

    harness.deliver(&mut harness.post(&account, "<b>not bold</b>", pictures(1))).await.unwrap();
    assert_eq!(harness.fake.public_posts()[1].text, "<b>not bold</b>");
    assert!(harness.fake.latest_fields().is_empty());
}

#[tokio::test]
async fn reply_follows_the_first_message_of_an_album() {
    let (harness, account) = connected::<Telegram>().await;
    let root = publish_text(&harness, &account, "one").await;
    let mut parent = root.clone();
    for (text, files) in [("two", 3), ("", 2), ("four", 1), ("", 1), ("six", 0)] {
        let mut reply = harness.reply(&account, (&root, &parent), text, pictures(files)).with(json!({ "thread": 7 }));

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
    let (harness, account) = connected::<Telegram>().await;
    let deleted = Published::new("404", harness.clock.now());

    let reply = harness.reply(&account, (&deleted, &deleted), "two", Vec::new());
    assert_refused(harness.publish(&reply).await, "message to be replied not found");
}

#[tokio::test]
async fn migrated_group_is_followed() {
    let harness = AdapterHarness::<Telegram>::new().await;
    harness.fake.make_group();
    let account = harness.connect().await;
    harness.fake.moves_to(SUPERGROUP);

    for (sent, text) in (1..).zip(["here as well", "and here", "and here again"]) {
        harness.deliver(&mut harness.post(&account, text, pictures(1))).await.unwrap();
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
async fn only_a_response_of_telegram_ends_a_connection() {
    let harness = AdapterHarness::<Telegram>::new().await;
    harness.fake.make_group();
    harness.connect().await;
    let pages = [401, 403, 404].map(|status| InjectedFault::Intermediary { status });
    for fault in
        pages.into_iter().chain([InjectedFault::CutBefore, InjectedFault::ServerError, InjectedFault::HtmlPage])
    {
        harness.fake.inject_fault(Call::Refresh, fault, 1);
        assert_matches!(harness.refresh().await, Err(RefreshError::Unreachable(_)), "{fault:?}");
    }
    harness.refresh().await.unwrap();

    harness.fake.revoke();
    assert_matches!(harness.refresh().await, Err(RefreshError::Gone(_)));
}

#[tokio::test]
async fn migrated_group_can_be_connected_by_its_old_id() {
    let harness = AdapterHarness::<Telegram>::new().await;
    harness.fake.make_group();
    harness.fake.moves_to(SUPERGROUP);

    let account = account_for(&harness, &typed(TOKEN, &GROUP.to_string())).await;

    assert_eq!(account.profile.account_id, SUPERGROUP.to_string());
}

#[tokio::test]
async fn too_large_image_is_resized() {
    let (harness, account) = connected::<Telegram>().await;
    let large = with_pixels(sample(MimeType::Webp, 1), 6_000, 100);
    harness.deliver(&mut harness.post(&account, "small enough", vec![large, sample(MimeType::Jpeg, 2)])).await.unwrap();

    let shown: Vec<_> = harness.fake.public_posts()[0].media.iter().map(|it| it.mime_type).collect();
    assert_eq!(shown, [MimeType::Png, MimeType::Jpeg], "the first one was made anew");
}

#[tokio::test]
async fn markup_does_not_count_as_text() {
    let (harness, account) = connected::<Telegram>().await;
    let files: Vec<_> = pictures(1).into_iter().map(|it| it.attachment).collect();
    for (mode, word, is_counted) in
        [("none", "<b>boat</b> ", true), ("html", "<b>boat</b> ", false), ("markdown", "*_~boat~_* ", false)]
    {
        for (words, media) in [(200, files.as_slice()), (800, &[])] {
            let options = options(json!({ "parse_mode": mode }));
            let errors = account.rules.breaches(word.repeat(words).as_str(), media, &options);
            assert_eq!(!errors.is_empty(), is_counted, "{mode}: {errors:?}");
        }
    }

    let marked_up = |words: usize| {
        harness.post(&account, &"<b>boat</b> ".repeat(words), pictures(1)).with(json!({ "parse_mode": "html" }))
    };
    harness.deliver(&mut marked_up(200)).await.unwrap();
    assert_eq!(harness.fake.public_posts()[0].text, "boat ".repeat(200).trim());
    assert_refused(harness.deliver(&mut marked_up(210)).await, "too long");
}

/// Telegram may show other videos than MPEG-4 as documents, which cannot be in an album.
#[tokio::test]
async fn caption_is_shorter_and_only_mpeg_4_is_a_video() {
    let (_, account) = connected::<Telegram>().await;
    for (length, mime_type, field) in [
        (1_024, MimeType::Mp4, None),
        (1_025, MimeType::Mp4, Some("content")),
        (1_024, MimeType::Quicktime, Some("media")),
    ] {
        let files = [sample(mime_type, 1).attachment];
        let errors = account.rules.breaches("x".repeat(length).as_str(), &files, &Options::default());
        assert_eq!(errors.first().map(|it| &*it.field), field, "{errors:?}");
    }
}
