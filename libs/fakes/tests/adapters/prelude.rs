//! What the tests of most platforms need.

pub(crate) use chrono::TimeDelta;
pub(crate) use domain::delivery::{AttemptError, Published, Resolution};
pub(crate) use domain::media::{AltText, Facts, MimeType, Pixels};
pub(crate) use domain::options::{OptionValue, Options};
pub(crate) use fakes::conformance::adapter_harness::{AdapterHarness, Post, callback_at};
pub(crate) use fakes::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault};
pub(crate) use fakes::conformance::options::{list, options, text};
pub(crate) use fakes::conformance::samples::{Sample, sample, sample_with_size};
pub(crate) use http::Method;
pub(crate) use platforms::{Account, AuthorizeStep, ConnectError, FieldValues, RefreshError, Step};
pub(crate) use serde_json::{Value, json};
