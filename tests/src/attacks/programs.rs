//! Attacks by apps that ask for access in a user's browser.

use domain::token::Pkce;
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::json;
use url::{Url, form_urlencoded};

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    browser::Page,
    deployment::{Deployment, User, fresh, missing},
    ensure,
    error::{Result, TestError, same},
    http_response::{HttpResponse, integer, text},
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(16, [
        "a program is described at a private address, by a redirect, under another's address, or without end",
            "400, and no redirect" => invalid_client_documents;
        "a program wants its code sent to an address that its description does not name",
            "400, and no redirect" => unlisted_redirect_uris;
        "a code is exchanged by another program, without its secret, and a second time",
            "invalid_grant, and the second time ends the token" => stolen_codes;
        "another user decides about a stolen request",
            "403 and 410, and it can still be decided" => stolen_requests;
        "a token for /mcp is used at the API directly, with forged proofs too, and one for the API at /mcp",
            "401 each time, and each works where it belongs" => tokens_for_other_resources;
        "a code for /mcp is exchanged for a token for the API",
            "invalid_target, and the code still gets a token for /mcp" => wider_resources;
        "a token for drafts schedules a post, and changes, unschedules and deletes a scheduled one",
            "403 each time, and the post stays as it was" => draft_token_schedules;
    ])
}

const BACK: &str = "http://127.0.0.1:33418/back";

/// Its client document is on the server of the tests.
struct OauthClient {
    id: String,
    pkce: Pkce,
}

impl OauthClient {
    fn new(deployment: &Deployment) -> Result<Self> {
        let files = deployment.files().ok_or_else(|| missing("the server of the tests"))?;
        Ok(Self { id: format!("http://{files}/client.json"), pkce: Pkce::random() })
    }

    fn address(&self, deployment: &Deployment, id: &str, redirect_uri: &str) -> String {
        self.authorize_url_for(deployment, id, redirect_uri, deployment.origin())
    }

    fn authorize_url_for(&self, deployment: &Deployment, id: &str, redirect_uri: &str, resource: &str) -> String {
        let parameters = [
            ("response_type", "code"),
            ("client_id", id),
            ("redirect_uri", redirect_uri),
            ("code_challenge", &self.pkce.challenge),
            ("code_challenge_method", "S256"),
            ("scope", "posts:read posts:write"),
            ("state", "kept"),
            ("resource", resource),
        ];
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        format!("{}/oauth/authorize?{query}", deployment.origin())
    }

    async fn page(&self, user: &mut User<'_>) -> Result<Page> {
        let deployment = user.deployment;
        let address = self.address(deployment, &self.id, BACK);
        let email = user.email.clone();
        deployment.sign_in(&mut user.browser, &address, &email).await
    }

    async fn code(&self, user: &mut User<'_>) -> Result<String> {
        let page = self.page(user).await?;
        self.approve(user, &page).await
    }

    /// Like `code`, for a token with this resource of the service.
    async fn get_code_for(&self, user: &mut User<'_>, resource: &str) -> Result<String> {
        let address = self.authorize_url_for(user.deployment, &self.id, BACK, resource);
        let (deployment, email) = (user.deployment, user.email.clone());
        let page = deployment.sign_in(&mut user.browser, &address, &email).await?;
        self.approve(user, &page).await
    }

    async fn approve(&self, user: &mut User<'_>, page: &Page) -> Result<String> {
        let (form, _) = page.form_with_button("Approve").ok_or_else(|| page.test_error("nothing to approve"))?;
        let redirect = user.browser.submit_for_redirect(page, &form, &[]).await?;
        ensure!(redirect.as_str().starts_with(BACK), "the browser is led to {redirect}");
        parameter(&redirect, "code").ok_or_else(|| TestError::new(format!("no code in {redirect}")))
    }

    async fn exchange(&self, deployment: &Deployment, code: &str, id: &str, verifier: &str) -> Result<HttpResponse> {
        self.exchange_for(deployment, code, id, verifier, None).await
    }

    async fn exchange_for(
        &self,
        deployment: &Deployment,
        code: &str,
        id: &str,
        verifier: &str,
        resource: Option<&str>,
    ) -> Result<HttpResponse> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", id),
            ("redirect_uri", BACK),
            ("code_verifier", verifier),
        ];
        let resource = resource.map(|it| ("resource", it));
        let form = form.into_iter().chain(resource);
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let call = deployment.stranger()?;
        let call = call.call(Method::POST, "/oauth/token");
        call.raw("application/x-www-form-urlencoded", body.as_bytes()).send().await
    }
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|it| it.0 == name).map(|it| it.1.into_owned())
}

/// Also checks that the page does not redirect.
fn refused(page: &Page, expected: &str) -> Result<()> {
    let is_refused =
        page.status.as_u16() == 400 && page.html.contains(expected) && page.headers.get("refresh").is_none();
    ensure!(is_refused, "{}", page.test_error("it is not refused"));
    Ok(())
}

async fn invalid_client_documents(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (program, mut user) = (OauthClient::new(deployment)?, deployment.new_user().await?);
    let own = |path: &str| program.id.replace("/client.json", path);
    let rows = [
        (own("/to-loopback"), "status 307"),
        (own("/page.png"), "does not describe an app"),
        (own("/client.json?other"), "not the URL of the document"),
        (own("/large.png"), "larger than 16 KiB"),
        (own("/endless.png"), "larger than 16 KiB"),
        ("https://169.254.169.254/latest/meta-data/client.json".to_owned(), "not public"),
        ("https://127.0.0.1/client.json".to_owned(), "not public"),
        ("https://10.0.0.1/client.json".to_owned(), "not public"),
        ("https://[::ffff:10.0.0.1]/client.json".to_owned(), "client_id is not"),
        ("http://127.0.0.1:9/client.json".to_owned(), "not permitted"),
        ("file:///etc/passwd".to_owned(), "client_id is not"),
        ("https://app.example/a/../client.json".to_owned(), "client_id is not"),
    ];
    for (id, expected) in &rows {
        let address = program.address(deployment, id, BACK);
        refused(&user.browser.open(&address).await?, expected)?;
    }
    Ok(format!("{} refused", rows.len()))
}

async fn unlisted_redirect_uris(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (program, mut user) = (OauthClient::new(deployment)?, deployment.new_user().await?);
    let rows = [
        "https://evil.example/back",
        "https://app.example.evil.example/back",
        "https://app.example/back/../evil",
        "https://app.example@evil.example/back",
        "http://app.example/back",
        "http://localhost:33418/back",
        "http://127.0.0.1:33418/back/",
        "http://127.0.0.1:33418/back#x",
        "javascript:alert(1)//127.0.0.1/back",
        "",
    ];
    for redirect_uri in rows {
        let address = program.address(deployment, &program.id, redirect_uri);
        refused(&user.browser.open(&address).await?, "is not listed")?;
    }
    Ok(format!("{} refused", rows.len()))
}

async fn stolen_codes(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (program, mut user) = (OauthClient::new(deployment)?, deployment.new_user().await?);
    let code = program.code(&mut user).await?;
    let verifier = program.pkce.verifier.expose_secret();
    let other = Pkce::random();

    let refused_exchange = program.exchange(deployment, &code, "https://app.example/client.json", verifier).await?;
    refused_exchange.error(400, "invalid_grant")?;
    program
        .exchange(deployment, &code, &program.id, other.verifier.expose_secret())
        .await?
        .error(400, "invalid_grant")?;
    let granted = program.exchange(deployment, &code, &program.id, verifier).await?.ok(200)?;
    let api = deployment.stranger()?.with_token(Some(text(&granted, "access_token")?));
    api.get("/posts").await?.is(200)?;
    program.exchange(deployment, &code, &program.id, verifier).await?.error(400, "invalid_grant")?;
    api.get("/posts").await?.refused(401)?;
    Ok("invalid_grant three times, and the token has ended".to_owned())
}

/// The status of an MCP call with this token, and of the same call of the API with each of these
/// proofs.
async fn call_statuses(deployment: &Deployment, token: &str, proofs: &[Option<&str>]) -> Result<(u16, Vec<u16>)> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "list_posts" } });
    let tools = deployment.http().post(format!("{}/mcp", deployment.origin())).bearer_auth(token);
    let tools = tools.header("accept", "application/json, text/event-stream").json(&body).send().await?;
    let mut directly = Vec::new();
    for proof in proofs {
        let mut request = deployment.http().get(format!("{}/api/v1/posts", deployment.origin())).bearer_auth(token);
        if let Some(proof) = proof {
            request = request.header("x-proxy-secret", *proof);
        }
        directly.push(request.send().await?.status().as_u16());
    }
    Ok((tools.status().as_u16(), directly))
}

async fn tokens_for_other_resources(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (program, mut user) = (OauthClient::new(deployment)?, deployment.new_user().await?);
    let verifier = program.pkce.verifier.expose_secret();
    let guessed_proof = "0".repeat(64);
    let proofs = [None, Some(""), Some("true"), Some(guessed_proof.as_str()), Some(verifier)];
    let origin = deployment.origin();
    for (resource, tools, api) in [
        (format!("{origin}/mcp"), 200, 401),
        (format!("{origin}/mcp/"), 200, 401),
        (format!("{origin}/api/v1"), 401, 200),
        (origin.to_owned(), 200, 200),
    ] {
        let code = program.get_code_for(&mut user, &resource).await?;
        let granted = program.exchange(deployment, &code, &program.id, verifier).await?.ok(200)?;
        let found = call_statuses(deployment, text(&granted, "access_token")?, &proofs).await?;
        same(found, (tools, vec![api; proofs.len()]), &resource)?;
    }
    Ok("401 at the API five times with and without forged proofs, 200 at /mcp; for the API the other way round"
        .to_owned())
}

async fn wider_resources(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (program, mut user) = (OauthClient::new(deployment)?, deployment.new_user().await?);
    let verifier = program.pkce.verifier.expose_secret();
    let (origin, mcp) = (deployment.origin(), format!("{}/mcp", deployment.origin()));
    let code = program.get_code_for(&mut user, &mcp).await?;
    for wider in [origin.to_owned(), format!("{origin}/api/v1"), format!("{origin}/mcp/x")] {
        let response = program.exchange_for(deployment, &code, &program.id, verifier, Some(&wider)).await?;
        response.error(400, "invalid_target")?;
    }
    let granted = program.exchange_for(deployment, &code, &program.id, verifier, Some(&mcp)).await?.ok(200)?;
    let (tools, directly) = call_statuses(deployment, text(&granted, "access_token")?, &[None]).await?;
    same((tools, directly), (200, vec![401]), "the token for /mcp")?;
    Ok("invalid_target three times; then a token for /mcp alone".to_owned())
}

async fn stolen_requests(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let program = OauthClient::new(deployment)?;
    let (mut user, mut thief) = (deployment.new_user().await?, deployment.new_user().await?);
    let page = program.page(&mut user).await?;
    let thief_page = program.page(&mut thief).await?;
    let hidden_field = |page: &Page, name: &str| {
        let form = page.form_with_button("Approve").map(|it| it.0);
        let field = form.and_then(|it| it.fields.into_iter().find(|it| it.name == name));
        field.and_then(|it| it.value).ok_or_else(|| page.test_error(&format!("no field {name}")))
    };
    let (request, own_csrf, csrf) =
        (hidden_field(&page, "request")?, hidden_field(&page, "csrf")?, hidden_field(&thief_page, "csrf")?);
    let address = format!("{}/oauth/authorize", deployment.origin());
    for (csrf, decision, status) in [(&own_csrf, "approve", 403), (&csrf, "approve", 410), (&csrf, "deny", 410)] {
        let form = [("csrf", csrf.as_str()), ("request", &request), ("decision", decision)];
        let response = thief.browser.post(&address, &form).await?;
        same(response.status.as_u16(), status, decision)?;
    }
    let (form, _) = page.form_with_button("Approve").ok_or_else(|| page.test_error("nothing to approve"))?;
    let redirect = user.browser.submit_for_redirect(&page, &form, &[]).await?;
    ensure!(parameter(&redirect, "code").is_some(), "the user cannot approve any more: {redirect}");
    Ok("403, 410 and 410; its user could approve it".to_owned())
}

async fn draft_token_schedules(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let mut user = deployment.new_user().await?;
    let email = user.email.clone();
    let drafts = deployment.grant(&mut user.browser, &email, &["posts:read", "posts:draft"]).await?;
    let account = integer(&user.connect(0).await?, "id")?;
    let content = fresh("drafts");
    let at = "2031-01-01T00:00:00Z";
    let body = json!({ "content": content, "platforms": [{ "connected_account_id": account }], "scheduled_at": at });

    drafts.post("/posts", &body).await?.refused(403)?;
    let post = integer(&user.api.post("/posts", &body).await?.ok(201)?, "id")?;
    let path = format!("/posts/{post}");
    for change in [json!({"content": "x"}), json!({"scheduled_at": null}), json!({"scheduled_at": at}), json!({})] {
        let message = drafts.patch(&path, &change).await?.refused(403)?;
        ensure!(message.contains("posts:write"), "the message of the 403 has no next step: {message}");
    }
    drafts.delete(&path).await?.refused(403)?;
    let stored = user.api.get(&path).await?.ok(200)?;
    ensure!(stored["content"] == content.as_str() && stored["status"] == "scheduled", "the post is now {stored}");

    let draft = integer(&drafts.post("/posts", &json!({ "content": content })).await?.ok(201)?, "id")?;
    let draft = format!("/posts/{draft}");
    drafts.patch(&draft, &json!({ "scheduled_at": at })).await?.refused(403)?;
    drafts.patch(&draft, &json!({ "content": "x" })).await?.ok(200)?;
    drafts.delete(&draft).await?.is(204)?;
    Ok("403 seven times; its own draft could be changed and deleted".to_owned())
}
