//! Callers: users who sign out, and clients behind a proxy.

use crate::{
    deployment::{Deployment, missing},
    ensure,
    error::{Result, same},
};

/// The proxy sends the addresses of clients in it.
pub(super) const ADDRESS_HEADER: &str = "x-client-address";

/// Only the proxy in front of the deployment knows it.
pub(super) const PROXY_SECRET: &str = "a-secret-of-the-proxy-in-front-of-it";

/// Signing out redirects to the issuer, which recognizes our address as one of its client's, and
/// back.
pub async fn signing_out_redirects_to_the_issuer(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let address = format!("{}/account", deployment.origin());
    let account = user.browser.open(&address).await?;
    let (form, _) = account.form_with_button("Sign out").ok_or_else(|| missing("the button Sign out"))?;

    let issuer = user.browser.submit_for_redirect(&account, &form, &[]).await?;
    ensure!(issuer.path().ends_with("/logout"), "signing out leads to {issuer}");
    let returned = user.browser.open(issuer.as_str()).await?;

    same(
        returned.url.origin().ascii_serialization(),
        deployment.origin().to_owned(),
        "where the issuer sends people back to",
    )?;
    same(returned.status.as_u16(), 200, "status of the page there")?;
    let page = user.browser.open(&address).await?;
    ensure!(page.url.path() != "/account", "{}", page.test_error("still signed in"));
    Ok(())
}

/// Only a proxy that sends its secret determines the addresses of clients.
pub async fn proxy_header_identifies_the_client(deployment: &Deployment) -> Result {
    loop {
        let (first, second) = (
            request_budget(deployment, "198.51.100.1", PROXY_SECRET).await?,
            request_budget(deployment, "198.51.100.1", PROXY_SECRET).await?,
        );
        let other = request_budget(deployment, "198.51.100.2", PROXY_SECRET).await?;
        let (forged, forged_again) = (
            request_budget(deployment, "198.51.100.3", "guessed").await?,
            request_budget(deployment, "198.51.100.4", "guessed").await?,
        );
        if forged_again.resets_at != first.resets_at {
            // A minute ended, and all counters were reset.
            continue;
        }
        same(second.left, first.left - 1, "requests left of one client after another request")?;
        ensure!(first.left <= other.left, "another client was counted to the first: {} left", other.left);
        ensure!(forged_again.left < forged.left, "a client without the proxy's secret chose its address");
        return Ok(());
    }
}

struct RateLimitBudget {
    left: i64,
    resets_at: i64,
}

async fn request_budget(deployment: &Deployment, address: &str, proof: &str) -> Result<RateLimitBudget> {
    let request = deployment.http().get(format!("{}/user", deployment.base()));
    let response = request.header(ADDRESS_HEADER, address).header("x-proxy-secret", proof).send().await?;
    let number = |name: &str| {
        let value = response.headers().get(name).and_then(|it| it.to_str().ok()?.parse().ok());
        value.ok_or_else(|| missing(name))
    };
    Ok(RateLimitBudget { left: number("x-ratelimit-remaining")?, resets_at: number("x-ratelimit-reset")? })
}
