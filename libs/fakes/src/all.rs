//! The list of all fakes, one per platform.

use std::sync::Arc;

use domain::clock::Clock;

use crate::conformance::fake_platform::FakePlatform;

/// Starts all fakes with this clock.
pub async fn start_all(clock: &Clock) -> Vec<Arc<dyn FakePlatform>> {
    vec![
        start::<crate::bluesky::Bluesky>(clock).await,
        start::<crate::discord::Discord>(clock).await,
        start::<crate::facebook::Facebook>(clock).await,
        start::<crate::ghost::Ghost>(clock).await,
        start::<crate::google_business::GoogleBusiness<true>>(clock).await,
        start::<crate::instagram::Instagram>(clock).await,
        start::<crate::linkedin::LinkedIn>(clock).await,
        start::<crate::mastodon::Server>(clock).await,
        start::<crate::matrix::Matrix>(clock).await,
        start::<crate::pinterest::Pinterest>(clock).await,
        start::<crate::slack::Slack>(clock).await,
        start::<crate::telegram::Telegram>(clock).await,
        start::<crate::threads::Threads>(clock).await,
        start::<crate::tiktok::TikTok<true>>(clock).await,
        start::<crate::wordpress::Wordpress>(clock).await,
        start::<crate::x::X>(clock).await,
        start::<crate::youtube::Youtube>(clock).await,
    ]
}

async fn start<F: FakePlatform + 'static>(clock: &Clock) -> Arc<dyn FakePlatform> {
    Arc::new(F::start(clock.clone()).await)
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
