//! `FakePlatform` for the conformance suite.

use domain::options::{OptionValue, Options};

use super::pins::Pin;
use super::{BOARD, Pinterest};
use crate::conformance::fake_platform::{FakePlatform, PublicMedium, PublicPost};
use crate::fake::fake_platform::oauth_fake_platform;

impl FakePlatform for Pinterest {
    oauth_fake_platform!("pinterest");

    fn options(&self) -> Options {
        [("board".to_owned(), OptionValue::Text(BOARD.to_owned()))].into_iter().collect()
    }

    /// Pinterest has no call for it.
    fn revokes_grants(&self) -> bool {
        false
    }

    fn publish_manual_post(&self, text: &str) {
        let pin = Pin { description: text.to_owned(), at: self.fake.clock.now(), ..Pin::default() };
        self.fake.memory().add(pin);
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        self.fake.memory().pins.iter().map(public_post).collect()
    }
}

/// A pin has one alternative text, for its video or first image.
fn public_post(pin: &Pin) -> PublicPost {
    let media = pin.files.iter().enumerate().map(|(index, (mime_type, bytes))| PublicMedium {
        mime_type: *mime_type,
        bytes: bytes.clone(),
        alt_text: pin.alt_text.clone().filter(|_| index == 0),
    });
    PublicPost { id: pin.id.clone(), text: pin.description.clone(), media: media.collect(), reply_to: None }
}
