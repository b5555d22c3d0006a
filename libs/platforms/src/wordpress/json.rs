//! The JSON of real sites. A file that was saved with a byte-order mark, PHP that shows notices and
//! plugins that cache pages all print something around it.

use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// JSON after one of these is part of a page for people. PHP prints only `<br />` and `<b>`.
const OF_A_PAGE: [&str; 5] = ["<!doctype", "<html", "<head", "<body", "<script"];

/// Each try costs a parse of the rest.
const MAX_TRIES: usize = 16;

/// The first object or list of a response; empty if the response is a page for people or is cut
/// off.
pub(super) fn find_json(body: &[u8]) -> &[u8] {
    let page_at = OF_A_PAGE.iter().filter_map(|it| find(body, it)).min().unwrap_or(body.len());
    let starts = (0..page_at).filter(|at| may_start_json(&body[*at..])).take(MAX_TRIES);
    for start in starts {
        let rest = &body[start..];
        let mut values = Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => return &rest[..values.byte_offset()],
            // The bracket was part of other text.
            Some(Err(error)) if error.is_syntax() => {}
            Some(Err(_)) | None => break,
        }
    }
    &[]
}

/// Whether an object with fields or a list of objects may begin here. Notices have other brackets:
/// `#[\ReturnTypeWillChange]`, `[24-Nov-2026 07:00:00 UTC]`.
fn may_start_json(rest: &[u8]) -> bool {
    let is_followed_by = |next: &[u8]| rest[1..].trim_ascii_start().first().is_some_and(|it| next.contains(it));
    match rest.first() {
        Some(b'{') => is_followed_by(b"\"}"),
        Some(b'[') => is_followed_by(b"{]"),
        _ => false,
    }
}

fn find(body: &[u8], ascii: &str) -> Option<usize> {
    body.windows(ascii.len()).position(|it| it.eq_ignore_ascii_case(ascii.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(body: &str) -> &str {
        std::str::from_utf8(find_json(body.as_bytes())).unwrap()
    }

    #[test]
    fn json_is_found_inside_other_output() {
        for (body, json) in [
            ("{\"id\":7}", "{\"id\":7}"),
            ("\u{feff} \r\n[ {\"id\":7}]\n", "[ {\"id\":7}]"),
            ("[]", "[]"),
            ("{}<!-- Cached {\"by\":[]} -->", "{}"),
            (
                "<br />\n<b>Notice</b>: array [0] {x}, #[\\ReturnTypeWillChange] on line <b>3</b>\n{\"id\":[1]}",
                "{\"id\":[1]}",
            ),
        ] {
            assert_eq!(within(body), json, "{body}");
        }
    }

    #[test]
    fn page_and_cut_off_response_have_no_json() {
        for body in [
            "",
            "Not found",
            "<!DOCTYPE html><html><script>var it = {\"id\":7};</script>",
            "\n<!-- blocked --><HTML lang=en>{\"id\":7}",
            // The inner object is not the response.
            "[{\"id\":7},{\"id\":",
            "{\"code\":\"x\",\"data\":{\"status\":400}",
        ] {
            assert_eq!(within(body), "", "{body}");
        }
    }

    #[test]
    fn number_of_tried_brackets_is_bounded() {
        let behind = |count: usize| format!("{}{{\"id\":7}}", "{\"a\" x".repeat(count));
        assert_eq!(within(&behind(MAX_TRIES - 1)), "{\"id\":7}");
        assert_eq!(within(&behind(MAX_TRIES)), "");
    }
}
