//! The pages on which a user switches faults on and reads their effect.

use serde_json::{Value, json};

use super::{FaultFixture, WINDMILL};
use crate::{
    browser::{Browser, Page},
    checks,
    deployment::{Deployment, fresh},
    ensure,
    error::{Result, TestError, same},
    html::{self, Field},
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "faults",
        WINDMILL.0,
        [
            faults_are_switched_on_and_off_and_attempts_shown,
            attempts_of_a_lost_response_are_shown,
            form_of_another_site_arms_nothing,
        ]
    )
}

async fn faults_are_switched_on_and_off_and_attempts_shown(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, WINDMILL).await?;
    let mut browser = deployment.browser()?;
    let switches = browser.open(&format!("{}/sandbox/switches", deployment.sandbox())).await?;
    let order = [("kind", "busy"), ("account", faulty.account.as_str()), ("count", "")];

    let armed = browser.press(&switches, "Arm", &order).await?;
    let row = "until it is switched off";
    ensure!(page_text(&armed).contains(row), "{}", armed.test_error("the armed fault is not shown"));
    let id = faulty.schedule(&fresh("on the page")).await?;
    faulty.is_told(id, &["busy"]).await?;
    // Faults of other checks may be armed, too.
    let order = faulty.armed().await?["id"].to_string();
    let is_ours = |it: &Field| it.name == "order" && it.value.as_deref() == Some(&order);
    let off = armed.forms().into_iter().find(|it| it.fields.iter().any(is_ours));
    let off = off.ok_or_else(|| armed.test_error("the armed fault cannot be switched off"))?;
    browser.submit(&armed, &off, off.buttons.first(), &[]).await?;
    same(faulty.armed().await?, Value::Null, "faults of the account after switching off")?;
    faulty.user.reaches(id, "published", 60).await?;

    let page = delivery(&mut browser, deployment, id).await?;
    for wanted in ["call 1: response 429", "accepted", "public once", "fault: Refuse temporarily", "Attempt 2 begins"] {
        ensure!(page_text(&page).contains(wanted), "{}", page.test_error(&format!("“{wanted}” is not on the page")));
    }
    Ok(())
}

async fn attempts_of_a_lost_response_are_shown(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, WINDMILL).await?;
    faulty.arm(json!({ "kind": "lose_answer" })).await?;
    let id = faulty.schedule(&fresh("lost, and read about")).await?;
    faulty.user.reaches(id, "published", 60).await?;

    let page = delivery(&mut deployment.browser()?, deployment, id).await?;

    let expected = "call 1: accepted, response lost → look-up: found 1 post → public once";
    ensure!(page_text(&page).contains(expected), "{}", page.test_error("the attempts are not shown"));
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

/// The page of a post's only delivery, opened from the list.
pub(in crate::suite) async fn delivery(browser: &mut Browser, deployment: &Deployment, id: i64) -> Result<Page> {
    let list = browser.open(&format!("{}/sandbox/deliveries?post={id}", deployment.sandbox())).await?;
    let start = format!("/sandbox/deliveries/{id}-");
    let tags = html::tags(&list.html);
    let link = tags.iter().find_map(|it| it.get("href").filter(|it| it.starts_with(&start)));
    let link = link.ok_or_else(|| TestError::new(format!("post {id} is not on the list of deliveries")))?;
    browser.open(&format!("{}{link}", deployment.sandbox())).await
}

/// The text of a page, without its tags.
pub(super) fn page_text(page: &Page) -> String {
    let text: String = html::tags(&page.html).into_iter().map(|it| it.text).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
