//! Methods of [`FakePlatform`](crate::conformance::fake_platform::FakePlatform) that fakes have in common. The fakes have a field
//! `fake`, an `Arc` of [`FakeServer`](super::server::FakeServer).
//!
//! `start` and `redirect_url` are written as `async_trait` expands them, because it does not look into macros.

use domain::media::MimeType;

use crate::conformance::fake_platform::{PublicMedium, PublicPost};

/// The methods of every fake; `$name` is the platform's name in the registry.
macro_rules! fake_platform {
    ($name:literal) => {
        fn start<'async_trait>(clock: domain::clock::Clock) -> futures::future::BoxFuture<'async_trait, Self>
        where
            Self: 'async_trait,
        {
            Box::pin(Self::start(clock))
        }

        fn name(&self) -> &'static str {
            $name
        }

        fn addresses(&self) -> Vec<std::net::SocketAddr> {
            self.fake.addresses()
        }

        fn inject_fault(
            &self,
            call: crate::conformance::fake_platform::Call,
            fault: crate::conformance::fake_platform::InjectedFault,
            count: usize,
        ) {
            self.fake.injected_faults().order(call, fault, count);
        }

        fn call_count(&self, call: crate::conformance::fake_platform::Call) -> usize {
            self.fake.injected_faults().calls(call)
        }

        fn has_received(&self, secret: &str) -> bool {
            self.fake.request_log.has(secret)
        }

        fn echo_requests(&self) -> bool {
            self.fake.enable_echo()
        }

        fn translate_refusals(&self) -> bool {
            self.fake.translate_refusals()
        }
    };
}

/// The methods of a fake with an OAuth app whose users enter nothing before the platform's own
/// page.
macro_rules! oauth_fake_platform {
    ($name:literal) => {
        crate::fake::fake_platform::fake_platform!($name);

        fn app_credentials(&self) -> Option<platforms::AppCredentials> {
            Some(platforms::AppCredentials::new(&self.fake.app.client_id, &self.fake.app.client_secret))
        }

        fn register_redirect_uri(&self, redirect_uri: &str) {
            self.fake.oauth().permit(redirect_uri);
        }

        fn form_values(&self) -> platforms::FieldValues {
            platforms::FieldValues::new()
        }

        fn redirect_url<'this, 'url, 'async_trait>(
            &'this self,
            url: &'url str,
            decision: crate::conformance::fake_platform::Decision,
        ) -> futures::future::BoxFuture<'async_trait, url::Url>
        where
            'this: 'async_trait,
            'url: 'async_trait,
            Self: 'async_trait,
        {
            let account = crate::fake::oauth::Authorizes::accounts(&*self.fake)[0];
            Box::pin(crate::fake::oauth::decide(url, account, decision))
        }

        fn revoke(&self) {
            self.fake.oauth().revoke_all();
        }

        fn end_access_tokens(&self) {
            crate::fake::oauth::Authorizes::end_access_tokens(&*self.fake);
        }

        fn grant_count(&self) -> usize {
            self.fake.oauth().usable()
        }
    };
}

/// For a platform that shows a text without surrounding white space.
macro_rules! trims_texts {
    () => {
        fn displayed_text(&self, text: &str) -> String {
            text.trim().to_owned()
        }
    };
}

/// For a platform whose videos have no alt texts.
macro_rules! describes_images_only {
    () => {
        fn has_alt_texts(&self, mime_type: domain::media::MimeType) -> bool {
            mime_type.file_type() == domain::media::FileType::Image
        }
    };
}

pub(crate) use {describes_images_only, fake_platform, oauth_fake_platform, trims_texts};

pub(crate) fn comment(id: &str, text: &str, post: &str) -> PublicPost {
    PublicPost { id: id.to_owned(), text: text.to_owned(), media: Vec::new(), reply_to: Some(post.to_owned()) }
}

/// A file of a public post. Its type is detected from its bytes.
pub(crate) fn medium(bytes: Vec<u8>, alt_text: Option<String>) -> PublicMedium {
    let mime_type = MimeType::sniff(&bytes).expect("the service sends files of its own types");
    PublicMedium { mime_type, bytes, alt_text }
}
