//! Requests another user's resources on every route that has an id.
//!
//! The routes come from the served document, so a new one is checked automatically.

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    checks,
    client::Api,
    deployment::{Deployment, fresh},
    ensure,
    error::{Result, same},
    http_response::integer,
    runner::Check,
    shapes::TOO_BIG,
};

pub(super) fn checks() -> Vec<Check> {
    checks!("tenants", [resources_of_other_users_are_not_found])
}

async fn routes(deployment: &Deployment) -> Result<Vec<(Method, String)>> {
    let response = deployment.http().get(format!("{}/openapi.json", deployment.base())).send().await?;
    let document: Value = serde_json::from_str(&response.text().await?)?;
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        let path = path.split_once("/api/v1").map_or(path.as_str(), |(_, rest)| rest);
        let ids = path.matches('{').count();
        if ids != 1 || !(path.starts_with("/posts/") || path.starts_with("/connections/{")) {
            continue;
        }
        for method in ["get", "put", "post", "patch", "delete"] {
            if item[method].is_object() {
                routes.push((Method::from_bytes(method.to_uppercase().as_bytes())?, path.to_owned()));
            }
        }
    }
    ensure!(5 <= routes.len(), "the document has only these routes with an id: {routes:?}");
    Ok(routes)
}

async fn request_status(api: &Api, method: &Method, route: &str, id: &str) -> Result<String> {
    let (start, rest) = route.split_once('{').unwrap_or((route, ""));
    let end = rest.split_once('}').map_or("", |(_, end)| end);
    let call = api.call(method.clone(), &format!("{start}{id}{end}"));
    let call = if *method == Method::PATCH { call.json(&json!({ "content": "stolen" })) } else { call };
    let response = call.send().await?.is(404)?;
    let body = response.text.clone();
    response.refused(404)?;
    Ok(body)
}

async fn resources_of_other_users_are_not_found(deployment: &Deployment) -> Result {
    let (mut owner, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let (their_connection, connection) = (owner.connect(0).await?, other.connect(0).await?);
    let their_post = owner.schedule(&fresh("theirs"), &[&their_connection], 7200).await?;
    let their_draft = integer(&owner.create(&json!({ "content": "theirs" })).await?, "id")?;
    let deleted_post = integer(&other.create(&json!({ "content": "mine" })).await?, "id")?;
    other.api.delete(&format!("/posts/{deleted_post}")).await?.is(204)?;
    let deleted_connection = integer(&connection, "id")?;
    other.api.delete(&format!("/connections/{deleted_connection}")).await?.is(204)?;
    let malformed = [
        "abc",
        "0",
        "-1",
        "1.5",
        "1e3",
        // A blank or a control character at the end of a path does not reach a function behind API Gateway.
        "1%002",
        "null",
        "true",
        "1;2",
        "%C3%A4",
        "0x10",
        &TOO_BIG.to_string(),
        &i64::MAX.to_string(),
        &u64::MAX.to_string(),
        "99999999999999999999999999",
        &"9".repeat(400),
        "9007199254740990",
    ]
    .map(ToOwned::to_owned);

    for (method, route) in routes(deployment).await? {
        let is_post_route = route.starts_with("/posts/");
        let other_ids =
            if is_post_route { vec![their_post, their_draft] } else { vec![integer(&their_connection, "id")?] };
        let deleted = if is_post_route { deleted_post } else { deleted_connection };
        let own_kind = other_ids.into_iter().chain([deleted]).map(|it| it.to_string());
        let wrong_kind = [if is_post_route { deleted_connection } else { their_post }].map(|it| it.to_string());
        let mut bodies = Vec::new();
        for id in own_kind.chain(wrong_kind).chain(malformed.clone()) {
            bodies.push((request_status(&other.api, &method, &route, &id).await?, id));
        }
        for (body, id) in &bodies {
            same(
                body,
                &bodies[0].0,
                &format!("the 404 of {method} {route} for {id}, compared with that for {}", bodies[0].1),
            )?;
        }
    }
    Ok(())
}
