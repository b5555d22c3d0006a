//! The number of store calls that requests make.

use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use reqwest::Method;
use serde_json::{Value, json};
use tests::{
    client::Call,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, TestError},
    http_response::{HttpResponse, integer, list},
    moment,
    report::say,
};

pub(super) async fn store_calls(deployment: &Deployment) -> Result<Value> {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let post = user.schedule("a", &[&connection], 3600).await?;
    let cancelled = format!("/posts/{}", user.schedule("b", &[&connection], 3600).await?);
    let (connected, posted) = (format!("/connections/{}", integer(&connection, "id")?), format!("/posts/{post}"));
    let scheduled =
        json!({ "content": "a", "platforms": targets(&[&connection])?, "scheduled_at": moment::in_seconds(3600) });
    let draft = json!({ "content": "a" });
    let later = json!({ "scheduled_at": moment::in_seconds(7200) });
    let never = json!({ "scheduled_at": null });

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
        ("PATCH /posts/{post}, cancelled", Method::PATCH, &cancelled, Some(&never), None),
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
        figures.push(measure_cost(deployment, name, call).await?.1);
        if name == "POST /posts, scheduled" {
            figures.push(cost_of_event(deployment).await?);
        }
    }
    say("");
    Ok(Value::Array(figures))
}

async fn measure_cost(deployment: &Deployment, name: &str, call: Call<'_>) -> Result<(HttpResponse, Value)> {
    let address = format!("{}/dev/store-calls", deployment.origin());
    wait_for_sweep_end(deployment, &address).await?;
    deployment.http().delete(&address).send().await?;
    let response = call.send().await?;
    ensure!(response.status < 300, "{}", response.test_error("a request of the bench was refused"));
    let (calls, _) = split(read_calls(deployment, &address).await?);
    Ok((response, figure(name, &calls)))
}

/// Counts the store calls after the response of the last request.
async fn cost_of_event(deployment: &Deployment) -> Result<Value> {
    let address = format!("{}/dev/store-calls", deployment.origin());
    let calls = moment::eventually(Duration::from_secs(20), "that the event leaves the outbox", || async {
        let (_, calls) = split(read_calls(deployment, &address).await?);
        Ok(calls.iter().any(|it| it["operation"] == "DeleteItem").then_some(calls))
    })
    .await?;
    Ok(figure("its event, afterwards", &calls))
}

/// The calls of the request, and those that fan its event out meanwhile.
fn split(calls: Vec<Value>) -> (Vec<Value>, Vec<Value>) {
    calls.into_iter().partition(|it| !matches!(&*describe_call(it), "Query local-webhooks" | "DeleteItem local-outbox"))
}

fn figure(name: &str, calls: &[Value]) -> Value {
    let (mut steps, mut end) = (0, 0);
    for call in calls {
        let moment = |name: &str| call[name].as_i64().unwrap_or_default();
        // A call that begins before an earlier one has ended runs in parallel with it.
        if end <= moment("began_us") {
            steps += 1;
        }
        end = end.max(moment("ended_us"));
    }
    let units: f64 = calls.iter().filter_map(|it| it["units"].as_f64()).sum();
    let what: Vec<_> = calls.iter().map(describe_call).collect();
    say(&format!("{name:31} {:6} {steps:12} {units:7.1}  {}", calls.len(), what.join(", ")));
    json!({
        "operation": name,
        "calls": calls.len(),
        "in_sequence": steps,
        "units": units,
        "what": what,
    })
}

fn describe_call(call: &Value) -> String {
    let tables: Vec<_> = call["tables"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    format!("{} {}", call["operation"].as_str().unwrap_or("?"), tables.join("+"))
}

async fn read_calls(deployment: &Deployment, address: &str) -> Result<Vec<Value>> {
    let response = deployment.http().get(address).send().await?;
    let body: Value = serde_json::from_str(&response.text().await?)?;
    let mut calls = list(&body, "calls")?.to_vec();
    calls.sort_by_key(|it| it["began_us"].as_i64());
    Ok(calls)
}

/// A sweep runs every few seconds, and its calls must not be counted as the request's.
async fn wait_for_sweep_end(deployment: &Deployment, address: &str) -> Result {
    let limit = Duration::from_secs(20);
    deployment.http().delete(address).send().await?;
    moment::eventually(limit, "a sweep of the due deliveries", || async {
        let calls = read_calls(deployment, address).await?;
        Ok((!calls.is_empty()).then_some(()))
    })
    .await?;
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let calls = read_calls(deployment, address).await?.len();
        if calls == before {
            return Ok(());
        }
        before = calls;
    }
}

/// Checks that a list does not cost more when the account is large.
pub(super) async fn large_account(deployment: &Deployment, count: u64) -> Result<Value> {
    let user = deployment.new_user().await?;
    let mut figures = Vec::new();
    let mut listed_count = 0;
    say("");
    for size in [100.min(count), count] {
        let started = Instant::now();
        write_drafts(&user, size - listed_count).await?;
        say(&format!("wrote {} posts in {:.0} s", size - listed_count, started.elapsed().as_secs_f64()));
        listed_count = size;
        let last = size.div_ceil(15).min(100);
        for page in [1, last] {
            let path = format!("/posts?page={page}");
            let name = format!("{path} of {size} posts");
            let (response, figure) = measure_cost(deployment, &name, user.api.call(Method::GET, &path)).await?;
            let total = response.json()?["meta"]["total"].clone();
            ensure!(total == json!(size), "{}", response.test_error("total is wrong"));
            figures.push(figure);
        }
    }
    Ok(Value::Array(figures))
}

async fn write_drafts(user: &User<'_>, count: u64) -> Result {
    let draft = json!({ "content": "one of many" });
    let mut written = stream::iter(0..count).map(|_| user.api.post("/posts", &draft)).buffer_unordered(32);
    while let Some(response) = written.next().await {
        response?.is(201).map_err(|it| TestError::new(format!("writing posts: {it}")))?;
    }
    Ok(())
}
