//! The journey by a program in TypeScript, whose client is made from the
//! document that is served. The user is simulated here.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{ChildStdout, Command, Stdio},
};

use steps::{ROOT, report::say, tools};

use crate::{
    browser::Browser,
    deployment::{Deployment, unique_email},
    ensure,
    error::{Result, TestError},
    harness::Ready,
    picture,
};

const FOLDER: &str = "tests/typescript";

/// Compiles the program against the document and runs it.
pub async fn journey(ready: &Ready) -> Result {
    tools::typescript()?;
    let folder = Path::new(ROOT).join(FOLDER);
    compile(&folder, ready)?;

    let files = tempfile::TempDir::new()?;
    let picture = files.path().join("picture.png");
    std::fs::write(&picture, picture::png(64, 48, [30, 120, 90]))?;
    let mut node = Command::new("node");
    node.arg(folder.join("built/journey.js")).arg(&ready.origin).arg(&picture);
    let mut program = node.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let out = program.stdout.take().ok_or_else(|| TestError::new("the program has no output"))?;
    let last = match approve_until_end(out, ready).await {
        Ok(last) => last,
        Err(error) => {
            program.kill()?;
            return Err(error);
        }
    };
    let status = program.wait()?;
    ensure!(status.success(), "the program ended with {status} after {last:?}");
    let words: Vec<_> = last.split(' ').map(|it| if it.starts_with("http") { "URL" } else { it }).collect();
    let expected = ["published", "post", "URL", "reply", "URL", "reply", "URL"];
    ensure!(words == expected, "the program ended with {last:?}");
    say(&format!("ok    the journey in TypeScript ended: {last}"));
    Ok(())
}

/// Opens each address that the program asks the user to open, until the program ends. Returns its
/// last line.
async fn approve_until_end(stdout: ChildStdout, ready: &Ready) -> Result<String> {
    let deployment = Deployment::new(ready.clone()).await?;
    let (mut browser, email) = (deployment.browser()?, unique_email());
    let mut last = String::new();
    // The program waits for the user, and there is nothing else to do meanwhile.
    for line in BufReader::new(stdout).lines() {
        last = line?;
        if let Some(address) = last.strip_prefix("open ") {
            approve(&deployment, &mut browser, address, &email).await?;
        }
    }
    Ok(last)
}

/// Generates types from the document, which must not warn, and compiles the program with them.
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

/// Acts as the user at this address: approves the device, or allows access to an account.
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
