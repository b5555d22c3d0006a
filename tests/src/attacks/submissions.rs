//! Attempts to block the service with submissions to connect flows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::Method;
use serde_json::json;
use tokio::{io::AsyncReadExt, net::TcpListener};

use super::{Arena, Attack};
use crate::{
    answer::{integer, text},
    attacks,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::Result,
    harness::{Harness, LIFTED},
    moment,
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(4, [
        "100 concurrent forms, five each for 20 connect flows, name a server that never responds",
            "at most 3 concurrent calls, the others get 409 or 429; a post is published meanwhile" => many_slow_servers;
        "a form is sent to one connect flow again and again",
            "ten are worked on, then 429, and the server is not called" => again_and_again;
    ])
}

/// A server that accepts connections and never responds.
struct Silent {
    address: String,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    all: Arc<AtomicUsize>,
}

impl Silent {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let (now, most, all): (Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
        let (now_there, most_there, all_there) = (Arc::clone(&now), Arc::clone(&most), Arc::clone(&all));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (now, most, all) = (Arc::clone(&now_there), Arc::clone(&most_there), Arc::clone(&all_there));
                tokio::spawn(async move {
                    all.fetch_add(1, Ordering::SeqCst);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    // Until the caller closes the connection.
                    let mut heard = [0; 4096];
                    while stream.read(&mut heard).await.is_ok_and(|it| 0 < it) {}
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Ok(Self { address, now, most, all })
    }

    async fn stack(&self) -> Result<(Harness, Deployment)> {
        let mut arguments = vec!["--allow-fetch-from", &self.address];
        arguments.extend(LIFTED);
        let stack = Harness::start(&arguments).await?;
        let deployment = Deployment::new(stack.ready().clone()).await?;
        Ok((stack, deployment))
    }
}

/// Submits the form of a new connect flow `times` times concurrently; returns the statuses.
async fn names(user: &User<'_>, server: &str, times: usize) -> Result<Vec<u16>> {
    let begun = user.api.call(Method::POST, "/connections/connect/mastodon").send().await?.ok(201)?;
    let page = user.browser.clone().open(text(&begun, "authorization_url")?).await?;
    let form = page.form_with_field("server").ok_or_else(|| page.test_error("there is no form"))?;
    let server = format!("http://{server}");
    let sent = (0..times).map(async |_| {
        let mut browser = user.browser.clone();
        let answer = browser.submit_once(&page, &form, &[("server", &server)]).await?;
        Ok(answer.status.as_u16())
    });
    futures::future::join_all(sent).await.into_iter().collect()
}

async fn many_slow_servers(_: &Arena) -> Result<String> {
    let silent = Silent::start().await?;
    let (_stack, deployment) = silent.stack().await?;
    let (attacker, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let connection = other.connect(0).await?;

    let attack = async {
        let connect_flows = (0..20).map(|_| names(&attacker, &silent.address, 5));
        futures::future::join_all(connect_flows).await.into_iter().collect::<Result<Vec<_>>>()
    };
    let goes_out = async {
        moment::eventually(Duration::from_secs(10), "the calls of the attack", async || {
            Ok((0 < silent.now.load(Ordering::SeqCst)).then_some(()))
        })
        .await?;
        let began = Instant::now();
        let body = json!({
            "content": fresh("meanwhile"),
            "platforms": targets(&[&connection])?,
            "scheduled_at": moment::in_seconds(0),
        });
        let id = integer(&other.create(&body).await?, "id")?;
        other.reaches(id, "published", 5).await?;
        Ok::<_, crate::error::TestError>(began.elapsed())
    };
    let (answers, took) = tokio::try_join!(attack, goes_out)?;

    let (most, all) = (silent.most.load(Ordering::SeqCst), silent.all.load(Ordering::SeqCst));
    ensure!(most <= 3, "{most} calls at once, {all} in all");
    let refused = answers.iter().flatten().filter(|it| [409, 429].contains(*it)).count();
    let worked_on = answers.iter().flatten().filter(|it| **it == 422).count();
    ensure!(worked_on <= 20 && worked_on + refused == 100, "{answers:?}");
    Ok(format!("{most} calls at once, {worked_on} worked on, {refused} refused; the post was out after {took:.1?}"))
}

async fn again_and_again(_: &Arena) -> Result<String> {
    let silent = Silent::start().await?;
    let (_stack, deployment) = silent.stack().await?;
    let attacker = deployment.new_user().await?;
    let begun = attacker.api.call(Method::POST, "/connections/connect/mastodon").send().await?.ok(201)?;
    let mut browser = attacker.browser.clone();
    let page = browser.open(text(&begun, "authorization_url")?).await?;
    let form = page.form_with_field("server").ok_or_else(|| page.test_error("there is no form"))?;

    // An invalid server name causes no call.
    let mut seen = Vec::new();
    for _ in 0..12 {
        let answer = browser.submit(&page, &form, form.buttons.first(), &[("server", "two words")]).await?;
        seen.push(answer.status.as_u16());
    }
    let there = format!("http://{}", silent.address);
    seen.push(browser.submit(&page, &form, form.buttons.first(), &[("server", &there)]).await?.status.as_u16());

    let expected: Vec<_> = [[422; 10].as_slice(), &[429; 3]].concat();
    ensure!(seen == expected, "{seen:?}");
    ensure!(silent.all.load(Ordering::SeqCst) == 0, "the server was called");
    Ok(format!("{seen:?}"))
}
