//! The pages on which a person switches faults on and reads what came of them.

use serde_json::{Value, json};

use super::{Faulty, WINDMILL};
use crate::{
    browser::{Browser, Page},
    checks, ensure,
    fault::{Fault, Result, same},
    html::{self, Field},
    runner::Check,
    world::{Deployment, fresh},
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "faults",
        WINDMILL.0,
        [
            a_person_switches_a_fault_on_and_off_and_reads_the_attempts,
            the_attempts_of_a_lost_answer_can_be_read,
            a_form_of_another_site_arms_nothing,
        ]
    )
}

async fn a_person_switches_a_fault_on_and_off_and_reads_the_attempts(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, WINDMILL).await?;
    let mut browser = world.browser()?;
    let switches = browser.open(&format!("{}/sandbox/switches", world.sandbox())).await?;
    let order = [("kind", "busy"), ("account", faulty.account.as_str()), ("count", "")];

    let armed = browser.press(&switches, "Arm", &order).await?;
    let row = "until it is switched off";
    ensure!(page_words(&armed).contains(row), "{}", armed.fault("what was armed is not shown"));
    let id = faulty.schedule(&fresh("on the page")).await?;
    faulty.is_told(id, &["busy"]).await?;
    // Faults of other checks may be armed, too.
    let order = faulty.armed().await?["id"].to_string();
    let is_ours = |it: &Field| it.name == "order" && it.value.as_deref() == Some(&order);
    let off = armed.forms().into_iter().find(|it| it.fields.iter().any(is_ours));
    let off = off.ok_or_else(|| armed.fault("what was armed cannot be switched off"))?;
    browser.submit(&armed, &off, off.buttons.first(), &[]).await?;
    same(faulty.armed().await?, Value::Null, "faults of the account after switching off")?;
    faulty.user.reaches(id, "published", 60).await?;

    let page = delivery(&mut browser, world, id).await?;
    for wanted in ["call 1: answered 429", "accepted", "public once", "fault: Refuse for now", "Attempt 2 begins"] {
        ensure!(page_words(&page).contains(wanted), "{}", page.fault(&format!("“{wanted}” is not on the page")));
    }
    Ok(())
}

async fn the_attempts_of_a_lost_answer_can_be_read(world: &Deployment) -> Result {
    let faulty = Faulty::new(world, WINDMILL).await?;
    faulty.arm(json!({ "kind": "lose_answer" })).await?;
    let id = faulty.schedule(&fresh("lost, and read about")).await?;
    faulty.user.reaches(id, "published", 60).await?;

    let page = delivery(&mut world.browser()?, world, id).await?;

    let told = "call 1: accepted, answer lost → asked: found 1 post → public once";
    ensure!(page_words(&page).contains(told), "{}", page.fault("the attempts are not told"));
    Ok(())
}

async fn a_form_of_another_site_arms_nothing(world: &Deployment) -> Result {
    let mut browser = world.browser()?;
    let page = browser.open(&format!("{}/sandbox/switches", world.sandbox())).await?;
    let (form, button) = page.form_with_button("Arm").ok_or_else(|| page.fault("no button Arm"))?;

    let refused = browser.submit(&page, &form, Some(&button), &[("csrf", "AAAA"), ("account", "windmill")]).await?;

    ensure!(refused.status.as_u16() == 403, "{}", refused.fault("a form without its token was taken"));
    Ok(())
}

/// The page of a post's only delivery, reached from the list.
pub(in crate::suite) async fn delivery(browser: &mut Browser, world: &Deployment, id: i64) -> Result<Page> {
    let list = browser.open(&format!("{}/sandbox/deliveries?post={id}", world.sandbox())).await?;
    let start = format!("/sandbox/deliveries/{id}-");
    let tags = html::tags(&list.html);
    let link = tags.iter().find_map(|it| it.get("href").filter(|it| it.starts_with(&start)));
    let link = link.ok_or_else(|| Fault::new(format!("post {id} is not on the list of deliveries")))?;
    browser.open(&format!("{}{link}", world.sandbox())).await
}

/// The words of a page, without its tags.
pub(super) fn page_words(page: &Page) -> String {
    let text: String = html::tags(&page.html).into_iter().map(|it| it.text).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
