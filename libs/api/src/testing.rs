use domain::access_token::TokenLifetime;
use domain::clock::Clock;
use domain::id::Ids;
use domain::random::Random;
use domain::testing::noon;

use crate::{Api, RateLimits};

/// An API on an empty store, at noon.
pub(crate) async fn api() -> Api {
    let clock = Clock::manual(noon());
    Api {
        store: storage::testing::store().await,
        ids: Ids::new(clock.clone(), Random::Os),
        clock,
        random: Random::Os,
        limits: RateLimits::default(),
        origin: "https://social.example".to_owned(),
        token_lifetime: TokenLifetime::default(),
        allowed_origins: Vec::new(),
        proxies: Vec::new(),
    }
}
