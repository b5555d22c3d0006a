//! Connected accounts: their credentials are opened for a call, refreshed before they expire, and
//! revoked.

mod credentials;
mod error;
mod revoke;

pub use credentials::{CallCredentials, CredentialService, OpenCredentials, StoredCredentials};
pub use error::ConnectingError;
pub use revoke::revoke_grant;
