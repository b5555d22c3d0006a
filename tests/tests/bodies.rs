//! Arbitrary bodies for every operation of the API document: the response must be small and fast,
//! and no 5xx.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

use std::collections::BTreeSet;
use std::fs;

use clap::Parser;
use local::{Options, Running};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use reqwest::{Client, Method};
use serde_json::{Map, Value, json};
use tests::shapes::MAX_REFUSAL_BYTES;
use tokio::runtime::Runtime;

const BODY_BYTES: usize = 256 * 1024;

/// Limit of processor time for one request, without optimization.
const CPU_SECONDS: f64 = 2.0;

#[test]
fn refusal_of_any_body_is_small_and_fast() {
    let runtime = Runtime::new().unwrap();
    let (service, post) = runtime.block_on(start());
    let document: Value = serde_json::from_str(include_str!("../../libs/api/openapi.json")).unwrap();
    let operations: Vec<_> = operations(&document, post).collect();
    assert!(14 <= operations.len(), "{operations:?}");
    let http = Client::builder().no_proxy().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() });

    let run = runner.run(&body(names(&document)), |body| {
        for (method, url) in &operations {
            let request = http
                .request(method.clone(), format!("{}{url}", service.origin))
                .bearer_auth(&service.token)
                .header("content-type", "application/json")
                .body(body.clone());
            let before = cpu_seconds();
            let (status, answered) = runtime.block_on(async {
                let response = request.send().await.unwrap();
                (response.status(), response.bytes().await.unwrap().len())
            });
            let took = cpu_seconds() - before;
            prop_assert!(!status.is_server_error(), "{method} {url}: {status}");
            prop_assert!(
                status.is_success() || answered <= MAX_REFUSAL_BYTES,
                "{method} {url}: {status} with {answered} bytes"
            );
            prop_assert!(took < CPU_SECONDS, "{method} {url}: {status} took {took} s of a processor");
        }
        Ok(())
    });

    run.unwrap();
}

async fn start() -> (Running, u64) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments = ["dev", "--ephemeral", "--port", "0", "--requests-per-minute", "1000000"];
    let options = Options::parse_from(arguments.into_iter().chain(["--media-per-minute", "1000000"]));
    let service = local::start(&options).await.unwrap();
    let created = Client::builder().no_proxy().build().unwrap().post(format!("{}/posts", service.base_url));
    let created = created.bearer_auth(&service.token).json(&json!({ "content": "a" })).send().await.unwrap();
    let post: Value = created.json().await.unwrap();
    (service, post["id"].as_u64().unwrap())
}

/// At existing paths, with DELETE last.
fn operations(document: &Value, post: u64) -> impl Iterator<Item = (Method, String)> + use<> {
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path
            .replace("{post}", &post.to_string())
            .replace("{platform}", "sandbox")
            .replace("{connection}", "1")
            .replace("{stateToken}", "x");
        for method in item.as_object().unwrap().keys().filter(|it| *it != "parameters") {
            // A deleted resource cannot be changed any more.
            if method != "delete" || !path.ends_with(&post.to_string()) {
                operations.push((Method::from_bytes(method.to_uppercase().as_bytes()).unwrap(), path.clone()));
            }
        }
    }
    let elsewhere = (Method::DELETE, "/api/v1/posts/1".to_owned());
    operations.into_iter().chain([elsewhere])
}

fn names(document: &Value) -> Vec<String> {
    let schemas = document["components"]["schemas"].as_object().unwrap().values();
    let properties = schemas.filter_map(|it| it["properties"].as_object());
    properties.flat_map(|it| it.keys().cloned()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Includes the service, which runs in this process.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    let ticks: Vec<f64> = after_name.split_whitespace().skip(11).take(2).map(|it| it.parse().unwrap()).collect();
    // Linux counts a hundred ticks a second, whatever the kernel's own clock does.
    (ticks[0] + ticks[1]) / 100.0
}

fn body(names: Vec<String>) -> impl Strategy<Value = Vec<u8>> {
    let known = proptest::sample::select(names);
    let name = prop_oneof![3 => known.clone(), 1 => "\\PC{1,8}", 1 => "[\u{0}-\u{1f}\"\\\\]{1,4}"];
    let value = prop_oneof![
        Just(json!(7)),
        Just(json!(null)),
        Just(json!({})),
        Just(json!("media/1/2.png")),
        Just(json!({ "connected_account_id": 1 })),
        Just(json!(1e300)),
        "\\PC{0,12}".prop_map(Value::String),
    ];
    let many = (name.clone(), known.clone(), value.clone()).prop_flat_map(|(name, known, value)| {
        let list = repeated_body(&known, &format!("{value},"), "[", "0]");
        let entry =
            repeated_body("platforms", &format!("{{{}:1,{}:{value}}},", quoted(&name), quoted(&known)), "[", "{}]");
        let text = repeated_body(&known, &quoted_content(&name), "\"", "\"");
        let deep = repeated_body(&known, "[", "", "");
        let objects = repeated_body(&known, &format!("{{{}:", quoted(&name)), "", "");
        let twice = repeated_body(&known, &format!("1,{}:", quoted(&known)), "", "1");
        let fields = numbered_fields_body("", &name, "");
        let entries = numbered_fields_body("\"platforms\":[{", &name, "}]");
        let long = format!("{{{}:1}}", quoted(&name.repeat((BODY_BYTES / 7 / name.len()).max(1))));
        proptest::sample::select(vec![list, entry, text, deep, objects, twice, fields, entries, long])
    });
    let leaf = value.prop_recursive(6, 64, 8, move |inner| {
        let object = proptest::collection::vec((name.clone(), inner.clone()), 0..8);
        let object = object.prop_map(|it| Value::Object(it.into_iter().collect::<Map<_, _>>()));
        prop_oneof![proptest::collection::vec(inner, 0..8).prop_map(Value::Array), object]
    });
    let tree = proptest::collection::vec((known, leaf), 0..8)
        .prop_map(|it| Value::Object(it.into_iter().collect::<Map<_, _>>()).to_string());
    prop_oneof![3 => many, 1 => tree].prop_map(|it| {
        let mut body = it.into_bytes();
        body.truncate(BODY_BYTES);
        body
    })
}

/// `{"name": …}` with as many repetitions of a part as fit.
fn repeated_body(name: &str, part: &str, begin: &str, end: &str) -> String {
    let rest = 2 * name.len() + begin.len() + end.len() + 8;
    let times = (BODY_BYTES - rest) / part.len().max(1);
    format!("{{{}:{begin}{}{end}}}", quoted(name), part.repeat(times))
}

/// As many different fields as fit.
fn numbered_fields_body(begin: &str, name: &str, end: &str) -> String {
    let mut body = format!("{{{begin}");
    for number in 0.. {
        let field = format!("{}:{number},", quoted(&format!("{name}{number}")));
        if BODY_BYTES < body.len() + field.len() + end.len() + 8 {
            break;
        }
        body.push_str(&field);
    }
    body + "\"\":0" + end + "}"
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn quoted_content(text: &str) -> String {
    let quoted = quoted(text);
    quoted[1..quoted.len() - 1].to_owned()
}
