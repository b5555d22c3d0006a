use serde::{Deserialize, Serialize};

use super::Unit;
use crate::budget::MilliDollars;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    pub post: MilliDollars,
    pub with_link: MilliDollars,
    /// The unit whose definition of a link applies.
    pub links: Unit,
}

impl Price {
    pub fn for_text(self, text: &str) -> MilliDollars {
        if self.links.has_links(text) { self.with_link } else { self.post }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn price_uses_the_platforms_definition_of_a_link() {
        let price = Price { post: MilliDollars::new(15), with_link: MilliDollars::cents(20), links: Unit::Weighted };
        for (text, cost) in [("Hello", 15), ("see https://a.de", 200), ("see example.com", 200), ("3.14", 15)] {
            assert_eq!(price.for_text(text).get(), cost, "{text}");
        }
    }
}
