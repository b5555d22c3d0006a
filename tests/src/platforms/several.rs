//! One post on every platform at once, also when some of them fail.

use std::{collections::BTreeSet, io::Write, path::Path, sync::Arc, time::Duration};

use domain::clock::Clock;
use domain::media::MimeType;
use fakes::all::start_all;
use fakes::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use fakes::conformance::samples::sample;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::{
    connecting::{connect, connect_for},
    scenes::Scenes,
};
use crate::{
    call_logs::LOG_OF_PLATFORMS,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, TestError, same},
    harness::{Harness, LIFTED},
    http_response::{integer, list, text},
    moment, picture,
    report::Report,
};

/// Monthly budget of a user's posts to X, in US cents: three posts with a link, at 20 each, and one
/// without, at 1.5.
const BUDGET: u32 = 62;

/// Enough seconds to be sure that a call which was cut off had no effect, and to repeat it.
const SETTLED_SECONDS: u64 = 180;

/// The local stack and a fake of every platform.
pub struct AllPlatforms {
    fakes: Vec<Arc<dyn FakePlatform>>,
    deployment: Deployment,
    _local: Harness,
    // Read again when a platform needs one of them.
    _secrets: NamedTempFile,
}

/// A user with an account on each platform, the sandbox first.
struct UserOnAllPlatforms<'a> {
    user: User<'a>,
    accounts: Vec<Value>,
}

impl UserOnAllPlatforms<'_> {
    /// Every platform, with one file: the result of [`AllPlatforms::shown`] for a post that is public once
    /// on each.
    fn one_post_each(&self) -> Result<Vec<(String, usize)>> {
        let mut all: Vec<_> =
            self.accounts.iter().map(|it| Ok((platform_name(it)?.to_owned(), 1))).collect::<Result<_>>()?;
        all.sort();
        Ok(all)
    }
}

impl AllPlatforms {
    pub async fn start() -> Result<Self> {
        if let Some(folder) = Path::new(LOG_OF_PLATFORMS).parent() {
            std::fs::create_dir_all(folder)?;
        }
        Self::beside(start_all(&Clock::System).await, &["--log-calls", LOG_OF_PLATFORMS]).await
    }

    /// Starts the local stack with these arguments and these fakes alone.
    pub async fn beside(fakes: Vec<Arc<dyn FakePlatform>>, arguments: &[&str]) -> Result<Self> {
        let mut settings: Value = fakes.iter().map(|it| (it.name().to_owned(), it.settings())).collect();
        if let Some(x) = settings.get_mut("x") {
            x["budget"] = json!({ "us_cents": BUDGET });
        }
        let app = |it: &Arc<dyn FakePlatform>| {
            let app = it.app_credentials()?;
            let secret = app.client_secret.expose_secret();
            Some((it.name().to_owned(), json!({ "client_id": app.client_id, "client_secret": secret })))
        };
        let mut secrets = NamedTempFile::new()?;
        secrets.write_all(fakes.iter().filter_map(app).collect::<Value>().to_string().as_bytes())?;
        let mut arguments: Vec<_> = arguments.iter().map(|it| (*it).to_owned()).collect();
        arguments.extend(["--platforms".to_owned(), settings.to_string()]);
        arguments.extend(["--platform-secrets".to_owned(), secrets.path().display().to_string()]);
        let addresses = fakes.iter().flat_map(|it| it.addresses());
        arguments.extend(addresses.flat_map(|it| ["--allow-fetch-from".to_owned(), it.to_string()]));
        arguments.extend(LIFTED.map(ToOwned::to_owned));
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let local = Harness::start(&arguments).await?;
        for fake in &fakes {
            fake.register_redirect_uri(&format!("{}/connect/callback/{}", local.ready().origin, fake.name()));
        }
        let deployment = Deployment::new(local.ready().clone()).await?;
        Ok(Self { fakes, deployment, _local: local, _secrets: secrets })
    }

    fn fake(&self, name: &str) -> Result<&dyn FakePlatform> {
        let found = self.fakes.iter().find(|it| it.name() == name);
        found.map(AsRef::as_ref).ok_or_else(|| TestError::new(format!("there is no {name}")))
    }

    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// Publishes these files of a new user on a platform that fetches files; returns the addresses
    /// from which it fetched them.
    pub async fn fetched(&self, platform: &str, files: &[(MimeType, Vec<u8>)]) -> Result<(User<'_>, Vec<String>)> {
        let (user, fake) = (self.deployment.new_user().await?, self.fake(platform)?);
        let account = connect(&user, fake).await?;
        let before = fake.fetched_urls().len();
        let mut media = Vec::new();
        for (mime_type, bytes) in files {
            media.push(user.upload(mime_type.as_str(), bytes).await?);
        }
        let platforms = json!([self.entry(&account)?]);
        let scheduled_at = moment::in_seconds(3);
        let content = fresh("fetched");
        let body = json!({ "content": content, "platforms": platforms, "media": media, "scheduled_at": scheduled_at });
        let id = integer(&user.create(&body).await?, "id")?;
        // Threads takes 40 s for a video, and is polled with growing pauses.
        user.reaches(id, "published", 120).await?;
        Ok((user, fake.fetched_urls().split_off(before)))
    }

    /// Connects an account of a platform for a profile; returns its id.
    pub async fn connect_for(&self, user: &User<'_>, platform: &str, profile: i64) -> Result<i64> {
        integer(&connect_for(user, self.fake(platform)?, profile).await?, "id")
    }

    async fn user(&self) -> Result<UserOnAllPlatforms<'_>> {
        let mut user = self.deployment.new_user().await?;
        let mut accounts = vec![user.connect(0).await?];
        for fake in &self.fakes {
            let connected = connect(&user, fake.as_ref()).await;
            accounts.push(connected.map_err(|it| TestError::new(format!("{}: {it}", fake.name())))?);
        }
        Ok(UserOnAllPlatforms { user, accounts })
    }

    /// Makes the next publish call on this platform fail: it refuses the content.
    async fn refuse(&self, account: &Value) -> Result {
        let platform = platform_name(account)?;
        match self.fake(platform) {
            Ok(fake) => fake.inject_fault(Call::Publish, InjectedFault::Refused, 1),
            Err(_) => self.deployment.arm(&json!({ "account": account["username"], "kind": "refuse" })).await?,
        }
        Ok(())
    }

    /// Makes the response to the next publish call on this platform get lost, where the platform has such a fault and its
    /// posts can be looked up.
    async fn lose_response(&self, account: &Value) -> Result {
        match self.fake(platform_name(account)?) {
            Ok(fake) if fake.can_look_up() && fake.can_fail(Call::Publish, InjectedFault::LoseResponse) => {
                fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
            }
            Ok(_) => {}
            Err(_) => self.deployment.arm(&json!({ "account": account["username"], "kind": "lose_answer" })).await?,
        }
        Ok(())
    }

    /// The public posts with this text, as platforms with the number of files.
    async fn shown(&self, content: &str) -> Result<Vec<(String, usize)>> {
        let mut shown = Vec::new();
        for entry in self.deployment.all_posts().await? {
            if text(&entry, "text")?.contains(content) {
                shown.push(("sandbox".to_owned(), list(&entry, "media")?.len()));
            }
        }
        for fake in &self.fakes {
            let posts = fake.public_posts().into_iter().filter(|it| it.text.contains(content));
            shown.extend(posts.map(|it| (fake.name().to_owned(), it.media.len())));
        }
        shown.sort();
        Ok(shown)
    }

    /// The target of a post on this account, with the options that the platform requires.
    fn entry(&self, account: &Value) -> Result<Value> {
        let platform = platform_name(account)?;
        let options = self.fake(platform).map(FakePlatform::options).unwrap_or_default();
        Ok(json!({ "connected_account_id": integer(account, "id")?, "options": options }))
    }

    /// Like [`Self::entry`], with a file of its own where every post needs a video.
    async fn entry_with_video(&self, user: &User<'_>, account: &Value) -> Result<Value> {
        let mut entry = self.entry(account)?;
        let shown = user.api.get(&format!("/connections/{}", integer(account, "id")?)).await?.ok(200)?;
        let is_required = |it: &Value| it["name"] == "min_videos" && it["when"].is_null();
        if list(&shown, "meta")?.iter().any(is_required) {
            let video = sample(MimeType::Mp4, 1).bytes;
            entry["media"] = json!([user.upload(MimeType::Mp4.as_str(), &video).await?]);
        }
        Ok(entry)
    }

    /// Schedules a post with an image, or a video where that is required, on all of these, due in two seconds; returns its id.
    async fn post(&self, to: &UserOnAllPlatforms<'_>, content: &str) -> Result<i64> {
        let mut platforms = Vec::new();
        for account in &to.accounts {
            platforms.push(self.entry_with_video(&to.user, account).await?);
        }
        // Google Business Profile accepts no smaller image.
        let media = [to.user.upload("image/png", &picture::png(250, 250, [30, 120, 90])).await?];
        let scheduled_at = moment::in_seconds(3);
        let body = json!({ "content": content, "platforms": platforms, "media": media, "scheduled_at": scheduled_at });
        integer(&to.user.create(&body).await?, "id")
    }
}

fn platform_name(account: &Value) -> Result<&str> {
    text(account, "provider")
}

pub async fn run(report: &mut Report) -> Result {
    let fixture = AllPlatforms::start().await?;
    let mut scenes = Scenes { part: "several", report };
    scenes.play("each account shows the rules of its platform", accounts_show_their_rules(&fixture)).await;
    scenes
        .play(
            "validation errors name platform, limit and value",
            validation_errors_name_platform_limit_and_value(&fixture),
        )
        .await;
    scenes
        .play("one post with an image is published on all platforms", post_is_published_on_every_platform(&fixture))
        .await;
    scenes.play("every response is lost, and each post is public once", lost_posts_are_public_once(&fixture)).await;
    let scene = addresses_are_short_and_end_with_their_user(&fixture);
    scenes.play("files are fetched by short addresses that expire with their user", scene).await;
    scenes.play("the monthly budget for X is respected", monthly_budget_is_respected(&fixture)).await;
    for parity in [0, 1] {
        let scene = failed_targets_are_retried_alone(&fixture, parity);
        scenes.play(&format!("every second target fails, from {parity}, and is retried alone"), scene).await;
    }
    Ok(())
}

async fn accounts_show_their_rules(fixture: &AllPlatforms) -> Result {
    let UserOnAllPlatforms { user, accounts } = fixture.user().await?;
    for (platform, name, value) in [
        ("bluesky", "max_text", json!(300)),
        ("bluesky", "text_unit", json!("graphemes")),
        ("discord", "max_text", json!(2000)),
        ("mastodon", "max_text", json!(500)),
        ("mastodon", "url_length", json!(23)),
        ("mastodon", "max_media", json!(4)),
        ("telegram", "max_text", json!(4096)),
    ] {
        let account = accounts.iter().find(|it| it["provider"] == platform);
        let account = account.ok_or_else(|| TestError::new(format!("there is no account of {platform}")))?;
        let shown = user.api.get(&format!("/connections/{}", integer(account, "id")?)).await?.ok(200)?;
        let meta = list(&shown, "meta")?.iter().find(|it| it["name"] == name);
        same(&meta.map(|it| it["value"].clone()).unwrap_or_default(), &value, &format!("{name} of {platform}"))?;
    }
    Ok(())
}

async fn validation_errors_name_platform_limit_and_value(fixture: &AllPlatforms) -> Result {
    let UserOnAllPlatforms { user, accounts } = fixture.user().await?;
    let accounts: Vec<_> =
        accounts.iter().filter(|it| it["provider"] == "mastodon" || it["provider"] == "bluesky").collect();
    // 463 characters, 120 of them a link: it counts 23 on Mastodon, and on Bluesky the 27 that are
    // shown of it.
    let long_text = format!("a https://example.com/{} {}", "x".repeat(100), "y".repeat(340));
    let body = json!({
        "content": long_text,
        "platforms": targets(&accounts)?,
        "scheduled_at": moment::in_seconds(600),
    });

    let refused = user.api.post("/posts", &body).await?.is(422)?.json()?;

    let errors = refused["errors"].as_object().cloned().unwrap_or_default();
    same(errors.keys().map(String::as_str).collect::<Vec<_>>(), vec!["platforms.0.content"], "the fields at fault")?;
    let message = errors["platforms.0.content"].to_string();
    for part in ["Bluesky", "300", "370"] {
        ensure!(message.contains(part), "{message} does not say {part}");
    }
    Ok(())
}

async fn post_is_published_on_every_platform(fixture: &AllPlatforms) -> Result {
    let everywhere = fixture.user().await?;
    publish_once_on_every_platform(fixture, &everywhere, "on all of them", 60).await
}

/// Some platforms recognize a repeated call, others list the post. On those without references, the post is recognized
/// by its content and claimed.
async fn lost_posts_are_public_once(fixture: &AllPlatforms) -> Result {
    let everywhere = fixture.user().await?;
    for account in &everywhere.accounts {
        fixture.lose_response(account).await?;
    }
    publish_once_on_every_platform(fixture, &everywhere, "lost everywhere", SETTLED_SECONDS).await
}

async fn publish_once_on_every_platform(
    fixture: &AllPlatforms,
    everywhere: &UserOnAllPlatforms<'_>,
    name: &str,
    seconds: u64,
) -> Result {
    let content = fresh(name);

    let id = fixture.post(everywhere, &content).await?;
    let published = everywhere.user.reaches(id, "published", seconds).await?;

    same(fixture.shown(&content).await?, everywhere.one_post_each()?, "public posts with their files")?;
    for target in list(&published, "platforms")? {
        ensure!(target["platform_post_id"].is_string(), "{target} has no id");
    }
    Ok(())
}

/// Instagram receives an image that was derived for it, Threads a video as it was uploaded. Each
/// address ends when its user is erased.
async fn addresses_are_short_and_end_with_their_user(fixture: &AllPlatforms) -> Result {
    let file = |mime_type| (mime_type, sample(mime_type, 1).bytes);
    let (picture, video) = (file(MimeType::Png), file(MimeType::Mp4));
    for (platform, file, end) in [("instagram", picture, ".jpg"), ("threads", video, ".mp4")] {
        let (user, addresses) = fixture.fetched(platform, &[file]).await?;
        same(addresses.len(), 1, &format!("files that {platform} fetched"))?;
        for address in &addresses {
            let is_ours = address.starts_with(&format!("{}/files/", fixture.deployment.origin()));
            ensure!(is_ours && address.ends_with(end), "{platform} fetched {address}");
            ensure!(address.len() < 150 && !address.contains('?'), "{platform} fetched {address}");
            let response = fixture.deployment.http().get(address).send().await?;
            same(response.status().as_u16(), 200, &format!("the status of {address}"))?;
        }
        let erase = format!("{}/dev/erase-user/{}", fixture.deployment.origin(), user.id);
        let pass = || async {
            let body = fixture.deployment.http().post(&erase).send().await?.text().await?;
            Ok(body.contains("\"done\":true").then_some(()))
        };
        moment::eventually(Duration::from_secs(30), "the user is erased", pass).await?;
        for address in &addresses {
            let response = fixture.deployment.http().get(address).send().await?;
            same(response.status().as_u16(), 404, &format!("the status of {address} of an erased user"))?;
        }
    }
    Ok(())
}

/// A post that would cost too much is refused with the amount spent and its cost; a cancelled one
/// releases its cost.
async fn monthly_budget_is_respected(fixture: &AllPlatforms) -> Result {
    let user = fixture.deployment.new_user().await?;
    let account = connect(&user, fixture.fake("x")?).await?;
    let platforms = targets(&[&account])?;
    let post = |content: String| {
        let scheduled_at = moment::in_seconds(3600);
        json!({ "content": content, "platforms": platforms, "scheduled_at": scheduled_at })
    };
    let linked = |number| post(fresh(&format!("number {number} of https://example.com/")));
    let mut posts = Vec::new();
    for number in 0..3 {
        posts.push(integer(&user.create(&linked(number)).await?, "id")?);
    }

    let message = user.api.post("/posts", &linked(3)).await?.refused(403)?;

    for figure in ["$0.60", "$0.62", "$0.20"] {
        ensure!(message.contains(figure), "{message} does not say {figure}");
    }
    user.create(&post(fresh("without a link"))).await?;
    user.api.delete(&format!("/posts/{}", posts[0])).await?.is(204)?;
    user.create(&linked(3)).await?;
    user.api.post("/posts", &linked(4)).await?.refused(403)?;
    Ok(())
}

/// The post is published on the other platforms and failed as a whole. When it is rescheduled, only
/// the failed targets are sent again.
async fn failed_targets_are_retried_alone(fixture: &AllPlatforms, parity: usize) -> Result {
    let everywhere = fixture.user().await?;
    let failing = everywhere.accounts.iter().enumerate().filter(|(place, _)| place % 2 == parity).map(|(_, it)| it);
    let failing: Vec<&Value> = failing.collect();
    let content = fresh("without some");
    for account in &failing {
        fixture.refuse(account).await?;
    }
    let id = fixture.post(&everywhere, &content).await?;

    let failed = everywhere.user.reaches(id, "failed", 60).await?;

    let names: BTreeSet<&str> = failing.iter().map(|it| platform_name(it)).collect::<Result<_>>()?;
    for target in list(&failed, "platforms")? {
        let platform = platform_name(target)?;
        let is_failing = names.contains(platform);
        let wanted = json!(if is_failing { "failed" } else { "published" });
        same(&target["status"], &wanted, &format!("status of the entry of {platform}"))?;
        if is_failing {
            let message = text(target, "error_message")?;
            ensure!(message.contains("refused the post"), "{platform}: the message is {message}");
        }
    }
    let all = everywhere.accounts.len();
    same(fixture.shown(&content).await?.len(), all - failing.len(), "public posts before")?;

    everywhere.user.change(id, &json!({ "scheduled_at": moment::in_seconds(1) })).await?;
    let published = everywhere.user.reaches(id, "published", 60).await?;
    // A duplicate would be public by then.
    tokio::time::sleep(Duration::from_secs(2)).await;

    same(fixture.shown(&content).await?, everywhere.one_post_each()?, "public posts, each once")?;
    let ids = |post: &Value| {
        let targets = post["platforms"].as_array().cloned().unwrap_or_default();
        let others = targets.iter().filter(|it| it["provider"].as_str().is_some_and(|it| !names.contains(it)));
        others.map(|it| it["platform_post_id"].clone()).collect::<Vec<_>>()
    };
    same(ids(&published), ids(&failed), "the ids of the posts that were public before")
}
