//! One post on several platforms at once, one of which fails.

use std::time::Duration;

use domain::clock::Clock;
use networks::{bluesky::Bluesky, mastodon};
use platforms::conformance::network::{Call, Network, Trouble};
use serde_json::{Value, json};

use super::{connecting::connect, scenes::Scenes};
use crate::{
    answer::{integer, text},
    ensure,
    fault::{Result, same},
    harness::{Harness, LIFTED},
    moment,
    report::Report,
    world::User,
    world::{World, fresh},
};

/// The local stack beside stand-ins for Mastodon and Bluesky.
pub struct Stand {
    mastodon: mastodon::Server,
    bluesky: Bluesky,
    world: World,
    _local: Harness,
}

/// A user with an account on each platform.
struct Everywhere<'a> {
    user: User<'a>,
    sandbox: Value,
    mastodon: Value,
    bluesky: Value,
}

impl Stand {
    /// Starts it all.
    pub async fn start() -> Result<Self> {
        let mastodon = mastodon::Server::start(Clock::System).await;
        let bluesky = Bluesky::start(Clock::System).await;
        let settings = json!({ "mastodon": mastodon.settings(), "bluesky": bluesky.settings() }).to_string();
        let addresses = mastodon.addresses().into_iter().chain(bluesky.addresses());
        let mut arguments = vec!["--platforms".to_owned(), settings];
        arguments.extend(addresses.flat_map(|it| ["--allow-fetch-from".to_owned(), it.to_string()]));
        arguments.extend(LIFTED.map(ToOwned::to_owned));
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let local = Harness::start(&arguments).await?;
        let world = World::new(local.ready().clone()).await?;
        Ok(Self { mastodon, bluesky, world, _local: local })
    }

    async fn user(&self) -> Result<Everywhere<'_>> {
        let mut user = self.world.new_user().await?;
        let sandbox = user.connect(0).await?;
        let mastodon = connect(&user, &self.mastodon).await?;
        let bluesky = connect(&user, &self.bluesky).await?;
        Ok(Everywhere { user, sandbox, mastodon, bluesky })
    }
}

/// Runs every scene.
pub async fn run(report: &mut Report) -> Result {
    let stand = Stand::start().await?;
    let mut scenes = Scenes { part: "several", report };
    scenes.play("each account shows the rules of its platform", the_rules_are_shown(&stand)).await;
    scenes.play("what does not fit is told by platform, limit and figure", what_does_not_fit_is_told(&stand)).await;
    for failing in ["sandbox", "mastodon", "bluesky"] {
        let scene = one_fails_and_is_sent_again_alone(&stand, failing);
        scenes.play(&format!("{failing} fails, and is sent again alone"), scene).await;
    }
    Ok(())
}

async fn the_rules_are_shown(stand: &Stand) -> Result {
    let Everywhere { user, mastodon, bluesky, .. } = stand.user().await?;
    let meta = async |connection: &Value| {
        let shown = user.api.get(&format!("/connections/{}", integer(connection, "id")?)).await?.ok(200)?;
        let entries = shown["meta"].as_array().cloned().unwrap_or_default();
        let pairs = entries.iter().map(|it| (text(it, "name").unwrap_or_default().to_owned(), it["value"].clone()));
        Ok::<_, crate::fault::Fault>(pairs.collect::<std::collections::BTreeMap<_, _>>())
    };
    let shown = meta(&mastodon).await?;
    same(&shown.get("max_text").cloned().unwrap_or_default(), &json!(500), "max_text of Mastodon")?;
    same(&shown.get("url_length").cloned().unwrap_or_default(), &json!(23), "url_length of Mastodon")?;
    same(&shown.get("max_media").cloned().unwrap_or_default(), &json!(4), "max_media of Mastodon")?;
    let shown = meta(&bluesky).await?;
    same(&shown.get("max_text").cloned().unwrap_or_default(), &json!(300), "max_text of Bluesky")?;
    same(&shown.get("text_unit").cloned().unwrap_or_default(), &json!("graphemes"), "text_unit of Bluesky")
}

async fn what_does_not_fit_is_told(stand: &Stand) -> Result {
    let Everywhere { user, sandbox, mastodon, bluesky } = stand.user().await?;
    // 463 characters, 120 of them a link: it counts as 23 on Mastodon, and on Bluesky
    // as the 27 that are shown of it.
    let words = format!("a https://example.com/{} {}", "x".repeat(100), "y".repeat(340));
    let body = json!({
        "content": words,
        "platforms": crate::world::targets(&[&sandbox, &mastodon, &bluesky])?,
        "scheduled_at": moment::in_seconds(600),
    });

    let refused = user.api.post("/posts", &body).await?.is(422)?.json()?;

    let errors = refused["errors"].as_object().cloned().unwrap_or_default();
    same(errors.keys().map(String::as_str).collect::<Vec<_>>(), vec!["platforms.2.content"], "the fields at fault")?;
    let said = errors["platforms.2.content"].to_string();
    for part in ["Bluesky", "300", "370"] {
        ensure!(said.contains(part), "{said} does not say {part}");
    }
    Ok(())
}

/// The post is published on the other platforms and failed as a whole. When it
/// gets a new time, only the failed target is sent again.
async fn one_fails_and_is_sent_again_alone(stand: &Stand, failing: &str) -> Result {
    let Everywhere { user, sandbox, mastodon, bluesky } = stand.user().await?;
    let words = fresh(&format!("without {failing}"));
    let accounts = [&sandbox, &mastodon, &bluesky];
    let own = |account: &Value| format!("{words} on {}", account["provider"].as_str().unwrap_or_default());
    let platforms: Vec<_> = accounts
        .iter()
        .map(|it| Ok(json!({ "connected_account_id": integer(it, "id")?, "content": own(it) })))
        .collect::<Result<_>>()?;
    let picture = user.picture().await?;
    let body = json!({
        "content": words,
        "platforms": platforms,
        "media": [picture],
        "scheduled_at": moment::in_seconds(2),
    });
    refuse(stand, failing, &sandbox).await?;
    let id = integer(&user.create(&body).await?, "id")?;

    let failed = user.reaches(id, "failed", 60).await?;

    for target in failed["platforms"].as_array().into_iter().flatten() {
        let is_failing = target["provider"] == failing;
        same(&target["status"], &json!(if is_failing { "failed" } else { "published" }), "status of an entry")?;
        if is_failing {
            let said = text(target, "error_message")?;
            ensure!(said.contains("refused the post"), "the user is told: {said}");
        }
    }
    let before = shown(stand, &words).await?;
    same(before.len(), 2, &format!("public posts: {before:?}"))?;

    user.change(id, &json!({ "scheduled_at": moment::in_seconds(1) })).await?;
    let published = user.reaches(id, "published", 60).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;

    let mut after = shown(stand, &words).await?;
    after.sort();
    let mut wanted: Vec<_> = accounts.iter().map(|it| own(it)).collect();
    wanted.sort();
    same(after, wanted, "public posts, each once")?;
    let ids = |post: &Value| {
        let targets = post["platforms"].as_array().cloned().unwrap_or_default();
        targets
            .iter()
            .filter(|it| it["provider"] != failing)
            .map(|it| it["platform_post_id"].clone())
            .collect::<Vec<_>>()
    };
    same(ids(&published), ids(&failed), "the ids of what was public already")
}

/// The next public call on this platform is refused for its content.
async fn refuse(stand: &Stand, platform: &str, sandbox: &Value) -> Result {
    match platform {
        "mastodon" => stand.mastodon.trouble(Call::Publish, Trouble::Unwanted, 1),
        "bluesky" => stand.bluesky.trouble(Call::Publish, Trouble::Unwanted, 1),
        _ => stand.world.arm(&json!({ "account": sandbox["username"], "kind": "refuse" })).await?,
    }
    Ok(())
}

/// Everything public with these words, on all platforms.
async fn shown(stand: &Stand, words: &str) -> Result<Vec<String>> {
    let mut texts: Vec<String> = Vec::new();
    for entry in stand.world.whole_timeline().await? {
        texts.push(text(&entry, "text")?.to_owned());
    }
    texts.extend(stand.mastodon.public().into_iter().chain(stand.bluesky.public()).map(|it| it.text));
    texts.retain(|it| it.contains(words));
    Ok(texts)
}
