//! What the tests of most platforms need.

use std::fmt::Debug;

pub(crate) use chrono::{DateTime, TimeDelta, Utc};
pub(crate) use domain::delivery::{AttemptError, Published, Resolution};
pub(crate) use domain::media::{AltText, Facts, MimeType, Pixels};
pub(crate) use domain::options::Options;
pub(crate) use fakes::conformance::adapter_harness::{AdapterHarness, Post, callback_at};
pub(crate) use fakes::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault};
pub(crate) use fakes::conformance::options::options;
pub(crate) use fakes::conformance::samples::{Sample, sample, sample_with_size};
pub(crate) use http::Method;
use platforms::AccountDetails;
pub(crate) use platforms::{Account, AuthorizeStep, Callback, ConnectError, FieldValues, RefreshError, Step};
pub(crate) use serde_json::{Value, json};

/// Like the macro of the standard library, which is unstable. The last argument is the context of a failure.
macro_rules! assert_matches {
    ($value:expr, $pattern:pat $(if $guard:expr)? $(,)?) => {
        assert_matches!($value, $pattern $(if $guard)?, "no match")
    };
    ($value:expr, $pattern:pat $(if $guard:expr)?, $($context:tt)+) => {
        match $value {
            $pattern $(if $guard)? => {}
            other => panic!("{}: {other:?}", format_args!($($context)+)),
        }
    };
}
pub(crate) use assert_matches;

/// A harness with an account that was connected on the platform's page.
pub(crate) async fn connected<N: FakePlatform>() -> (AdapterHarness<N>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

/// Checks that a post is refused for a reason that contains `part`.
#[track_caller]
pub(crate) fn assert_refused<T: Debug>(result: Result<T, AttemptError>, part: &str) {
    assert_matches!(result, Err(AttemptError::Refused { reason }) if reason.contains(part), "{part}");
}

/// The URL of the authorization page to which these values lead, and the callback without its query.
pub(crate) async fn page_for<N: FakePlatform>(harness: &AdapterHarness<N>, values: &FieldValues) -> (String, Callback) {
    match harness.authorize(values).await.unwrap() {
        (AuthorizeStep::Redirect { url, .. }, callback) => (url, callback),
        other => panic!("{other:?}"),
    }
}

/// The account that these values connect without an authorization page.
pub(crate) async fn account_for<N: FakePlatform>(harness: &AdapterHarness<N>, values: &FieldValues) -> Account {
    match harness.authorize(values).await.unwrap() {
        (AuthorizeStep::Accounts(mut accounts), _) => accounts.remove(0),
        other => panic!("{other:?}"),
    }
}

/// The field that an error is about, and the message.
pub(crate) async fn field_error<N: FakePlatform>(
    harness: &AdapterHarness<N>,
    values: &FieldValues,
) -> (&'static str, String) {
    match harness.authorize(values).await {
        Err(ConnectError::Field { name, message }) => (name, message),
        other => panic!("{other:?}"),
    }
}

/// Takes a step of the preparation that is not the last one, without waiting for the next one.
pub(crate) async fn take_step<N: FakePlatform>(harness: &AdapterHarness<N>, post: &mut Post<'_>) {
    match harness.prepare(post).await.unwrap() {
        Step::Again { progress, .. } => post.progress = Some(progress),
        last => panic!("{last:?}"),
    }
}

/// Publishes a text without files.
pub(crate) async fn publish_text<N: FakePlatform>(
    harness: &AdapterHarness<N>,
    account: &Account,
    text: &str,
) -> Published {
    harness.deliver(&mut harness.post(account, text, Vec::new())).await.unwrap().published
}

/// A post that was due, and whose publish call had this fault; and the start of the call.
pub(crate) async fn lost_post<'a, N: FakePlatform>(
    harness: &AdapterHarness<N>,
    account: &'a Account,
    text: &str,
    media: Vec<Sample>,
    fault: InjectedFault,
) -> (Post<'a>, DateTime<Utc>) {
    let post = harness.due(account, text, media).await;
    let called_at = harness.lose_outcome(&post, fault).await;
    (post, called_at)
}

/// The platform's current state of an account.
pub(crate) async fn details<N: FakePlatform>(
    harness: &AdapterHarness<N>,
    account: &Account,
) -> Result<Option<AccountDetails>, AttemptError> {
    harness.connector().account_details(&account.profile, &account.credentials, harness.clock.now()).await
}

/// The result of a connect flow in which the user approves.
pub(crate) async fn connect_all<N: FakePlatform>(harness: &AdapterHarness<N>) -> Result<Vec<Account>, ConnectError> {
    harness.complete(&harness.callback_after(Decision::Allow).await).await
}

pub(crate) fn described(mime_type: MimeType, number: u8, alt_text: &str) -> Sample {
    let mut file = sample(mime_type, number);
    file.attachment.alt_text = Some(AltText::parse(alt_text).unwrap());
    file
}

pub(crate) fn with_pixels(mut file: Sample, width: u32, height: u32) -> Sample {
    file.attachment.facts = Some(Facts { pixels: Pixels::new(width, height), ..Facts::default() });
    file
}

/// Checks an outcome by its name and its reason.
#[track_caller]
pub(crate) fn assert_is(outcome: impl Debug, name: &str, reason: &str) {
    let outcome = format!("{outcome:?}");
    assert!(outcome.starts_with(name) && outcome.contains(reason), "not {name}, {reason}: {outcome}");
}
