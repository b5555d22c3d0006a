//! The owner of the account, who uses the server's pages in Chromium.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use fakes::conformance::fake_platform::Decision;

use super::server::BlueskyServer;
use crate::{error::Result, http_response::text, server_process, template::ROOT};

/// How the owner connects the account to a client.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The server's authorization page; or, if `fill` has values, the client's page that leads
    /// there.
    pub url: String,
    /// The address to sign in with at the client, if its page requires it.
    pub email: String,
    /// Names and values of the fields of the client's page.
    pub fill: Vec<(String, String)>,
    pub decision: Decision,
    /// The folder for a screenshot of each page.
    pub screenshots: PathBuf,
}

impl SignIn {
    /// The owner allows access on the page with this URL. The screenshots are in a folder of this name.
    pub fn at(url: &str, screenshots: &str) -> Self {
        let screenshots = screenshot_folder(screenshots);
        Self { url: url.to_owned(), email: String::new(), fill: Vec::new(), decision: Decision::Allow, screenshots }
    }
}

#[derive(Clone, Debug)]
pub struct Redirected {
    /// The first address outside the server; its query has what the client needs.
    pub to: String,
    /// The address of the last page.
    pub ended_at: String,
    /// The last page; `None` if no server answers at its address.
    pub page: Option<RedirectedPage>,
}

#[derive(Clone, Debug)]
pub struct RedirectedPage {
    pub status: u64,
    /// The visible text.
    pub text: String,
}

impl BlueskyServer {
    /// Opens a page, signs in, and decides.
    pub(super) async fn sign_in(&self, sign_in: SignIn) -> Result<Redirected> {
        let mut command = self.browser_command("sign-in.mjs");
        command.args(["--url", &sign_in.url, "--email", &sign_in.email]).arg("--screenshots").arg(&sign_in.screenshots);
        for (name, value) in &sign_in.fill {
            command.args(["--fill", &format!("{name}={value}")]);
        }
        if sign_in.decision == Decision::Deny {
            command.arg("--deny");
        }
        if let Some(client) = &self.client {
            command.args(client.arguments());
        }
        let output = output(command).await?;
        let page = output["status"].as_u64().zip(output["text"].as_str());
        Ok(Redirected {
            to: text(&output, "redirected_to")?.to_owned(),
            ended_at: text(&output, "ended_at")?.to_owned(),
            page: page.map(|(status, text)| RedirectedPage { status, text: text.to_owned() }),
        })
    }

    /// Revokes the access of a client, whose tokens are void immediately. It must be the only
    /// client of the account.
    pub(super) async fn revoke(&self) -> Result {
        let mut command = self.browser_command("revoke.mjs");
        command.args(["--url", &self.url]).arg("--screenshots").arg(screenshot_folder("revoke"));
        output(command).await?;
        Ok(())
    }

    fn browser_command(&self, script: &str) -> Command {
        let mut command = self.program.script(script);
        command.args(["--handle", &self.account.handle, "--password", &self.account.password]);
        command
    }
}

fn screenshot_folder(name: &str) -> PathBuf {
    Path::new(ROOT).join("target/screenshots/bluesky").join(name)
}

/// Runs a script to its end and returns the JSON that it printed.
async fn output(command: Command) -> Result<Value> {
    Ok(serde_json::from_str(&server_process::run(command).await?)?)
}
