//! Guessing user codes of another user's device.

use super::{Attack, AttackTargets};
use crate::{attacks, deployment::unique_email, ensure, error::Result};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(8, [
        "a link with another user's code is opened thirty times", "nothing is shown or counted, and the code still works" => repeated_code_links;
        "six codes are guessed", "the sixth is refused, even a correct one; other users are not affected" => guessed_codes;
    ])
}

async fn repeated_code_links(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (api, mut browser, email) = (deployment.stranger()?, deployment.browser()?, unique_email());
    let device = deployment.device(&api, &[]).await?;
    for _ in 0..30 {
        let page = deployment.sign_in(&mut browser, &device.complete, &email).await?;
        ensure!(page.form_with_button("Approve").is_none(), "{}", page.test_error("a link alone shows the app"));
        let wrong = format!("{}/device?user_code=BBBB-BBBB", deployment.origin());
        deployment.sign_in(&mut browser, &wrong, &email).await?;
    }
    let page = deployment.approval(&mut browser, &device, &email).await?;
    ensure!(page.form_with_button("Approve").is_some(), "{}", page.test_error("links were counted"));
    Ok("60 links, and then the code was accepted".to_owned())
}

async fn guessed_codes(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (api, mut browser, email) = (deployment.stranger()?, deployment.browser()?, unique_email());
    let device = deployment.device(&api, &[]).await?;
    let wrong = format!("{}/device?user_code=BBBB-BBBB", deployment.origin());
    for _ in 0..5 {
        let page = deployment.sign_in(&mut browser, &wrong, &email).await?;
        let response = browser.press(&page, "Continue", &[]).await?;
        ensure!(response.status.as_u16() == 422, "{}", response.test_error("a wrong code"));
    }
    let refused = deployment.approval(&mut browser, &device, &email).await?;
    ensure!(refused.status.as_u16() == 429, "{}", refused.test_error("a sixth code"));
    let mut other = deployment.browser()?;
    let taken = deployment.approval(&mut other, &device, &unique_email()).await?;
    ensure!(taken.form_with_button("Approve").is_some(), "{}", taken.test_error("another user is refused"));
    Ok("the sixth entry: 429; another user's: accepted".to_owned())
}
