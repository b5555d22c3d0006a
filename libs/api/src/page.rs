//! The layout of the pages, and the headers that keep scripts and frames of other sites out.

mod account_page;
pub(crate) mod assets;
mod brand;
mod consent;
mod error;
mod form;
mod platform_mark;
mod times;

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, StatusCode};

pub use account_page::AccountPage;
pub use brand::Brand;
pub use consent::{ConsentAction, ConsentProblem, consent_form, consent_page, link_consent_form, link_consent_page};
pub(crate) use error::failed;
pub use error::{PageError, PageResult};
pub use form::{PageForm, PageQuery, parameters};
pub use platform_mark::PlatformMark;
pub use times::{date, date_and_time, day, distance, time, time_with_seconds};

/// A page: the HTML of a template within the layout.
///
/// ```text
/// Ok(Page::of("Your account", &AccountPage { devices })?.signed_in(&session))
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Page {
    status: StatusCode,
    title: String,
    body: String,
    csrf: Option<String>,
    navigation: Option<AccountPage>,
    is_wide: bool,
    shows_images: bool,
    script: Option<&'static str>,
    upload_origin: Option<String>,
    brand: Option<Brand>,
}

#[derive(Template)]
#[template(path = "layout.html")]
struct Layout<'a> {
    title: &'a str,
    body: &'a str,
    csrf: Option<&'a str>,
    navigation: Option<AccountPage>,
    is_wide: bool,
    script: Option<&'a str>,
    brand: Option<&'a Brand>,
}

impl Page {
    pub fn render(title: impl Into<String>, inner: &impl Template) -> PageResult<Self> {
        Ok(Self::raw(title, inner.render()?))
    }

    /// A page with HTML that is escaped already.
    pub fn raw(title: impl Into<String>, body_html: String) -> Self {
        Self {
            status: StatusCode::OK,
            title: title.into(),
            body: body_html,
            csrf: None,
            navigation: None,
            is_wide: false,
            shows_images: false,
            script: None,
            upload_origin: None,
            brand: None,
        }
    }

    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub fn signed_in(mut self, session: &crate::SignedIn) -> Self {
        self.csrf = Some(session.csrf().to_owned());
        self
    }

    pub fn with_account_navigation(mut self, navigation: AccountPage) -> Self {
        self.navigation = Some(navigation);
        self
    }

    pub fn wide(mut self) -> Self {
        self.is_wide = true;
        self
    }

    /// Shows the operator's brand instead of this service's name and navigation.
    pub fn branded(mut self, brand: &Brand) -> Self {
        self.brand = Some(brand.clone());
        self.with_images()
    }

    /// Allows images and videos from other sites: the avatars of accounts, and the files of posts.
    pub fn with_images(mut self) -> Self {
        self.shows_images = true;
        self
    }

    pub fn with_uploads(mut self, origin: String) -> Self {
        self.script = Some("composer.js");
        self.upload_origin = Some(origin);
        self
    }

    pub fn with_consent(mut self) -> Self {
        self.script = Some("consent.js");
        self
    }

    pub fn with_search(mut self) -> Self {
        self.script = Some("docs.js");
        self
    }

    fn policy(&self) -> String {
        let files = if self.shows_images { " https:" } else { "" };
        let script = if self.script.is_some() { " script-src 'self';" } else { "" };
        let connect = self.upload_origin.as_ref().map(|it| format!(" connect-src 'self' {it};")).unwrap_or_default();
        format!(
            "default-src 'none';{script}{connect} style-src 'self'; img-src 'self'{files}; media-src 'self'{files}; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let layout = Layout {
            title: &self.title,
            body: &self.body,
            csrf: self.csrf.as_deref(),
            navigation: self.navigation,
            is_wide: self.is_wide,
            script: self.script,
            brand: self.brand.as_ref(),
        };
        match layout.render() {
            Ok(html) => (self.status, headers(&self.policy()), Html(html)).into_response(),
            Err(error) => PageError::from(error).into_response(),
        }
    }
}

/// Disables every browser feature that a page could request.
const NO_POWERS: &str = "accelerometer=(), autoplay=(), camera=(), display-capture=(), fullscreen=(), geolocation=(), \
    gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), publickey-credentials-get=(), usb=()";

fn headers(policy: &str) -> [(HeaderName, HeaderValue); 7] {
    // The policy consists of constants and origins, so it is always a valid header. If it were not,
    // the page could load nothing.
    let policy = HeaderValue::from_str(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    [
        (CONTENT_SECURITY_POLICY, policy),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // URLs of pages contain user codes and state tokens, which other sites must not see.
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // A page of another site that opened ours cannot access its window.
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("permissions-policy"), HeaderValue::from_static(NO_POWERS)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Template)]
    #[template(source = "<p>{{ name }}</p>", ext = "html")]
    struct Greeting<'a> {
        name: &'a str,
    }

    #[test]
    fn user_text_is_escaped() {
        let page = Page::render("<b>", &Greeting { name: "<script>" }).unwrap();
        let layout = Layout {
            title: &page.title,
            body: &page.body,
            csrf: None,
            navigation: None,
            is_wide: false,
            script: None,
            brand: None,
        };
        let html = layout.render().unwrap();
        assert!(!html.contains("<script") && !html.contains("<b>"), "{html}");
    }

    #[test]
    fn a_page_cannot_be_framed_and_runs_no_script() {
        let response = Page::raw("Title", String::new()).into_response();
        let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && policy.ends_with("frame-ancestors 'none'"), "{policy}");
        assert_eq!(response.headers()[X_FRAME_OPTIONS], "DENY");
        assert_eq!(response.headers()[CACHE_CONTROL], "no-store");
        assert_eq!(response.headers()["cross-origin-opener-policy"], "same-origin");
        assert!(response.headers()["permissions-policy"].to_str().unwrap().contains("camera=()"));
    }
}
