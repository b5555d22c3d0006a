//! A server without idempotency keys, which also renames files, returns no times and changes texts.
//! The service still has to determine whether a post of ours is public, and which one it is.
//!
//! Each scene has a server of its own behind a proxy that injects errors. All scenes are played at
//! once, because they mostly wait.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use fakes::mastodon::{FlavorType, OldMastodon, Server, Snac};
use futures::FutureExt;
use platforms::conformance::fake_platform::{Decision, FakePlatform, PublicPost};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    connecting::{connected, returns, submit_form_for_redirect},
    scenes::Scenes,
    threads::{SEGMENTS, Thread},
};
use crate::{
    call_logs::LOG_OF_RECOGNITION,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, TestError, same},
    harness::{Harness, LIFTED},
    http_response::{integer, text},
    lossy_proxy::{LossyProxy, ProxyPort},
    moment,
    report::Report,
};

/// Within this many seconds after the server is back, every post must end.
const SOON: u64 = 120;

/// Like [`SOON`], for a thread: the fault delays its third segment, and the others follow.
const THREAD_SOON: u64 = 2 * SOON;

const PUBLISH: &str = "POST /api/v1/statuses ";

/// A text that the server shows differently, because it interprets it as markup.
const MARKUP: &str = "I <3 3 * 4 * 5 ;-)\n- __init__\n# and `more`";

/// A server and the proxy in front of it.
struct ProxiedServer<F = Snac> {
    server: Server<F>,
    front: LossyProxy,
}

impl<F: FlavorType> ProxiedServer<F> {
    async fn start() -> Result<Self> {
        let server = Server::<F>::start(Clock::System).await;
        let address = server.addresses().first().copied().ok_or_else(|| TestError::new("the server has no address"))?;
        let proxy = ProxyPort::take().await?.forward_to(address);
        Ok(Self { server, front: proxy })
    }

    /// Connects the account: our page, the server's, and the callback.
    async fn connect(&self, user: &User<'_>) -> Result<Value> {
        let flow = user.api.call(Method::POST, "/connections/connect/mastodon").send().await?.ok(201)?;
        let field_values = [("server".to_owned(), format!("http://{}", self.front.address()))];
        let redirect = submit_form_for_redirect(user, &flow, &field_values.into()).await?;
        let callback = self.server.redirect_url(redirect.as_str(), Decision::Allow).await;
        returns(user, &callback).await?;
        connected(user, &flow).await
    }

    /// Waits until these posts are published. Each must be on the server once, under its id in our
    /// API, with its text, and not before its time. In addition, exactly `others` other posts may
    /// exist.
    async fn ensure_published_once(&self, user: &User<'_>, posts: &[i64], others: usize) -> Result {
        let started = Instant::now();
        let mut ids = Vec::new();
        for id in posts {
            let remaining = SOON.saturating_sub(started.elapsed().as_secs());
            let post = user.reaches(*id, "published", remaining).await?;
            let target = &post["platforms"][0];
            let platform_post_id = text(target, "platform_post_id")?;
            let shown = self.public(platform_post_id)?;
            same(shown.text.as_str(), text(&post, "content")?, "the text of the post with this id")?;
            same(shown.media.len(), post["media"].as_array().map_or(0, Vec::len), "its files")?;
            let due: DateTime<Utc> = text(&post, "scheduled_at")?.parse()?;
            let at = moment::read(&target["published_at"])?;
            ensure!(due <= at, "due at {due}, and published at {at}");
            ids.push(platform_post_id.to_owned());
        }
        ids.sort();
        ids.dedup();
        same(ids.len(), posts.len(), "different ids")?;
        same(self.server.public_posts().len(), posts.len() + others, "posts that are there")
    }

    fn public(&self, id: &str) -> Result<PublicPost> {
        let found = self.server.public_posts().into_iter().find(|it| it.id == id);
        found.ok_or_else(|| TestError::new(format!("there is no post {id}")))
    }
}

/// The error that the publish call of a post meets.
#[derive(Clone, Copy)]
enum PublishFault {
    AnswerLost,
    Cut,
    Refused,
    Limited,
}

impl PublishFault {
    fn order(self, proxy: &LossyProxy) {
        match self {
            Self::AnswerLost => proxy.lose(1, PUBLISH),
            Self::Cut => proxy.cut(1, PUBLISH),
            Self::Refused => proxy.refuse(1, PUBLISH),
            Self::Limited => proxy.limit(1, PUBLISH),
        }
    }
}

/// Runs every scene.
pub async fn run(report: &mut Report) -> Result {
    let mut servers = Vec::new();
    for _ in 0..16 {
        servers.push(ProxiedServer::<Snac>::start().await?);
    }
    // This server gives the same token to everyone who connects the same account.
    let shared = ProxiedServer::<OldMastodon>::start().await?;
    let platforms = json!({ "mastodon": {} }).to_string();
    if let Some(folder) = std::path::Path::new(LOG_OF_RECOGNITION).parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut arguments = ["--platforms", &platforms, "--log-calls", LOG_OF_RECOGNITION].map(str::to_owned).to_vec();
    let proxies = servers.iter().map(|it| &it.front).chain([&shared.front]);
    arguments.extend(proxies.flat_map(|it| ["--allow-fetch-from".to_owned(), it.address().to_string()]));
    arguments.extend(LIFTED.map(str::to_owned));
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let local = Harness::start(&arguments).await?;
    let deployment = Deployment::new(local.ready().clone()).await?;

    let mut servers = servers.iter();
    let mut next = || servers.next().ok_or_else(|| TestError::new("more scenes than servers"));
    let mut scenes = Vec::new();
    for (name, fault, content, has_picture) in [
        ("response lost", PublishFault::AnswerLost, "", false),
        ("response lost, markup", PublishFault::AnswerLost, MARKUP, false),
        ("response lost, image", PublishFault::AnswerLost, "", true),
        ("response lost, image and markup", PublishFault::AnswerLost, MARKUP, true),
        ("cut before it arrives", PublishFault::Cut, "", false),
        ("cut before it arrives, image", PublishFault::Cut, "", true),
        ("502 of the front", PublishFault::Refused, "", false),
        ("429", PublishFault::Limited, "", false),
    ] {
        scenes.push((name, publish_with_fault(next()?, &deployment, fault, content, has_picture).boxed()));
    }
    for (name, has_picture) in
        [("equal texts twice, the second cut", false), ("equal texts twice, the second cut, with another image", true)]
    {
        scenes.push((name, publish_equal_texts(next()?, &deployment, has_picture).boxed()));
    }
    for (name, is_cut, has_pictures) in [
        ("the third response of a thread is lost", false, false),
        ("the third response of a thread is lost, images", false, true),
        ("the third call of a thread is cut before it arrives", true, false),
    ] {
        scenes.push((name, publish_thread_with_fault(next()?, &deployment, is_cut, has_pictures).boxed()));
    }
    scenes.push(("the server is down for 8 s during 12 posts", publish_during_outage(next()?, &deployment).boxed()));
    scenes.push((
        "other posts are published by hand meanwhile",
        publish_beside_manual_posts(next()?, &deployment).boxed(),
    ));
    scenes.push(("two users share an account, and one disconnects", share_account(&shared, &deployment).boxed()));
    scenes.push((
        "reconnecting on a server that deletes apps with their tokens",
        reconnect_repeatedly(next()?, &deployment).boxed(),
    ));
    Scenes { part: "keyless", report }.run_concurrently(scenes).await;
    Ok(())
}

async fn post(user: &User<'_>, connection: &Value, content: &str, has_picture: bool, after_ms: i64) -> Result<i64> {
    let media = if has_picture { vec![user.picture().await?] } else { Vec::new() };
    let due = moment::now() + TimeDelta::milliseconds(after_ms);
    let body = json!({
        "content": content,
        "platforms": targets(&[connection])?,
        "media": media,
        "scheduled_at": moment::written(due),
    });
    integer(&user.create(&body).await?, "id")
}

async fn publish_with_fault(
    server: &ProxiedServer,
    deployment: &Deployment,
    fault: PublishFault,
    content: &str,
    has_picture: bool,
) -> Result {
    let user = deployment.new_user().await?;
    let connection = server.connect(&user).await?;
    fault.order(&server.front);

    let id = post(&user, &connection, &format!("{} {content}", fresh("with_fault")), has_picture, 2000).await?;

    server.ensure_published_once(&user, &[id], 0).await?;
    same(server.front.unmet(), 0, "troubles that were not met")
}

/// The response to the third publish call is lost, or its connection is cut before it arrives.
async fn publish_thread_with_fault(
    server: &ProxiedServer,
    deployment: &Deployment,
    is_cut: bool,
    has_pictures: bool,
) -> Result {
    let user = deployment.new_user().await?;
    let connection = server.connect(&user).await?;
    if is_cut {
        server.front.cut_after(SEGMENTS / 2, PUBLISH);
    } else {
        server.front.lose_after(SEGMENTS / 2, PUBLISH);
    }
    let target = &targets(&[&connection])?[0];

    let thread = Thread::schedule(&user, target, has_pictures, TimeDelta::seconds(3)).await?;
    let ids = thread.published(&user, THREAD_SOON).await?;

    same(server.front.unmet(), 0, "troubles that were not met")?;
    let files = usize::from(has_pictures);
    let shown = server.server.public_posts().into_iter().map(|it| (it.text, it.reply_to, it.media.len()));
    let parents = std::iter::once(None).chain(ids.iter().cloned().map(Some));
    let expected = thread.texts.iter().cloned().zip(parents).map(|(text, parent)| (text, parent, files));
    same(shown.collect::<Vec<_>>(), expected.collect(), "statuses of the thread")
}

async fn publish_equal_texts(server: &ProxiedServer, deployment: &Deployment, has_picture: bool) -> Result {
    let user = deployment.new_user().await?;
    let connection = server.connect(&user).await?;
    let content = fresh("twice");
    server.front.cut_after(1, PUBLISH);

    let first = post(&user, &connection, &content, has_picture, 2000).await?;
    let second = post(&user, &connection, &content, has_picture, 12_000).await?;

    server.ensure_published_once(&user, &[first, second], 0).await?;
    same(server.front.unmet(), 0, "calls that were not cut")
}

async fn publish_during_outage(server: &ProxiedServer, deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let connection = server.connect(&user).await?;
    let mut posts = Vec::new();
    let first_due = moment::now() + TimeDelta::seconds(8);
    for number in 0..12 {
        let due = first_due + TimeDelta::milliseconds(300 * number);
        let after = (due - moment::now()).num_milliseconds();
        posts.push(post(&user, &connection, &format!("{} of twelve", fresh("dead")), number % 3 == 2, after).await?);
    }
    let until_down = (first_due + TimeDelta::seconds(1) - moment::now()).to_std().unwrap_or_default();

    tokio::time::sleep(until_down).await;
    server.front.is_down(true);
    tokio::time::sleep(Duration::from_secs(8)).await;
    server.front.is_down(false);

    server.ensure_published_once(&user, &posts, 0).await
}

/// The account's owner publishes other posts while one of ours has an unknown outcome.
async fn publish_beside_manual_posts(server: &ProxiedServer, deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let connection = server.connect(&user).await?;
    server.front.cut(1, PUBLISH);
    let id = post(&user, &connection, &fresh("not by hand"), false, 2000).await?;
    moment::eventually(Duration::from_secs(SOON), "the call that is cut", async || {
        Ok((server.front.unmet() == 0).then_some(()))
    })
    .await?;
    for number in 0..3 {
        server.server.publish_by_hand(&format!("by hand {number}"));
    }

    server.ensure_published_once(&user, &[id], 3).await
}

async fn share_account(server: &ProxiedServer<OldMastodon>, deployment: &Deployment) -> Result {
    let (one, other) = (deployment.new_user().await?, deployment.new_user().await?);
    let first = server.connect(&one).await?;
    let second = server.connect(&other).await?;
    let path = format!("/connections/{}", integer(&first, "id")?);

    same(server.server.grant_count(), 1, "tokens that the server gave")?;

    same(one.api.call(Method::DELETE, &path).send().await?.status, 204, "status of disconnecting")?;

    let id = post(&other, &second, &fresh("still connected"), false, 1000).await?;
    server.ensure_published_once(&other, &[id], 0).await?;
    let path = format!("/connections/{}", integer(&second, "id")?);
    same(other.api.call(Method::DELETE, &path).send().await?.status, 204, "status of disconnecting")?;
    moment::eventually(Duration::from_secs(SOON), "the end of the grant", async || {
        Ok((server.server.grant_count() == 0).then_some(()))
    })
    .await
}

/// Disconnecting makes the server remove our app with the token; connecting again must work
/// nevertheless.
async fn reconnect_repeatedly(server: &ProxiedServer, deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    for _ in 0..3 {
        let connection = server.connect(&user).await?;
        same(server.server.grant_count(), 1, "tokens that the server gave")?;
        let path = format!("/connections/{}", integer(&connection, "id")?);
        same(user.api.call(Method::DELETE, &path).send().await?.status, 204, "status of disconnecting")?;
    }
    let (one, other) = (server.connect(&user).await?, server.connect(&user).await?);
    same(&one["id"], &other["id"], "id of the connection")
}
