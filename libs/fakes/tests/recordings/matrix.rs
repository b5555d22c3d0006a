use fakes::conformance::adapter_harness::AdapterHarness;
use fakes::conformance::fake_platform::{FakePlatform, start_fake};
use fakes::matrix::Matrix;

use crate::{KnownDifferences, exchanges_with, hold};

const KNOWN: KnownDifferences = KnownDifferences {
    differences: &[],
    unmet: &[
        ("error-locked.json", "the fake locks nobody"),
        ("error-login-type.json", "the fake refuses passwords only with OAuth 2.0"),
        ("error-suspended.json", "the fake suspends nobody"),
    ],
};

#[tokio::test]
async fn matrix_answers_as_recorded() {
    let further = async {
        let harness = AdapterHarness::<Matrix>::new().await;
        harness.authorize(&harness.fake.form_values_naming_server().unwrap()).await.unwrap_err();
        let mut typed = harness.fake.form_values();
        typed.insert("password".to_owned(), harness.fake.own_token().into());
        harness.authorize(&typed).await.unwrap();
    };
    hold("matrix", &exchanges_with(start_fake::<Matrix>, further).await, &KNOWN);
}
