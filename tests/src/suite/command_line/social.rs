//! The program `social` as a user runs it, with a home folder of its own.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    deployment::User,
    ensure,
    error::{Result, TestError},
    harness::binary,
};

/// A terminal session of one user.
pub(super) struct SocialCommand {
    home: TempDir,
    url: String,
    token: Option<String>,
    path: Option<String>,
}

#[derive(Debug)]
pub(super) struct CommandResult {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

impl SocialCommand {
    /// A user who is not signed in, at the deployment with this origin.
    pub(super) fn at(origin: &str) -> Result<Self> {
        Ok(Self { home: TempDir::new()?, url: origin.to_owned(), token: None, path: None })
    }

    /// With the token of this user.
    pub(super) fn for_user(user: &User<'_>) -> Result<Self> {
        Ok(Self { token: Some(user.api.token().to_owned()), ..Self::at(user.deployment.origin())? })
    }

    pub(super) fn token(self, token: Option<&str>) -> Self {
        Self { token: token.map(ToOwned::to_owned), ..self }
    }

    /// With the programs of this folder first in `PATH`, and a keyring.
    pub(super) fn programs(self, folder: &Path) -> Self {
        let rest = std::env::var("PATH").unwrap_or_default();
        Self { path: Some(format!("{}:{rest}", folder.display())), ..self }
    }

    /// The working folder.
    pub(super) fn folder(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file to the working folder.
    pub(super) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<PathBuf> {
        let path = self.folder().join(name);
        fs::write(&path, bytes)?;
        Ok(path)
    }

    /// Starts a command that runs in parallel with the check.
    pub(super) fn start(&self, arguments: &[&str]) -> Result<Child> {
        let mut command = Command::new(binary("social")?);
        command.args(arguments).current_dir(self.folder());
        command.env("SOCIAL_URL", &self.url).env("XDG_CONFIG_HOME", self.folder());
        for name in ["SOCIAL_TOKEN", "SOCIAL_PROFILE", "SOCIAL_WEBHOOK_SECRET"] {
            command.env_remove(name);
        }
        if let Some(token) = &self.token {
            command.env("SOCIAL_TOKEN", token);
        }
        match &self.path {
            Some(path) => command.env("PATH", path).env_remove("SOCIAL_KEYRING"),
            None => command.env("SOCIAL_KEYRING", "off"),
        };
        Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
    }

    /// Runs a command with this standard input.
    pub(super) async fn reading(&self, input: &str, arguments: &[&str]) -> Result<CommandResult> {
        let mut child = self.start(arguments)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A command that does not read may have ended.
            let _ = stdin.write_all(input.as_bytes());
        }
        ended(child).await
    }

    pub(super) async fn run(&self, arguments: &[&str]) -> Result<CommandResult> {
        self.reading("", arguments).await
    }

    /// Runs a command that must succeed, and returns its output.
    pub(super) async fn done(&self, arguments: &[&str]) -> Result<String> {
        let ran = self.run(arguments).await?;
        ensure!(ran.code == 0, "social {arguments:?} ended with {ran:?}");
        Ok(ran.out)
    }

    /// Runs a command that must succeed, and parses its output.
    pub(super) async fn json(&self, arguments: &[&str]) -> Result<Value> {
        Ok(serde_json::from_str(&self.done(&[arguments, &["--json"]].concat()).await?)?)
    }

    /// Runs a command that must end with this code and this text on standard error.
    pub(super) async fn fails(&self, code: i32, expected: &str, arguments: &[&str]) -> Result<CommandResult> {
        let ran = self.run(arguments).await?;
        ensure!(
            ran.code == code && ran.err.contains(expected),
            "social {arguments:?}: not {code}, {expected:?}: {ran:?}"
        );
        Ok(ran)
    }
}

/// Waits for the end of a command.
pub(super) async fn ended(child: Child) -> Result<CommandResult> {
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await??;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().ok_or_else(|| TestError::new(format!("social was ended: {output:?}")))?;
    Ok(CommandResult { code, out: text(&output.stdout), err: text(&output.stderr) })
}
