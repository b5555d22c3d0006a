mod connection;
mod platform;
mod rule;

pub(crate) use self::connection::{connection_view, details_view};
pub(crate) use self::platform::platform_view;
