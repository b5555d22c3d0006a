use networks::matrix::Matrix;
use platforms::conformance::network::Network;
use platforms::conformance::stage::Stage;

use crate::{Known, exchanges_with, hold};

const KNOWN: Known = Known {
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
        let stage = Stage::<Matrix>::new().await;
        stage.authorize(&stage.fake.form_values_naming_server().unwrap()).await.unwrap_err();
        let mut typed = stage.fake.form_values();
        typed.insert("password".to_owned(), stage.fake.own_token().into());
        stage.authorize(&typed).await.unwrap();
        let account = stage.connect().await;
        let post = stage.due(&account, "locked", Vec::new()).await;
        stage.fake.locks(true);
        stage.publish(&post).await.unwrap_err();
        stage.fake.locks(false);
        stage.fake.takes_no_passwords();
        stage.authorize(&stage.fake.form_values()).await.unwrap_err();
    };
    hold("matrix", &exchanges_with::<Matrix>(further).await, &KNOWN);
}
