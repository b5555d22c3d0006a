//! Figures of the local stack: speed, punctuality, memory, cost in store calls.

use std::{
    fs,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use clap::Parser;
use futures::{StreamExt, future::join_all, stream};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tests::{
    client::{Answer, Call, http_client, integer, list, text},
    ensure,
    fault::{Fault, Result},
    harness::{Harness, LIFTED},
    moment,
    report::say,
    user::{User, targets},
    world::{World, fresh},
};

/// Figures of the local stack, which is started for it.
///
/// Client and service share this machine, so the requests per second are to be
/// read beside those of the bare server in the same run.
#[derive(Parser)]
#[command(name = "bench")]
struct Options {
    /// Seconds for each figure of requests per second.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Posts that are due in the same second.
    #[arg(long, default_value_t = 1000)]
    due: u64,
    /// Posts that are due one after the other within a minute.
    #[arg(long, default_value_t = 600)]
    spread: u64,
    /// Posts of the large account; 0 leaves it out.
    #[arg(long, default_value_t = 100_000)]
    large: u64,
    /// Write the figures here.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    match run(&Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            say(&format!("{fault}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result {
    let local = Harness::start(&LIFTED).await?;
    let world = World::new(local.ready().clone()).await?;
    let start = json!({ "ready_ms": millis(local.took()), "resident_mb": resident_mb(&local)? });
    say(&format!("Ready after {} ms with {} MB.\n", start["ready_ms"], start["resident_mb"]));

    let speed = speed(&world, options).await?;
    let together = punctuality(&world, options.due, 1).await?;
    let spread = punctuality(&world, options.spread, 60).await?;
    let end = resident_mb(&local)?;
    say(&format!("\nMemory at the end: {end} MB.\n"));
    drop(local);

    // Recording each call of the store costs time, so it is another process.
    let mut arguments = vec!["--meter"];
    arguments.extend(LIFTED);
    let metered = Harness::start(&arguments).await?;
    let world = World::new(metered.ready().clone()).await?;
    let cost = store_calls(&world).await?;
    let large = if options.large > 0 { large_account(&world, options.large).await? } else { Value::Null };

    let figures = json!({
        "start": start,
        "store_calls": cost,
        "requests_per_second": speed,
        "due_together": together,
        "due_over_a_minute": spread,
        "large_account": large,
        "resident_mb_at_the_end": end,
    });
    if let Some(file) = &options.json {
        fs::write(file, format!("{figures:#}\n"))?;
    }
    Ok(())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn resident_mb(local: &Harness) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", local.id()))?;
    let line = status.lines().find(|it| it.starts_with("VmRSS:")).unwrap_or_default();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok(kilobytes / 1024)
}

/// One request that is sent again and again.
#[derive(Clone)]
struct Shot {
    name: &'static str,
    method: Method,
    url: String,
    token: String,
    body: Option<String>,
    expected: u16,
}

async fn speed(world: &World, options: &Options) -> Result<Value> {
    let user = world.new_user().await?;
    let post = integer(&user.create(&json!({ "content": "a post" })).await?, "id")?;
    let shot = |name, method, url: String, body: Option<Value>, expected| Shot {
        name,
        method,
        url,
        token: user.api.token().to_owned(),
        body: body.map(|it| it.to_string()),
        expected,
    };
    let shots = [
        shot("bare axum hello", Method::GET, bare_server().await?, None, 200),
        shot("GET /posts/{post}", Method::GET, format!("{}/posts/{post}", world.base()), None, 200),
        shot("POST /posts", Method::POST, format!("{}/posts", world.base()), Some(json!({ "content": "a post" })), 201),
    ];
    let mut rows = Vec::new();
    say("requests per second         clients      req/s   p50 ms   p99 ms");
    for shot in shots {
        for clients in [1, 32] {
            let row = shoot(&shot, clients, Duration::from_secs(options.seconds)).await?;
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

async fn shoot(shot: &Shot, clients: usize, time: Duration) -> Result<Value> {
    let http = http_client(true)?;
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    let tasks: Vec<_> = (0..clients)
        .map(|_| tokio::spawn(keep_shooting(http.clone(), shot.clone(), Arc::clone(&stop), Arc::clone(&done))))
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

async fn keep_shooting(http: Client, shot: Shot, stop: Arc<AtomicBool>, done: Arc<AtomicU64>) -> Result<Vec<Duration>> {
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

fn percentile<T: Copy + Default>(sorted: &[T], percent: usize) -> T {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}

/// How late posts come that are due within so many seconds, evenly spread.
async fn punctuality(world: &World, count: u64, seconds: u64) -> Result<Value> {
    let mut user = world.new_user().await?;
    let connection = user.connect(0).await?;
    let (start, on) = (fresh("due"), targets(&[&connection])?);
    // Time enough to write them all before the first is due.
    let ahead = 20 + i64::try_from(count / 100)?;
    let first = moment::now() + chrono::TimeDelta::seconds(ahead);
    let due = |number: u64| first + chrono::TimeDelta::seconds(i64::try_from(number * seconds / count).unwrap_or(0));
    let bodies: Vec<_> = (0..count)
        .map(|number| {
            let words = format!("{start} {number}");
            json!({ "content": words, "platforms": on, "scheduled_at": moment::written(due(number)) })
        })
        .collect();
    let mut written = stream::iter(&bodies).map(|body| user.create(body)).buffer_unordered(16);
    while let Some(post) = written.next().await {
        post?;
    }
    ensure!(moment::now() < first, "writing {count} posts took longer than {ahead} s");

    let patience = Instant::now() + Duration::from_mins(5);
    let entries = loop {
        let all = world.whole_timeline().await?;
        let ours = |it: &Value| it["text"].as_str().is_some_and(|it| it.starts_with(&start));
        let ours: Vec<_> = all.into_iter().filter(ours).collect();
        if count <= ours.len() as u64 || patience < Instant::now() {
            break ours;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    let mut texts: Vec<_> = entries.iter().map(|it| it["text"].to_string()).collect();
    texts.sort();
    texts.dedup();
    let mut late = Vec::new();
    for entry in &entries {
        let received: chrono::DateTime<chrono::Utc> = text(entry, "received_at")?.parse()?;
        let number = text(entry, "text")?.rsplit(' ').next().unwrap_or_default().parse()?;
        late.push((received - due(number)).num_milliseconds());
    }
    late.sort_unstable();
    let figures = json!({
        "posts": count,
        "within_s": seconds,
        "on_the_timeline": entries.len(),
        "different": texts.len(),
        "earliest_ms": late.first(),
        "p50_ms": percentile(&late, 50),
        "p99_ms": percentile(&late, 99),
        "latest_ms": late.last(),
    });
    say(&format!("\n{count} posts due within {seconds} s: {figures}"));
    ensure!(
        entries.len() as u64 == count && texts.len() as u64 == count,
        "not every post is on the timeline exactly once"
    );
    Ok(figures)
}

/// What each operation asks of the store.
async fn store_calls(world: &World) -> Result<Value> {
    let mut user = world.new_user().await?;
    let connection = user.connect(0).await?;
    let post = user.schedule("a", &[&connection], 3600).await?;
    let (connected, posted) = (format!("/connections/{}", integer(&connection, "id")?), format!("/posts/{post}"));
    let scheduled =
        json!({ "content": "a", "platforms": targets(&[&connection])?, "scheduled_at": moment::in_seconds(3600) });
    let draft = json!({ "content": "a" });
    let later = json!({ "scheduled_at": moment::in_seconds(7200) });

    let key = fresh("key");
    let rows = [
        ("GET /user", Method::GET, "/user", None, None),
        ("GET /connections", Method::GET, "/connections", None, None),
        ("GET /connections/{connection}", Method::GET, &connected, None, None),
        ("GET /posts", Method::GET, "/posts", None, None),
        ("GET /posts/{post}", Method::GET, &posted, None, None),
        ("POST /posts, draft", Method::POST, "/posts", Some(&draft), None),
        ("POST /posts, scheduled", Method::POST, "/posts", Some(&scheduled), None),
        ("POST /posts, with a key", Method::POST, "/posts", Some(&draft), Some(&key)),
        ("POST /posts, replayed", Method::POST, "/posts", Some(&draft), Some(&key)),
        ("PATCH /posts/{post}", Method::PATCH, &posted, Some(&later), None),
        ("DELETE /posts/{post}", Method::DELETE, &posted, None, None),
    ];
    let mut figures = Vec::new();
    say("store calls                      calls  in sequence   units  what");
    for (name, method, path, body, key) in rows {
        let mut call = user.api.call(method, path);
        if let Some(body) = body {
            call = call.json(body);
        }
        if let Some(key) = key {
            call = call.header("idempotency-key", key);
        }
        figures.push(cost(world, name, call).await?.1);
    }
    say("");
    Ok(Value::Array(figures))
}

/// Sends a request by itself and says what it asked of the store.
async fn cost(world: &World, name: &str, call: Call<'_>) -> Result<(Answer, Value)> {
    let address = format!("{}/dev/store-calls", world.origin());
    after_a_sweep(world, &address).await?;
    world.http().delete(&address).send().await?;
    let answer = call.send().await?;
    ensure!(answer.status < 300, "{}", answer.fault("a request of the bench was refused"));
    let calls = recorded(world, &address).await?;

    let (mut steps, mut end) = (0, 0);
    for call in &calls {
        // What begins before an earlier call has ended runs beside it.
        if end <= integer(call, "began_us")? {
            steps += 1;
        }
        end = end.max(integer(call, "ended_us")?);
    }
    let units: f64 = calls.iter().filter_map(|it| it["units"].as_f64()).sum();
    let what: Vec<_> = calls.iter().map(in_words).collect();
    say(&format!("{name:31} {:6} {steps:12} {units:7.1}  {}", calls.len(), what.join(", ")));
    let figures = json!({
        "operation": name,
        "calls": calls.len(),
        "in_sequence": steps,
        "units": units,
        "what": what,
    });
    Ok((answer, figures))
}

fn in_words(call: &Value) -> String {
    let tables: Vec<_> = call["tables"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    format!("{} {}", call["operation"].as_str().unwrap_or("?"), tables.join("+"))
}

async fn recorded(world: &World, address: &str) -> Result<Vec<Value>> {
    let response = world.http().get(address).send().await?;
    let body: Value = serde_json::from_str(&response.text().await?)?;
    let mut calls = list(&body, "calls")?.to_vec();
    calls.sort_by_key(|it| it["began_us"].as_i64());
    Ok(calls)
}

/// Waits for the end of a sweep, which comes every few seconds, so that its
/// calls are not taken for those of the request.
async fn after_a_sweep(world: &World, address: &str) -> Result {
    let limit = Duration::from_secs(20);
    world.http().delete(address).send().await?;
    moment::eventually(limit, "a sweep of the due deliveries", || async {
        let seen = recorded(world, address).await?;
        Ok((!seen.is_empty()).then_some(()))
    })
    .await?;
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let seen = recorded(world, address).await?.len();
        if seen == before {
            return Ok(());
        }
        before = seen;
    }
}

/// Whether a list costs more when the account is large.
async fn large_account(world: &World, count: u64) -> Result<Value> {
    let user = world.new_user().await?;
    let mut figures = Vec::new();
    let mut there = 0;
    say("");
    for size in [100.min(count), count] {
        let started = Instant::now();
        write_drafts(&user, size - there).await?;
        say(&format!("wrote {} posts in {:.0} s", size - there, started.elapsed().as_secs_f64()));
        there = size;
        let last = size.div_ceil(15).min(100);
        for page in [1, last] {
            let path = format!("/posts?page={page}");
            let name = format!("{path} of {size} posts");
            let (answer, figure) = cost(world, &name, user.api.call(Method::GET, &path)).await?;
            let total = answer.json()?["meta"]["total"].clone();
            ensure!(total == json!(size), "{}", answer.fault("total is wrong"));
            figures.push(figure);
        }
    }
    Ok(Value::Array(figures))
}

async fn write_drafts(user: &User<'_>, count: u64) -> Result {
    let draft = json!({ "content": "one of many" });
    let mut written = stream::iter(0..count).map(|_| user.api.post("/posts", &draft)).buffer_unordered(32);
    while let Some(answer) = written.next().await {
        answer?.is(201).map_err(|it| Fault::new(format!("writing posts: {it}")))?;
    }
    Ok(())
}
