//! The owner of the account: the user of a server on this machine, or an operator at a terminal.

use std::{collections::BTreeMap, env, io, process::Command, sync::Arc};

use async_trait::async_trait;
use domain::delivery::Published;
use fakes::conformance::fake_platform::{Decision, FakePlatform};
use platforms::{CallbackUrls, Field, FieldValues, Instructions};
use secrecy::SecretString;
use url::Url;

use super::journey::AccountOwner;
use crate::{ensure, error::Result, report::say};

/// The user of a server on this machine, who allows everything.
pub(super) struct FakeOwner(pub(super) Arc<dyn FakePlatform>);

#[async_trait]
impl AccountOwner for FakeOwner {
    async fn field_values(&self, _: &[Field], _: &CallbackUrls) -> Result<FieldValues> {
        Ok(self.0.form_values())
    }

    async fn approve(&self, page: &str) -> Result<Url> {
        Ok(self.0.redirect_url(page, Decision::Allow).await)
    }

    async fn read(&self, _: &Instructions) -> Result {
        Ok(())
    }

    async fn delete(&self, _: &[Published]) -> Result<bool> {
        Ok(false)
    }
}

/// The operator: prompts are printed, and lines are read from the terminal.
pub(super) struct PromptedOwner;

#[async_trait]
impl AccountOwner for PromptedOwner {
    async fn field_values(&self, fields: &[Field], here: &CallbackUrls) -> Result<FieldValues> {
        let mut values = BTreeMap::new();
        for field in fields {
            let response = if let Ok(response) = env::var(format!("REAL_{}", field.name.to_uppercase())) {
                response
            } else {
                let hint = field.hint_for(here).unwrap_or_else(|| format!("such as {}", field.example));
                line(&format!("{} ({hint}):", field.label_for(here)), field.secret).await?
            };
            ensure!(!response.is_empty() || field.optional.is_some(), "{} is needed", field.name);
            values.insert(field.name.to_owned(), SecretString::from(response));
        }
        Ok(values)
    }

    async fn approve(&self, page: &str) -> Result<Url> {
        say(&format!("Open this page and approve:\n\n  {page}\n"));
        let prompt = "Then paste the URL to which the browser was sent (the page need not load; a code may be valid for \
                      30 seconds only):";
        Ok(Url::parse(&line(prompt, true).await?)?)
    }

    async fn read(&self, instructions: &Instructions) -> Result {
        let Instructions { text, url, code } = instructions;
        say(&[Some(text), url.as_ref(), code.as_ref()].into_iter().flatten().cloned().collect::<Vec<_>>().join("\n  "));
        Ok(())
    }

    async fn delete(&self, posts: &[Published]) -> Result<bool> {
        for post in posts {
            say(&format!("  {}", post.url.as_ref().unwrap_or(&post.platform_post_id)));
        }
        line("Delete these posts by hand, and press Enter:", false).await?;
        Ok(true)
    }
}

/// A line from the terminal, without echo for a secret.
async fn line(prompt: &str, is_secret: bool) -> Result<String> {
    say(prompt);
    let line = tokio::task::spawn_blocking(move || {
        let echo = |is_on: bool| {
            // Without a terminal there is no echo.
            let _ = Command::new("stty").arg(if is_on { "echo" } else { "-echo" }).status();
        };
        if is_secret {
            echo(false);
        }
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        if is_secret {
            echo(true);
        }
        read.map(|_| line.trim().to_owned())
    });
    Ok(line.await??)
}
