//! Requests per second, compared with a bare server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::join_all;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tests::{client::http_client, deployment::Deployment, ensure, error::Result, http_response::integer, report::say};

use crate::percentile::percentile;

#[derive(Clone)]
struct BenchRequest {
    name: &'static str,
    method: Method,
    url: String,
    token: String,
    body: Option<String>,
    expected: u16,
}

/// Requests per second; each figure is measured over `seconds`.
pub(super) async fn speed(deployment: &Deployment, seconds: u64) -> Result<Value> {
    let user = deployment.new_user().await?;
    let post = integer(&user.create(&json!({ "content": "a post" })).await?, "id")?;
    let shot = |name, method, url: String, body: Option<Value>, expected| BenchRequest {
        name,
        method,
        url,
        token: user.api.token().to_owned(),
        body: body.map(|it| it.to_string()),
        expected,
    };
    let shots = [
        shot("bare axum hello", Method::GET, bare_server().await?, None, 200),
        shot("GET /posts/{post}", Method::GET, format!("{}/posts/{post}", deployment.base()), None, 200),
        shot(
            "POST /posts",
            Method::POST,
            format!("{}/posts", deployment.base()),
            Some(json!({ "content": "a post" })),
            201,
        ),
    ];
    let mut rows = Vec::new();
    say("requests per second         clients      req/s   p50 ms   p99 ms");
    for shot in shots {
        for clients in [1, 32] {
            let row = measure_throughput(&shot, clients, Duration::from_secs(seconds)).await?;
            say(&format!(
                "{:26} {clients:8} {:10.0} {:8.2} {:8.2}",
                shot.name,
                row["per_second"].as_f64().unwrap_or_default(),
                row["p50_ms"].as_f64().unwrap_or_default(),
                row["p99_ms"].as_f64().unwrap_or_default()
            ));
            rows.push(row);
        }
    }
    Ok(Value::Array(rows))
}

async fn bare_server() -> Result<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let router = axum::Router::new().route("/", axum::routing::get(|| async { "hello" }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

async fn measure_throughput(shot: &BenchRequest, clients: usize, time: Duration) -> Result<Value> {
    let http = http_client(true)?;
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    let tasks: Vec<_> = (0..clients)
        .map(|_| tokio::spawn(send_until_stopped(http.clone(), shot.clone(), Arc::clone(&stop), Arc::clone(&done))))
        .collect();
    tokio::time::sleep(time).await;
    stop.store(true, Ordering::Relaxed);
    let mut times = Vec::new();
    for task in join_all(tasks).await {
        times.extend(task??);
    }
    let took = started.elapsed();
    times.sort_unstable();
    let requests = u32::try_from(done.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
    Ok(json!({
        "what": shot.name,
        "clients": clients,
        "per_second": f64::from(requests) / took.as_secs_f64(),
        "p50_ms": percentile(&times, 50).as_secs_f64() * 1000.0,
        "p99_ms": percentile(&times, 99).as_secs_f64() * 1000.0,
    }))
}

async fn send_until_stopped(
    http: Client,
    shot: BenchRequest,
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let mut request = http.request(shot.method.clone(), &shot.url).bearer_auth(&shot.token);
        if let Some(body) = &shot.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        let started = Instant::now();
        let response = request.send().await?;
        let status = response.status().as_u16();
        let body = response.bytes().await?;
        times.push(started.elapsed());
        ensure!(status == shot.expected, "{}: {status} {}", shot.name, String::from_utf8_lossy(&body));
        done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(times)
}
