//! Facets: the parts of a text that are links, mentions or tags. Readers see plain
//! text where there is no facet.
//!
//! Facts: offsets are bytes of UTF-8, end exclusive, and do not overlap. What
//! is found is what the official client finds: links with a scheme, and domains
//! of a known top level without one; `@` and a handle; `#` and a word that is
//! not only digits, up to 64 graphemes and 640 bytes.

mod link;
mod mention;
mod punctuation;
mod tag;
mod top_level;

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Value, json};

use super::names::{Did, Handle};

/// A part of a text that leads somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facet {
    /// In bytes.
    pub(super) range: Range<usize>,
    pub(super) leads_to: LeadsTo,
}

/// Where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeadsTo {
    /// A page, with its scheme.
    Link(String),
    /// Somebody.
    Mention(Handle),
    /// Posts with the same tag, which is without its `#`.
    Tag(String),
}

/// All of them, first to last, none within another.
pub(super) fn find(text: &str) -> Vec<Facet> {
    let mut found: Vec<Facet> = link::find(text).chain(mention::find(text)).chain(tag::find(text)).collect();
    found.sort_by_key(|it| it.range.start);
    let mut end = 0;
    found.retain(|it| {
        let apart = end <= it.range.start;
        if apart {
            end = it.range.end;
        }
        apart
    });
    found
}

/// The facets as a record has them. Mentions of handles without a known DID are
/// left out.
pub(super) fn written(found: &[Facet], people: &HashMap<Handle, Did>) -> Vec<Value> {
    let feature = |leads_to: &LeadsTo| {
        Some(match leads_to {
            LeadsTo::Link(uri) => json!({"$type": "app.bsky.richtext.facet#link", "uri": uri}),
            LeadsTo::Mention(handle) => {
                json!({"$type": "app.bsky.richtext.facet#mention", "did": people.get(handle)?})
            }
            LeadsTo::Tag(tag) => json!({"$type": "app.bsky.richtext.facet#tag", "tag": tag}),
        })
    };
    let facet = |it: &Facet| {
        let index = json!({"byteStart": it.range.start, "byteEnd": it.range.end});
        Some(json!({"index": index, "features": [feature(&it.leads_to)?]}))
    };
    found.iter().filter_map(facet).collect()
}

/// Whether a facet may begin behind this text: at the start, behind white space or
/// behind one of these characters.
fn begins_behind(before: &str, also: &[char]) -> bool {
    before.chars().next_back().is_none_or(|it| it.is_whitespace() || also.contains(&it))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is found, each as the words it is on.
    fn on(text: &str) -> Vec<(&str, LeadsTo)> {
        find(text).into_iter().map(|it| (&text[it.range], it.leads_to)).collect()
    }

    fn link(uri: &str) -> LeadsTo {
        LeadsTo::Link(uri.to_owned())
    }

    fn mention(handle: &str) -> LeadsTo {
        LeadsTo::Mention(handle.parse().unwrap())
    }

    fn tag(tag: &str) -> LeadsTo {
        LeadsTo::Tag(tag.to_owned())
    }

    #[test]
    fn links_mentions_and_tags_are_found_in_order() {
        let text = "Hi @alice.bsky.social, see https://example.com/a and example.org #news";
        assert_eq!(
            on(text),
            [
                ("@alice.bsky.social", mention("alice.bsky.social")),
                ("https://example.com/a", link("https://example.com/a")),
                ("example.org", link("https://example.org")),
                ("#news", tag("news")),
            ]
        );
    }

    #[test]
    fn offsets_are_bytes_in_every_script() {
        for before in [
            "Привет, ",
            "你好 ",
            "こんにちは　",
            "مرحبا ",
            "שלום ",
            "👩‍👩‍👧‍👦 ",
            "🏳️‍🌈🇺🇦 ",
            "e\u{301}te\u{301} ",
            "ȧ̶̢̛ ",
            "\u{202e}abc\u{202c} ",
            "हिन्दी ",
        ] {
            let text = format!("{before}https://example.com/ä @bob.example.com #тег 😀 #日本語");
            let found = find(&text);
            assert_eq!(found[0].range.start, before.len(), "{before:?}");
            assert_eq!(
                on(&text),
                [
                    ("https://example.com/ä", link("https://example.com/%C3%A4")),
                    ("@bob.example.com", mention("bob.example.com")),
                    ("#тег", tag("тег")),
                    ("#日本語", tag("日本語")),
                ],
                "{before:?}"
            );
        }
    }

    #[test]
    fn nothing_leads_to_two_places() {
        assert_eq!(
            on("https://example.com/@bob.example.com#tag"),
            [("https://example.com/@bob.example.com#tag", link("https://example.com/@bob.example.com#tag"))]
        );
        assert_eq!(on("@bob.example.com"), [("@bob.example.com", mention("bob.example.com"))]);
        assert_eq!(on("me@example.com"), []);
    }

    #[test]
    fn somebody_unknown_is_not_mentioned() {
        let found = find("@bob.example.com @eve.example.com");
        let did: Did = "did:plc:ewvi7nxzyoun6zhxrhs64oiz".parse().unwrap();
        let people = HashMap::from([("bob.example.com".parse().unwrap(), did)]);

        let written = written(&found, &people);

        assert_eq!(
            written,
            [json!({
                "index": {"byteStart": 0, "byteEnd": 16},
                "features": [{
                    "$type": "app.bsky.richtext.facet#mention", "did": "did:plc:ewvi7nxzyoun6zhxrhs64oiz",
                }],
            })]
        );
    }

    proptest! {
        #[test]
        fn facets_of_any_text_are_whole_words_in_order(
            text in "(\\PC|https://|example\\.com|@|#|\\(|\\)|[ \n\u{3000}]|alice\\.bsky\\.social|👩‍👧|é|。){0,40}"
        ) {
            let mut end = 0;
            for facet in find(&text) {
                prop_assert!(end <= facet.range.start && facet.range.start < facet.range.end);
                end = facet.range.end;
                // Panics within a character.
                let words = &text[facet.range.clone()];
                match facet.leads_to {
                    LeadsTo::Mention(handle) => prop_assert_eq!(words[1..].to_ascii_lowercase(), handle.as_str()),
                    LeadsTo::Tag(tag) => prop_assert!(words.ends_with(&tag) && words.chars().count() == tag.chars().count() + 1),
                    LeadsTo::Link(uri) => prop_assert!(uri.is_ascii() && !words.contains(char::is_whitespace)),
                }
            }
        }

        #[test]
        fn what_stands_before_moves_offsets_and_changes_nothing_else(before in "\\PC{0,20}") {
            prop_assume!(find(&before).is_empty());
            let text = format!("{before} #tag");
            let found = find(&text);
            prop_assert_eq!(&found.last().unwrap().range, &(before.len() + 1..text.len()));
        }
    }
}
