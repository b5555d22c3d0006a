//! What the functions that speak HTTP share: who calls, how often, JSON in,
//! errors out, and the frame of the pages.
//!
//! A handler's arguments run in the order of the refusals: the caller (429,
//! 401, 403), then ids in the path (404), then, in its body, the resource
//! (404) and at last what was sent ([`Incoming`]: 413, 415, 400, 422).

mod caller;
mod cors;
mod environment;
mod error;
mod fields;
mod gate;
mod incoming;
pub mod lambda;
mod limit;
pub mod need;
pub mod openapi;
pub mod page;
mod params;
mod path;
mod routes;
pub mod session;

use chrono::TimeDelta;
use domain::clock::Clock;
use domain::id::Ids;
use storage::Store;

#[doc(hidden)]
pub use utoipa_axum;

pub use caller::{Caller, Visitor};
pub use error::{ApiError, ApiResult, ErrorMessage, OAuthError, ValidationError};
pub use fields::{Fields, Given};
pub use gate::{RequestId, finish};
pub use incoming::Incoming;
pub use limit::{ClientIp, RateLimits};
pub use params::Params;
pub use path::{Id, PathId, Segments, path_id};
#[doc(hidden)]
pub use routes::described;
pub use session::SignedIn;

/// What every function that speaks HTTP has; its `App` gives it by `FromRef`.
#[derive(Clone, Debug)]
pub struct Api {
    /// The tables.
    pub store: Store,
    /// The time.
    pub clock: Clock,
    /// New ids.
    pub ids: Ids,
    /// Requests per minute.
    pub limits: RateLimits,
    /// Where the service is reached, without a slash at the end.
    pub origin: String,
    /// How long an access token lives after its last use.
    pub token_lifetime: TimeDelta,
    /// Origins whose scripts may call the API. None by default.
    pub allowed_origins: Vec<String>,
}

#[cfg(test)]
mod testing;
