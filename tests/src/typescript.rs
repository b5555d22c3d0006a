//! The journey, and a product with a customer, by programs in TypeScript whose client is made from
//! the document that is served. The user and the customer are simulated here.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use steps::{ROOT, report::say, tools};

use crate::{
    browser::Browser,
    deployment::{Deployment, complete_consent, unique_email},
    ensure,
    error::{Result, TestError},
    harness::Ready,
    picture,
};

const FOLDER: &str = "tests/typescript";

/// `product` is the URL at which the product of the second program listens.
pub async fn journey(ready: &Ready, product: &str) -> Result {
    tools::typescript()?;
    let folder = Path::new(ROOT).join(FOLDER);
    compile(&folder, ready)?;
    let deployment = Deployment::new(ready.clone()).await?;

    let files = tempfile::TempDir::new()?;
    let picture = files.path().join("picture.png");
    std::fs::write(&picture, picture::png(64, 48, [30, 120, 90]))?;
    let mut node = Command::new("node");
    node.arg(folder.join("built/journey.js")).arg(&ready.origin).arg(&picture);
    let (mut browser, email) = (deployment.browser()?, unique_email());
    let last = run(node, async |address| approve(&deployment, &mut browser, address, &email).await).await?;
    let words: Vec<_> = last.split(' ').map(|it| if it.starts_with("http") { "URL" } else { it }).collect();
    let expected = ["published", "post", "URL", "reply", "URL", "reply", "URL"];
    ensure!(words == expected, "the program ended with {last:?}");
    say(&format!("ok    the journey in TypeScript ended: {last}"));

    let mut node = Command::new("node");
    node.arg(folder.join("built/customer.js")).args([&ready.origin, &ready.token, product]);
    let mut browser = deployment.browser()?;
    let last = run(node, async |link| connect_as_customer(&mut browser, link, product).await).await?;
    ensure!(last.starts_with("published ") && last.ends_with(" for true"), "the product ended with {last:?}");
    say(&format!("ok    the product published for its customer: {last}"));
    Ok(())
}

/// Opens each address that the program asks the user to open. Returns its last line.
async fn run(mut node: Command, mut open: impl AsyncFnMut(&str) -> Result) -> Result<String> {
    let mut program = node.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let out = program.stdout.take().ok_or_else(|| TestError::new("the program has no output"))?;
    let mut last = String::new();
    // The program waits for the user, and there is nothing else to do meanwhile.
    for line in BufReader::new(out).lines() {
        last = line?;
        if let Some(address) = last.strip_prefix("open ")
            && let Err(error) = open(address).await
        {
            program.kill()?;
            return Err(error);
        }
    }
    let status = program.wait()?;
    ensure!(status.success(), "the program ended with {status} after {last:?}");
    Ok(last)
}

async fn connect_as_customer(browser: &mut Browser, link: &str, product: &str) -> Result {
    let page = browser.open(link).await?;
    let page = browser.press(&page, "Continue", &[]).await?;
    let page = browser.press(&page, "Sandbox", &[]).await?;
    let page = complete_consent(browser, page, 0, "Allow").await?;
    let page = browser.press(&page, "Done", &[]).await?;
    let is_back = page.url.as_str().starts_with(product) && page.url.as_str().ends_with("&status=completed");
    ensure!(is_back && page.html.contains("Thank you"), "{}", page.test_error("the customer is not back"));
    Ok(())
}

/// The types come from the document, which must not warn.
fn compile(folder: &Path, ready: &Ready) -> Result {
    let document = format!("{}/openapi.json", ready.base_url);
    let output = program(folder, "openapi-typescript").args([&document, "--output", "api.d.ts"]).output()?;
    let output_text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "openapi-typescript: {}\n{output_text}", output.status);
    // Warnings begin with this sign.
    ensure!(!output_text.contains('\u{26a0}'), "openapi-typescript warns:\n{output_text}");
    tools::run(program(folder, "tsc").args(["--project", "."]))?;
    say("ok    the document became types without a warning, and the program compiles");
    Ok(())
}

fn program(folder: &Path, name: &str) -> Command {
    let mut command = Command::new(folder.join("node_modules/.bin").join(name));
    command.current_dir(folder);
    command
}

/// Approves the device, or allows access to an account.
async fn approve(deployment: &Deployment, browser: &mut Browser, address: &str, email: &str) -> Result {
    let page = deployment.sign_in(browser, address, email).await?;
    if page.form_with_button("Allow").is_some() {
        browser.press(&page, "Allow", &[]).await?;
        return Ok(());
    }
    let page = browser.press(&page, "Continue", &[]).await?;
    ensure!(page.html.contains("A script"), "{}", page.test_error("the page does not name the app"));
    browser.press(&page, "Approve", &[]).await?;
    Ok(())
}
