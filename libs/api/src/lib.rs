//! What the functions that speak HTTP share: who calls, how often, JSON in,
//! errors out, and the frame of the pages.
//!
//! A handler's arguments are in the order in which a request is refused: the
//! caller (429, 401, 403), then ids in the path (404). The handler itself then
//! looks for the resource (404), checks `If-Match` (412), and reads what was
//! sent at last ([`RequestBody`]: 413, 415, 400, 422).

mod caller;
mod common_layers;
mod cors;
mod environment;
mod error;
mod fields;
mod json;
pub mod lambda;
mod limit;
mod middleware;
pub mod openapi;
pub mod page;
mod params;
mod path;
mod permits;
mod proxy;
mod request_body;
mod routes;
pub mod scope_guard;
pub mod session;

use domain::access_token::TokenLifetime;
use domain::clock::Clock;
use domain::id::Ids;
use storage::Store;

#[doc(hidden)]
pub use utoipa_axum;

pub use caller::{Caller, HeldToken, Visitor};
pub use common_layers::{FrontConfig, RequestId};
pub use error::{ApiError, ApiResult, ErrorBody};
pub use fields::{FieldValue, Fields};
pub use limit::{ClientIp, RateLimits};
pub use middleware::finish;
pub use params::Params;
pub use path::{Id, PathId, Segments, path_id};
pub use permits::NoPermit;
pub use proxy::TrustedProxy;
pub use request_body::RequestBody;
#[doc(hidden)]
pub use routes::described;
pub use session::SignedIn;

/// What every function that speaks HTTP has. Its `App` provides it through
/// `FromRef`.
#[derive(Clone, Debug)]
pub struct Api {
    /// The tables.
    pub store: Store,
    /// The source of the time.
    pub clock: Clock,
    /// The source of new ids.
    pub ids: Ids,
    /// How many requests a minute allows, and how many calls may run at a time.
    pub limits: RateLimits,
    /// The URL of the service, without a slash at the end.
    pub origin: String,
    /// How long access tokens are valid.
    pub token_lifetime: TokenLifetime,
    /// Origins whose scripts may call the API. None by default.
    pub allowed_origins: Vec<String>,
    /// Proxies that are believed about the address of a client: one in front of the
    /// service, and the function `mcp`.
    pub proxies: Vec<TrustedProxy>,
}

#[cfg(test)]
mod testing;
