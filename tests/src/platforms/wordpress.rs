//! A real WordPress: its own page for application passwords, its own validation, its own posts,
//! read by its administrator.

use std::sync::Arc;

use domain::media::MimeType;
use fakes::conformance::{
    fake_platform::{Call, FakePlatform, InjectedFault},
    samples::sample,
};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{
    on_server::{OnServer, lose_each},
    scenes::Scenes,
    several::AllPlatforms,
};
use crate::{
    deployment::fresh,
    ensure,
    error::{Result, same},
    http_response::text,
    moment,
    real_servers::wordpress::{AUTHOR, RealWordpress},
    report::Report,
};

pub async fn run(report: &mut Report) -> Result {
    let site = Arc::new(RealWordpress::start_alone().await?);
    let plain = Arc::new(RealWordpress::start_plain().await?);
    let stack =
        AllPlatforms::beside(vec![Arc::<RealWordpress>::clone(&site), Arc::<RealWordpress>::clone(&plain)], &[])
            .await?;
    let user = stack.deployment().new_user().await?;
    let on = OnServer { user: &user, server: &*site };

    let mut scenes = Scenes { part: "wordpress", report };
    let connection = scenes.play("an account is connected on the site's own page", connect_account(&on, &site)).await;
    if let Some(it) = connection {
        scenes.play("a page without shortcodes and scripts", publish_text(&on, &site, &it)).await;
        scenes.play("options of a post", publish_with_options(&on, &site, &it)).await;
        scenes.play("a too large file leaves nothing behind", refuse_large_file(&on, &site, &it)).await;
        scenes.play("lost responses, and exactly one post", lose_responses(&on, &site, &it)).await;
        scenes.play("a password is deleted and granted again", on.revoke_and_reconnect(&it)).await;
        scenes.play("disconnecting deletes the password", on.disconnect(&it)).await;
    }
    let on = OnServer { user: &user, server: &*plain };
    scenes.play("a site below a path, without permalinks", publish_without_permalinks(&on, &plain)).await;
    Ok(())
}

async fn connect_account(on: &OnServer<'_>, site: &RealWordpress) -> Result<Value> {
    let connection = on.connect().await?;
    same(&connection["provider"], &json!("wordpress"), "provider")?;
    same(&connection["username"], &json!(format!("{}@{}", AUTHOR.0, site.addresses()[0])), "username")?;
    same(&connection["display_name"], &json!("Harbour & Lighthouse"), "display_name")?;
    let names = site.server().passwords().await?;
    let is_ours = names.iter().all(|it| it["name"].as_str().is_some_and(|it| it.starts_with("Social Publishing ")));
    ensure!(names.len() == 1 && is_ours, "its passwords are {names:?}");
    Ok(connection)
}

/// Publishes a post; returns it from the site, where no other one has a text like this.
async fn publish(on: &OnServer<'_>, site: &RealWordpress, body: &Value) -> Result<Value> {
    let target = on.publish(body).await?;
    let content = text(body, "content")?.lines().next().unwrap_or_default();
    let [site_post] = &site.server().posts(content).await?[..] else { crate::fail!("not one post with {content:?}") };
    same(&target["platform_post_id"], &json!(site_post["id"].to_string()), "its id")?;
    same(&target["platform_post_url"], &site_post["link"], "its URL")?;
    Ok(site_post.clone())
}

/// The alternative text of a video is in the library alone.
async fn publish_text(on: &OnServer<'_>, site: &RealWordpress, connection: &Value) -> Result {
    let content = format!("{}\n\nOne [gallery] \\ <script>three</script>", fresh("a title"));
    let mut body = on.post(connection, &content)?;
    let video = on.user.upload("video/mp4", &sample(MimeType::Mp4, 1).bytes).await?;
    body["media"] = json!([{ "path": video, "alt_text": "Ein \"Boot\" & mehr" }]);

    let site_post = publish(on, site, &body).await?;

    same(&site_post["status"], &json!("publish"), "status")?;
    let (status, page) = site.server().bytes(text(&site_post, "link")?).await?;
    let page = String::from_utf8_lossy(&page).into_owned();
    let is_shown = page.contains("One &#091;gallery]") && page.contains("&lt;script&gt;three");
    ensure!(status == StatusCode::OK && is_shown, "{status} {page}");
    let files = site.server().list("wp/v2/media", &[("parent", &site_post["id"].to_string())]).await?;
    let alt_texts: Vec<_> = files.into_iter().map(|mut it| it["alt_text"].take()).collect();
    same(alt_texts, vec![json!("Ein \"Boot\" & mehr")], "alternative texts of the post's files")
}

async fn publish_with_options(on: &OnServer<'_>, site: &RealWordpress, connection: &Value) -> Result {
    let mut body = on.post(connection, &fresh("with options"))?;
    let slug = fresh("slug").replace(' ', "-").to_lowercase();
    body["platforms"][0]["options"] = json!({
        "title": "A & B", "status": "private", "excerpt": "In short", "slug": slug,
        "categories": ["news & \"VIEWS\""], "tags": ["boats", "Q&A"],
    });

    let site_post = publish(on, site, &body).await?;

    same(&site_post["title"]["raw"], &json!("A &amp; B"), "title")?;
    same(&site_post["status"], &json!("private"), "status")?;
    same(&site_post["excerpt"]["raw"], &json!("In short"), "excerpt")?;
    same(&site_post["slug"], &json!(slug), "slug")?;
    let count = |name: &str| site_post[name].as_array().map_or(0, Vec::len);
    same((count("categories"), count("tags")), (1, 2), "categories and tags")?;
    // Equal names become one tag.
    let mut again = body.clone();
    again["content"] = json!(fresh("with options again"));
    again["scheduled_at"] = json!(moment::in_seconds(1));
    let again = publish(on, site, &again).await?;
    same(
        (&again["categories"], &again["tags"]),
        (&site_post["categories"], &site_post["tags"]),
        "categories and tags",
    )?;
    let slug = text(&again, "slug")?;
    ensure!(slug.ends_with("-2"), "a slug is given twice: {slug}");

    let mut unknown = body.clone();
    unknown["platforms"][0]["options"] = json!({ "categories": ["No such category"] });
    unknown["scheduled_at"] = json!(moment::in_seconds(1));
    let message = on.refusal(&unknown).await?;
    ensure!(message.contains("No such category"), "the post says {message}");
    Ok(())
}

async fn refuse_large_file(on: &OnServer<'_>, site: &RealWordpress, connection: &Value) -> Result {
    let before = site.server().library().await?;
    let content = fresh("too large");
    let mut video = sample(MimeType::Mp4, 1).bytes;
    // An MP4 box without content.
    video.extend([&(21_u32 << 20).to_be_bytes()[..], b"free", &vec![0; (21 << 20) - 8]].concat());
    let mut body = on.post(connection, &content)?;
    body["media"] = json!([on.user.picture().await?, on.user.upload("video/mp4", &video).await?]);

    let message = on.refusal(&body).await?;

    ensure!(message.contains("upload_max_filesize"), "the post says {message}");
    same(site.server().posts(&content).await?.len(), 0, "posts with this text")?;
    same(site.server().library().await?, before, "files in the library")
}

async fn lose_responses(on: &OnServer<'_>, site: &RealWordpress, connection: &Value) -> Result {
    let before = site.server().library().await?;
    let content = on.lose_responses(connection, lose_each(site.faults())).await?;
    same(site.server().posts(&content).await?.len(), 1, "posts and drafts with this text")?;
    same(site.server().library().await?, before + 1, "files in the library")
}

async fn publish_without_permalinks(on: &OnServer<'_>, site: &RealWordpress) -> Result {
    let connection = on.connect().await?;
    let mut body = on.post(&connection, &fresh("without permalinks"))?;
    body["media"] = json!([on.user.picture().await?]);
    site.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    let site_post = publish(on, site, &body).await?;

    same(site.call_count(Call::Publish), 1, "publish calls")?;
    same(text(&site_post, "link")?, &format!("{}/?p={}", site.base_url(), site_post["id"]), "link")?;
    same(on.find(text(&body, "content")?)?.media.len(), 1, "files")?;
    on.disconnect(&connection).await
}
