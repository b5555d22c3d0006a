//! A shell that runs the commands of a document on a local service, and the user who opens what they print.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    thread,
    time::Duration,
};

use steps::ROOT;
use tempfile::TempDir;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

use crate::{
    browser::{Browser, Page},
    deployment::Deployment,
    ensure,
    error::{Result, TestError},
    harness::{Harness, binary},
};

const ADDRESS: &str = "http://localhost:3000";
const DATA: &str = ".local/";

/// `cargo dev` prints a token of this user.
const EMAIL: &str = "demo@example.com";

/// Printed after each block, with the exit code of its last command.
const MARK: &str = "--- ended with";

/// No block takes this long unless it hangs.
const LIMIT: Duration = Duration::from_mins(2);

/// A fresh service with a shell next to it.
pub struct Session {
    // Dropped before the folder of its data.
    harness: Harness,
    deployment: Deployment,
    browser: Browser,
    shell: Child,
    input: ChildStdin,
    output: UnboundedReceiver<String>,
    opened: BTreeSet<String>,
    folder: TempDir,
}

impl Session {
    pub async fn start() -> Result<Self> {
        let folder = TempDir::new()?;
        let data = folder.path().join("data");
        let harness =
            Harness::start_with(&binary("local")?, &["--port", "0", "--data", &data.to_string_lossy()]).await?;
        let deployment = Deployment::new(harness.ready().clone()).await?;
        let browser = deployment.browser()?;

        let mut shell = Command::new("bash");
        shell.current_dir(ROOT).env("PATH", path_with(&programs()?)?).env("HOME", folder.path());
        // Logins of the person who runs this are not touched.
        shell.env("XDG_CONFIG_HOME", folder.path().join("config"));
        for name in ["SOCIAL_URL", "SOCIAL_TOKEN", "SOCIAL_PROFILE", "DBUS_SESSION_BUS_ADDRESS"] {
            shell.env_remove(name);
        }
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let nowhere = || TestError::new("the shell has no input or output");
        let input = shell.stdin.take().ok_or_else(nowhere)?;
        let lines = BufReader::new(shell.stdout.take().ok_or_else(nowhere)?).lines();
        let (send, output) = unbounded_channel();
        // Ends with the shell.
        thread::spawn(move || lines.map_while(std::result::Result::ok).try_for_each(|it| send.send(it)));
        Ok(Self { harness, deployment, browser, shell, input, output, opened: BTreeSet::new(), folder })
    }

    /// Returns what the block printed, as the documents would show it.
    pub async fn run(&mut self, script: &str) -> Result<String> {
        let data = format!("{}/data/", self.folder.path().display());
        let script = script.replace(ADDRESS, &self.harness.ready().origin).replace(DATA, &data);
        let file = self.folder.path().join("block.sh");
        std::fs::write(&file, format!("{script}\n"))?;
        let line = format!("set -o pipefail; source {} </dev/null 2>&1; echo \"{MARK} $?\"\n", file.display());
        self.input.write_all(line.as_bytes())?;

        let mut printed = Vec::new();
        loop {
            let line = timeout(LIMIT, self.output.recv()).await;
            let line = line.map_err(|_| TestError::new(format!("the block hangs after {printed:?}")))?;
            let Some(line) = line else {
                return Err(TestError::new(format!("the shell ended: {:?}", self.shell.try_wait()?)));
            };
            if let Some((rest, code)) = line.split_once(MARK) {
                printed.extend(Some(rest.to_owned()).filter(|it| !it.is_empty()));
                ensure!(code.trim() == "0", "the block ended with{code}:\n{}", printed.join("\n"));
                break;
            }
            self.open_pages(&line).await?;
            printed.push(line);
        }
        let printed = printed.join("\n").replace(&self.harness.ready().origin, ADDRESS);
        Ok(printed.replace(&data, DATA))
    }

    /// As a user does: signs in, approves, allows.
    async fn open_pages(&mut self, line: &str) -> Result {
        let origin = &self.harness.ready().origin;
        let pages = ["/device", "/connect/", "/sandbox/oauth/authorize"].map(|it| format!("{origin}{it}"));
        let words = line.split(|it: char| it.is_whitespace() || it == '"');
        for address in words.filter(|it| pages.iter().any(|page| it.starts_with(page))) {
            if !self.opened.insert(address.to_owned()) {
                continue;
            }
            let mut page = self.deployment.sign_in(&mut self.browser, address, EMAIL).await?;
            for label in ["Continue", "Approve", "Allow"] {
                if page.form_with_button(label).is_some() {
                    page = self.browser.press(&page, label, &[]).await?;
                    page = self.deployment.sign_in_if_asked(&mut self.browser, page, EMAIL).await?;
                }
            }
        }
        Ok(())
    }

    /// Opens a page of the service as the user.
    pub async fn open(&mut self, path: &str) -> Result<Page> {
        let address = format!("{}{path}", self.harness.ready().origin);
        self.deployment.sign_in(&mut self.browser, &address, EMAIL).await
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

fn programs() -> Result<PathBuf> {
    let social = binary("social")?;
    social.parent().map(Path::to_owned).ok_or_else(|| TestError::new("the program is in no folder"))
}

fn path_with(programs: &Path) -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(folders)?)
}
