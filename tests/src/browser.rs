//! A browser without scripts: it follows redirects, keeps cookies, and presses buttons.

use std::time::Duration;

use reqwest::{
    Client, Method, RequestBuilder, StatusCode,
    header::{CONTENT_TYPE, COOKIE, HeaderMap, LOCATION, ORIGIN, REFRESH, RETRY_AFTER, SET_COOKIE},
};
use serde_json::Value;
use url::{Url, form_urlencoded};

use crate::{
    error::{Result, TestError},
    fail,
    html::{self, Button, Form},
};

#[derive(Debug, Clone)]
pub struct Page {
    /// After all redirects.
    pub url: Url,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub html: String,
}

impl Page {
    /// The button has exactly this label.
    pub fn form_with_button(&self, label: &str) -> Option<(Form, Button)> {
        let wanted = |it: &&Button| it.label.eq_ignore_ascii_case(label);
        self.forms().into_iter().find_map(|form| {
            let button = form.buttons.iter().find(wanted).cloned()?;
            Some((form, button))
        })
    }

    pub fn form_with_field(&self, name: &str) -> Option<Form> {
        self.forms().into_iter().find(|form| form.fields.iter().any(|it| it.name == name))
    }

    pub fn forms(&self) -> Vec<Form> {
        html::forms(&self.html)
    }

    /// Quotes this page's address and text.
    pub fn test_error(&self, message: &str) -> TestError {
        let mut text: String = html::tags(&self.html).into_iter().map(|it| it.text).collect();
        if text.is_empty() {
            // A gateway answers with JSON.
            text.clone_from(&self.html);
        }
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(600).collect();
        TestError::new(format!("{message}\n      page: {} {} “{text}”", self.url, self.status.as_u16()))
    }
}

#[derive(Debug, Clone)]
pub struct Cookie {
    host: String,
    name: String,
    value: String,
    pub header: String,
}

#[derive(Clone)]
pub struct Browser {
    http: Client,
    pub cookies: Vec<Cookie>,
}

impl Browser {
    pub fn new(http: Client) -> Self {
        Self { http, cookies: Vec::new() }
    }

    pub async fn open(&mut self, address: &str) -> Result<Page> {
        self.follow(Method::GET, Url::parse(address)?, None).await
    }

    /// Presses the button with this label. `fill` has the name or the type of a field, and its
    /// value.
    pub async fn press(&mut self, page: &Page, label: &str, fill: &[(&str, &str)]) -> Result<Page> {
        let Some((form, button)) = page.form_with_button(label) else {
            return Err(page.test_error(&format!("there is no button {label}")));
        };
        self.submit(page, &form, Some(&button), fill).await
    }

    pub async fn submit(
        &mut self,
        page: &Page,
        form: &Form,
        button: Option<&Button>,
        fill: &[(&str, &str)],
    ) -> Result<Page> {
        let (method, url, body) = form_request(page, form, button, fill)?;
        self.follow(method, url, body).await
    }

    /// Like [`Browser::submit`], for the first response: redirects are not followed, and rate
    /// limits are not waited for.
    pub async fn submit_once(&mut self, page: &Page, form: &Form, fill: &[(&str, &str)]) -> Result<Page> {
        let (method, url, body) = form_request(page, form, form.buttons.first(), fill)?;
        self.fetch(method, &url, body).await
    }

    /// Like [`Browser::submit`], for the address that the response redirects to, which is not
    /// opened.
    pub async fn submit_for_redirect(&mut self, page: &Page, form: &Form, fill: &[(&str, &str)]) -> Result<Url> {
        let response = self.submit_once(page, form, fill).await?;
        redirect_target(&response).ok_or_else(|| response.test_error("it leads nowhere"))
    }

    /// As a page of another site could send them.
    pub async fn post(&mut self, address: &str, fields: &[(&str, &str)]) -> Result<Page> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.follow(Method::POST, Url::parse(address)?, Some(body)).await
    }

    /// As the script of a page does.
    pub async fn post_json(&mut self, address: &str, csrf: &str, body: &Value) -> Result<Page> {
        let url = Url::parse(address)?;
        let request = self.request(Method::POST, &url).header(CONTENT_TYPE, "application/json");
        self.send(&url, request.header("x-csrf-token", csrf).body(body.to_string())).await
    }

    async fn follow(&mut self, method: Method, url: Url, body: Option<String>) -> Result<Page> {
        let (mut method, mut url, mut body) = (method, url, body);
        for _ in 0..20 {
            let page = self.fetch(method.clone(), &url, body.clone()).await?;
            if let Some(wait) = rate_limit_wait(&page) {
                tokio::time::sleep(wait).await;
                continue;
            }
            match redirect_target(&page) {
                None => return Ok(page),
                Some(next) => url = next,
            }
            if page.status != StatusCode::TEMPORARY_REDIRECT {
                method = Method::GET;
                body = None;
            }
        }
        fail!("{url} redirects for ever")
    }

    async fn fetch(&mut self, method: Method, url: &Url, body: Option<String>) -> Result<Page> {
        let mut request = self.request(method, url);
        if let Some(body) = body {
            request = request
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header(ORIGIN, url.origin().ascii_serialization())
                .body(body);
        }
        self.send(url, request).await
    }

    fn request(&self, method: Method, url: &Url) -> RequestBuilder {
        let host = url.host_str().unwrap_or_default();
        let cookies: Vec<_> = self.cookies.iter().filter(|it| it.host == host).collect();
        let request = self.http.request(method, url.clone());
        if cookies.is_empty() {
            return request;
        }
        let line = cookies.iter().map(|it| format!("{}={}", it.name, it.value)).collect::<Vec<_>>().join("; ");
        request.header(COOKIE, line)
    }

    async fn send(&mut self, url: &Url, request: RequestBuilder) -> Result<Page> {
        let sent = request.send().await;
        let response = sent.map_err(|error| TestError::new(format!("{url}: {}", TestError::from(error))))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let (status, headers) = (response.status(), response.headers().clone());
        for header in headers.get_all(SET_COOKIE) {
            self.keep(&host, header.to_str().unwrap_or_default());
        }
        Ok(Page { url: url.clone(), status, headers, html: response.text().await? })
    }

    fn keep(&mut self, host: &str, header: &str) {
        let pair = header.split(';').next().unwrap_or_default();
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        self.cookies.retain(|it| it.host != host || it.name != name.trim());
        let ended = header.to_lowercase().contains("max-age=0");
        if !ended {
            self.cookies.push(Cookie {
                host: host.to_owned(),
                name: name.trim().to_owned(),
                value: value.trim().to_owned(),
                header: header.to_owned(),
            });
        }
    }
}

fn form_request(
    page: &Page,
    form: &Form,
    button: Option<&Button>,
    fill: &[(&str, &str)],
) -> Result<(Method, Url, Option<String>)> {
    let pairs = form_pairs(form, button, fill);
    let action = button.and_then(|it| it.action.as_deref()).unwrap_or(&form.action);
    let mut url = if action.is_empty() { page.url.clone() } else { page.url.join(action)? };
    if form.method == "post" {
        return Ok((Method::POST, url, Some(pairs)));
    }
    url.set_query(Some(&pairs));
    Ok((Method::GET, url, None))
}

/// By a redirect or a refresh in the page.
fn redirect_target(page: &Page) -> Option<Url> {
    let header = |name| page.headers.get(name).and_then(|it| it.to_str().ok());
    let next = match header(LOCATION).filter(|_| page.status.is_redirection()) {
        Some(location) => location,
        None => header(REFRESH)?.strip_prefix("0; url=")?,
    };
    page.url.join(next).ok()
}

fn form_pairs(form: &Form, button: Option<&Button>, fill: &[(&str, &str)]) -> String {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    for field in &form.fields {
        let filled = fill.iter().find(|(name, _)| field.name == *name || field.kind == *name);
        if let Some(value) = filled.map(|(_, value)| *value).or(field.value.as_deref()) {
            pairs.append_pair(&field.name, value);
        }
    }
    if let Some((name, value)) = button.and_then(|it| it.sends.as_ref()) {
        pairs.append_pair(name, value);
    }
    pairs.finish()
}

/// The time to wait if only a limit per minute refused the page. Limits over a longer time are not
/// waited for: there the error is the expected response.
fn rate_limit_wait(page: &Page) -> Option<Duration> {
    let seconds = page.headers.get(RETRY_AFTER)?.to_str().ok()?.parse::<u64>().ok()?;
    let wait = page.status == StatusCode::TOO_MANY_REQUESTS && seconds <= 60;
    wait.then(|| Duration::from_secs(seconds + 1))
}
