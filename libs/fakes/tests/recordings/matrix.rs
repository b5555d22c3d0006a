use fakes::matrix::Matrix;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::FakePlatform;

use crate::{KnownDifferences, exchanges_with, hold};

const KNOWN: KnownDifferences = KnownDifferences {
    differences: &[
        ("GET /_matrix/client/v3/account/whoami", "/is_guest: unexpected", "optional, since v1.2"),
        ("GET /_matrix/client/v3/login", "/flows/*/identity_providers: unexpected", "of the flow `m.login.sso`"),
    ],
    unmet: &[
        ("error-login-flows.json", "the fake has all endpoints that the adapter calls"),
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
        let account = harness.connect().await;
        let post = harness.due(&account, "locked", Vec::new()).await;
        harness.fake.locks(true);
        harness.publish(&post).await.unwrap_err();
        harness.fake.locks(false);
        harness.fake.takes_no_passwords();
        harness.authorize(&harness.fake.form_values()).await.unwrap_err();
    };
    hold("matrix", &exchanges_with::<Matrix>(further).await, &KNOWN);
}
