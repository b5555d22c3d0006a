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

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::Result,
    harness::{Harness, LIFTED},
    http_response::{integer, text},
    moment,
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(4, [
        "100 concurrent forms, five each for 20 connect flows, name a server that never responds",
            "at most 3 concurrent calls, the others get 409 or 429; a post is published meanwhile" => concurrent_submissions;
        "a form is sent to one connect flow again and again",
            "ten are worked on, then 429, and the server is not called" => repeated_submissions;
    ])
}

/// A server that accepts connections and never responds.
struct SilentServer {
    address: String,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    all: Arc<AtomicUsize>,
}

impl SilentServer {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let (now, most, all): (Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
        let (open_in_task, max_open_in_task, total_in_task) = (Arc::clone(&now), Arc::clone(&most), Arc::clone(&all));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (now, most, all) =
                    (Arc::clone(&open_in_task), Arc::clone(&max_open_in_task), Arc::clone(&total_in_task));
                tokio::spawn(async move {
                    all.fetch_add(1, Ordering::SeqCst);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    // Until the caller closes the connection.
                    let mut buffer = [0; 4096];
                    while stream.read(&mut buffer).await.is_ok_and(|it| 0 < it) {}
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

async fn submit_concurrently(user: &User<'_>, server: &str, times: usize) -> Result<Vec<u16>> {
    let flow = user.api.call(Method::POST, "/connections/connect/mastodon").send().await?.ok(201)?;
    let page = user.browser.clone().open(text(&flow, "authorization_url")?).await?;
    let form = page.form_with_field("server").ok_or_else(|| page.test_error("there is no form"))?;
    let server = format!("http://{server}");
    let sent = (0..times).map(async |_| {
        let mut browser = user.browser.clone();
        let answer = browser.submit_once(&page, &form, &[("server", &server)]).await?;
        Ok(answer.status.as_u16())
    });
    futures::future::join_all(sent).await.into_iter().collect()
}

async fn concurrent_submissions(_: &AttackTargets) -> Result<String> {
    let silent = SilentServer::start().await?;
    let (_stack, deployment) = silent.stack().await?;
    let (attacker, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let connection = other.connect(0).await?;

    let attack = async {
        let connect_flows = (0..20).map(|_| submit_concurrently(&attacker, &silent.address, 5));
        futures::future::join_all(connect_flows).await.into_iter().collect::<Result<Vec<_>>>()
    };
    let other_post = async {
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
    let (responses, took) = tokio::try_join!(attack, other_post)?;

    let (most, all) = (silent.most.load(Ordering::SeqCst), silent.all.load(Ordering::SeqCst));
    ensure!(most <= 3, "{most} calls at once, {all} in all");
    let refused = responses.iter().flatten().filter(|it| [409, 429].contains(*it)).count();
    let processed = responses.iter().flatten().filter(|it| **it == 422).count();
    ensure!(processed <= 20 && processed + refused == 100, "{responses:?}");
    Ok(format!("{most} calls at once, {processed} worked on, {refused} refused; the post was out after {took:.1?}"))
}

async fn repeated_submissions(_: &AttackTargets) -> Result<String> {
    let silent = SilentServer::start().await?;
    let (_stack, deployment) = silent.stack().await?;
    let attacker = deployment.new_user().await?;
    let flow = attacker.api.call(Method::POST, "/connections/connect/mastodon").send().await?.ok(201)?;
    let mut browser = attacker.browser.clone();
    let page = browser.open(text(&flow, "authorization_url")?).await?;
    let form = page.form_with_field("server").ok_or_else(|| page.test_error("there is no form"))?;

    // An invalid server name causes no call.
    let mut statuses = Vec::new();
    for _ in 0..12 {
        let response = browser.submit(&page, &form, form.buttons.first(), &[("server", "two words")]).await?;
        statuses.push(response.status.as_u16());
    }
    let server_url = format!("http://{}", silent.address);
    statuses
        .push(browser.submit(&page, &form, form.buttons.first(), &[("server", &server_url)]).await?.status.as_u16());

    let expected: Vec<_> = [[422; 10].as_slice(), &[429; 3]].concat();
    ensure!(statuses == expected, "{statuses:?}");
    ensure!(silent.all.load(Ordering::SeqCst) == 0, "the server was called");
    Ok(format!("{statuses:?}"))
}
