//! An account on an independent server with Mastodon's API.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::media::MimeType;
use fakes::conformance::{
    fake_platform::{Call, FakePlatform, InjectedFault},
    samples::sample,
};
use serde_json::{Value, json};

use super::{
    on_server::{OnServer, SETTLED_SECONDS},
    scenes::Scenes,
    several::AllPlatforms,
};
use crate::{
    deployment::fresh,
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    moment, picture,
    real_servers::mastodon::{ACCOUNT, MEDIA, RealMastodon, STATUSES},
    report::Report,
};

/// Segments of a thread.
const SEGMENTS: usize = 5;

pub async fn run(report: &mut Report) -> Result {
    let mastodon = Arc::new(RealMastodon::start_alone().await?);
    let stack = AllPlatforms::beside(vec![Arc::<RealMastodon>::clone(&mastodon)], &[]).await?;
    let user = stack.deployment().new_user().await?;
    let on = OnServer { user: &user, server: &*mastodon };
    let mut scenes = Scenes { part: "mastodon", report };
    let connection =
        scenes.play("an account is connected through the server's own page", connect_account(&on, &mastodon)).await;
    let Some(it) = connection else { return Ok(()) };
    scenes.play("text with a link, a tag and Cyrillic, byte for byte", publish_text(&on, &mastodon, &it)).await;
    scenes.play("pictures in their order, and a video, byte for byte", files(&on, &it)).await;
    for (name, has_pictures) in [
        ("a lost response in the middle of a thread, and five statuses", false),
        ("a lost response in the middle of a thread with pictures, and five statuses", true),
    ] {
        scenes.play(name, lose_response_of_thread(&on, &mastodon, &it, has_pictures)).await;
    }
    scenes.play("503 and rate limits are retried", wait_for_rate_limits(&on, &mastodon, &it)).await;
    scenes.play("an unknown outcome, and exactly one status each", resolve_unknown_outcomes(&on, &mastodon, &it)).await;
    scenes.play("an error quotes the server's message", show_refusal(&on, &it)).await;
    scenes.play("a grant is revoked and given again", on.revoke_and_reconnect(&it)).await;
    scenes.play("disconnecting ends the grant", on.disconnect(&it)).await;
    Ok(())
}

async fn connect_account(on: &OnServer<'_>, mastodon: &RealMastodon) -> Result<Value> {
    let connection = on.connect().await?;
    let name = mastodon.addresses()[0];
    same(&connection["provider"], &json!("mastodon"), "provider")?;
    same(&connection["username"], &json!(format!("{ACCOUNT}@{name}")), "username")?;
    same(&connection["needs_reconnection"], &json!(false), "needs_reconnection")?;

    let shown = on.user.api.get(&format!("/connections/{}", integer(&connection, "id")?)).await?.ok(200)?;
    let meta = |name: &str| {
        let entries = shown["meta"].as_array().into_iter().flatten();
        entries.filter(|it| it["name"] == name).map(|it| it["value"].clone()).collect::<Vec<_>>()
    };
    for (name, value) in [
        ("profile_url", json!(format!("http://{name}/@{ACCOUNT}"))),
        // The server only lists `read` and `write`, which include these.
        ("scopes", json!(["read:accounts", "read:statuses", "write:statuses", "write:media"])),
        ("token_expires_at", Value::Null),
        ("max_text", json!(500)),
        ("url_length", json!(23)),
        ("max_media", json!(4)),
        // The limits that the server declares, not Mastodon's defaults.
        ("max_image_bytes", json!(10_485_759)),
        ("max_video_bytes", json!(41_943_039)),
        ("max_alt_text", json!(1500)),
        ("mime_types", json!(["image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4"])),
    ] {
        same(meta(name), vec![value], name)?;
    }
    Ok(connection)
}

async fn publish_text(on: &OnServer<'_>, mastodon: &RealMastodon, connection: &Value) -> Result {
    let original = "Приве́т 👩‍👩‍👧‍👦, <b> & \"друзья\"!\n\nhttps://example.com/путь?q=1&w=2 и #Новости 日本";

    let target = on.publish(&on.post(connection, original)?).await?;

    let status = mastodon.server().status(&on.find(original)?.id).await?;
    same(&target["platform_post_id"], &status["id"], "its id")?;
    same(&status["visibility"], &json!("public"), "visibility")?;
    same(&status["sensitive"], &json!(false), "sensitive")?;
    same(&status["tags"][0]["name"], &json!("новости"), "the tag")?;
    let html = text(&status, "content")?;
    ensure!(html.contains("href=\"https://example.com/путь?q=1&amp;w=2\""), "the link is not one in {html}");
    let shown_time: DateTime<Utc> = text(&target, "published_at")?.parse()?;
    let created_at: DateTime<Utc> = text(&status, "created_at")?.parse()?;
    ensure!(
        (shown_time - created_at).abs() <= TimeDelta::milliseconds(1),
        "it was made at {created_at}, and we say {shown_time}"
    );
    Ok(())
}

async fn files(on: &OnServer<'_>, connection: &Value) -> Result {
    for types in [vec![MimeType::Jpeg, MimeType::Png, MimeType::Webp], vec![MimeType::Mp4]] {
        let files: Vec<_> = types.into_iter().map(|it| (it, sample(it, 1).bytes)).collect();
        let mut media = Vec::new();
        for (mime_type, bytes) in &files {
            media.push(on.user.upload(mime_type.as_str(), bytes).await?);
        }
        let content = fresh("with files");
        let mut body = on.post(connection, &content)?;
        body["media"] = json!(media);

        on.publish(&body).await?;

        let public = on.find(&content)?.media.into_iter();
        let public: Vec<_> = public.map(|it| (it.mime_type, it.bytes)).collect();
        ensure!(public == files, "other files, or in another order: {content}");
    }
    Ok(())
}

/// The third status is created, and the response is lost. With pictures, the status is recognized;
/// with text alone, the call is repeated with its idempotency key.
async fn lose_response_of_thread(
    on: &OnServer<'_>,
    mastodon: &RealMastodon,
    connection: &Value,
    has_pictures: bool,
) -> Result {
    let before = mastodon.call_count(Call::Publish);
    mastodon.faults().order_after(Call::Publish, SEGMENTS / 2, InjectedFault::LoseResponse);
    let prefix = fresh("thread");
    let texts: Vec<_> = (1..=SEGMENTS).map(|number| format!("{prefix} {number}")).collect();
    let pictures: Vec<_> = if has_pictures {
        (0_u8..).step_by(40).take(SEGMENTS).map(|red| vec![picture::png(64, 48, [red, 120, 90])]).collect()
    } else {
        vec![Vec::new(); SEGMENTS]
    };
    let mut segments = Vec::new();
    for (content, pictures) in texts.iter().zip(&pictures) {
        let mut media = Vec::new();
        for bytes in pictures {
            media.push(on.user.upload("image/png", bytes).await?);
        }
        segments.push(json!({ "content": content, "media": media }));
    }
    let mut body = on.post(connection, &texts[0])?;
    body["media"] = segments.remove(0)["media"].take();
    body["thread"] = json!(segments);

    let target = on.publish(&body).await?;

    let repeated_calls = usize::from(!has_pictures);
    same(mastodon.call_count(Call::Publish) - before, SEGMENTS + repeated_calls, "publish calls")?;
    let public: Vec<_> = mastodon.public_posts().into_iter().filter(|it| it.text.starts_with(&prefix)).collect();
    same(public.iter().map(|it| it.text.clone()).collect(), texts, "statuses of the thread")?;
    let ids: Vec<_> = list(&target, "segments")?.iter().map(|it| it["platform_post_id"].as_str()).collect();
    same(public.iter().map(|it| Some(it.id.as_str())).collect(), ids.clone(), "ids of the segments")?;
    let parents = [None].into_iter().chain(ids).take(SEGMENTS).collect();
    same(public.iter().map(|it| it.reply_to.as_deref()).collect::<Vec<_>>(), parents, "what the statuses reply to")?;
    let shown: Vec<Vec<_>> = public.into_iter().map(|it| it.media.into_iter().map(|it| it.bytes).collect()).collect();
    ensure!(shown == pictures, "the statuses have other files");
    Ok(())
}

/// The server limits the rate, first for the file and then for the status.
async fn wait_for_rate_limits(on: &OnServer<'_>, mastodon: &RealMastodon, connection: &Value) -> Result {
    // Nothing is sent before the limit ends. Both forms of the header count; the server's own
    // `Retry-After` of five minutes does not.
    let limit_ends_at = moment::now() + TimeDelta::seconds(25);
    let limit =
        |reset: String| json!({ "type": "ratelimit", "status": 429, "headers": { "X-RateLimit-Reset": reset } });
    mastodon.server().arm(MEDIA, &json!({ "type": "status", "status": 503 })).await?;
    mastodon.server().arm(MEDIA, &limit((limit_ends_at.timestamp() - 12).to_string())).await?;
    mastodon.server().arm(STATUSES, &json!({ "type": "status", "status": 503 })).await?;
    mastodon.server().arm(STATUSES, &limit(limit_ends_at.to_rfc3339_opts(SecondsFormat::Micros, true))).await?;
    let content = fresh("waits");
    let mut body = on.post(connection, &content)?;
    body["media"] = json!([on.user.picture().await?]);

    on.publish(&body).await?;

    same(mastodon.server().armed().await?, 0, "faults still armed")?;
    let status = mastodon.server().status(&on.find(&content)?.id).await?;
    let created_at: DateTime<Utc> = text(&status, "created_at")?.parse()?;
    ensure!(limit_ends_at <= created_at, "made at {created_at}, before the limit ended at {limit_ends_at}");
    Ok(())
}

/// A call that may have taken effect is looked up first. It is only repeated when it can no longer
/// be under way.
async fn resolve_unknown_outcomes(on: &OnServer<'_>, mastodon: &RealMastodon, connection: &Value) -> Result {
    let before = mastodon.call_count(Call::Publish);
    let mut posts = Vec::new();
    // No status is created, and the response does not show that.
    for kind in ["malformed", "timeout"] {
        mastodon.server().arm(STATUSES, &json!({ "type": kind })).await?;
        let content = fresh(kind);
        posts.push((on.user.create(&on.post(connection, &content)?).await?, content));
        moment::eventually(Duration::from_secs(30), "the fault that was armed", async || {
            Ok((mastodon.server().armed().await? == 0).then_some(()))
        })
        .await?;
    }
    // The status is created but not recognized, because the server changes the text. Only the
    // idempotency key prevents a second status.
    mastodon.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    let content = fresh("emphasized");
    posts.push((on.user.create(&on.post(connection, &format!("{content} *very*"))?).await?, content));

    for (post, content) in posts {
        let published = on.user.reaches(integer(&post, "id")?, "published", SETTLED_SECONDS).await?;
        same(&published["platforms"][0]["platform_post_id"], &json!(on.find(&content)?.id), "its id")?;
    }
    same(mastodon.call_count(Call::Publish) - before, 6, "publish calls, two for each")
}

/// A link counts 23 characters for us, as on Mastodon, but in full on this server.
async fn show_refusal(on: &OnServer<'_>, connection: &Value) -> Result {
    let content = fresh("too long");
    let long = format!("{content} https://example.com/{}", "x".repeat(500));

    let message = on.refusal(&on.post(connection, &long)?).await?;

    ensure!(message.contains("Text is too long (maximum is 500 characters)"), "the post says {message}");
    ensure!(!on.server.public_posts().iter().any(|it| it.text.contains(&content)), "it is public");
    Ok(())
}
