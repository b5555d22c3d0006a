//! What a post costs whoever runs a deployment.

use serde::{Deserialize, Serialize};

use super::Unit;
use crate::budget::MilliDollars;

/// What a post to an account costs whoever runs the deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// A post whose text has no link.
    pub post: MilliDollars,
    /// One whose text has a link.
    pub with_link: MilliDollars,
    /// Whose idea of a link it is.
    pub links: Unit,
}

impl Price {
    /// What a post with this text costs.
    pub fn of(self, text: &str) -> MilliDollars {
        if self.links.has_links(text) { self.with_link } else { self.post }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_what_its_platform_takes_for_one() {
        let price = Price { post: MilliDollars::new(15), with_link: MilliDollars::cents(20), links: Unit::Weighted };
        for (words, cost) in [("Hello", 15), ("see https://a.de", 200), ("see example.com", 200), ("3.14", 15)] {
            assert_eq!(price.of(words).get(), cost, "{words}");
        }
    }
}
