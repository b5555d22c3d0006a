use super::X;
use crate::prelude::*;

/// A video whose movie header has a duration of `seconds`.
fn video_with_seconds(seconds: u32) -> Sample {
    let mut video = sample(MimeType::Mp4, 1);
    let header = [&b"mvhd"[..], &[0; 12], &1_u32.to_be_bytes(), &seconds.to_be_bytes()].concat();
    video.bytes.extend(header);
    video.attachment.size_bytes = video.bytes.len() as u64;
    video.attachment.facts = Some(Facts { duration_ms: Some(u64::from(seconds) * 1_000), ..Facts::default() });
    video
}

#[tokio::test]
async fn video_of_several_parts_arrives_whole() {
    let (harness, account) = connected::<X>().await;
    let video = sample_with_size(MimeType::Mp4, 9 << 20);

    harness.deliver(&mut harness.post(&account, "a film", vec![video.clone()])).await.unwrap();

    assert_eq!(harness.fake.public_posts()[0].media[0].bytes, video.bytes);
    let ended = harness.fake.request_log.all().into_iter().find(|it| it.request_line.ends_with("/finalize")).unwrap();
    assert_eq!((ended.body.as_str(), &ended.headers["content-type"]), ("{}", &"application/json".parse().unwrap()));
}

#[tokio::test]
async fn long_videos_of_paying_accounts_are_uploaded_in_their_own_category() {
    for (seconds, category) in [(140, "tweet_video"), (141, "amplify_video")] {
        let (harness, _) = connected::<X>().await;
        harness.fake.set_subscription("Premium");
        let account = harness.connect().await;

        harness.deliver(&mut harness.post(&account, "a film", vec![video_with_seconds(seconds)])).await.unwrap();

        let begun = harness.fake.request_log.latest("POST /2/media/upload/initialize").unwrap();
        assert_eq!(serde_json::from_str::<Value>(&begun.body).unwrap()["media_category"], category);
    }
}

/// The error may be a temporary fault of X. Otherwise the connection lacks the scope for media, or
/// the app's plan does not include media uploads.
#[tokio::test]
async fn unsupported_authentication_of_an_upload_needs_the_user_after_an_hour() {
    let problem = json!({ "type": "https://api.twitter.com/2/problems/unsupported-authentication", "status": 403 });
    for (mime_type, path) in [
        (MimeType::Png, "/2/media/upload"),
        (MimeType::Mp4, "/2/media/upload/initialize"),
        (MimeType::Mp4, "/2/media/upload/append"),
        (MimeType::Mp4, "/2/media/upload/finalize"),
    ] {
        let (harness, account) = connected::<X>().await;
        let mut post = harness.post(&account, "a file", vec![sample(mime_type, 1)]);
        let mut refused = async |late: TimeDelta| {
            harness.clock.skip_to(post.publish_at + late);
            harness.fake.refuses(path, 403, problem.clone());
            loop {
                match harness.prepare(&post).await {
                    Ok(Step::Again { progress, .. }) => post.progress = Some(progress),
                    Ok(step) => panic!("{path}: {step:?}"),
                    Err(error) => break error,
                }
            }
        };

        assert_matches!(refused(TimeDelta::minutes(59)).await, AttemptError::RetryLater { .. }, "{path}");
        let late = refused(TimeDelta::minutes(61)).await;

        let AttemptError::Unauthorized { reason } = &late else { panic!("{path}: {late:?}") };
        for part in ["media.write", "operator", "console.x.com"] {
            assert!(reason.contains(part), "{part}: {reason}");
        }
    }
}
