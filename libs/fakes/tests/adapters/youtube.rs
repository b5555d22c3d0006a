//! Behavior specific to YouTube.

use domain::media::MimeType::{Mp4, Png};
use domain::testing::noon;
use fakes::youtube::{PLAYLIST, Youtube};
use platforms::Followed;

use crate::prelude::*;

#[tokio::test]
async fn options_become_fields_of_youtube() {
    let (harness, account) = connected::<Youtube>().await;
    let mut post = harness.post(&account, "Its <text>", vec![sample(Mp4, 1)]);
    let options = json!({ "title": "Its own title", "tags": ["boats", "high tide"], "category": "19",
        "language": "pt-BR", "license": "creative_commons", "visibility": "unlisted", "made_for_kids": true,
        "contains_synthetic_media": true, "notify_subscribers": false, "embeddable": false });
    post.options = serde_json::from_value(options).unwrap();
    let published = harness.deliver(&mut post).await.unwrap().published;
    let video = harness.fake.videos().remove(0);
    assert_eq!(published.url.unwrap(), format!("https://www.youtube.com/watch?v={}", video.id));
    let snippet = json!({ "title": "Its own title", "description": "Its ‹text›", "tags": ["boats", "high tide"],
        "categoryId": "19", "defaultLanguage": "pt-BR", "defaultAudioLanguage": "pt-BR" });
    let status = json!({ "privacyStatus": "unlisted", "license": "creativeCommon", "embeddable": false,
        "publicStatsViewable": true, "selfDeclaredMadeForKids": true, "containsSyntheticMedia": true });
    assert_eq!((&video.parts["snippet"], &video.parts["status"], video.notifies), (&snippet, &status, false));
    let words = format!("\n<>\n{}", "Ä<b>".repeat(60));
    harness.deliver(&mut harness.post(&account, &words, vec![sample(Mp4, 1)])).await.unwrap();
    let video = harness.fake.videos().remove(1);
    assert!(video.notifies && video.parts["snippet"]["title"] == "Äb".repeat(50), "{video:?}");
}

#[tokio::test]
async fn partly_stored_part_is_continued_and_an_expired_session_replaced() {
    let (harness, account) = connected::<Youtube>().await;
    let file = sample_with_size(Mp4, (24 << 20) + 600_000);
    let mut post = harness.post(&account, "long", vec![file.clone()]);
    // The session begins, and the first part arrives.
    for _ in 0..2 {
        take_step(&harness, &mut post).await;
    }
    harness.fake.store_little();
    let errors = harness.deliver(&mut post).await.unwrap().errors;
    assert_matches!(&errors[..], [AttemptError::RetryLater { .. }, AttemptError::RetryLater { .. }], "{errors:?}");
    assert!(harness.fake.videos().iter().map(|it| &it.bytes).eq([&file.bytes]));

    let mut post = harness.post(&account, "ended", vec![sample(Mp4, 1)]);
    take_step(&harness, &mut post).await;
    harness.fake.end_sessions();
    let errors = harness.deliver(&mut post).await.unwrap().errors;
    assert_matches!(&errors[..], [AttemptError::PreparationExpired { .. }], "{errors:?}");
    assert_eq!(harness.fake.public_posts().len(), 2);
}

#[tokio::test]
async fn lagging_list_or_processing_delays_no_post() {
    let (harness, account) = connected::<Youtube>().await;
    let mut post = harness.post(&account, "soon", vec![sample(Mp4, 1)]);
    post.publish_at = noon() + TimeDelta::seconds(7);
    harness.fake.refuses("/youtube/v3/videos", 200, json!({ "items": [] }));
    assert!(harness.deliver(&mut post).await.unwrap().published.at <= noon() + TimeDelta::seconds(15));
    let mut post = harness.post(&account, "sooner", vec![sample(Mp4, 1)]);
    post.publish_at = harness.clock.now() + TimeDelta::seconds(6);
    assert_eq!(harness.deliver(&mut post).await.unwrap().published.at, post.publish_at);
}

#[tokio::test]
async fn unaudited_project_publishes_privately_and_its_rules_say_so() {
    let (harness, account) = connected::<Youtube>().await;
    harness.fake.lock_videos();
    let published = harness.deliver(&mut harness.post(&account, "locked", vec![sample(Mp4, 1)])).await.unwrap();
    assert!(published.errors.is_empty() && harness.fake.public_posts().is_empty());
    assert!(account.rules.lacks_audit());
    let audited = |it: &Youtube| json!({ "url": it.base_url(), "audited": true });
    assert!(!AdapterHarness::with_settings(audited).await.connect().await.rules.lacks_audit());
}

#[tokio::test]
async fn thumbnail_and_playlist_follow_the_publication() {
    let (harness, account) = connected::<Youtube>().await;
    let image = sample(Png, 2);
    let mut post =
        harness.post(&account, "with both", vec![sample(Mp4, 1), image.clone()]).with(json!({ "playlist": PLAYLIST }));
    let published = harness.deliver(&mut post).await.unwrap().published;
    let message = "The authenticated user doesn't have permissions to upload and set custom video thumbnails.";
    let error = json!({ "error": { "message": message, "errors": [{ "reason": "forbidden" }] } });
    harness.fake.refuses("/upload/youtube/v3/thumbnails/set", 403, error);
    let refused = harness.follow_up(&post, "thumbnail", &published).await.unwrap_err();
    assert!(refused.into_reason().contains("youtube.com/verify"));
    for name in ["thumbnail", "playlist"] {
        assert_matches!(harness.follow_up(&post, name, &published).await.unwrap(), Followed::Done);
    }
    let video = harness.fake.videos().remove(0);
    assert_eq!((video.thumbnail, &video.playlists[..]), (Some(image.bytes), &[PLAYLIST.to_owned()][..]));
}

#[tokio::test]
async fn first_comment_needs_a_video_that_others_can_comment() {
    let (harness, account) = connected::<Youtube>().await;
    let published = harness.deliver(&mut harness.post(&account, "", vec![sample(Mp4, 1)])).await.unwrap().published;
    let comment = harness.deliver_comment(&mut harness.comment(&account, &published, "a < b")).await.unwrap();
    assert!(comment.url.unwrap().contains(&format!("{}&lc=", published.platform_post_id)));
    for (name, value) in [("visibility", json!("private")), ("made_for_kids", json!(true))] {
        let options = serde_json::from_value(json!({ "first_comment": "first", name: value })).unwrap();
        let violations = account.rules.breaches("words", &[sample(Mp4, 1).attachment], &options);
        assert_matches!(&violations[..], [it] if it.field == "options.first_comment", "{violations:?}");
    }
}

#[tokio::test]
async fn choices_are_all_playlists_and_the_categories_that_videos_can_have() {
    let (harness, account) = connected::<Youtube>().await;
    let playlists = harness.choices(&account, "playlist").await.unwrap();
    assert_eq!((playlists.len(), playlists[60].0.as_str()), (61, PLAYLIST), "the second page has it");
    assert_eq!(harness.choices(&account, "category").await.unwrap().len(), 14);
}

#[tokio::test]
async fn daily_quota_resets_at_midnight_in_pacific_time() {
    let (harness, account) = connected::<Youtube>().await;
    let post = harness.post(&account, "one more", vec![sample(Mp4, 1)]);
    for _ in 0..100 {
        harness.prepare(&post).await.unwrap();
    }
    let delayed = harness.prepare(&post).await.unwrap_err();
    let midnight = noon() + TimeDelta::hours(20);
    assert_matches!(&delayed, AttemptError::RetryLater { retry_at: Some(at), .. } if *at == midnight);
    harness.clock.skip_to(midnight);
    harness.prepare(&post).await.unwrap();
}

#[tokio::test]
async fn edited_video_is_published_with_its_edits() {
    let (harness, account) = connected::<Youtube>().await;
    let post = harness.due(&account, "edited by hand", vec![sample(Mp4, 1)]).await;
    harness.fake.edit_status("selfDeclaredMadeForKids", &json!(true));
    harness.publish(&post).await.unwrap();
    let status = &harness.fake.videos()[0].parts["status"];
    assert!(status["privacyStatus"] == "public" && status["selfDeclaredMadeForKids"] == true, "{status}");
    let post = harness.due(&account, "published by hand", vec![sample(Mp4, 1)]).await;
    harness.fake.edit_status("privacyStatus", &json!("public"));
    harness.publish(&post).await.unwrap();
    assert_eq!(harness.fake.call_count(Call::Publish), 1, "nothing is left to change");
}

#[tokio::test]
async fn video_that_was_deleted_or_rejected_fails_the_post() {
    let (harness, account) = connected::<Youtube>().await;
    let post = harness.due(&account, "unwanted", vec![sample(Mp4, 1)]).await;
    let rejected = json!({ "privacyStatus": "private", "uploadStatus": "rejected", "rejectionReason": "copyright" });
    let rejected = json!({ "items": [{ "id": harness.fake.videos()[0].id, "status": rejected }] });
    harness.fake.refuses("/youtube/v3/videos", 200, rejected);
    assert_refused(harness.publish(&post).await, "copyright");
    harness.fake.delete_videos();
    assert_refused(harness.publish(&post).await, "was deleted");
}
