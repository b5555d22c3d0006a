//! A real Ghost: its own conversion of HTML, its own validation, its own posts, read by its owner.

use std::time::Duration;

use domain::media::MimeType;
use fakes::conformance::samples::sample;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    connecting::{connected, types},
    scenes::Scenes,
};
use crate::{
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    ghost_server::{GhostServer, Integration},
    harness::{Harness, LIFTED},
    http_response::{integer, list, text},
    lossy_proxy::{LossyProxy, ProxyPort},
    moment,
    report::Report,
};

/// Enough seconds for a post whose response was lost.
const SETTLED_SECONDS: u64 = 150;

/// A site that is reached through a proxy.
struct GhostFixture {
    site: GhostServer,
    proxy: LossyProxy,
}

impl GhostFixture {
    async fn start() -> Result<Self> {
        let proxy_port = ProxyPort::take().await?;
        let site = GhostServer::start(proxy_port.number(), None).await?;
        let proxy = proxy_port.forward_to(site.listens());
        Ok(Self { site, proxy })
    }

    async fn connect(&self, user: &User<'_>, key: &str) -> Result<Value> {
        let flow = user.begin_at("ghost").await?;
        // As a browser shows it in Ghost Admin.
        let site = format!("http://{}/ghost/#/settings/integrations", self.proxy.address());
        let typed = [("site", site), ("admin_api_key", key.to_owned())];
        types(user, &flow, &typed.map(|(name, it)| (name.to_owned(), it)).into()).await?;
        connected(user, &flow).await
    }

    /// The only post with this in its title.
    async fn find(&self, title: &str) -> Result<Value> {
        let posts = self.site.posts().await?;
        let found: Vec<_> =
            posts.iter().filter(|it| it["title"].as_str().is_some_and(|it| it.contains(title))).collect();
        let [post] = found[..] else { crate::fail!("{} posts with {title:?}", found.len()) };
        Ok(post.clone())
    }

    /// Publishes a post, and returns it from our API and from the site.
    async fn publish(&self, user: &User<'_>, body: &Value, title: &str) -> Result<(Value, Value)> {
        let id = integer(&user.create(body).await?, "id")?;
        let post = user.reaches(id, "published", SETTLED_SECONDS).await?;
        let site_post = self.find(title).await?;
        same(&post["platforms"][0]["platform_post_id"], &site_post["id"], "its id")?;
        Ok((post, site_post))
    }
}

/// A post with this text, due in a second.
fn body(connection: &Value, content: &str) -> Result<Value> {
    Ok(json!({ "content": content, "platforms": targets(&[connection])?, "scheduled_at": moment::in_seconds(1) }))
}

/// Runs every scene.
pub async fn run(report: &mut Report) -> Result {
    let fixture = GhostFixture::start().await?;
    let address = fixture.proxy.address().to_string();
    let arguments: Vec<_> = ["--allow-fetch-from", &address].into_iter().chain(LIFTED).collect();
    let local = Harness::start(&arguments).await?;
    let deployment = Deployment::new(local.ready().clone()).await?;
    let user = deployment.new_user().await?;

    let mut scenes = Scenes { part: "ghost", report };
    let connection = scenes.play("a site is connected with an Admin API key", connect_account(&fixture, &user)).await;
    if let Some(it) = connection {
        scenes
            .play("a title and paragraphs, with a link and without scripts", publish_text(&fixture, &user, &it))
            .await;
        scenes.play("options of a post, and an e-mail", publish_with_options(&fixture, &user, &it)).await;
        scenes.play("a draft stays a draft", publish_as_draft(&fixture, &user, &it)).await;
        scenes.play("pictures and a video, byte for byte", files(&fixture, &user, &it)).await;
        scenes.play("lost responses, and exactly one post", lose_responses(&fixture, &user, &it)).await;
        scenes.play("an edited draft is published as it was left", edit_draft(&fixture, &user, &it)).await;
        scenes.play("an integration is deleted and added again", revoke_and_reconnect(&fixture, &user, &it)).await;
    }
    Ok(())
}

async fn connect_account(fixture: &GhostFixture, user: &User<'_>) -> Result<Value> {
    let connection = fixture.connect(user, &fixture.site.integration.key).await?;
    same(&connection["provider"], &json!("ghost"), "provider")?;
    same(&connection["username"], &json!(fixture.proxy.address().to_string()), "username")?;
    same(&connection["display_name"], &json!("Harbour & Lighthouse"), "display_name")?;
    let path = format!("/connections/{}/choices/newsletter", integer(&connection, "id")?);
    let newsletters = user.api.get(&path).await?.ok(200)?;
    same(&newsletters["data"][0]["value"], &json!("default-newsletter"), "the newsletter")?;
    Ok(connection)
}

async fn publish_text(fixture: &GhostFixture, user: &User<'_>, connection: &Value) -> Result {
    let title = fresh("Приве́т <b> & 日本 👩‍👩‍👧‍👦");
    let content = format!("{title}\n\nOne [x] \\ \"two\"\nhttps://example.com/?a=1&b=2 <script>three</script>");

    let (post, site_post) = fixture.publish(user, &body(connection, &content)?, &title).await?;

    same(&site_post["status"], &json!("published"), "status")?;
    let html = text(&site_post, "html")?;
    let link = "<a href=\"https://example.com/?a=1&amp;b=2\">https://example.com/?a=1&amp;b=2</a>";
    ensure!(html.contains(link) && html.contains("&lt;script&gt;three"), "its HTML is {html}");
    same(&site_post["email"], &Value::Null, "its e-mail")?;
    let url = text(&post["platforms"][0], "platform_post_url")?;
    same(Some(url), site_post["url"].as_str(), "URL")?;
    ensure!(!url.contains("sps-"), "the mark is in {url}");
    let (status, page) = fixture.site.bytes(url).await?;
    let page = String::from_utf8_lossy(&page).into_owned();
    ensure!(status == StatusCode::OK && page.contains("&lt;script&gt;three"), "{url}: {status} {page}");
    Ok(())
}

async fn publish_with_options(fixture: &GhostFixture, user: &User<'_>, connection: &Value) -> Result {
    let title = fresh("A & B");
    let slug = fresh("slug").replace(' ', "-").to_lowercase();
    let mut body = body(connection, "With options")?;
    body["media"] = json!([user.picture().await?]);
    body["platforms"][0]["options"] = json!({
        "title": title, "visibility": "members", "excerpt": "In short", "slug": slug, "tags": ["boats", "#internal"],
        "canonical_url": "https://bücher.example/ä", "featured": true, "newsletter": "default-newsletter",
    });

    let (_, site_post) = fixture.publish(user, &body, &title).await?;

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
    let id = integer(&user.create(&unknown).await?, "id")?;
    let failed = user.reaches(id, "failed", 60).await?;
    let message = text(&failed["platforms"][0], "error_message")?;
    ensure!(message.contains("option newsletter"), "the post says {message}");
    same(&fixture.find(&title).await?["status"], &json!("draft"), "its status on the site")
}

async fn publish_as_draft(fixture: &GhostFixture, user: &User<'_>, connection: &Value) -> Result {
    let title = fresh("For later");
    let mut body = body(connection, &title)?;
    body["platforms"][0]["options"] = json!({ "status": "draft" });
    let (_, site_post) = fixture.publish(user, &body, &title).await?;
    same(&site_post["status"], &json!("draft"), "status")?;
    ensure!(!text(&site_post, "slug")?.starts_with("sps-"), "the mark is left: {}", site_post["slug"]);
    Ok(())
}

async fn files(fixture: &GhostFixture, user: &User<'_>, connection: &Value) -> Result {
    let kinds = [MimeType::Png, MimeType::Jpeg, MimeType::Webp, MimeType::Gif, MimeType::Mp4];
    let files = kinds.map(|it| (it, sample(it, 1).bytes));
    let mut media = Vec::new();
    for (mime_type, bytes) in &files {
        let path = user.upload(mime_type.as_str(), bytes).await?;
        media.push(json!({ "path": path, "alt_text": "Ein \"Boot\" & mehr" }));
    }
    let title = fresh("with files");
    let mut body = body(connection, &title)?;
    body["media"] = media.into();

    let (_, site_post) = fixture.publish(user, &body, &title).await?;

    let html = text(&site_post, "html")?;
    let sources: Vec<_> = html.split(" src=\"").skip(1).filter_map(|it| it.split_once('"')).map(|it| it.0).collect();
    same(sources.len(), files.len(), "files of the post")?;
    for (source, (mime_type, bytes)) in sources.iter().zip(&files) {
        ensure!(fixture.site.bytes(source).await?.1 == *bytes, "{mime_type:?}: other bytes");
    }
    same(html.matches("Ein &quot;Boot&quot; &amp; mehr").count(), 5, "alternative texts")
}

async fn lose_responses(fixture: &GhostFixture, user: &User<'_>, connection: &Value) -> Result {
    for lost in [
        "POST /ghost/api/admin/posts/?source=html",
        "PUT /ghost/api/admin/posts/",
        "POST /ghost/api/admin/images/upload/",
    ] {
        fixture.proxy.lose(1, lost);
        let before = fixture.proxy.request_count(lost);
        let title = fresh("the response is lost");
        let mut body = body(connection, &title)?;
        let is_upload = lost.ends_with("upload/");
        if is_upload {
            body["media"] = json!([user.picture().await?]);
        }

        let (_, site_post) = fixture.publish(user, &body, &title).await?;

        same(&site_post["status"], &json!("published"), "status")?;
        let calls = fixture.proxy.request_count(lost) - before;
        same((fixture.proxy.unmet(), calls), (0, if is_upload { 2 } else { 1 }), "answers to be lost, and calls")?;
    }
    Ok(())
}

async fn edit_draft(fixture: &GhostFixture, user: &User<'_>, connection: &Value) -> Result {
    let title = fresh("edited");
    let mut body = body(connection, &title)?;
    // The draft is made half a minute before.
    body["scheduled_at"] = json!(moment::in_seconds(25));
    let id = integer(&user.create(&body).await?, "id")?;
    let draft =
        moment::eventually(Duration::from_secs(20), "the draft", async || Ok(fixture.find(&title).await.ok())).await?;
    // Ghost compares whole seconds.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let path = format!("posts/{}/", text(&draft, "id")?);
    let edited = json!({ "posts": [{ "title": format!("{title}, by hand"), "updated_at": draft["updated_at"] }] });
    fixture.site.call(Method::PUT, &path, &edited).await?;

    user.reaches(id, "published", SETTLED_SECONDS).await?;
    let site_post = fixture.find(&title).await?;
    same(&site_post["title"], &json!(format!("{title}, by hand")), "title")?;
    same((&site_post["id"], &site_post["status"]), (&draft["id"], &json!("published")), "the post")
}

async fn revoke_and_reconnect(fixture: &GhostFixture, user: &User<'_>, connection: &Value) -> Result {
    let Integration { id, .. } = &fixture.site.integration;
    fixture.site.delete_integration(id).await?;
    let title = fresh("after it was deleted");
    let post = user.schedule(&title, &[connection], 1).await?;
    user.loses_grant(connection, 60).await?;

    let added = fixture.site.add_integration("again").await?;
    let reconnected = fixture.connect(user, &added.key).await?;
    same(&reconnected["id"], &connection["id"], "id of the connection")?;
    user.reaches(post, "published", SETTLED_SECONDS).await?;
    same(&fixture.find(&title).await?["status"], &json!("published"), "status")
}
