//! One user whose platform or server is slow, and its effect on others.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use futures::{StreamExt, TryStreamExt, future::join_all, stream};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    deployment::{Deployment, User, fresh, missing, targets},
    ensure,
    error::Result,
    http_response::{HttpResponse, integer, text},
    moment,
};

/// The index of @orchard on the consent page: no other attack arms faults for it.
const ORCHARD: usize = 4;

/// More than one user's calls in flight in the local stack.
const POSTS: usize = 600;

const SLOW: Duration = Duration::from_secs(30);
/// Far less than one slow call or fetch takes, and more than a busy machine needs for what does not
/// wait for them.
const UNAFFECTED: Duration = Duration::from_secs(10);

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(3, [
        "one user posts 600 times in a second, and each call takes 30 s", "another user's post waits for none of these calls" => many_slow_publish_calls;
        "one user lets 20 files be fetched from a server that trickles",
            "3 are fetched, 17 are 429 with retry-after at once; others upload and post meanwhile" => slow_source_urls;
    ])
}

async fn many_slow_publish_calls(deployments: &AttackTargets) -> Result<String> {
    let deployment: &Deployment = deployments.lifted();
    let mut noisy = deployment.new_user().await?;
    let slow = noisy.connect(ORCHARD).await?;
    let name = text(&slow, "username")?.to_owned();
    deployment.disarm(&name).await?;
    deployment.arm(&json!({ "account": name, "kind": "slow", "delay_ms": SLOW.as_millis(), "count": null })).await?;
    let mut quiet = deployment.new_user().await?;
    let account = quiet.connect(0).await?;

    let baseline = measure_lateness(&quiet, &account, moment::now() + TimeDelta::seconds(5)).await?;
    let due = moment::now() + TimeDelta::seconds(40);
    let (content, platforms) = (fresh("many and slow"), targets(&[&slow])?);
    let body = |number: usize| json!({ "content": format!("{content} {number}"), "platforms": platforms, "scheduled_at": moment::written(due) });
    let posts: Vec<i64> =
        stream::iter((0..POSTS).map(|it| schedule(&noisy, body(it)))).buffered(8).try_collect().await?;
    let ready = due - moment::now();
    ensure!(2 < ready.num_seconds(), "the posts were made too late for the attack: {ready}");

    // Two seconds later, the noisy user has reached the limit.
    let late = measure_lateness(&quiet, &account, due + TimeDelta::seconds(2)).await;
    deployment.disarm(&name).await?;

    let late = late?;
    let result = format!(
        "{} ms after its second during {} slow posts, {} ms before",
        late.num_milliseconds(),
        posts.len(),
        baseline.num_milliseconds()
    );
    ensure!(late.to_std().is_ok_and(|it| it <= UNAFFECTED), "the other user's post was published {result}");
    Ok(result)
}

/// The service fetches so many files of one user at a time.
const FETCHED: usize = 3;

async fn slow_source_urls(deployments: &AttackTargets) -> Result<String> {
    let deployment: &Deployment = deployments.lifted();
    let files = deployment.files().ok_or_else(|| missing("the server of the tests"))?;
    let fetch = async |user: &User<'_>, file: &str| -> Result<(HttpResponse, Duration)> {
        let body = json!({ "mime_type": "image/png", "source_url": format!("http://{files}/{file}") });
        let began = Instant::now();
        let response = user.api.call(Method::POST, "/media").json(&body).without_waiting().send().await?;
        Ok((response, began.elapsed()))
    };
    let (slow, other, mut third) =
        (deployment.new_user().await?, deployment.new_user().await?, deployment.new_user().await?);
    let account = third.connect(0).await?;
    let baseline = measure_lateness(&third, &account, moment::now() + TimeDelta::seconds(5)).await?;

    let floods = join_all((0..20).map(|_| fetch(&slow, "slow.png")));
    let others = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (uploaded, late) = tokio::join!(
            fetch(&other, "good.png"),
            measure_lateness(&third, &account, moment::now() + TimeDelta::seconds(4)),
        );
        Ok::<_, crate::error::TestError>((uploaded?, late?))
    };
    let (floods, others) = tokio::join!(floods, others);

    let ((uploaded, took), late) = others?;
    uploaded.is(201)?;
    ensure!(took <= UNAFFECTED, "another user's upload took {took:?}");
    ensure!(
        late.to_std().is_ok_and(|it| it <= UNAFFECTED),
        "a third user's post was {late} late, and {baseline} before"
    );
    let late = late.num_milliseconds();
    let mut fetched = 0;
    for flood in floods {
        let (response, took) = flood?;
        match response.status {
            422 => fetched += 1,
            429 => {
                let wait = response.header("retry-after").parse::<u32>().unwrap_or_default();
                ensure!(0 < wait && took <= UNAFFECTED, "{} after {took:?}", response.test_error("a 429"));
            }
            _ => return Err(response.test_error("a file of a slow server")),
        }
    }
    ensure!(fetched == FETCHED, "{fetched} slow files of one user were fetched at a time");
    fetch(&slow, "good.png").await?.0.is(201)?;
    Ok(format!("{fetched} fetched, the others 429; another's upload after {took:?}, a post {late} ms after its second"))
}

async fn measure_lateness(user: &User<'_>, account: &Value, due: DateTime<Utc>) -> Result<TimeDelta> {
    let content = fresh("quiet");
    let body = json!({ "content": content, "platforms": targets(&[account])?, "scheduled_at": moment::written(due) });
    schedule(user, body).await?;
    let entry = user.deployment.appears(&content, 60).await?;
    Ok(text(&entry, "received_at")?.parse::<DateTime<Utc>>()? - due)
}

async fn schedule(user: &User<'_>, body: Value) -> Result<i64> {
    integer(&user.create(&body).await?, "id")
}
