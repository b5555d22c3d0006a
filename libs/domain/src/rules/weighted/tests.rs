use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::rules::Counting;

fn weighted_length(text: &str) -> u64 {
    Counting::weighted().length(text)
}

fn links(text: &str) -> Vec<&str> {
    addresses(text).into_iter().map(|it| &text[it]).collect()
}

/// Expected values: twitter-text 3.1.0.
#[test]
fn letters_and_emoji_have_their_weights() {
    for (text, weight) in [
        ("", 0),
        ("Hello, world! 👋", 16),
        ("Größe, Ελλάδα, Привет", 21),
        ("שלום مرحبا हिन्दी ไทย", 21),
        ("日本語", 6),
        ("한국어", 6),
        ("\u{1112}\u{1161}\u{11ab}", 2),
        ("አማርኛ", 8),
        ("e\u{301}a\u{308}", 2),
        ("か\u{3099}", 2),
        ("A\u{fb2c}", 4),
        ("“quoted” – ‘and’ — dashed", 25),
        ("…•€™", 8),
        ("\u{2003}\u{200d}", 2),
        ("😷👾😡🔥💩", 10),
        ("👨\u{200d}👩\u{200d}👧\u{200d}👦", 2),
        ("🙋🏽👨\u{200d}🎤", 4),
        ("🇮🇹🇯🇵", 4),
        ("1\u{fe0f}\u{20e3}#\u{20e3}", 4),
        ("❤\u{fe0f}❤☺", 6),
        ("©®", 2),
        ("©\u{fe0f}", 2),
        ("⌚\u{fe0e}", 4),
        ("🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}", 2),
        ("🏳\u{fe0f}\u{200d}🌈", 2),
        ("H🐱☺👨\u{200d}👩\u{200d}👧\u{200d}👦", 7),
    ] {
        assert_eq!(weighted_length(text), weight, "{text}");
    }
}

/// Expected values: twitter-text 3.1.0.
#[test]
fn each_link_counts_23() {
    for (text, weight) in [
        ("http://a.de", 23),
        ("See http://a.de", 27),
        ("see example.com for more", 36),
        ("example.com and example.org/a?b=c", 51),
        ("node.js is no link", 18),
        ("日本語のhttps://example.jp/ページ", 37),
        ("me@example.com", 14),
        ("ＨＴＴＰ", 8),
    ] {
        assert_eq!(weighted_length(text), weight, "{text}");
    }
    let long = format!("https://example.com/{}", "a".repeat(300));
    assert_eq!(weighted_length(&format!("{long} {long}")), 47);
    let longest = |length: usize| format!("https://example.com/{}", "a".repeat(length - 28));
    assert_eq!(weighted_length(&longest(4096)), 23);
    assert_eq!(weighted_length(&longest(4097)), 4097 - 8);
}

/// Expected values: twitter-text 3.1.0.
#[test]
fn link_has_a_known_top_level_and_ends_before_other_scripts() {
    for text in [
        "http://ああ.com",
        "HTTPS://EXAMPLE.COM/A",
        "http://☃.net/",
        "https://sub_domain-dash.example.com",
        "http://a.b.cd",
        "http://example.com:3000",
        "http://example.com/#search?q=a%20-b",
        "http://example.com/,.;x",
        "http://example.com/wiki/Primer_(film)",
        "http://example.com/wiki/A_(b_(c))",
        "http://example.com?#foo",
        "https://example.com/Hatfield–McCoy",
        "http://example.com/Русские_слова",
        "http://example.com/playlist?list=PL0Z-",
        "http://t.co/abcDEF123",
        "example.co.uk",
        "ELPAÍS.com",
        "xn--e1afmkfd.xn--p1ai",
    ] {
        assert_eq!(links(text), [text]);
        assert_eq!(links(&format!("see {text} and ({text}), {text}.")), [text, text, text]);
    }
    for text in [
        "http://no-top-level",
        "http://unknown.top-level",
        "http://example.x",
        "http://example.com-where-a-space-is-missing",
        "http://-leading.example.com",
        "http://trailing-.example.com",
        "http://example._com.com",
        "http://under_score.com",
        "http://xn--はじめよう.com/index.html",
        "#example.com @example.com #http://example.com @http://example.com $example.com",
        "john.doe.jp@example.com",
        "tar.bz2 test.tar.bz2",
        "foo.comm foo.govedu",
        "http://t.co/abcdefghijklmnopqrstuvwxyz012345678901234",
        "a.example",
        "",
        ".",
        "..com",
    ] {
        assert_eq!(links(text), Vec::<&str>::new(), "{text}");
    }
}

/// Expected values: twitter-text 3.1.0.
#[test]
fn adjacent_text_without_spaces_is_not_part_of_a_link() {
    for (text, found) in [
        ("example.comこれは。example.jp中国語t.co/a한국", &["example.com", "example.jp", "t.co/a"][..]),
        ("http://example.comだよね.comtest/a", &["http://example.com"]),
        ("http://example.com/これexample.jp中http://t.co/a", &["http://example.com/", "example.jp", "http://t.co/a"]),
        ("example.みんなです", &["example.みんな"]),
        ("日本example.com", &["example.com"]),
        ("sub_domain.example.com", &["domain.example.com"]),
        ("http://example.com/path.....", &["http://example.com/path"]),
        ("http://example.com/a~(b)", &["http://example.com/a"]),
        ("http://t.co/pbY2NfTZ's", &["http://t.co/pbY2NfTZ"]),
        ("example.com?a=b", &["example.com"]),
        ("éexample.com", &["example.com"]),
        ("name.al-lastname.com", &["name.al-lastname.com"]),
        ("\u{202a}example.com\u{202c}", &["example.com"]),
        ("\"example.com\"", &["example.com"]),
    ] {
        assert_eq!(links(text), found, "{text}");
    }
    let label = |letters: usize| format!("http://{}.com", "あ".repeat(letters));
    assert_eq!((links(&label(52)).len(), links(&label(80)).len()), (1, 0), "what is too long for a server");
    let label = |letters: usize| format!("{}.com", "a".repeat(letters));
    assert_eq!((links(&label(63)).len(), links(&label(64)).len()), (1, 0));
}

#[test]
fn counting_the_longest_text_is_fast() {
    let parts =
        ["a.", "_.", "a.com中", "中.", "http://a.com/(", "a.com/((", "t.co?a", "xn--a.", "👨\u{200d}", "🏴\u{e0067}"];
    for part in parts.into_iter().chain(["🇮", "1\u{fe0f}", "\u{301}", "https://a.com "]) {
        let text: String = part.chars().cycle().take(65_000).collect();
        let started = Instant::now();
        weighted_length(&text);
        Counting::emoji_bytes().length(&text);
        assert!(started.elapsed() < Duration::from_secs(10), "{part}: {:?}", started.elapsed());
    }
}

proptest! {
    #[test]
    fn links_of_any_text_are_in_order(
        text in "(\\PC|https?://|\\.|/|\\?|:|-|_|@|a|com|t\\.co|jp|みんな|中|é|xn--|[()]|\u{3000}| |👨\u{200d}|\u{fe0f}){0,40}"
    ) {
        let mut end = 0;
        for link in addresses(&text) {
            prop_assert!(end <= link.start && link.start < link.end);
            end = link.end;
            prop_assert!(text[link].contains('.'));
        }
    }

    #[test]
    fn each_character_outside_links_counts_1_or_2(text in "[^.]{0,60}") {
        let (length, letters) = (weighted_length(&text), normalized(&text).chars().count() as u64);
        prop_assert!(length <= 2 * letters);
        prop_assert!((length == 0) == text.is_empty());
    }

    #[test]
    fn normalization_form_does_not_change_the_length(text in "(\\PC|[a-zà-ü]\u{301}|\u{1100}\u{1161}|か\u{3099}){0,20}") {
        prop_assert_eq!(weighted_length(&text), weighted_length(&normalized(&text)));
    }
}
