//! The server as the conformance suite sees it.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use domain::clock::Clock;
use domain::media::MimeType;
use http::{StatusCode, header};
use platforms::Answers;
use platforms::conformance::network::{Call, Decision, Network, PublicMedium, PublicPost, Trouble};
use serde_json::{Value, json};
use url::Url;

use super::instance::Memory;
use super::instance::statuses::Status;
use super::{Known, Server};
use crate::wire::browser;

#[async_trait]
impl<F: Known> Network for Server<F> {
    const NAME: &'static str = "mastodon";

    async fn start(clock: Clock) -> Self {
        Self::begin(F::FLAVOUR, clock).await
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.address]
    }

    fn settings(&self) -> Value {
        json!({})
    }

    fn answers(&self) -> Answers {
        Answers::from([("server".to_owned(), self.base_url().into())])
    }

    fn answers_naming_it(&self) -> Option<Answers> {
        Some(self.answers())
    }

    async fn send_back(&self, url: &str, decision: Decision) -> Url {
        let browser = browser();
        let page = browser.get(url).send().await.expect("the page is there");
        let status = page.status();
        let says = page.text().await.expect("the page arrives");
        assert_eq!(status, StatusCode::OK, "the person sees an error: {says}");

        let url = Url::parse(url).expect("it was opened");
        let mut form: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        if decision == Decision::Deny {
            form.push(("_method".to_owned(), "delete".to_owned()));
        }
        let target = format!("{}/oauth/authorize", self.base_url());
        let decided = browser.post(target).form(&form).send().await.expect("the decision arrives");
        assert_eq!(decided.status(), StatusCode::FOUND, "the person is not sent back");
        let location = decided.headers().get(header::LOCATION).expect("a redirect leads somewhere");
        Url::parse(location.to_str().expect("URLs are ASCII")).expect("it is a URL")
    }

    fn trouble(&self, call: Call, trouble: Trouble, count: usize) {
        self.here.memory().troubles.order(call, trouble, count);
    }

    /// A renewal can only fail where access tokens end.
    fn can(&self, call: Call, _: Trouble) -> bool {
        call != Call::Refresh || self.here.differences.token_lifetime.is_some()
    }

    fn checks_codes(&self) -> bool {
        !self.here.differences.takes_any_code
    }

    fn echo(&self) -> bool {
        self.here.echo.store(true, Ordering::Relaxed);
        self.here.differences.says_why
    }

    fn revoke(&self) {
        for grant in &mut self.here.memory().grants {
            grant.revoked = true;
        }
    }

    /// Does nothing where access tokens do not end.
    fn end_access_tokens(&self) {
        let now = self.here.clock.now();
        for grant in &mut self.here.memory().grants {
            grant.expires_at = grant.expires_at.map(|_| now);
        }
    }

    fn public(&self) -> Vec<PublicPost> {
        let memory = self.here.memory();
        memory.statuses.iter().filter(|it| it.is_public()).map(|it| public_post(&memory, it)).collect()
    }

    fn grants(&self) -> usize {
        self.here.memory().grants.iter().filter(|it| !it.revoked).count()
    }

    fn calls(&self, call: Call) -> usize {
        self.here.memory().troubles.calls(call)
    }
}

fn public_post(memory: &Memory, status: &Status) -> PublicPost {
    let media = status.media.iter().filter_map(|id| memory.media.iter().find(|it| it.id == *id));
    let media = media.map(|it| PublicMedium {
        mime_type: MimeType::parse(&it.mime_type).expect("the service sends files of its own types"),
        bytes: it.bytes.to_vec(),
        alt_text: it.description.clone(),
    });
    PublicPost { id: status.id.to_string(), text: status.text.clone(), media: media.collect() }
}
