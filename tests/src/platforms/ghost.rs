//! A real Ghost: its own conversion of HTML, its own validation, its own posts, read by its owner.

use std::{sync::Arc, time::Duration};

use domain::media::MimeType;
use fakes::conformance::{fake_platform::FakePlatform, samples::sample};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    on_server::{OnServer, SETTLED_SECONDS, lose_each},
    scenes::Scenes,
    several::AllPlatforms,
};
use crate::{
    deployment::fresh,
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    moment,
    real_servers::ghost::RealGhost,
    report::Report,
};

pub async fn run(report: &mut Report) -> Result {
    let site = Arc::new(RealGhost::start_alone().await?);
    let stack = AllPlatforms::beside(vec![Arc::<RealGhost>::clone(&site)], &[]).await?;
    let user = stack.deployment().new_user().await?;
    let on = OnServer { user: &user, server: &*site };

    let mut scenes = Scenes { part: "ghost", report };
    let connection = scenes.play("a site is connected with an Admin API key", connect_account(&on, &site)).await;
    if let Some(it) = connection {
        scenes.play("a page without scripts", publish_text(&on, &site, &it)).await;
        scenes.play("options of a post, and an e-mail", publish_with_options(&on, &site, &it)).await;
        scenes.play("a draft stays a draft", publish_as_draft(&on, &site, &it)).await;
        scenes.play("lost responses, and exactly one post", lose_responses(&on, &site, &it)).await;
        scenes.play("an edited draft is published as it was left", edit_draft(&on, &site, &it)).await;
        scenes.play("an integration is deleted and added again", on.revoke_and_reconnect(&it)).await;
    }
    Ok(())
}

async fn connect_account(on: &OnServer<'_>, site: &RealGhost) -> Result<Value> {
    let connection = on.connect().await?;
    same(&connection["provider"], &json!("ghost"), "provider")?;
    same(&connection["username"], &json!(site.addresses()[0].to_string()), "username")?;
    same(&connection["display_name"], &json!("Harbour & Lighthouse"), "display_name")?;
    let path = format!("/connections/{}/choices/newsletter", integer(&connection, "id")?);
    let newsletters = on.user.api.get(&path).await?.ok(200)?;
    same(&newsletters["data"][0]["value"], &json!("default-newsletter"), "the newsletter")?;
    Ok(connection)
}

/// The only post or draft with this in its title.
async fn find(site: &RealGhost, title: &str) -> Result<Value> {
    let posts = site.server().posts().await?;
    let found: Vec<_> = posts.iter().filter(|it| it["title"].as_str().is_some_and(|it| it.contains(title))).collect();
    let [post] = found[..] else { crate::fail!("{} posts with {title:?}", found.len()) };
    Ok(post.clone())
}

/// Publishes a post; returns it from the site, where no other one has this in its title.
async fn publish(on: &OnServer<'_>, site: &RealGhost, body: &Value, title: &str) -> Result<Value> {
    let target = on.publish(body).await?;
    let site_post = find(site, title).await?;
    same(&target["platform_post_id"], &site_post["id"], "its id")?;
    same(&target["platform_post_url"], &site_post["url"], "its URL")?;
    Ok(site_post)
}

async fn publish_text(on: &OnServer<'_>, site: &RealGhost, connection: &Value) -> Result {
    let title = fresh("a title");

    let mut body = on.post(connection, &format!("{title}\n\nTwo <script>three</script>"))?;
    let video = on.user.upload("video/mp4", &sample(MimeType::Mp4, 1).bytes).await?;
    body["media"] = json!([{ "path": video, "alt_text": "Ein \"Boot\" & mehr" }]);
    let site_post = publish(on, site, &body, &title).await?;

    same(&site_post["status"], &json!("published"), "status")?;
    same(&site_post["email"], &Value::Null, "its e-mail")?;
    let url = text(&site_post, "url")?;
    ensure!(!url.contains("sps-"), "the mark is in {url}");
    let (status, page) = site.server().bytes(url).await?;
    let page = String::from_utf8_lossy(&page).into_owned();
    let is_shown = page.contains("&lt;script&gt;three") && page.contains("Ein &quot;Boot&quot; &amp; mehr");
    ensure!(status == StatusCode::OK && is_shown, "{url}: {status} {page}");
    Ok(())
}

async fn publish_with_options(on: &OnServer<'_>, site: &RealGhost, connection: &Value) -> Result {
    let title = fresh("A & B");
    let slug = fresh("slug").replace(' ', "-").to_lowercase();
    let mut body = on.post(connection, "With options")?;
    body["media"] = json!([on.user.picture().await?]);
    body["platforms"][0]["options"] = json!({
        "title": title, "visibility": "members", "excerpt": "In short", "slug": slug, "tags": ["boats", "#internal"],
        "canonical_url": "https://bücher.example/ä", "featured": true, "newsletter": "default-newsletter",
    });

    let site_post = publish(on, site, &body, &title).await?;

    same(&site_post["visibility"], &json!("members"), "visibility")?;
    same(&site_post["custom_excerpt"], &json!("In short"), "excerpt")?;
    same(&site_post["slug"], &json!(slug), "slug")?;
    same(&site_post["canonical_url"], &json!("https://xn--bcher-kva.example/%C3%A4"), "canonical URL")?;
    let tags: Vec<_> = list(&site_post, "tags")?.iter().filter_map(|it| it["name"].as_str()).collect();
    same(tags, vec!["boats", "#internal"], "tags")?;
    let (image, html) = (text(&site_post, "feature_image")?, text(&site_post, "html")?);
    ensure!(!html.contains(image), "the featured image is in the post, too: {html}");
    ensure!(site_post["email"]["status"].is_string(), "no e-mail was made: {}", site_post["email"]);

    let mut unknown = body.clone();
    let title = fresh("no such newsletter");
    unknown["platforms"][0]["options"] = json!({ "title": title, "newsletter": "nobody" });
    unknown["scheduled_at"] = json!(moment::in_seconds(1));
    let message = on.refusal(&unknown).await?;
    ensure!(message.contains("option newsletter"), "the post says {message}");
    same(&find(site, &title).await?["status"], &json!("draft"), "its status on the site")
}

async fn publish_as_draft(on: &OnServer<'_>, site: &RealGhost, connection: &Value) -> Result {
    let title = fresh("For later");
    let mut body = on.post(connection, &title)?;
    body["platforms"][0]["options"] = json!({ "status": "draft" });
    let site_post = publish(on, site, &body, &title).await?;
    same(&site_post["status"], &json!("draft"), "status")?;
    ensure!(!text(&site_post, "slug")?.starts_with("sps-"), "the mark is left: {}", site_post["slug"]);
    Ok(())
}

async fn lose_responses(on: &OnServer<'_>, site: &RealGhost, connection: &Value) -> Result {
    let title = on.lose_responses(connection, lose_each(site.faults())).await?;
    same(&find(site, &title).await?["status"], &json!("published"), "status")
}

async fn edit_draft(on: &OnServer<'_>, site: &RealGhost, connection: &Value) -> Result {
    let title = fresh("edited");
    let mut body = on.post(connection, &title)?;
    // The draft is made half a minute before.
    body["scheduled_at"] = json!(moment::in_seconds(25));
    let id = integer(&on.user.create(&body).await?, "id")?;
    let draft =
        moment::eventually(Duration::from_secs(20), "the draft", async || Ok(find(site, &title).await.ok())).await?;
    // Ghost compares whole seconds.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let path = format!("posts/{}/", text(&draft, "id")?);
    let edited = json!({ "posts": [{ "title": format!("{title}, by hand"), "updated_at": draft["updated_at"] }] });
    site.server().call(Method::PUT, &path, &edited).await?;

    on.user.reaches(id, "published", SETTLED_SECONDS).await?;
    let site_post = find(site, &title).await?;
    same(&site_post["title"], &json!(format!("{title}, by hand")), "title")?;
    same((&site_post["id"], &site_post["status"]), (&draft["id"], &json!("published")), "the post")
}
