//! Attempts to reach more than a page or a URL should allow.

use reqwest::Method;
use serde_json::json;

use super::{Attack, AttackTargets};
use crate::{attacks, ensure, error::Result, http_response::text};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(15, [
        "files at ports of mail servers and databases, and at the platform address of Azure, are fetched",
            "422 on source_url, naming the port or the address" => denied_ports_and_addresses;
        "a form of a connect flow's page leads to another site",
            "form-action 'self'" => form_action_policy;
    ])
}

async fn denied_ports_and_addresses(deployments: &AttackTargets) -> Result<String> {
    let user = deployments.lifted().new_user().await?;
    let mut refused = 0;
    for (url, word) in [
        ("http://example.com:25/", "port"),
        ("https://example.com:6379/", "port"),
        ("http://8.8.8.8:22/", "port"),
        ("http://168.63.129.16/machine/?comp=goalstate", "public"),
        ("http://[::ffff:168.63.129.16]/", "public"),
    ] {
        let body = json!({ "mime_type": "image/png", "source_url": url });
        let errors = user.api.post("/media", &body).await?.invalid(&["source_url"])?;
        ensure!(errors.to_string().contains(word), "{url}: {errors}");
        refused += 1;
    }
    Ok(format!("{refused} refused"))
}

async fn form_action_policy(deployments: &AttackTargets) -> Result<String> {
    let mut user = deployments.lifted().new_user().await?;
    for platform in ["bluesky", "mastodon"] {
        let path = format!("/connections/connect/{platform}");
        let flow = user.api.call(Method::POST, &path).send().await?.ok(201)?;
        let page = user.browser.open(text(&flow, "authorization_url")?).await?;
        let policy = page.headers.get("content-security-policy").and_then(|it| it.to_str().ok()).unwrap_or_default();
        let forms = policy.split(';').find(|it| it.trim().starts_with("form-action")).unwrap_or_default().trim();
        ensure!(forms == "form-action 'self'", "{}", page.test_error(policy));
    }
    Ok("form-action 'self'".to_owned())
}
