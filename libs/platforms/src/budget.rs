//! The setting `budget`: what each user may spend on a platform with paid calls.

use domain::budget::MilliDollars;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// Limit per user and calendar month, in US cents.
    us_cents: u32,
}

impl Budget {
    pub(crate) fn limit(self) -> MilliDollars {
        MilliDollars::cents(self.us_cents)
    }
}
