use domain::media::MimeType;
use serde_json::json;

use super::posts::LocalPost;
use super::{GoogleBusiness, LOCATION};
use crate::conformance::fake_platform::{Call, FakePlatform, InjectedFault, PublicMedium, PublicPost};
use crate::fake::fake_platform::oauth_fake_platform;

impl<const FOR_SUITE: bool> FakePlatform for GoogleBusiness<FOR_SUITE> {
    oauth_fake_platform!("google_business");

    fn has_alt_texts(&self, _: MimeType) -> bool {
        false
    }

    /// Google sends no `Retry-After`.
    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        call != Call::Publish || !matches!(fault, InjectedFault::RateLimited { .. })
    }

    fn fetched_urls(&self) -> Vec<String> {
        self.fake.memory().fetched.clone()
    }

    fn publish_manual_post(&self, text: &str) {
        let request = json!({ "languageCode": "en", "summary": text, "topicType": "STANDARD" });
        self.fake.memory().add(LOCATION, request, self.fake.clock.now()).review = &[(0, "LIVE")];
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let now = self.fake.clock.now();
        self.fake.memory().posts.iter().filter(|it| it.state(now) == "LIVE").map(public_post).collect()
    }
}

fn public_post(post: &LocalPost) -> PublicPost {
    let media =
        post.file.iter().map(|it| PublicMedium { mime_type: it.mime_type, bytes: it.bytes.clone(), alt_text: None });
    let text = post.request["summary"].as_str().unwrap_or_default().to_owned();
    PublicPost { id: post.name.clone(), text, media: media.collect(), reply_to: None }
}
