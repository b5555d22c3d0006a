//! What every fake with an OAuth app answers to the conformance suite in the same way.

/// Methods of [`Network`](platforms::conformance::network::Network) for a fake with the fields `here` (with `oauth()` and
/// `memory()`), `app` and `address`, at which users type nothing before the platform's own page.
macro_rules! oauth_network {
    () => {
        fn addresses(&self) -> Vec<std::net::SocketAddr> {
            vec![self.address]
        }

        fn app(&self) -> Option<platforms::AppCredentials> {
            Some(platforms::AppCredentials::new(&self.app.client_id, &self.app.client_secret))
        }

        fn permit(&self, redirect_uri: &str) {
            self.here.oauth().permit(redirect_uri);
        }

        fn answers(&self) -> platforms::Answers {
            platforms::Answers::new()
        }

        fn trouble(&self, call: Call, trouble: Trouble, count: usize) {
            self.here.memory().troubles.order(call, trouble, count);
        }

        fn revoke(&self) {
            self.here.oauth().revoke_all();
        }

        fn grants(&self) -> usize {
            self.here.oauth().usable()
        }

        fn calls(&self, call: Call) -> usize {
            self.here.memory().troubles.calls(call)
        }
    };
}

pub(crate) use oauth_network;
