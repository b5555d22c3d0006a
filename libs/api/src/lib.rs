//! What the functions that serve HTTP share: callers, rate limits, JSON requests and responses,
//! errors, and the layout of pages.
//!
//! The arguments of a handler are in the order in which a request is denied: the caller (429, 401,
//! 403), then ids in the path (404). The handler then reads the resource (404), checks `If-Match`
//! (412), and parses the body last ([`RequestBody`]: 413, 415, 400, 422).

mod caller;
mod common_layers;
mod config;
mod cors;
mod error;
mod fields;
mod guest;
mod json;
pub mod lambda;
mod limit;
mod middleware;
pub mod openapi;
pub mod page;
mod paging;
mod params;
mod path;
mod profile_filter;
mod proxy;
mod request_body;
mod request_permits;
mod routes;
pub mod scope_guard;
pub mod session;

use domain::access_token::TokenLifetime;
use domain::clock::Clock;
use domain::id::Ids;
use domain::random::Random;
use storage::Store;

#[doc(hidden)]
pub use utoipa_axum;

pub use caller::{Caller, HeldToken, Visitor};
pub use common_layers::{CommonLayers, RequestId};
pub use config::parse_origin;
pub use contract::ErrorBody;
pub use error::{ApiError, ApiResult};
pub use fields::{FieldValue, Fields};
pub use guest::{GuestCookie, RequestedLink};
pub use limit::{ClientIp, RateLimits};
pub use middleware::finish;
pub use paging::Paging;
pub use params::Params;
pub use path::{Id, PathId, Segments, path_id};
pub use profile_filter::profile_filter;
pub use proxy::TrustedProxy;
pub use request_body::RequestBody;
pub use request_permits::PermitError;
#[doc(hidden)]
pub use routes::described;
pub use session::SignedIn;

/// The `App` of a function provides it through `FromRef`.
#[derive(Clone, Debug)]
pub struct Api {
    pub store: Store,
    pub clock: Clock,
    pub random: Random,
    pub ids: Ids,
    pub limits: RateLimits,
    /// Without a trailing slash.
    pub origin: String,
    pub token_lifetime: TokenLifetime,
    /// None by default. Scripts of these origins may call the API.
    pub allowed_origins: Vec<String>,
    /// Proxies whose header with the client address is trusted: one in front of the service, and
    /// the function `mcp`.
    pub proxies: Vec<TrustedProxy>,
}

#[cfg(any(test, feature = "testing"))]
pub mod testing;
