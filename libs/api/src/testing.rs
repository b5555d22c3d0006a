use domain::access_token::TokenLifetime;
use domain::clock::Clock;
use domain::id::Ids;
use domain::random::Random;
use domain::testing::noon;
use storage::Store;

use crate::{Api, RateLimits};

/// On an empty store, at noon.
pub async fn api() -> Api {
    api_on(storage::testing::store().await, Clock::manual(noon()))
}

pub fn api_on(store: Store, clock: Clock) -> Api {
    Api {
        store,
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
