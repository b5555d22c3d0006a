//! The person who owns the account, with Chromium on the server's pages.

use std::{path::PathBuf, process::Command};

use serde_json::Value;

use super::BlueskyServer;
use crate::{answer::text, error::Result, tools::run};

/// How the person connects the account to a client.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The server's authorization page; or, with something to fill in, the page
    /// of the client that leads there.
    pub url: String,
    /// The address with which the person signs in to the client, when its page
    /// asks for that.
    pub email: String,
    /// Names and values of the fields of the client's page.
    pub fill: Vec<(String, String)>,
    /// What the person presses in the end.
    pub decision: Decision,
    /// The folder for a picture of each page.
    pub screenshots: PathBuf,
}

/// What the person presses in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The client gets the access that it asks for.
    Authorize,
    /// The client gets no access.
    Deny,
}

/// Where the browser was led.
#[derive(Clone, Debug)]
pub struct Redirected {
    /// The first address outside the server; its query has what the client
    /// needs to know.
    pub to: String,
    /// The address of the page that it ended on.
    pub ended_at: String,
    /// That page; `None` when nothing answers there.
    pub page: Option<RedirectedPage>,
}

/// The page that the browser ended on.
#[derive(Clone, Debug)]
pub struct RedirectedPage {
    pub status: u64,
    /// What can be read on it.
    pub text: String,
}

impl BlueskyServer {
    /// The person goes to a page, signs in, and decides.
    pub async fn sign_in(&self, sign_in: SignIn) -> Result<Redirected> {
        let mut command = self.person("sign-in.mjs");
        command.args(["--url", &sign_in.url, "--email", &sign_in.email]).arg("--screenshots").arg(&sign_in.screenshots);
        for (name, value) in &sign_in.fill {
            command.args(["--fill", &format!("{name}={value}")]);
        }
        if sign_in.decision == Decision::Deny {
            command.arg("--deny");
        }
        if let Some(client) = &self.settings.client {
            command.args(client.arguments());
        }
        let said = said(command).await?;
        let page = said["status"].as_u64().zip(said["text"].as_str());
        Ok(Redirected {
            to: text(&said, "redirected_to")?.to_owned(),
            ended_at: text(&said, "ended_at")?.to_owned(),
            page: page.map(|(status, text)| RedirectedPage { status, text: text.to_owned() }),
        })
    }

    /// The person revokes the access of a client, whose tokens are void at
    /// once. It must be the only client of the account.
    pub async fn revoke(&self, screenshots: PathBuf) -> Result {
        let mut command = self.person("revoke.mjs");
        command.args(["--url", &self.url]).arg("--screenshots").arg(screenshots);
        said(command).await?;
        Ok(())
    }

    fn person(&self, script: &str) -> Command {
        let mut command = self.program.script(script);
        command.args(["--handle", &self.account.handle, "--password", &self.account.password]);
        command
    }
}

/// Runs a script to its end, and returns what it printed.
async fn said(mut command: Command) -> Result<Value> {
    let said = tokio::task::spawn_blocking(move || run(&mut command)).await??;
    Ok(serde_json::from_str(&said)?)
}
