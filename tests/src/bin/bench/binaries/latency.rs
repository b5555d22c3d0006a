//! The time from an event to the response of a warm function.

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tests::{
    error::Result,
    fail,
    lambda::{Function, Outcome},
    report::say,
    template::ROOT,
};

use super::{HELLO, Measurements, millis};
use crate::percentile::percentile;

const WARM_UP: usize = 200;

/// With the expected status: hello, and the shortest path through auth, a request that is counted
/// in the store and refused because it has no token.
const ASKED: [(&str, u16); 2] = [(HELLO, 200), ("auth", 401)];

/// Interleaves the events of hello and auth.
pub(super) async fn compare(all: &[Measurements], requests: usize) -> Result<Value> {
    let event = event()?;
    let mut durations = Vec::new();
    for (name, status) in ASKED {
        let Some(figures) = all.iter().find(|it| it.name == name) else { fail!("{name} was not built") };
        let function = Function::start(Command::new(&figures.binary), &figures.environment).await?;
        durations.push((name, status, function, Vec::new()));
    }
    for number in 0..WARM_UP + requests {
        for (name, status, function, times) in &mut durations {
            let took = invoke_timed(function, &event, name, *status).await?;
            if WARM_UP <= number {
                times.push(took);
            }
        }
    }

    say("\nwarm, of an event GET /api/v1/user without a token   p50 ms   p99 ms");
    let mut rows = Vec::new();
    for (name, status, _, times) in &mut durations {
        times.sort_unstable();
        let (p50, p99) = (millis(percentile(times, 50)), millis(percentile(times, 99)));
        say(&format!("{:50} {p50:8.3} {p99:8.3}", format!("{name} ({status})")));
        rows.push(json!({ "name": name, "status": status, "p50_ms": p50, "p99_ms": p99 }));
    }
    Ok(Value::Array(rows))
}

async fn invoke_timed(function: &mut Function, event: &Value, name: &str, status: u16) -> Result<Duration> {
    let started = Instant::now();
    let outcome = function.invoke(event).await?;
    let took = started.elapsed();
    match outcome {
        Outcome::Answered(answer) if answer["statusCode"] == status => Ok(took),
        other => fail!("{name}: {other:?}"),
    }
}

fn event() -> Result<Value> {
    let mut event: Value = serde_json::from_slice(&fs::read(format!("{ROOT}/infra/events/auth.json"))?)?;
    let path = "/api/v1/user";
    event["routeKey"] = json!(format!("ANY {path}"));
    event["rawPath"] = json!(path);
    event["requestContext"]["routeKey"] = json!(format!("ANY {path}"));
    event["requestContext"]["http"]["method"] = json!("GET");
    event["requestContext"]["http"]["path"] = json!(path);
    event["body"] = Value::Null;
    Ok(event)
}
