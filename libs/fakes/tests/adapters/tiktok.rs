//! Behavior specific to TikTok.

use domain::media::MimeType::{Mp4, Png};
use fakes::tiktok::TikTok;

use crate::prelude::*;

type Direct = TikTok<true, true>;

async fn assert_posted_once(harness: &AdapterHarness<Direct>, post: &Post<'_>) {
    let called_at = harness.clock.now();
    assert_is(harness.publish(post).await, "Err(Accepted", "TikTok is processing it");
    assert!(harness.settle(post, called_at, true).await.is_some() && harness.fake.public_posts().len() == 1);
}

#[tokio::test]
async fn last_of_several_chunks_posts_the_video() {
    let (harness, account) = connected::<Direct>().await;
    let video = sample_with_size(Mp4, 64_000_001);
    let mut post = harness.post(&account, "a long trip", vec![video.clone()]);
    take_step(&harness, &mut post).await;
    for fault in [InjectedFault::LoseResponse, InjectedFault::CutBefore] {
        harness.fake.inject_fault(Call::Upload, fault, 1);
        assert_is(harness.stepped(&mut post).await.0.unwrap(), "RetryLater", "cut off");
    }
    assert_eq!(harness.stepped(&mut post).await.0, None);
    assert!(harness.fake.call_count(Call::Upload) == 1 + 5 + 2 && harness.fake.public_posts().is_empty());
    harness.clock.skip_to(post.publish_at);
    let called_at = harness.lose_outcome(&post, InjectedFault::CutBefore).await;
    assert_is(harness.resolve(&post, called_at).await, "NotPublished", "");
    assert_posted_once(&harness, &post).await;
    assert!(harness.fake.public_posts()[0].media[0].bytes == video.bytes);
}

#[tokio::test]
async fn missing_count_does_not_permit_a_second_post() {
    let (harness, account) = connected::<Direct>().await;
    let status = json!({ "data": { "status": "PROCESSING_UPLOAD" }, "error": { "code": "ok" } });
    let omit_count = || harness.fake.refuses("/v2/post/publish/status/fetch/", 200, status.clone());
    let mut post = harness.due(&account, "Hello", vec![sample(Mp4, 1)]).await;
    let (_, token) = post.progress.as_ref().unwrap().split_once("upload_token=").unwrap();
    harness.add_secret(token.split('"').next().unwrap());
    let called_at = harness.lose_outcome(&post, InjectedFault::CutBefore).await;
    assert_eq!(harness.settle(&post, called_at, true).await, None);
    harness.clock.advance(TimeDelta::minutes(61));
    omit_count();
    assert_is(harness.publish(&post).await, "Err(PreparationExpired", "expired");
    assert_eq!(harness.fake.call_count(Call::Publish), 1);
    post.progress = None;
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    let called_at = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
    assert_is(harness.resolve(&post, called_at).await, "Pending", "processing");
    omit_count();
    assert_is(harness.resolve(&post, called_at).await, "NotFound", "");
    omit_count();
    assert_posted_once(&harness, &post).await;
}

#[tokio::test]
async fn inbox_receives_only_the_video() {
    let (harness, account) = connected::<TikTok<false, true>>().await;
    let mut post = harness.post(&account, "to be finished", vec![sample(Mp4, 1)]);
    assert!(harness.deliver(&mut post).await.unwrap().published.handed_over);
    assert_eq!(harness.fake.latest_request().get("post_info"), None);
    harness.fake.finish_in_app();
    assert_is(harness.resolve(&post, harness.clock.now()).await, "Found", "handed_over: false");
}

#[tokio::test]
async fn direct_post_respects_the_current_settings_of_the_account() {
    let (harness, account) = connected::<Direct>().await;
    let mut long = sample(Mp4, 1);
    long.attachment.facts = Some(Facts { duration_ms: Some(60_001), ..Facts::default() });
    let creator = json!({ "data": { "privacy_level_options": ["SELF_ONLY"], "max_video_post_duration_sec": 60,
        "comment_disabled": true, "duet_disabled": false, "stitch_disabled": false }, "error": { "code": "ok" } });
    for (options, media, (name, reason)) in [
        (
            json!({ "visibility": "PUBLIC_TO_EVERYONE" }),
            vec![sample(Mp4, 1)],
            ("Err(Refused", "choose one of SELF_ONLY"),
        ),
        (json!({ "visibility": "SELF_ONLY" }), vec![long], ("Err(Refused", "at most 60 s; this one lasts 61 s")),
        (
            json!({ "visibility": "SELF_ONLY", "brand_content": true }),
            vec![sample(Mp4, 1)],
            ("Err(Refused", "cannot be set to private"),
        ),
        (json!({ "visibility": "SELF_ONLY", "comments": true, "duet": true }), vec![sample(Mp4, 1)], ("Ok", "")),
    ] {
        harness.fake.refuses("/v2/post/publish/creator_info/query/", 200, creator.clone());
        assert_is(harness.prepare(&harness.post(&account, "now", media).with(options)).await, name, reason);
    }
    let info = harness.fake.latest_request()["post_info"].take();
    assert_eq!(["comment", "duet", "stitch"].map(|it| info[format!("disable_{it}")] == true), [true, false, true]);
    harness.deliver(&mut harness.post(&account, "queried again", vec![sample(Mp4, 1)])).await.unwrap();
    assert!(harness.fake.creator_info_queried_before_latest_post());
}

#[tokio::test]
async fn app_without_the_audit_posts_to_private_accounts() {
    let harness = AdapterHarness::with_settings(|it: &Direct| json!({ "url": it.base_url(), "direct": true })).await;
    let account = harness.connect().await;
    let mut post = harness.post(&account, "unaudited", vec![sample(Mp4, 1)]).with(json!({ "visibility": "SELF_ONLY" }));
    harness.fake.loses_audit(false);
    assert_is(harness.prepare(&post).await, "Err(RetryLater", "Make the account private");
    harness.fake.loses_audit(true);
    let url = harness.deliver(&mut post).await.unwrap().published.url;
    assert_eq!(url.unwrap(), "https://www.tiktok.com/@keeper.ada", "TikTok names only public posts");
}

#[tokio::test]
async fn photos_need_a_verified_domain_and_are_sent_once() {
    let (harness, account) = connected::<TikTok<true>>().await;
    let mut post = harness.due(&account, "photos", vec![sample(Png, 1)]).await;
    post.options = options(json!({ "visibility": "PUBLIC_TO_EVERYONE", "title": "Tides" }));
    harness.fake.verifies_domains(&["example.com"]);
    assert_is(harness.publish(&post).await, "Err(RetryLater", "verify the domain");
    harness.fake.verifies_domains(&["127.0.0.1"]);
    let called_at = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
    assert_eq!(harness.fake.latest_request()["post_info"]["title"], "Tides");
    assert_is(harness.resolve(&post, called_at).await, "Undeterminable", "the inbox in TikTok's app");
}

#[tokio::test]
async fn failed_post_is_refused_or_prepared_again() {
    let (harness, account) = connected::<Direct>().await;
    harness.fake.fails_next_post("internal");
    let delivered = harness.deliver(&mut harness.post(&account, "again", vec![sample(Mp4, 1)])).await.unwrap();
    assert_is(delivered.errors, "[PreparationExpired", "");
    let post = harness.due(&account, "refused", vec![sample(Mp4, 1)]).await;
    harness.fake.fails_next_post("spam_risk_text");
    harness.publish(&post).await.unwrap_err();
    harness.clock.advance(TimeDelta::seconds(6));
    assert_is(harness.resolve(&post, harness.clock.now()).await, "Refused", "spam");
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn public_post_has_its_url_after_moderation() {
    let (harness, account) = connected::<Direct>().await;
    let post = harness.due(&account, "moderated", vec![sample(Mp4, 1)]).await;
    let called_at = harness.clock.now();
    harness.publish(&post).await.unwrap_err();
    harness.clock.advance(TimeDelta::seconds(6));
    assert_is(harness.resolve(&post, called_at).await, "Pending", "moderating");
    harness.clock.advance(TimeDelta::seconds(20));
    assert_is(harness.resolve(&post, called_at).await, "Found", "https://www.tiktok.com/@keeper.ada/video/748");
}

#[tokio::test]
async fn direct_posts_need_their_scope() {
    let (inbox, direct) = (AdapterHarness::<TikTok>::new().await, AdapterHarness::<Direct>::new().await);
    let asks = |step: &dyn std::fmt::Debug| format!("{step:?}").contains("video.publish");
    assert!(!asks(&inbox.authorize(&inbox.fake.form_values()).await.unwrap().0));
    assert!(asks(&direct.authorize(&direct.fake.form_values()).await.unwrap().0));
    direct.fake.declines(&["video.publish"]);
    let account = direct.connect().await;
    let post = direct.post(&account, "declined", vec![sample(Mp4, 1)]);
    assert_is(direct.prepare(&post).await, "Err(Unauthorized", "connect again");
}
