//! Each function as it is deployed: its binary, its environment from the
//! template, a runtime that hands it one real event, and its answer.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

mod runtime;
#[allow(dead_code, reason = "each test of the template uses its part")]
mod template;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use runtime::{Function, Outcome};
use template::{FUNCTIONS, ROOT, Template};

/// What a variable of the template is set to here; the stores are those of
/// `runtime::Function`.
fn value(name: &str) -> Option<&'static str> {
    Some(match name {
        "TABLE_PREFIX" => runtime::PREFIX,
        "DUE_SHARDS" => "2",
        "LOG_LEVEL" => "info",
        "ORIGIN" => "https://social.example",
        "OIDC_ISSUER" => "https://issuer.example",
        "OIDC_CLIENT_ID" => "client",
        "MEDIA_BUCKET" => "media",
        "QUEUE_URL" => "https://queue.example/deliveries",
        "EVENT_BUS" => "bus",
        "KMS_KEY_ID" => "key",
        "REQUESTS_PER_MINUTE" => "60",
        "MEDIA_PER_MINUTE" => "30",
        "TOKEN_DAYS" => "180",
        // The template leaves them empty unless a parameter says otherwise.
        "ALLOWED_ORIGINS"
        | "SIGN_UP_ALLOWED"
        | "OIDC_CLIENT_SECRET"
        | "MEDIA_ENDPOINT"
        | "MEDIA_PUBLIC_ENDPOINT"
        | "MEDIA_LIMITS"
        | "PLANS"
        | "SANDBOX_URL"
        | "SANDBOX_CLIENT_ID"
        | "SANDBOX_CLIENT_SECRET" => "",
        _ => return None,
    })
}

/// The environment that the template gives a function.
fn environment(name: &str) -> BTreeMap<String, String> {
    let variables = Template::read().variables(name).into_iter();
    let valued = variables.map(|it| {
        let value = value(&it).unwrap_or_else(|| panic!("what is {it} to be in this test?"));
        (it, value.to_owned())
    });
    valued.collect()
}

/// The sample event of a function.
fn event(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(format!("{ROOT}/infra/events/{name}.json")).unwrap()).unwrap()
}

/// What a function answers to its sample event.
async fn answer(name: &str) -> Value {
    match Function::start(name, environment(name)).await.invoke(&event(name)).await {
        Outcome::Answered(answer) => answer,
        other => panic!("{name}: {other:?}"),
    }
}

/// The body of an answer to the gateway, after its status and what every
/// answer carries were looked at.
fn body(answer: &Value, status: u16) -> Value {
    assert_eq!(answer["statusCode"], status, "{answer}");
    let header = |name: &str| {
        let all = [&answer["headers"][name], &answer["multiValueHeaders"][name][0]];
        all.into_iter().find_map(Value::as_str).unwrap_or_else(|| panic!("no {name}: {answer}")).to_owned()
    };
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("x-request-id"), "HfQ8jhkXliAEMbA=", "the id that the gateway gave the request");
    for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
        header(name).parse::<u64>().unwrap();
    }
    serde_json::from_str(answer["body"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn auth_hands_out_a_device_code() {
    let answer = answer("auth").await;

    let codes = body(&answer, 201);
    assert_eq!(codes["expires_in"], 900);
    assert_eq!(codes["verification_uri"], "https://social.example/device");
    assert_eq!(codes["user_code"].as_str().unwrap().len(), "WDJB-MJHT".len());
}

#[tokio::test]
async fn connections_media_and_posts_want_a_token() {
    for name in ["connections", "media", "posts"] {
        let answer = answer(name).await;

        let refusal = body(&answer, 401);
        assert!(refusal["message"].as_str().unwrap().contains("token"), "{name}: {refusal}");
    }
}

#[tokio::test]
async fn publisher_and_upkeep_find_nothing_to_do() {
    for name in ["publisher", "upkeep"] {
        assert_eq!(answer(name).await, Value::Null, "{name}");
    }
}

#[tokio::test]
async fn delivery_brings_again_what_it_cannot_read_and_nothing_else() {
    let answer = answer("delivery").await;

    let unreadable = &event("delivery")["Records"][1]["messageId"];
    assert_eq!(answer, json!({ "batchItemFailures": [{ "itemIdentifier": unreadable }] }));
}

#[tokio::test]
async fn a_function_without_its_tables_fails_and_says_so() {
    let mut environment = environment("publisher");
    environment.insert("TABLE_PREFIX".to_owned(), "nobody".to_owned());

    let outcome = Function::start("publisher", environment).await.invoke(&event("publisher")).await;

    let Outcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
    assert!(!failure["errorMessage"].as_str().unwrap().is_empty(), "{failure}");
}

#[tokio::test]
async fn a_function_that_lacks_a_variable_names_it_and_does_not_start() {
    let needed = |it: &&String| value(it).is_some_and(|it| !it.is_empty());
    // Those that have a default, as the README says.
    let optional = ["DUE_SHARDS", "LOG_LEVEL", "REQUESTS_PER_MINUTE", "MEDIA_PER_MINUTE", "TOKEN_DAYS"];
    for name in FUNCTIONS {
        let full = environment(name);
        for missing in full.keys().filter(needed).filter(|it| !optional.contains(&it.as_str())) {
            let mut environment = full.clone();
            environment.remove(missing);

            let outcome = Function::start(name, environment).await.invoke(&event(name)).await;

            let Outcome::Ended(log) = outcome else { panic!("{name} without {missing}: {outcome:?}") };
            assert!(log.contains(missing), "{name} does not say that {missing} is missing: {log}");
        }
    }
}
