//! Behavior specific to Matrix.

mod connecting;
mod files;
mod messages;
mod oauth;

use fakes::matrix::Matrix;

use crate::prelude::*;

fn typed(user: &str, password: &str, homeserver: &str) -> FieldValues {
    [("user", user), ("password", password), ("homeserver", homeserver)]
        .map(|(name, it)| (name.to_owned(), it.into()))
        .into()
}
