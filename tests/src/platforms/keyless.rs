//! A server without idempotency keys, which also renames files, returns no times and changes texts.
//! The service still has to determine whether a post of ours is public, and which one it is.
//!
//! Each scene has a server of its own behind a proxy that injects errors. All scenes are played at
//! once, because they mostly wait.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use futures::FutureExt;
use networks::mastodon::{Known, OldMastodon, Server, Snac};
use platforms::conformance::network::{Decision, Network, PublicPost};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    connecting::{connected, departs, returns},
    scenes::Scenes,
};
use crate::{
    answer::{integer, text},
    deployed::LOG_OF_RECOGNITION,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, TestError, same},
    harness::{Harness, LIFTED},
    lossy_proxy::{LossyProxy, ProxyPort},
    moment,
    report::Report,
};

/// Within this many seconds after the server is back, every post must end.
const SOON: u64 = 120;

const PUBLISH: &str = "POST /api/v1/statuses ";

/// A text that the server shows differently, because it interprets it as markup.
const MARKUP: &str = "I <3 3 * 4 * 5 ;-)\n- __init__\n# and `more`";

/// A server and the proxy in front of it.
struct Place<F = Snac> {
    server: Server<F>,
    front: LossyProxy,
}

impl<F: Known> Place<F> {
    async fn start() -> Result<Self> {
        let server = Server::<F>::start(Clock::System).await;
        let address = server.addresses().first().copied().ok_or_else(|| TestError::new("the server has no address"))?;
        let front = ProxyPort::take().await?.lead_to(address);
        Ok(Self { server, front })
    }

    /// Connects the account: our page, the server's, and the callback.
    async fn connect(&self, user: &User<'_>) -> Result<Value> {
        let begun = user.api.call(Method::POST, "/connections/connect/mastodon").send().await?.ok(201)?;
        let answers = [("server".to_owned(), format!("http://{}", self.front.address()))];
        let departed = departs(user, &begun, &answers.into()).await?;
        let back = self.server.send_back(departed.as_str(), Decision::Allow).await;
        returns(user, &back).await?;
        connected(user, &begun).await
    }

    /// Waits until these posts are published. Each must be on the server once, under its id in our
    /// API, with its text, and not before its time. In addition, exactly `others` other posts may
    /// exist.
    async fn each_once(&self, user: &User<'_>, posts: &[i64], others: usize) -> Result {
        let back = Instant::now();
        let mut ids = Vec::new();
        for id in posts {
            let left = SOON.saturating_sub(back.elapsed().as_secs());
            let post = user.reaches(*id, "published", left).await?;
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
        same(self.server.public().len(), posts.len() + others, "posts that are there")
    }

    fn public(&self, id: &str) -> Result<PublicPost> {
        let found = self.server.public().into_iter().find(|it| it.id == id);
        found.ok_or_else(|| TestError::new(format!("there is no post {id}")))
    }
}

/// The error that the publish call of a post meets.
#[derive(Clone, Copy)]
enum InjectedFault {
    AnswerLost,
    Cut,
    Refused,
    Limited,
}

impl InjectedFault {
    fn order(self, front: &LossyProxy) {
        match self {
            Self::AnswerLost => front.lose(1, PUBLISH),
            Self::Cut => front.cut(1, PUBLISH),
            Self::Refused => front.refuse(1, PUBLISH),
            Self::Limited => front.limit(1, PUBLISH),
        }
    }
}

/// Runs every scene.
pub async fn run(report: &mut Report) -> Result {
    let mut places = Vec::new();
    for _ in 0..13 {
        places.push(Place::<Snac>::start().await?);
    }
    // This server gives the same token to everyone who connects the same account.
    let shared = Place::<OldMastodon>::start().await?;
    let platforms = json!({ "mastodon": {} }).to_string();
    if let Some(folder) = std::path::Path::new(LOG_OF_RECOGNITION).parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut arguments = ["--platforms", &platforms, "--log-calls", LOG_OF_RECOGNITION].map(str::to_owned).to_vec();
    let fronts = places.iter().map(|it| &it.front).chain([&shared.front]);
    arguments.extend(fronts.flat_map(|it| ["--allow-fetch-from".to_owned(), it.address().to_string()]));
    arguments.extend(LIFTED.map(str::to_owned));
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let local = Harness::start(&arguments).await?;
    let deployment = Deployment::new(local.ready().clone()).await?;

    let mut places = places.iter();
    let mut next = || places.next().ok_or_else(|| TestError::new("more scenes than servers"));
    let mut scenes = Vec::new();
    for (name, fault, words, has_picture) in [
        ("response lost", InjectedFault::AnswerLost, "", false),
        ("response lost, markup", InjectedFault::AnswerLost, MARKUP, false),
        ("response lost, image", InjectedFault::AnswerLost, "", true),
        ("response lost, image and markup", InjectedFault::AnswerLost, MARKUP, true),
        ("cut before it arrives", InjectedFault::Cut, "", false),
        ("cut before it arrives, image", InjectedFault::Cut, "", true),
        ("502 of the front", InjectedFault::Refused, "", false),
        ("429", InjectedFault::Limited, "", false),
    ] {
        scenes.push((name, with_fault(next()?, &deployment, fault, words, has_picture).boxed()));
    }
    for (name, has_picture) in
        [("equal texts twice, the second cut", false), ("equal texts twice, the second cut, with another image", true)]
    {
        scenes.push((name, equal_texts(next()?, &deployment, has_picture).boxed()));
    }
    scenes.push(("the server is down for 8 s during 12 posts", dead_for_a_while(next()?, &deployment).boxed()));
    scenes.push(("other posts are published by hand meanwhile", by_hand(next()?, &deployment).boxed()));
    scenes.push(("two users share an account, and one disconnects", two_users(&shared, &deployment).boxed()));
    scenes.push((
        "reconnecting on a server that deletes apps with their tokens",
        connected_again(next()?, &deployment).boxed(),
    ));
    Scenes { part: "keyless", report }.play_together(scenes).await;
    Ok(())
}

async fn post(user: &User<'_>, connection: &Value, words: &str, has_picture: bool, after_ms: i64) -> Result<i64> {
    let media = if has_picture { vec![user.picture().await?] } else { Vec::new() };
    let due = moment::now() + TimeDelta::milliseconds(after_ms);
    let body = json!({
        "content": words,
        "platforms": targets(&[connection])?,
        "media": media,
        "scheduled_at": moment::written(due),
    });
    integer(&user.create(&body).await?, "id")
}

async fn with_fault(
    place: &Place,
    deployment: &Deployment,
    fault: InjectedFault,
    words: &str,
    has_picture: bool,
) -> Result {
    let user = deployment.new_user().await?;
    let connection = place.connect(&user).await?;
    fault.order(&place.front);

    let id = post(&user, &connection, &format!("{} {words}", fresh("with_fault")), has_picture, 2000).await?;

    place.each_once(&user, &[id], 0).await?;
    same(place.front.unmet(), 0, "troubles that were not met")
}

async fn equal_texts(place: &Place, deployment: &Deployment, has_picture: bool) -> Result {
    let user = deployment.new_user().await?;
    let connection = place.connect(&user).await?;
    let words = fresh("twice");
    let first = post(&user, &connection, &words, has_picture, 2000).await?;
    let second = post(&user, &connection, &words, has_picture, 12_000).await?;
    user.reaches(first, "published", SOON).await?;

    place.front.cut(1, PUBLISH);

    place.each_once(&user, &[first, second], 0).await?;
    same(place.front.unmet(), 0, "calls that were not cut")
}

async fn dead_for_a_while(place: &Place, deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let connection = place.connect(&user).await?;
    let mut posts = Vec::new();
    let begins = moment::now() + TimeDelta::seconds(8);
    for number in 0..12 {
        let due = begins + TimeDelta::milliseconds(300 * number);
        let after = (due - moment::now()).num_milliseconds();
        posts.push(post(&user, &connection, &format!("{} of twelve", fresh("dead")), number % 3 == 2, after).await?);
    }
    let dies = (begins + TimeDelta::seconds(1) - moment::now()).to_std().unwrap_or_default();

    tokio::time::sleep(dies).await;
    place.front.is_down(true);
    tokio::time::sleep(Duration::from_secs(8)).await;
    place.front.is_down(false);

    place.each_once(&user, &posts, 0).await
}

/// The account's owner publishes other posts while one of ours has an unknown outcome.
async fn by_hand(place: &Place, deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let connection = place.connect(&user).await?;
    place.front.cut(1, PUBLISH);
    let id = post(&user, &connection, &fresh("not by hand"), false, 2000).await?;
    moment::eventually(Duration::from_secs(30), "the call that is cut", async || {
        Ok((place.front.unmet() == 0).then_some(()))
    })
    .await?;
    for number in 0..3 {
        place.server.publish_by_hand(&format!("by hand {number}"));
    }

    place.each_once(&user, &[id], 3).await
}

async fn two_users(place: &Place<OldMastodon>, deployment: &Deployment) -> Result {
    let (one, other) = (deployment.new_user().await?, deployment.new_user().await?);
    let first = place.connect(&one).await?;
    let second = place.connect(&other).await?;
    let path = format!("/connections/{}", integer(&first, "id")?);

    same(place.server.grants(), 1, "tokens that the server gave")?;

    same(one.api.call(Method::DELETE, &path).send().await?.status, 204, "status of disconnecting")?;

    let id = post(&other, &second, &fresh("still connected"), false, 1000).await?;
    place.each_once(&other, &[id], 0).await?;
    let path = format!("/connections/{}", integer(&second, "id")?);
    same(other.api.call(Method::DELETE, &path).send().await?.status, 204, "status of disconnecting")?;
    moment::eventually(Duration::from_secs(10), "the end of the grant", async || {
        Ok((place.server.grants() == 0).then_some(()))
    })
    .await
}

/// Disconnecting makes the server remove our app with the token; connecting again must work
/// nevertheless.
async fn connected_again(place: &Place, deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    for _ in 0..3 {
        let connection = place.connect(&user).await?;
        same(place.server.grants(), 1, "tokens that the server gave")?;
        let path = format!("/connections/{}", integer(&connection, "id")?);
        same(user.api.call(Method::DELETE, &path).send().await?.status, 204, "status of disconnecting")?;
    }
    let (one, other) = (place.connect(&user).await?, place.connect(&user).await?);
    same(&one["id"], &other["id"], "id of the connection")
}
