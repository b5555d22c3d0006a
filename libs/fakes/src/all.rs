//! The list of all fakes, one per platform.

use std::sync::Arc;

use domain::clock::Clock;
use platforms::conformance::fake_platform::FakePlatform;

use crate::bluesky::Bluesky;
use crate::discord::Discord;
use crate::facebook::Facebook;
use crate::ghost::Ghost;
use crate::google_business::GoogleBusiness;
use crate::instagram::Instagram;
use crate::linkedin::LinkedIn;
use crate::mastodon;
use crate::matrix::Matrix;
use crate::pinterest::Pinterest;
use crate::slack::Slack;
use crate::telegram::Telegram;
use crate::threads::Threads;
use crate::tiktok::TikTok;
use crate::wordpress::Wordpress;
use crate::x::X;
use crate::youtube::Youtube;

/// Starts all fakes with this clock.
pub async fn start_all(clock: &Clock) -> Vec<Arc<dyn FakePlatform>> {
    vec![
        Arc::new(Bluesky::start(clock.clone()).await),
        Arc::new(<Discord>::start(clock.clone()).await),
        Arc::new(<Facebook>::start(clock.clone()).await),
        Arc::new(Ghost::start(clock.clone()).await),
        Arc::new(GoogleBusiness::<true>::start(clock.clone()).await),
        Arc::new(<Instagram>::start(clock.clone()).await),
        Arc::new(<LinkedIn>::start(clock.clone()).await),
        Arc::new(<mastodon::Server>::start(clock.clone()).await),
        Arc::new(<Matrix>::start(clock.clone()).await),
        Arc::new(Pinterest::start(clock.clone()).await),
        Arc::new(<Slack>::start(clock.clone()).await),
        Arc::new(Telegram::start(clock.clone()).await),
        Arc::new(Threads::start(clock.clone()).await),
        Arc::new(TikTok::<true>::start(clock.clone()).await),
        Arc::new(<Wordpress>::start(clock.clone()).await),
        Arc::new(X::start(clock.clone()).await),
        Arc::new(Youtube::start(clock.clone()).await),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_registered_platform_except_sandbox_has_a_fake() {
        let all = start_all(&Clock::System).await;
        let faked: Vec<_> = all.iter().map(|it| it.name()).collect();
        let registered: Vec<_> =
            platforms::platform_infos().iter().map(|it| it.name).filter(|it| *it != "sandbox").collect();
        assert_eq!(faked, registered, "each platform of the registry, in its order");
    }
}
