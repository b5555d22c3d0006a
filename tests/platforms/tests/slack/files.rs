//! Files: uploaded before, and shared by one call.

use chrono::TimeDelta;
use domain::delivery::{Resolution, Setback};
use domain::media::{AltText, MimeType};
use networks::slack::PRIVATE;
use platforms::Step;
use platforms::conformance::network::{Call, Network, Trouble};
use platforms::conformance::samples::{Sample, sample};

use super::{stage, to};

fn two() -> Vec<Sample> {
    vec![sample(MimeType::Png, 1), sample(MimeType::Jpeg, 2)]
}

#[tokio::test]
async fn files_go_up_one_by_one_and_are_seen_by_nobody_before() {
    let (stage, account) = stage().await;
    let mut post = stage.post(&account, "two of them", two());

    let first = stage.prepare(&post).await.unwrap();
    let Step::Again { progress, .. } = first else { panic!("{first:?}") };
    post.progress = Some(progress);
    let second = stage.prepare(&post).await.unwrap();
    let Step::Ready { progress } = second else { panic!("{second:?}") };
    post.progress = progress;

    assert!(stage.network.public().is_empty());
    stage.publish(&post).await.unwrap();
    assert_eq!(stage.network.public()[0].media.len(), 2);
    assert_eq!(stage.network.calls(Call::Upload), 2);
}

#[tokio::test]
async fn readers_are_led_to_the_message_once_slack_knows_where_it_is() {
    let (stage, account) = stage().await;
    for channel in [networks::slack::CHANNEL, PRIVATE] {
        let mut post = stage.due(&account, "look", two()).await;
        post.options = to(channel);
        let since = stage.clock.now();
        let published = stage.publish(&post).await.unwrap();
        assert!(published.url.unwrap().starts_with("https://lighthouse.slack.com/files/"), "not known yet");

        let early = stage.resolve(&post, since).await;
        assert!(matches!(early, Resolution::Unclear { .. }), "{early:?}");
        stage.clock.advance(TimeDelta::seconds(10));
        let later = stage.resolve(&post, since).await;

        let Resolution::Public(found) = later else { panic!("{later:?}") };
        assert_eq!(found.platform_post_id, published.platform_post_id);
        let begins = format!("https://lighthouse.slack.com/archives/{channel}/p");
        assert!(found.url.as_ref().unwrap().starts_with(&begins), "{:?}", found.url);
    }
}

#[tokio::test]
async fn uploads_that_slack_forgot_are_made_anew() {
    let (stage, account) = stage().await;
    let mut post = stage.due(&account, "again", two()).await;
    stage.network.forgets_uploads();

    let passage = stage.deliver(&mut post).await.unwrap();

    assert!(matches!(passage.setbacks[..], [Setback::Stale { .. }]), "{:?}", passage.setbacks);
    assert_eq!(stage.network.public().len(), 1);
}

#[tokio::test]
async fn only_pictures_are_described_or_nothing_would_be_shown() {
    let (stage, account) = stage().await;
    let mut video = sample(MimeType::Mp4, 1);
    video.attachment.alt_text = Some(AltText::parse("waves").unwrap());
    let mut post = stage.due(&account, "a film", vec![video]).await;
    post.options = to(networks::slack::CHANNEL);
    let since = stage.clock.now();

    stage.publish(&post).await.unwrap();
    stage.clock.advance(TimeDelta::seconds(10));

    let shown = stage.resolve(&post, since).await;
    assert!(matches!(shown, Resolution::Public(_)), "{shown:?}");
}

#[tokio::test]
async fn what_a_workspace_does_not_take_is_told_of_the_file() {
    let (stage, account) = stage().await;
    for (code, words) in [
        ("file_uploads_disabled", "file 1 of 2: the workspace takes no files"),
        ("storage_limit_reached", "file 1 of 2: the workspace has no room"),
        ("file_type_not_allowed", "file 1 of 2: the workspace does not take files of this type"),
    ] {
        let post = stage.post(&account, "look", two());
        stage.network.refuses("files.getUploadURLExternal", code);

        let refused = stage.prepare(&post).await.unwrap_err();

        assert!(matches!(&refused, Setback::Refused { reason } if reason.starts_with(words)), "{refused:?}");
    }
    for code in ["internal_error", "ratelimited", "team_added_to_org"] {
        let post = stage.post(&account, "look", two());
        stage.network.refuses("files.getUploadURLExternal", code);
        let setback = stage.prepare(&post).await.unwrap_err();
        assert!(matches!(setback, Setback::Busy { .. }), "{code}: {setback:?}");
    }
}

#[tokio::test]
async fn an_upload_that_is_not_confirmed_is_not_shared() {
    let (stage, account) = stage().await;
    let post = stage.post(&account, "look", two());
    for trouble in [Trouble::Gibberish, Trouble::Unwanted, Trouble::Broken, Trouble::LoseAnswer] {
        stage.network.trouble(Call::Upload, trouble, 1);
        let setback = stage.prepare(&post).await.unwrap_err();
        assert!(matches!(setback, Setback::Busy { .. }), "{trouble:?}: {setback:?}");
    }
}

#[tokio::test]
async fn files_that_were_never_shared_are_certainly_not_there() {
    let (stage, account) = stage().await;
    let post = stage.due(&account, "look", two()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, Trouble::CutBefore, 1);
    stage.publish(&post).await.unwrap_err();

    assert_eq!(stage.resolve(&post, since).await, Resolution::NotThere);
    stage.network.refuses("files.info", "internal_error");
    let unclear = stage.resolve(&post, since).await;
    assert!(matches!(unclear, Resolution::Unclear { .. }), "{unclear:?}");
}
