//! Behavior specific to WordPress.

mod connecting;
mod files;
mod passwords;
mod posts;
mod troubles;

use fakes::wordpress::Wordpress;

use crate::prelude::*;

/// The site refuses the next `count` calls of this method whose path contains `path`.
fn refuse(
    harness: &AdapterHarness<Wordpress>,
    (method, path): (Method, &str),
    (status, code): (u16, &str),
    count: usize,
) {
    let message = "Sorry, you are not allowed to do that.";
    let body = json!({ "code": code, "message": message, "data": { "status": status } });
    harness.fake.faults().respond_with(method, path, status, body, count);
}
