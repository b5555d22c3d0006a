//! The pages: accessible, and safe against pages of other sites.

use serde_json::json;

use crate::{
    browser::{Browser, Page},
    checks,
    deployment::{Deployment, unique_email},
    ensure,
    error::{Result, same},
    html::tags,
    http_response::text,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "pages",
        [
            pages_are_accessible,
            form_without_csrf_token_does_nothing,
            form_of_another_session_does_nothing,
            session_cookie_is_protected,
            sign_in_redirects_to_own_pages_only,
            user_input_is_escaped,
            unknown_page_is_an_error_page,
        ]
    )
}

/// Checks of the sandbox's pages.
pub(super) fn sandbox_checks() -> Vec<Check> {
    checks!("pages", [sandbox_pages_are_accessible, sandbox_input_is_escaped])
}

pub(super) fn check_page(page: &Page, own: bool) -> Result {
    let tags = tags(&page.html);
    let language = tags.iter().find(|it| it.name == "html").and_then(|it| it.get("lang"));
    ensure!(language.is_some_and(|it| !it.is_empty()), "{}", page.test_error("no language"));
    let title = tags.iter().find(|it| it.name == "title").map(|it| it.text.trim().len());
    ensure!(title.is_some_and(|it| 0 < it), "{}", page.test_error("no title"));
    let viewport = tags.iter().any(|it| it.name == "meta" && it.get("name") == Some("viewport"));
    ensure!(viewport, "{}", page.test_error("no viewport for phones"));
    ensure!(tags.iter().any(|it| it.name == "h1"), "{}", page.test_error("no heading"));
    check_labels(page)?;
    for tag in &tags {
        ensure!(tag.name != "script" || tag.get("src").is_some(), "{}", page.test_error("an inline script"));
        let event = tag.attributes.iter().find(|(name, _)| name.starts_with("on"));
        ensure!(event.is_none(), "{}", page.test_error(&format!("an inline handler {event:?}")));
        let needs_alt = tag.name == "img" && tag.get("alt").is_none();
        ensure!(!needs_alt, "{}", page.test_error("a picture without alt"));
    }
    if own { check_headers(page) } else { Ok(()) }
}

fn check_labels(page: &Page) -> Result {
    let tags = tags(&page.html);
    let named: Vec<_> = tags.iter().filter(|it| it.name == "label").filter_map(|it| it.get("for")).collect();
    let mut inside = 0;
    for tag in &tags {
        match tag.name.as_str() {
            "label" => inside += 1,
            "/label" => inside -= 1,
            "input" | "select" | "textarea" => {
                let hidden = matches!(tag.get("type"), Some("hidden" | "submit"));
                let labeled = inside > 0
                    || tag.get("id").is_some_and(|it| named.contains(&it))
                    || tag.get("aria-label").or(tag.get("aria-labelledby")).is_some();
                ensure!(hidden || labeled, "{}", page.test_error(&format!("an input without a label: {tag:?}")));
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_headers(page: &Page) -> Result {
    let header = |name: &str| page.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let policy = header("content-security-policy");
    ensure!(policy.contains("default-src"), "{}", page.test_error(&format!("content-security-policy is {policy:?}")));
    for wanted in ["frame-ancestors 'none'", "base-uri"] {
        ensure!(policy.contains(wanted), "{}", page.test_error(&format!("{wanted} is not in {policy}")));
    }
    for weak in ["'unsafe-inline'", "'unsafe-eval'", "*", "data: script"] {
        ensure!(!policy.contains(weak), "{}", page.test_error(&format!("{weak} is in {policy}")));
    }
    same(header("x-content-type-options"), "nosniff", "x-content-type-options")?;
    ensure!(header("cache-control").contains("no-store"), "{}", page.test_error("a personal page may be cached"));
    let referrer = header("referrer-policy");
    ensure!(
        ["no-referrer", "same-origin", "strict-origin", "strict-origin-when-cross-origin"].contains(&referrer),
        "{}",
        page.test_error(&format!("referrer-policy {referrer:?}"))
    );
    Ok(())
}

async fn pages_are_accessible(deployment: &Deployment) -> Result {
    let (api, mut browser, email) = (deployment.stranger()?, deployment.browser()?, unique_email());
    let origin = deployment.origin();

    check_page(&browser.open(&format!("{origin}/device")).await?, false)?;
    let empty = deployment.sign_in(&mut browser, &format!("{origin}/device"), &email).await?;
    check_page(&empty, true)?;
    let device = deployment.device(&api, &[]).await?;
    let filled_in = browser.open(&device.complete).await?;
    check_page(&filled_in, true)?;
    let approval = browser.press(&filled_in, "Continue", &[]).await?;
    check_page(&approval, true)?;
    check_page(&browser.press(&approval, "Approve", &[]).await?, true)?;
    let wrong = browser.open(&format!("{origin}/device?user_code=BBBB-BBBB")).await?;
    let wrong = browser.press(&wrong, "Continue", &[]).await?;
    check_page(&wrong, true)?;
    check_page(&browser.open(&format!("{origin}/account")).await?, true)?;

    let mut user = deployment.new_user().await?;
    for press in ["Allow", "Deny"] {
        let request = user.begin().await?;
        let consent = user.browser.open(text(&request, "authorization_url")?).await?;
        check_page(&consent, false)?;
        check_page(&user.consent(&request, 0, press).await?, true)?;
    }
    Ok(())
}

async fn sandbox_pages_are_accessible(deployment: &Deployment) -> Result {
    let mut browser = deployment.browser()?;
    check_page(&browser.open(&format!("{}/sandbox", deployment.sandbox())).await?, false)?;
    check_page(&browser.open(&format!("{}/sandbox/switches", deployment.sandbox())).await?, true)
}

async fn form_without_csrf_token_does_nothing(deployment: &Deployment) -> Result {
    let (api, mut browser) = (deployment.stranger()?, deployment.browser()?);
    let device = deployment.device(&api, &[]).await?;
    let page = deployment.approval(&mut browser, &device, &unique_email()).await?;
    let (form, button) = page.form_with_button("Approve").ok_or_else(|| page.test_error("no button Approve"))?;
    let hidden = form.fields.iter().filter(|it| it.kind == "hidden" && it.name != "user_code");
    let names: Vec<_> = hidden.map(|it| it.name.clone()).collect();
    ensure!(!names.is_empty(), "{}", page.test_error("the form has no hidden token"));

    let mut without = form.clone();
    without.fields.retain(|it| !names.contains(&it.name));
    let refused = browser.submit(&page, &without, Some(&button), &[]).await?;
    ensure!(refused.status.is_client_error(), "{}", refused.test_error("a form without its token was accepted"));
    let wrong: Vec<_> = names.iter().map(|it| (it.as_str(), "AAAA")).collect();
    let refused = browser.submit(&page, &form, Some(&button), &wrong).await?;
    ensure!(refused.status.is_client_error(), "{}", refused.test_error("a form with a wrong token was accepted"));

    let body = json!({ "device_code": device.device_code });
    api.post("/auth/device/token", &body).await?.error(400, "authorization_pending")?;
    browser.submit(&page, &form, Some(&button), &[]).await?;
    api.post("/auth/device/token", &body).await?.is(200)?;
    Ok(())
}

async fn form_of_another_session_does_nothing(deployment: &Deployment) -> Result {
    let (api, mut victim, mut attacker) = (deployment.stranger()?, deployment.browser()?, deployment.browser()?);
    let device = deployment.device(&api, &[]).await?;
    let attackers = deployment.approval(&mut attacker, &device, &unique_email()).await?;
    deployment.sign_in(&mut victim, &format!("{}/account", deployment.origin()), &unique_email()).await?;

    // The attacker's form, with the attacker's token, sent by the victim's browser.
    victim.press(&attackers, "Approve", &[]).await?;
    deployment.browser()?.press(&attackers, "Approve", &[]).await?;

    let body = json!({ "device_code": device.device_code });
    api.post("/auth/device/token", &body).await?.error(400, "authorization_pending")?;
    Ok(())
}

async fn session_cookie_is_protected(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let session = user.browser.cookies.iter().find(|it| it.header.starts_with("__Host-"));
    let header = session.map(|it| it.header.to_lowercase()).unwrap_or_default();
    let found: Vec<_> = user.browser.cookies.iter().map(|it| it.header.split('=').next()).collect();
    ensure!(!header.is_empty(), "no cookie starts with __Host-: {found:?}");
    for part in ["httponly", "secure", "samesite=lax", "path=/"] {
        ensure!(header.split(';').any(|it| it.trim() == part), "the session cookie lacks {part}");
    }
    ensure!(!header.contains("domain="), "the session cookie has a domain");
    Ok(())
}

async fn sign_in_redirects_to_own_pages_only(deployment: &Deployment) -> Result {
    let origin = deployment.origin();
    for parameter in ["next", "return_to", "redirect", "redirect_uri", "continue", "return"] {
        for target in ["https://evil.example/", "//evil.example/", "/\\evil.example", "https:evil.example"] {
            let mut browser = deployment.browser()?;
            let mut address = url::Url::parse(&format!("{origin}/sign-in"))?;
            address.query_pairs_mut().append_pair(parameter, target);
            // A redirect to a host that does not exist would be an error here.
            let page = deployment.sign_in(&mut browser, address.as_str(), &unique_email()).await?;
            same(page.url.origin(), url::Url::parse(origin)?.origin(), "where signing in ends")?;
        }
    }
    Ok(())
}

async fn user_input_is_escaped(deployment: &Deployment) -> Result {
    let mut browser = deployment.browser()?;
    deployment.sign_in(&mut browser, &format!("{}/account", deployment.origin()), &unique_email()).await?;
    for path in ["/device?user_code=", "/account?x=", "/sign-in?error="] {
        enter_script(&mut browser, &format!("{}{path}", deployment.origin())).await?;
    }
    Ok(())
}

async fn sandbox_input_is_escaped(deployment: &Deployment) -> Result {
    let mut browser = deployment.browser()?;
    for path in ["/sandbox?x=", "/sandbox?before="] {
        enter_script(&mut browser, &format!("{}{path}", deployment.sandbox())).await?;
    }
    Ok(())
}

/// Opens a page whose address ends with a malicious value.
async fn enter_script(browser: &mut Browser, address: &str) -> Result {
    let evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
    let mut address = url::Url::parse(address)?;
    let name = address.query().unwrap_or_default().trim_end_matches('=').to_owned();
    address.query_pairs_mut().clear().append_pair(&name, evil);
    let page = browser.open(address.as_str()).await?;
    let holds = page.html.contains("<script>alert") || page.html.contains("<img src=x");
    ensure!(!holds, "{}", page.test_error("injected"));
    Ok(())
}

async fn unknown_page_is_an_error_page(deployment: &Deployment) -> Result {
    let mut browser = deployment.browser()?;
    let page = browser.open(&format!("{}/no-such-page", deployment.origin())).await?;
    same(page.status.as_u16(), 404, "status of an unknown page")
}
