//! Methods of [`Network`](platforms::conformance::network::Network) that fakes have in common. The fakes have a field
//! `here`, an `Arc` of [`FakeServer`](super::server::FakeServer).
//!
//! `start` and `send_back` are written as `async_trait` expands them, because it does not look into macros.

use domain::media::MimeType;
use platforms::conformance::network::PublicMedium;

/// Methods for every fake of the platform `$name`.
macro_rules! network {
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
            vec![self.here.address]
        }

        fn trouble(
            &self,
            call: platforms::conformance::network::Call,
            trouble: platforms::conformance::network::InjectedFault,
            count: usize,
        ) {
            self.here.troubles().order(call, trouble, count);
        }

        fn calls(&self, call: platforms::conformance::network::Call) -> usize {
            self.here.troubles().calls(call)
        }

        fn has_received(&self, secret: &str) -> bool {
            self.here.request_log.has(secret)
        }

        fn echo(&self) -> bool {
            self.here.repeat_requests()
        }

        fn translate_refusals(&self) -> bool {
            self.here.translate_refusals()
        }
    };
}

/// Methods for a fake with an OAuth app, at which users type nothing before the platform's own page.
macro_rules! oauth_network {
    ($name:literal) => {
        crate::fake::network::network!($name);

        fn app(&self) -> Option<platforms::AppCredentials> {
            Some(platforms::AppCredentials::new(&self.here.app.client_id, &self.here.app.client_secret))
        }

        fn permit(&self, redirect_uri: &str) {
            self.here.oauth().permit(redirect_uri);
        }

        fn answers(&self) -> platforms::FieldValues {
            platforms::FieldValues::new()
        }

        fn send_back<'this, 'url, 'async_trait>(
            &'this self,
            url: &'url str,
            decision: platforms::conformance::network::Decision,
        ) -> futures::future::BoxFuture<'async_trait, url::Url>
        where
            'this: 'async_trait,
            'url: 'async_trait,
            Self: 'async_trait,
        {
            let account = crate::fake::oauth::Authorizes::accounts(&*self.here)[0];
            Box::pin(crate::fake::oauth::decide(url, account, decision))
        }

        fn revoke(&self) {
            self.here.oauth().revoke_all();
        }

        fn end_access_tokens(&self) {
            crate::fake::oauth::Authorizes::end_access_tokens(&*self.here);
        }

        fn grants(&self) -> usize {
            self.here.oauth().usable()
        }
    };
}

pub(crate) use {network, oauth_network};

/// A file of a public post whose type only its bytes tell.
pub(crate) fn medium(bytes: Vec<u8>, alt_text: Option<String>) -> PublicMedium {
    let mime_type = MimeType::sniff(&bytes).expect("the service sends files of its own types");
    PublicMedium { mime_type, bytes, alt_text }
}
