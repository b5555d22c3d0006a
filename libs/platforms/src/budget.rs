//! What operators let each user spend, as they write it into a platform's settings.

use domain::budget::MilliDollars;
use serde::Deserialize;

/// The setting `budget` of a platform whose posts have a price.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// What the posts of a user may cost in a calendar month, in US cents.
    us_cents: u32,
}

impl Budget {
    /// As it is counted.
    pub(crate) fn limit(self) -> MilliDollars {
        MilliDollars::cents(self.us_cents)
    }
}
