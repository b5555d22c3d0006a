//! The page on which a user switches faults on.

use serde_json::Value;

use super::{FaultFixture, WINDMILL};
use crate::{
    browser::Page,
    checks,
    deployment::{Deployment, fresh},
    ensure,
    error::{Result, same},
    html::{self, Field},
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!("faults", WINDMILL.0, [faults_are_switched_on_and_off, form_of_another_site_arms_nothing])
}

async fn faults_are_switched_on_and_off(deployment: &Deployment) -> Result {
    let mut faulty = FaultFixture::new(deployment, WINDMILL).await?;
    let mut browser = deployment.browser()?;
    let switches = browser.open(&format!("{}/sandbox/switches", deployment.sandbox())).await?;
    let order = [("kind", "busy"), ("account", faulty.account.as_str()), ("count", "")];

    let armed = browser.press(&switches, "Arm", &order).await?;
    let row = "until it is switched off";
    ensure!(page_text(&armed).contains(row), "{}", armed.test_error("the armed fault is not shown"));
    let id = faulty.schedule(&fresh("on the page")).await?;
    faulty.shows_message(id, &["busy"]).await?;
    // Faults of other checks may be armed, too.
    let order = faulty.armed().await?["id"].to_string();
    let is_ours = |it: &Field| it.name == "order" && it.value.as_deref() == Some(&order);
    let off = armed.forms().into_iter().find(|it| it.fields.iter().any(is_ours));
    let off = off.ok_or_else(|| armed.test_error("the armed fault cannot be switched off"))?;
    browser.submit(&armed, &off, off.buttons.first(), &[]).await?;
    same(faulty.armed().await?, Value::Null, "faults of the account after switching off")?;
    faulty.user.reaches(id, "published", 60).await?;

    let page = faulty.open_attempts(id).await?;
    for wanted in ["Published once", "Publish call: Not accepted yet", "HTTP 429", "Publish call: Accepted"] {
        ensure!(page_text(&page).contains(wanted), "{}", page.test_error(&format!("“{wanted}” is not on the page")));
    }
    Ok(())
}

async fn form_of_another_site_arms_nothing(deployment: &Deployment) -> Result {
    let mut browser = deployment.browser()?;
    let page = browser.open(&format!("{}/sandbox/switches", deployment.sandbox())).await?;
    let (form, button) = page.form_with_button("Arm").ok_or_else(|| page.test_error("no button Arm"))?;

    let refused = browser.submit(&page, &form, Some(&button), &[("csrf", "AAAA"), ("account", "windmill")]).await?;

    ensure!(refused.status.as_u16() == 403, "{}", refused.test_error("a form without its token was accepted"));
    Ok(())
}

/// The text of a page, without its tags.
fn page_text(page: &Page) -> String {
    let text: String = html::tags(&page.html).into_iter().map(|it| it.text).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
