//! The form shows each option with what its kind needs.

#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

use domain::options::{OptionKind, OptionSpec};
use domain::testing::{a_connection, a_post, a_user, noon};

use super::*;

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("board", OptionKind::Choice { max: 20 }, "The board of the post.").required(),
    OptionSpec::new("title", OptionKind::Text { max: 20 }, "The title of the post."),
];

fn render(connection: &Connection, post: Option<&Post>) -> String {
    let zone = TimeZone::utc();
    let entries = post.map(|it| Entries::from_post(it, &zone)).unwrap_or_default();
    let vocabulary = PlatformOptions::new([("sandbox", OPTIONS)]);
    let context = Context {
        csrf: "",
        key: String::new(),
        links: BTreeMap::new(),
        connections: std::slice::from_ref(connection),
        vocabulary: &vocabulary,
        zone,
        now: noon(),
    };
    ComposerPage::new(&context, post, None, &entries, &Report::default()).render().unwrap()
}

#[test]
fn option_with_listed_values_is_a_text_field_with_a_link_to_them() {
    let connection = a_connection(&a_user());
    let id = connection.connection_id;

    let html = render(&connection, None);

    assert!(
        html.contains(&format!("<input id=\"to.{id}.options.board\" name=\"to.{id}.options.board\" type=\"text\""))
    );
    let link = format!("<a href=\"/account/connections/{id}/choices/board\" target=\"_blank\" rel=\"noopener\"");
    assert!(html.contains(&link), "{html}");
    assert!(html.contains(&format!("data-field=\"to.{id}.options.board\" data-first=\"Choose\"")), "{html}");
    assert_eq!(html.matches("Show the values</a>").count(), 1, "{html}");
}

#[test]
fn post_that_cannot_be_changed_has_no_link_to_values() {
    let user = a_user();
    let connection = a_connection(&user);
    let mut post = a_post(&user, Some(noon()), std::slice::from_ref(&connection));
    post.status = PostStatus::Publishing;

    let html = render(&connection, Some(&post));

    assert!(html.contains(&format!("id=\"to.{}.options.board\"", connection.connection_id)), "{html}");
    assert!(!html.contains("Show the values"), "{html}");
}
