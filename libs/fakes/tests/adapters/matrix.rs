//! Behavior specific to Matrix.

mod connecting;
mod files;
mod messages;
mod oauth;

use fakes::matrix::Matrix;

use crate::prelude::*;

async fn harness() -> (AdapterHarness<Matrix>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

fn typed(user: &str, password: &str, homeserver: &str) -> FieldValues {
    [("user", user), ("password", password), ("homeserver", homeserver)]
        .map(|(name, it)| (name.to_owned(), it.into()))
        .into()
}

async fn connect_with<const OAUTH: bool>(harness: &AdapterHarness<Matrix<OAUTH>>, values: &FieldValues) -> Account {
    let (step, _) = harness.authorize(values).await.unwrap();
    let AuthorizeStep::Accounts(mut accounts) = step else { panic!("{step:?}") };
    accounts.remove(0)
}

async fn connect_error<const OAUTH: bool>(
    harness: &AdapterHarness<Matrix<OAUTH>>,
    values: &FieldValues,
) -> (&'static str, String) {
    let refusal = harness.authorize(values).await.map(|it| it.0).unwrap_err();
    let ConnectError::Field { name, message } = refusal else { panic!("{refusal:?}") };
    (name, message)
}
