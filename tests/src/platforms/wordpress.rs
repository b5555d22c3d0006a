//! A real WordPress: its own page for application passwords, its own validation, its own posts,
//! read by its administrator.

use std::time::Duration;

use domain::media::MimeType;
use fakes::conformance::samples::sample;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{
    connecting::{connected, submit_form_for_redirect, types},
    scenes::Scenes,
};
use crate::{
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    harness::{Harness, LIFTED},
    http_response::{integer, text},
    lossy_proxy::{LossyProxy, ProxyPort},
    moment,
    report::Report,
    wordpress_server::{AUTHOR, UrlLayout, WordpressServer},
};

/// Enough seconds for a post whose response was lost.
const SETTLED_SECONDS: u64 = 150;

const APPROVE: &str = "Yes, I approve of this connection";
const REJECT: &str = "No, I do not approve of this connection";

/// A site that is reached through a proxy.
struct WordpressFixture {
    site: WordpressServer,
    proxy: LossyProxy,
}

impl WordpressFixture {
    async fn start(addresses: UrlLayout) -> Result<Self> {
        let proxy_port = ProxyPort::take().await?;
        let site = WordpressServer::start(proxy_port.number(), addresses).await?;
        let proxy = proxy_port.forward_to(site.listens());
        Ok(Self { site, proxy })
    }

    /// The address as users know it.
    fn site_url(&self) -> String {
        format!("http://{}{}", self.proxy.address(), self.site.base())
    }

    /// Our page, the site's, and the callback.
    async fn authorize(&self, user: &User<'_>, press: &str) -> Result<(Value, String)> {
        let flow = user.begin_at("wordpress").await?;
        let redirect = submit_form_for_redirect(user, &flow, &[("site".to_owned(), self.site_url())].into()).await?;
        let mut browser = user.browser.clone();
        self.site.sign_in(&mut browser, &self.site_url()).await?;
        let page = browser.open(redirect.as_str()).await?;
        let page = browser.press(&page, press, &[]).await?;
        Ok((flow, page.html))
    }

    async fn connect(&self, user: &User<'_>) -> Result<Value> {
        let (flow, page) = self.authorize(user, APPROVE).await?;
        ensure!(page.contains("is connected"), "the person reads {page}");
        connected(user, &flow).await
    }

    /// Publishes a post, and returns it from our API and from the site.
    async fn publish(&self, user: &User<'_>, body: &Value) -> Result<(Value, Value)> {
        let id = integer(&user.create(body).await?, "id")?;
        let post = user.reaches(id, "published", SETTLED_SECONDS).await?;
        // The unique part of the text; other parts are stored as HTML.
        let first = text(body, "content")?.lines().next().unwrap_or_default();
        let unique_part = first.rmatch_indices('-').nth(1).map_or(first, |(at, _)| &first[at + 1..]);
        let [site_post] = &self.site.posts(unique_part).await?[..] else {
            crate::fail!("not one post with {unique_part:?}")
        };
        same(&post["platforms"][0]["platform_post_id"], &json!(site_post["id"].to_string()), "its id")?;
        Ok((post, site_post.clone()))
    }
}

/// A post with this text, due in a second.
fn body(connection: &Value, content: &str) -> Result<Value> {
    Ok(json!({ "content": content, "platforms": targets(&[connection])?, "scheduled_at": moment::in_seconds(1) }))
}

/// Runs every scene.
pub async fn run(report: &mut Report) -> Result {
    let fixture = WordpressFixture::start(UrlLayout::Permalinks).await?;
    let plain = WordpressFixture::start(UrlLayout::Plain).await?;
    let mut arguments = Vec::new();
    let addresses = [&fixture, &plain].map(|it| it.proxy.address().to_string());
    for address in &addresses {
        arguments.extend(["--allow-fetch-from", address]);
    }
    arguments.extend(LIFTED);
    let local = Harness::start(&arguments).await?;
    let deployment = Deployment::new(local.ready().clone()).await?;
    let user = deployment.new_user().await?;

    let mut scenes = Scenes { part: "wordpress", report };
    scenes.play("denied access connects nothing", deny_access(&fixture, &user)).await;
    let connection =
        scenes.play("an account is connected on the site's own page", connect_account(&fixture, &user)).await;
    if let Some(it) = connection {
        scenes
            .play("a title and paragraphs, with a link and without scripts", publish_text(&fixture, &user, &it))
            .await;
        scenes.play("options of a post", publish_with_options(&fixture, &user, &it)).await;
        scenes.play("pictures and a video, byte for byte", files(&fixture, &user, &it)).await;
        scenes.play("a too large file leaves nothing behind", refuse_large_file(&fixture, &user, &it)).await;
        scenes.play("lost responses, and exactly one post", lose_responses(&fixture, &user, &it)).await;
        scenes.play("a password is deleted and granted again", revoke_and_reconnect(&fixture, &user, &it)).await;
        scenes.play("disconnecting deletes the password", disconnect_account(&fixture, &user, &it)).await;
    }
    scenes.play("a password entered by hand works as well", connect_with_entered_password(&fixture, &user)).await;
    scenes.play("a site below a path, without permalinks", publish_without_permalinks(&plain, &user)).await;
    Ok(())
}

async fn deny_access(fixture: &WordpressFixture, user: &User<'_>) -> Result {
    let (flow, page) = fixture.authorize(user, REJECT).await?;
    ensure!(page.contains("Access was denied"), "the person reads {page}");
    let status = user.api.get(text(&flow, "poll_url")?).await?.ok(200)?;
    same(&status["status"], &json!("failed"), "status of the connect flow")
}

async fn connect_account(fixture: &WordpressFixture, user: &User<'_>) -> Result<Value> {
    let connection = fixture.connect(user).await?;
    same(&connection["provider"], &json!("wordpress"), "provider")?;
    same(&connection["username"], &json!(format!("{}@{}", AUTHOR.0, fixture.proxy.address())), "username")?;
    same(&connection["display_name"], &json!("Harbour & Lighthouse"), "display_name")?;
    let names = fixture.site.passwords().await?;
    let is_ours = names.iter().all(|it| it["name"].as_str().is_some_and(|it| it.starts_with("Social Publishing ")));
    ensure!(names.len() == 1 && is_ours, "its passwords are {names:?}");
    Ok(connection)
}

async fn publish_text(fixture: &WordpressFixture, user: &User<'_>, connection: &Value) -> Result {
    let title = fresh("Приве́т <b> & 日本 👩‍👩‍👧‍👦");
    let content = format!("{title}\n\nOne [gallery] \\ \"two\"\nhttps://example.com/?a=1&b=2 <script>three</script>");

    let (post, site_post) = fixture.publish(user, &body(connection, &content)?).await?;

    same(&site_post["status"], &json!("publish"), "status")?;
    same(
        &site_post["title"]["raw"],
        &json!(title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")),
        "title",
    )?;
    let html = text(&site_post["content"], "raw")?.replace("&#091;", "&#91;");
    let paragraph = "<p>One &#91;gallery] \\ &quot;two&quot;<br>\
                     <a href=\"https://example.com/?a=1&amp;b=2\">https://example.com/?a=1&amp;b=2</a> \
                     &lt;script&gt;three&lt;/script&gt;</p>";
    same(html, format!("<!-- wp:paragraph -->\n{paragraph}\n<!-- /wp:paragraph -->"), "content")?;
    let url = text(&post["platforms"][0], "platform_post_url")?;
    same(Some(url), site_post["link"].as_str(), "link")?;
    let (status, page) = fixture.site.bytes(url).await?;
    let page = String::from_utf8_lossy(&page).into_owned();
    ensure!(status == StatusCode::OK && page.contains("One &#091;gallery]"), "{url}: {status} {page}");
    Ok(())
}

async fn publish_with_options(fixture: &WordpressFixture, user: &User<'_>, connection: &Value) -> Result {
    let mut body = body(connection, &fresh("with options"))?;
    let slug = fresh("slug").replace(' ', "-").to_lowercase();
    body["platforms"][0]["options"] = json!({
        "title": "A & B", "status": "private", "excerpt": "In short", "slug": slug,
        "categories": ["news & \"VIEWS\""], "tags": ["boats", "Q&A"],
    });

    let (_, site_post) = fixture.publish(user, &body).await?;

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
    let (_, again) = fixture.publish(user, &again).await?;
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
    let id = integer(&user.create(&unknown).await?, "id")?;
    let failed = user.reaches(id, "failed", 30).await?;
    let message = text(&failed["platforms"][0], "error_message")?;
    ensure!(message.contains("No such category"), "the post says {message}");
    Ok(())
}

async fn files(fixture: &WordpressFixture, user: &User<'_>, connection: &Value) -> Result {
    let kinds = [MimeType::Png, MimeType::Jpeg, MimeType::Webp, MimeType::Gif, MimeType::Mp4];
    let files = kinds.map(|it| (it, sample(it, 1).bytes));
    let mut media = Vec::new();
    for (mime_type, bytes) in &files {
        let path = user.upload(mime_type.as_str(), bytes).await?;
        media.push(json!({ "path": path, "alt_text": "Ein \"Boot\" & mehr" }));
    }
    let mut body = body(connection, &fresh("with files"))?;
    body["media"] = media.into();

    let (_, site_post) = fixture.publish(user, &body).await?;

    let stored_files = fixture.site.files(integer(&site_post, "id")?).await?;
    same(stored_files.len(), files.len(), "files of the post")?;
    let html = text(&site_post["content"], "raw")?;
    let mut at = 0;
    for (file, (mime_type, bytes)) in stored_files.iter().zip(&files) {
        same(&file["mime_type"], &json!(mime_type.as_str()), "its type")?;
        same(&file["alt_text"], &json!("Ein \"Boot\" & mehr"), "its alternative text")?;
        let address = text(file, "source_url")?;
        ensure!(fixture.site.bytes(address).await?.1 == *bytes, "{mime_type:?}: other bytes");
        let found = html[at..].find(address).map(|it| at + it);
        ensure!(found.is_some(), "{address} is missing in {html}, or out of order");
        at = found.unwrap_or(at);
    }
    same(html.matches("alt=\"Ein &quot;Boot&quot; &amp; mehr\"").count(), 4, "alternative texts of pictures")
}

async fn refuse_large_file(fixture: &WordpressFixture, user: &User<'_>, connection: &Value) -> Result {
    let before = fixture.site.library().await?;
    let content = fresh("too large");
    let mut video = sample(MimeType::Mp4, 1).bytes;
    // An MP4 box without content.
    video.extend([&(3_u32 << 20).to_be_bytes()[..], b"free", &vec![0; (3 << 20) - 8]].concat());
    let mut body = body(connection, &content)?;
    body["media"] = json!([user.picture().await?, user.upload("video/mp4", &video).await?]);
    let id = integer(&user.create(&body).await?, "id")?;

    let failed = user.reaches(id, "failed", 60).await?;

    let message = text(&failed["platforms"][0], "error_message")?;
    ensure!(message.contains("upload_max_filesize"), "the post says {message}");
    same(fixture.site.posts(&content).await?.len(), 0, "posts with this text")?;
    same(fixture.site.library().await?, before, "files in the library")
}

async fn lose_responses(fixture: &WordpressFixture, user: &User<'_>, connection: &Value) -> Result {
    for lost in ["POST /wp-json/wp/v2/posts?", "POST /wp-json/wp/v2/posts/", "POST /wp-json/wp/v2/media?"] {
        fixture.proxy.lose(1, lost);
        let before = fixture.proxy.request_count(lost);
        let mut body = body(connection, &fresh("the response is lost"))?;
        if lost.ends_with("media?") {
            body["media"] = json!([user.picture().await?]);
        }

        let (_, site_post) = fixture.publish(user, &body).await?;

        same(&site_post["status"], &json!("publish"), "status")?;
        same(
            (fixture.proxy.unmet(), fixture.proxy.request_count(lost) - before),
            (0, 1),
            "answers to be lost, and calls",
        )?;
    }
    Ok(())
}

async fn revoke_and_reconnect(fixture: &WordpressFixture, user: &User<'_>, connection: &Value) -> Result {
    fixture.site.revoke().await?;
    let content = fresh("after it was deleted");
    let id = user.schedule(&content, &[connection], 1).await?;
    user.loses_grant(connection, 60).await?;

    let reconnected = fixture.connect(user).await?;
    same(&reconnected["id"], &connection["id"], "id of the connection")?;
    user.reaches(id, "published", SETTLED_SECONDS).await?;
    same(fixture.site.posts(&content).await?.len(), 1, "posts with this text")
}

async fn disconnect_account(fixture: &WordpressFixture, user: &User<'_>, connection: &Value) -> Result {
    same(fixture.site.passwords().await?.len(), 1, "passwords before")?;
    user.disconnect(connection).await?;
    moment::eventually(Duration::from_secs(30), "the end of the password", async || {
        Ok(fixture.site.passwords().await?.is_empty().then_some(()))
    })
    .await
}

async fn connect_with_entered_password(fixture: &WordpressFixture, user: &User<'_>) -> Result {
    let flow = user.begin_at("wordpress").await?;
    let password = fixture.site.create_password().await?;
    let typed = [("site", fixture.site_url()), ("username", AUTHOR.0.to_owned()), ("application_password", password)];
    types(user, &flow, &typed.map(|(name, it)| (name.to_owned(), it)).into()).await?;
    let connection = connected(user, &flow).await?;
    fixture.publish(user, &body(&connection, &fresh("by hand"))?).await?;
    user.disconnect(&connection).await
}

async fn publish_without_permalinks(fixture: &WordpressFixture, user: &User<'_>) -> Result {
    let connection = fixture.connect(user).await?;
    let mut body = body(&connection, &fresh("without permalinks"))?;
    body["media"] = json!([user.picture().await?]);
    fixture.proxy.lose(1, "POST /blog/index.php?rest_route=%2Fwp%2Fv2%2Fposts%2F");

    let (post, site_post) = fixture.publish(user, &body).await?;

    same(fixture.proxy.unmet(), 0, "responses still to be lost")?;
    let url = text(&post["platforms"][0], "platform_post_url")?;
    same(url, &format!("{}/?p={}", fixture.site_url(), site_post["id"]), "link")?;
    same(fixture.site.files(integer(&site_post, "id")?).await?.len(), 1, "files")?;
    user.disconnect(&connection).await
}
