//! Each function as it is deployed: its binary, its environment from the template, a runtime that
//! sends it one real event, and its response.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};
use tests::lambda::{self, Function, Outcome, value};
use tests::template::{FUNCTIONS, ROOT, Template};

fn environment(name: &str) -> BTreeMap<String, String> {
    lambda::environment(name).unwrap_or_else(|fault| panic!("{fault}"))
}

fn event(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(format!("{ROOT}/infra/events/{name}.json")).unwrap()).unwrap()
}

/// Cargo puts it next to this test's folder.
///
/// Cargo builds only the binaries of the package under test, and these belong to others, so this
/// calls cargo once per run. They are built together with the tests, so that libraries have the
/// same features as now. The variables that cargo sets for this test's package are removed: crates
/// that compile C would treat them as a reason to build again.
fn binary(name: &str) -> PathBuf {
    static BUILT: LazyLock<()> = LazyLock::new(|| {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--workspace", "--bins", "--tests"]).current_dir(ROOT);
        let variables = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        for name in variables.filter(|it| it.starts_with("CARGO_PKG_") || it.starts_with("CARGO_MANIFEST_")) {
            build.env_remove(name);
        }
        let built = build.status().unwrap();
        assert!(built.success(), "the functions are not built: {built}");
    });
    LazyLock::force(&BUILT);
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join(name)
}

/// For the sample event, with this environment and empty tables.
async fn outcome(name: &str, environment: BTreeMap<String, String>) -> Outcome {
    outcome_of(name, environment, &event(name)).await
}

/// Like `outcome`, for another event.
async fn outcome_of(name: &str, mut environment: BTreeMap<String, String>, event: &Value) -> Outcome {
    environment.insert("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), tables::start(lambda::PREFIX).await);
    // No other AWS service exists: a call to one fails here.
    environment.insert("AWS_ENDPOINT_URL".to_owned(), "http://127.0.0.1:9".to_owned());
    let function = Function::start(Command::new(binary(name)), &environment).await;
    let mut function = function.unwrap_or_else(|fault| panic!("{fault}"));
    function.invoke(event).await.unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

async fn respond(name: &str) -> Value {
    match outcome(name, environment(name)).await {
        Outcome::Answered(response) => response,
        other => panic!("{name}: {other:?}"),
    }
}

/// Checks the status and the headers of every response.
fn response_body(response: &Value, status: u16) -> Value {
    assert_eq!(response["statusCode"], status, "{response}");
    let header = |name: &str| {
        let all = [&response["headers"][name], &response["multiValueHeaders"][name][0]];
        all.into_iter().find_map(Value::as_str).unwrap_or_else(|| panic!("no {name}: {response}")).to_owned()
    };
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("x-request-id"), "HfQ8jhkXliAEMbA=", "the id that the gateway gave the request");
    for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
        header(name).parse::<u64>().unwrap();
    }
    serde_json::from_str(response["body"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn auth_returns_a_device_code() {
    let response = respond("auth").await;

    let codes = response_body(&response, 201);
    assert_eq!(codes["expires_in"], 900);
    assert_eq!(codes["verification_uri"], "https://social.example/device");
    assert_eq!(codes["user_code"].as_str().unwrap().len(), "WDJB-MJHT".len());
}

#[tokio::test]
async fn connections_media_and_posts_require_a_token() {
    for name in ["connections", "media", "posts"] {
        let response = respond(name).await;

        let refusal = response_body(&response, 401);
        assert!(refusal["message"].as_str().unwrap().contains("token"), "{name}: {refusal}");
    }
}

#[tokio::test]
async fn mcp_refuses_requests_that_the_api_did_not_admit() {
    let response = respond("mcp").await;

    let refusal = response_body(&response, 503);
    assert!(refusal["message"].as_str().unwrap().contains("unavailable"), "{refusal}");
    assert_eq!(response["headers"]["x-ratelimit-limit"], "60", "{response}");
}

#[tokio::test]
async fn publisher_and_upkeep_handle_an_empty_store() {
    for name in ["publisher", "upkeep"] {
        assert_eq!(respond(name).await, Value::Null, "{name}");
    }
}

/// No bucket exists here, so reading the file from our own store fails: the function logs this, and
/// the message is not returned to the queue.
#[tokio::test]
async fn pictures_drops_files_that_the_store_fails_to_return() {
    assert_eq!(respond("pictures").await, Value::Null);
}

#[tokio::test]
async fn delivery_returns_only_unreadable_messages_to_the_queue() {
    let response = respond("delivery").await;

    let unreadable = &event("delivery")["Records"][1]["messageId"];
    assert_eq!(response, json!({ "batchItemFailures": [{ "itemIdentifier": unreadable }] }));
}

#[tokio::test]
async fn webhooks_returns_only_unreadable_messages_to_the_queue() {
    let response = respond("webhooks").await;

    let unreadable = &event("webhooks")["Records"][1]["messageId"];
    assert_eq!(response, json!({ "batchItemFailures": [{ "itemIdentifier": unreadable }] }));
}

#[tokio::test]
async fn webhooks_serves_requests_with_nothing_to_send() {
    let mut request = event("posts");
    request["rawPath"] = "/api/v1/webhooks".into();
    request["requestContext"]["http"]["path"] = "/api/v1/webhooks".into();
    let Outcome::Answered(response) = outcome_of("webhooks", environment("webhooks"), &request).await else {
        panic!("no answer")
    };
    response_body(&response, 401);
    let tick = outcome_of("webhooks", environment("webhooks"), &json!({ "source": "aws.scheduler" })).await;
    assert!(matches!(tick, Outcome::Answered(Value::Null)), "{tick:?}");
}

#[tokio::test]
async fn functions_start_with_the_variables_of_sam_local() {
    let file = std::fs::read(format!("{ROOT}/infra/sam-local.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    for name in FUNCTIONS {
        let mut environment = environment(name);
        for (variable, value) in &mut environment {
            let given = file["Parameters"][variable].as_str();
            given.unwrap_or_else(|| panic!("{variable}")).clone_into(value);
        }
        // The tables of this test have this prefix.
        environment.insert("TABLE_PREFIX".to_owned(), lambda::PREFIX.to_owned());

        let outcome = outcome(name, environment).await;

        assert!(matches!(outcome, Outcome::Answered(_)), "{name}: {outcome:?}");
    }
}

#[tokio::test]
async fn functions_start_with_the_platforms_of_the_template() {
    let template = Template::read().unwrap();
    let default = &template.json()["Parameters"]["Platforms"]["Default"];
    let mut started = 0;
    for name in FUNCTIONS {
        let mut environment = environment(name);
        let Some(platforms) = environment.get_mut("PLATFORMS") else { continue };
        default.as_str().unwrap().clone_into(platforms);

        let outcome = outcome(name, environment).await;

        assert!(matches!(outcome, Outcome::Answered(_)), "{name}: {outcome:?}");
        started += 1;
    }
    assert_eq!(started, 4);
}

#[tokio::test]
async fn delivery_requires_a_secret_for_platforms_that_fetch_files() {
    for (secret, reason) in
        [("", "google_business, instagram, pinterest, threads, tiktok"), ("too-short", "at least 32 characters")]
    {
        let mut environment = environment("delivery");
        environment.insert("FILE_SECRET".to_owned(), secret.to_owned());

        let outcome = outcome("delivery", environment).await;

        let Outcome::Ended(log) = outcome else { panic!("{secret:?}: {outcome:?}") };
        for part in ["FILE_SECRET", reason, "openssl rand -hex 32"] {
            assert!(log.contains(part), "{part}: {log}");
        }
        assert!(secret.is_empty() || !log.contains(secret), "{log}");
    }
}

#[tokio::test]
async fn function_without_its_tables_fails_with_a_reason() {
    let mut environment = environment("publisher");
    environment.insert("TABLE_PREFIX".to_owned(), "nobody".to_owned());

    let outcome = outcome("publisher", environment).await;

    let Outcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
    assert!(!failure["errorMessage"].as_str().unwrap().is_empty(), "{failure}");
}

#[tokio::test]
async fn function_names_a_missing_variable_and_does_not_start() {
    let needed = |it: &&String| value(it).is_some_and(|it| !it.is_empty());
    // Variables that have a default, as docs/deploying.md says.
    let optional = [
        "DUE_SHARDS",
        "DELIVERY_CONCURRENCY",
        "LOG_LEVEL",
        "REQUESTS_PER_MINUTE",
        "MEDIA_PER_MINUTE",
        "CALLS_PER_USER",
        "CALLS_PER_HOST",
        "TOKEN_DAYS",
        "GUEST_HAND_OFFS",
        "TOKEN_MAX_DAYS",
        "PLATFORMS",
        "EDGE_SERVES_FILES",
    ];
    for name in FUNCTIONS {
        let full = environment(name);
        // Without tables, the prefix is only the name of the metrics.
        let is_optional = |it: &str| {
            optional.contains(&it)
                || (name, it) == ("pictures", "TABLE_PREFIX")
                || (name, it) == ("mcp", "TABLE_PREFIX")
                // Without it, the address of an assistant is not trusted.
                || (name != "mcp" && it == "MCP_SECRET")
                // Without it, no file is served.
                || (name, it) == ("media", "FILE_SECRET")
        };
        for missing in full.keys().filter(needed).filter(|it| !is_optional(it)) {
            let mut environment = full.clone();
            environment.remove(missing);

            let outcome = outcome(name, environment).await;

            let Outcome::Ended(log) = outcome else { panic!("{name} without {missing}: {outcome:?}") };
            assert!(log.contains(missing), "{name} does not say that {missing} is missing: {log}");
        }
    }
}
