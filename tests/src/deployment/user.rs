//! One user with a token and a browser, and their usual actions.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::Deployment;
use crate::{
    browser::{Browser, Page},
    client::Api,
    ensure,
    error::Result,
    html::Form,
    http_response::{integer, text},
    moment, picture, shapes,
};

pub struct User<'a> {
    pub deployment: &'a Deployment,
    pub api: Api,
    /// Signed in.
    pub browser: Browser,
    /// Empty if the token was given.
    pub email: String,
    pub id: i64,
}

impl<'a> User<'a> {
    pub async fn from_token(deployment: &'a Deployment, api: Api, browser: Browser) -> Result<Self> {
        // A token without `user:read` cannot read its user.
        let response = api.get("/user").await?;
        let id = if response.status == 200 { text(&response.json()?, "id")?.parse()? } else { 0 };
        Ok(Self { deployment, api, browser, email: String::new(), id })
    }

    /// `account` is an index of the sandbox platform's consent page.
    pub async fn connect(&mut self, account: usize) -> Result<Value> {
        let request = self.begin().await?;
        self.complete(&request, account).await
    }

    pub async fn connect_for(&mut self, profile: i64, account: usize) -> Result<Value> {
        let path = format!("/connections/connect/sandbox?profile_id={profile}");
        let request = self.api.call(Method::POST, &path).send().await?.ok(201)?;
        self.complete(&request, account).await
    }

    async fn complete(&mut self, request: &Value, account: usize) -> Result<Value> {
        self.consent(request, account, "Allow").await?;
        let status = self.api.get(text(request, "poll_url")?).await?.ok(200)?;
        ensure!(status["status"] == "completed", "after Allow the connect flow is {status}");
        shapes::check_connection(&status["connection"], false)?;
        Ok(status["connection"].clone())
    }

    pub async fn begin(&self) -> Result<Value> {
        self.begin_at("sandbox").await
    }

    pub async fn begin_at(&self, platform: &str) -> Result<Value> {
        self.api.call(Method::POST, &format!("/connections/connect/{platform}")).send().await?.ok(201)
    }

    pub async fn loses_grant(&self, connection: &Value, seconds: u64) -> Result {
        let path = format!("/connections/{}", integer(connection, "id")?);
        moment::eventually(Duration::from_secs(seconds), "needs_reconnection", || async {
            let shown = self.api.get(&path).await?.ok(200)?;
            Ok((shown["needs_reconnection"] == true).then_some(()))
        })
        .await
    }

    pub async fn disconnect(&self, connection: &Value) -> Result {
        let path = format!("/connections/{}", integer(connection, "id")?);
        self.api.call(Method::DELETE, &path).send().await?.is(204)?;
        Ok(())
    }

    /// Completes the consent page and the choice of accounts. Returns the last page.
    pub async fn consent(&mut self, request: &Value, account: usize, press: &str) -> Result<Page> {
        let page = self.browser.open(text(request, "authorization_url")?).await?;
        complete_consent(&mut self.browser, page, account, press).await
    }

    pub async fn upload(&self, mime_type: &str, bytes: &[u8]) -> Result<String> {
        let target = self.api.post("/media", &json!({ "mime_type": mime_type })).await?.ok(201)?;
        let status = self.put(&target, bytes).await?;
        ensure!((200..300).contains(&status), "PUT of {mime_type} to the upload_url returned {status}");
        Ok(text(&target, "path")?.to_owned())
    }

    /// Sends the headers that the target requires. Returns the status.
    pub async fn put(&self, target: &Value, bytes: &[u8]) -> Result<u16> {
        let mut request = self.deployment.http().put(text(target, "upload_url")?).body(bytes.to_owned());
        for (name, value) in target["upload_headers"].as_object().into_iter().flatten() {
            request = request.header(name, value.as_str().unwrap_or_default());
        }
        Ok(request.send().await?.status().as_u16())
    }

    pub async fn picture(&self) -> Result<String> {
        self.upload("image/png", &picture::png(64, 48, [30, 120, 90])).await
    }

    pub async fn create(&self, body: &Value) -> Result<Value> {
        let response = self.api.post("/posts", body).await?.is(201)?;
        let post = response.json()?;
        shapes::check_post(&post).map_err(|it| response.test_error(&it.to_string()))?;
        Ok(post)
    }

    pub async fn change(&self, id: i64, body: &Value) -> Result<Value> {
        let response = self.api.patch(&format!("/posts/{id}"), body).await?.is(200)?;
        let post = response.json()?;
        shapes::check_post(&post).map_err(|it| response.test_error(&it.to_string()))?;
        Ok(post)
    }

    pub async fn show(&self, id: i64) -> Result<Value> {
        let response = self.api.get(&format!("/posts/{id}")).await?.is(200)?;
        let post = response.json()?;
        shapes::check_post(&post).map_err(|it| response.test_error(&it.to_string()))?;
        Ok(post)
    }

    pub async fn reaches(&self, id: i64, status: &str, seconds: u64) -> Result<Value> {
        let started = std::time::Instant::now();
        loop {
            let post = self.show(id).await?;
            if post["status"] == status {
                return Ok(post);
            }
            ensure!(
                started.elapsed() < Duration::from_secs(seconds),
                "post {id} is not {status} after {seconds} s; last seen {post}"
            );
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
    }

    /// Due in `seconds`.
    pub async fn schedule(&self, content: &str, connections: &[&Value], seconds: i64) -> Result<i64> {
        let platforms = targets(connections)?;
        let body = json!({ "content": content, "platforms": platforms, "scheduled_at": moment::in_seconds(seconds) });
        let post = self.create(&body).await?;
        ensure!(post["status"] == "scheduled", "a post created with a time is {}", post["status"]);
        integer(&post, "id")
    }
}

/// The value of `platforms` in a request.
pub fn targets(connections: &[&Value]) -> Result<Value> {
    let entry = |it: &&Value| Ok(json!({ "connected_account_id": integer(it, "id")? }));
    Ok(Value::Array(connections.iter().map(entry).collect::<Result<_>>()?))
}

/// Completes the consent page and the choice of accounts. Returns the last page.
pub async fn complete_consent(browser: &mut Browser, page: Page, account: usize, press: &str) -> Result<Page> {
    let mut page = page;
    for _ in 0..6 {
        let Some((form, button)) = page.form_with_button(press) else {
            let Some(form) = page.forms().into_iter().find(has_choice) else {
                return Ok(page);
            };
            // The service asks which of the granted accounts to connect.
            let chosen = choice(&form, 0);
            page = browser.submit(&page, &form, form.buttons.first(), &pairs(chosen.as_ref())).await?;
            continue;
        };
        let chosen = choice(&form, account);
        page = browser.submit(&page, &form, Some(&button), &pairs(chosen.as_ref())).await?;
    }
    Err(page.test_error("the connect flow never ends"))
}

fn has_choice(form: &Form) -> bool {
    !form.buttons.is_empty() && form.fields.iter().any(|it| !it.options.is_empty())
}

fn choice(form: &Form, at: usize) -> Option<(String, String)> {
    let field = form.fields.iter().find(|it| it.options.len() > 1 || it.kind == "radio")?;
    Some((field.name.clone(), field.options.get(at)?.clone()))
}

fn pairs(chosen: Option<&(String, String)>) -> Vec<(&str, &str)> {
    chosen.into_iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}
