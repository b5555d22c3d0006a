use fakes::conformance::fake_platform::start_fake;
use fakes::wordpress::Wordpress;

use crate::{KnownDifferences, exchanges_with, hold};

const KNOWN: KnownDifferences = KnownDifferences { differences: &[], unmet: &[] };

#[tokio::test]
async fn wordpress_answers_as_recorded() {
    hold("wordpress", &exchanges_with(start_fake::<Wordpress<false>>, async {}).await, &KNOWN);
}
