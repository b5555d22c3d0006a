//! The API as the conformance suite sees it.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use domain::clock::Clock;
use domain::options::{OptionValue, Options};
use platforms::conformance::network::{Call, Decision, Network, PublicMedium, PublicPost, Trouble};
use serde_json::{Value, json};
use url::Url;

use super::pins::Pin;
use super::{BOARD, Pinterest, USERNAME};
use crate::stand_in::network::oauth_network;
use crate::stand_in::oauth::{Authorizes, decide};

#[async_trait]
impl Network for Pinterest {
    async fn start(clock: Clock) -> Self {
        Self::start(clock).await
    }

    fn name(&self) -> &'static str {
        "pinterest"
    }

    oauth_network!();

    fn settings(&self) -> Value {
        json!({ "url": self.base_url() })
    }

    fn options(&self) -> Options {
        [("board".to_owned(), OptionValue::Text(BOARD.to_owned()))].into_iter().collect()
    }

    /// There is no call for it.
    fn ends_grants(&self) -> bool {
        false
    }

    async fn send_back(&self, url: &str, decision: Decision) -> Url {
        decide(url, USERNAME, decision).await
    }

    fn echo(&self) -> bool {
        self.here.echo.store(true, Ordering::Relaxed);
        true
    }

    fn end_access_tokens(&self) {
        let now = self.here.clock.now();
        self.here.oauth().end_access_tokens(now);
    }

    /// False: only the message distinguishes a board that does not exist from other refusals.
    fn translate_refusals(&self) -> bool {
        false
    }

    fn others_post(&self, count: usize) {
        for number in 1..=count {
            self.pins_by_hand(&format!("by hand, number {number}"));
        }
    }

    fn public(&self) -> Vec<PublicPost> {
        self.here.memory().pins.iter().map(public_post).collect()
    }
}

/// A pin has one alternative text, that of its video or first picture.
fn public_post(pin: &Pin) -> PublicPost {
    let media = pin.files.iter().enumerate().map(|(index, (mime_type, bytes))| PublicMedium {
        mime_type: *mime_type,
        bytes: bytes.clone(),
        alt_text: pin.alt_text.clone().filter(|_| index == 0),
    });
    PublicPost { id: pin.id.clone(), text: pin.description.clone(), media: media.collect() }
}
