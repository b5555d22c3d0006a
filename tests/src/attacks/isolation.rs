//! Attempts of one customer, user or limited token to reach what belongs to another: every operation with an id, and
//! every id in bodies, filters and idempotency keys.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    client::Api,
    deployment::{Deployment, User, fresh},
    ensure,
    error::Result,
    fail,
    http_response::{HttpResponse, integer, list, text},
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(24, [
        "every operation is tried with the ids of another profile, of none and of another user",
            "at least 1,000 combinations; nothing is read and nothing changes" => everything_of_others;
    ])
}

const MIN_COMBINATIONS: usize = 1000;

/// The data of one profile, or of a user without a profile.
struct Tenant {
    name: &'static str,
    /// Sees this tenant and, if it is not limited to a profile, the other tenants of the user.
    api: Api,
    profile: Option<i64>,
    connection: i64,
    draft: i64,
    scheduled: i64,
    media: String,
    webhook: i64,
    delivery: String,
    /// Of a connect flow.
    state: String,
    /// A text that is in everything of this tenant, and is its label, its external id and its idempotency key.
    mark: String,
}

impl Tenant {
    async fn create(name: &'static str, user: &mut User<'_>, profile: Option<i64>, mark: String) -> Result<Self> {
        let connection = integer(&user.connect(0).await?, "id")?;
        let media = user.picture().await?;
        let targets = json!([{ "connected_account_id": connection }]);
        let body = json!({ "content": mark, "media": [media], "platforms": targets, "labels": [mark] });
        let draft = integer(&user.create(&body).await?, "id")?;
        let body = json!({
            "content": mark, "platforms": targets, "external_id": mark, "scheduled_at": "2029-01-02T12:00:00.000Z",
        });
        let scheduled = user.api.call(Method::POST, "/posts").header("idempotency-key", &mark).json(&body);
        let scheduled = integer(&scheduled.send().await?.ok(201)?, "id")?;
        let webhook = json!({ "url": format!("https://endpoint.invalid/{mark}") });
        let webhook = integer(&user.api.post("/webhooks", &webhook).await?.ok(201)?, "id")?;
        user.api.post(&format!("/webhooks/{webhook}/test"), &json!({})).await?.is(202)?;
        let deliveries = user.api.get(&format!("/webhooks/{webhook}/deliveries")).await?.ok(200)?;
        let Some(delivery) = list(&deliveries, "data")?.first() else { fail!("the test has no delivery") };
        let (delivery, state) =
            (text(delivery, "id")?.to_owned(), text(&user.begin().await?, "state_token")?.to_owned());
        let api = user.api.clone();
        Ok(Self { name, api, profile, connection, draft, scheduled, media, webhook, delivery, state, mark })
    }

    async fn snapshot(&self) -> Result<Vec<Value>> {
        let mut paths = vec![
            format!("/posts/{}", self.draft),
            format!("/posts/{}", self.scheduled),
            format!("/connections/{}", self.connection),
            format!("/webhooks/{}", self.webhook),
            format!("/connections/connect/sandbox/status/{}", self.state),
        ];
        paths.extend(self.profile.map(|it| format!("/profiles/{it}")));
        let mut seen = Vec::new();
        for path in paths {
            seen.push(without_volatile(self.api.get(&path).await?.ok(200)?));
        }
        let deliveries = self.api.get(&format!("/webhooks/{}/deliveries", self.webhook)).await?.ok(200)?;
        seen.push(json!(list(&deliveries, "data")?.len()));
        Ok(seen)
    }

    fn ids(&self, parameter: &str) -> Vec<String> {
        match parameter {
            "post" => vec![self.draft.to_string(), self.scheduled.to_string()],
            "connection" => vec![self.connection.to_string()],
            "webhook" => vec![self.webhook.to_string()],
            "profile" => self.profile.iter().map(ToString::to_string).collect(),
            "delivery" => vec![self.delivery.clone()],
            "stateToken" => vec![self.state.clone()],
            "platform" => vec!["sandbox".to_owned()],
            _ => vec!["title".to_owned()],
        }
    }
}

/// Drops values that change without a request: URLs of files, the time that is left, and whether an endpoint
/// responds.
fn without_volatile(value: Value) -> Value {
    const VOLATILE: [&str; 3] = ["media", "expires_in", "failing_since"];
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, _)| !VOLATILE.contains(&name.as_str()));
            kept.map(|(name, it)| (name, without_volatile(it))).collect()
        }
        Value::Array(values) => values.into_iter().map(without_volatile).collect(),
        other => other,
    }
}

/// Method and path below `/api/v1`.
async fn operations_with_ids(deployment: &Deployment) -> Result<Vec<(Method, String)>> {
    let response = deployment.http().get(format!("{}/openapi.json", deployment.base())).send().await?;
    let document: Value = serde_json::from_str(&response.text().await?)?;
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        let path = path.split_once("/api/v1").map_or(path.as_str(), |(_, rest)| rest);
        // An operation with a platform alone has no id.
        if !path.contains('{') || path.ends_with("/connect/{platform}") {
            continue;
        }
        for method in [Method::GET, Method::POST, Method::PATCH, Method::DELETE] {
            if item[method.as_str().to_lowercase()].is_object() {
                operations.push((method, path.to_owned()));
            }
        }
    }
    Ok(operations)
}

/// In each way to write the path.
fn paths_to(victim: &Tenant, template: &str) -> Vec<String> {
    let mut paths = vec![String::new()];
    for part in template.split('/').filter(|it| !it.is_empty()) {
        let Some(name) = part.strip_prefix('{').and_then(|it| it.strip_suffix('}')) else {
            for path in &mut paths {
                *path = format!("{path}/{part}");
            }
            continue;
        };
        let encoded = |it: &String| it.chars().next().map(|first| format!("%{:02X}{}", u32::from(first), &it[1..]));
        let ids = victim.ids(name);
        let spellings: Vec<_> = ids.iter().cloned().chain(ids.iter().filter_map(encoded)).collect();
        paths = paths.iter().flat_map(|path| spellings.iter().map(move |id| format!("{path}/{id}"))).collect();
    }
    paths
}

struct Attempts<'a> {
    deployment: &'a Deployment,
    count: usize,
}

impl Attempts<'_> {
    /// Checks that a response has one of these statuses, and nothing of the victim.
    fn check(&mut self, victim: &Tenant, response: &HttpResponse, statuses: &[u16]) -> Result {
        self.count += 1;
        ensure!(statuses.contains(&response.status), "{}", response.test_error(&format!("towards {}", victim.name)));
        ensure!(!response.text.contains(&victim.mark), "{}", response.test_error(&format!("shows {}", victim.name)));
        Ok(())
    }

    async fn on_paths(&mut self, own: &Tenant, victim: &Tenant, operations: &[(Method, String)]) -> Result {
        for (method, template) in operations {
            let body = match template.as_str() {
                "/posts/{post}" => json!({ "content": "stolen" }),
                "/profiles/{profile}" => json!({ "name": "stolen" }),
                "/webhooks/{webhook}" => json!({ "disabled": true }),
                _ => json!({}),
            };
            // A limited token cannot change any profile.
            let statuses: &[u16] = if template == "/profiles/{profile}" { &[404, 403] } else { &[404] };
            for path in paths_to(victim, template) {
                let call = own.api.call(method.clone(), &path);
                let call = if matches!(*method, Method::PATCH | Method::POST) { call.json(&body) } else { call };
                self.check(victim, &call.send().await?, statuses)?;
            }
        }
        let mixed = format!("/webhooks/{}/deliveries/{}/redeliver", own.webhook, victim.delivery);
        self.check(victim, &own.api.post(&mixed, &json!({})).await?, &[404])
    }

    async fn in_bodies(&mut self, own: &Tenant, victim: &Tenant) -> Result {
        let mine = json!({ "connected_account_id": own.connection });
        let entries = [
            json!({ "platforms": [{ "connected_account_id": victim.connection }] }),
            json!({ "platforms": [mine, { "connected_account_id": victim.connection }] }),
            json!({ "media": [victim.media] }),
            json!({ "media": [own.media, { "path": victim.media, "alt_text": "stolen" }] }),
            json!({ "platforms": [{ "connected_account_id": own.connection, "media": [victim.media] }] }),
            json!({ "thread": [{ "content": "stolen", "media": [victim.media] }] }),
        ];
        for entry in entries {
            let mut body = entry.clone();
            body["content"] = json!("stolen");
            for path in ["/posts", "/posts/validate"] {
                self.check(victim, &own.api.post(path, &body).await?, &[422])?;
            }
            for post in [own.draft, own.scheduled] {
                self.check(victim, &own.api.patch(&format!("/posts/{post}"), &entry).await?, &[422])?;
            }
        }
        let return_url = format!("{}/docs", self.deployment.origin());
        let link = json!({ "profile_id": own.profile, "post_id": victim.draft, "return_url": return_url });
        self.check(victim, &own.api.post("/connect-links", &link).await?, &[422])?;
        let Some(profile) = victim.profile else { return Ok(()) };
        let link = json!({ "profile_id": profile, "return_url": return_url });
        self.check(victim, &own.api.post("/connect-links", &link).await?, &[422])?;
        let connect = format!("/connections/connect/sandbox?profile_id={profile}");
        self.check(victim, &own.api.post(&connect, &json!({})).await?, &[422])
    }

    async fn by_filters_and_keys(&mut self, own: &Tenant, victim: &Tenant) -> Result {
        let mut filters = vec![
            format!("/posts?external_id={}", victim.mark),
            format!("/posts?label={}", victim.mark),
            format!("/profiles?external_id={}", victim.mark),
        ];
        if let Some(profile) = victim.profile {
            filters.extend([format!("/posts?profile_id={profile}"), format!("/connections?profile_id={profile}")]);
        }
        for filter in filters {
            let response = own.api.get(&filter).await?;
            self.check(victim, &response, &[200, 422])?;
            let found = response.json()?;
            ensure!(found["data"].as_array().is_none_or(Vec::is_empty), "{}", response.test_error("finds something"));
        }
        for path in ["/posts", "/connections", "/webhooks", "/profiles"] {
            self.check(victim, &own.api.get(path).await?, &[200])?;
        }
        // The victim has used this key.
        let call = own.api.call(Method::POST, "/posts").header("idempotency-key", &victim.mark);
        let response = call.json(&json!({ "content": "another" })).send().await?;
        self.check(victim, &response, &[201])
    }
}

async fn everything_of_others(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let operations = operations_with_ids(deployment).await?;
    let (mut user, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let own = Tenant::create("the user", &mut user, None, fresh("mark")).await?;
    let harbor = in_profile("a profile", &mut user).await?;
    let pier = in_profile("another profile", &mut user).await?;
    let others = Tenant::create("another user", &mut other, None, fresh("mark")).await?;
    let theirs = in_profile("a profile of another user", &mut other).await?;
    // Who tries, and whose things.
    let pairs = [
        (&harbor, vec![&own, &pier, &others, &theirs]),
        (&pier, vec![&own, &harbor, &others, &theirs]),
        (&theirs, vec![&others, &own, &harbor, &pier]),
        (&own, vec![&others, &theirs]),
        (&others, vec![&own, &harbor, &pier]),
    ];
    let tenants = [&own, &harbor, &pier, &others, &theirs];
    let mut before = Vec::new();
    for tenant in tenants {
        before.push(tenant.snapshot().await?);
    }

    let mut attempts = Attempts { deployment, count: 0 };
    for (own, victims) in &pairs {
        for victim in victims {
            attempts.on_paths(own, victim, &operations).await?;
            attempts.in_bodies(own, victim).await?;
            attempts.by_filters_and_keys(own, victim).await?;
        }
    }

    for (tenant, before) in tenants.into_iter().zip(before) {
        let after = tenant.snapshot().await?;
        ensure!(after == before, "{} has changed from {before:?} to {after:?}", tenant.name);
    }
    ensure!(MIN_COMBINATIONS <= attempts.count, "only {} combinations", attempts.count);
    Ok(format!("{} combinations, 0 reads, 0 writes", attempts.count))
}

async fn in_profile(name: &'static str, user: &mut User<'_>) -> Result<Tenant> {
    let mark = fresh("mark");
    let profile = json!({ "name": mark, "external_id": mark });
    let profile = integer(&user.api.post("/profiles", &profile).await?.ok(201)?, "id")?;
    let email = user.email.clone();
    let limited = user.deployment.limited_grant(&mut user.browser, &email, profile).await?;
    let unlimited = std::mem::replace(&mut user.api, limited);
    let tenant = Tenant::create(name, user, Some(profile), mark).await;
    user.api = unlimited;
    tenant
}
