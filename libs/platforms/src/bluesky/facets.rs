//! Facets: the parts of a text that are links, mentions or tags. Readers see plain text where there
//! is no facet.
//!
//! Facts: offsets are bytes of UTF-8, end exclusive, and do not overlap. The same parts are found
//! as in the official client: links with a scheme, and domains of a known top level without one;
//! `@` and a handle; `#` and a word that is not only digits, up to 64 graphemes and 640 bytes; `$`
//! and a ticker symbol. As there, links are shown shortened and lead to the whole URL. Source:
//! `packages/api/src/rich-text` of `bluesky-social/atproto`.

mod cashtag;
mod facet;
mod mention;
mod tag;

use std::collections::HashMap;

use domain::rich_text::DisplayText;
use serde_json::{Value, json};

pub(super) use self::facet::{Facet, Feature};
use super::names::{Did, Handle};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RichText {
    pub(super) text: String,
    /// In the order of the text; facets do not overlap.
    pub(super) facets: Vec<Facet>,
}

impl RichText {
    pub(super) fn new(written: &str) -> Self {
        let DisplayText { text, links } = DisplayText::new(written);
        let links = links.into_iter().map(|it| Facet { range: it.range, leads_to: Feature::Link(it.uri) });
        let mut facets: Vec<Facet> = links.collect();
        for other in mention::find(&text).chain(tag::find(&text)).chain(cashtag::find(&text)) {
            let does_not_overlap = |it: &Facet| other.range.end <= it.range.start || it.range.end <= other.range.start;
            if facets.iter().all(does_not_overlap) {
                facets.push(other);
            }
        }
        facets.sort_by_key(|it| it.range.start);
        Self { text, facets }
    }

    pub(super) fn links(&self) -> impl Iterator<Item = &str> {
        self.facets.iter().filter_map(|it| match &it.leads_to {
            Feature::Link(uri) => Some(uri.as_str()),
            _ => None,
        })
    }

    pub(super) fn mentions(&self) -> impl Iterator<Item = &Handle> {
        self.facets.iter().filter_map(|it| match &it.leads_to {
            Feature::Mention(handle) => Some(handle),
            _ => None,
        })
    }
}

/// The facets as a record has them. Mentions of handles without a known DID are left out.
pub(super) fn written(found: &[Facet], people: &HashMap<Handle, Did>) -> Vec<Value> {
    let feature = |leads_to: &Feature| {
        Some(match leads_to {
            Feature::Link(uri) => json!({"$type": "app.bsky.richtext.facet#link", "uri": uri}),
            Feature::Mention(handle) => {
                json!({"$type": "app.bsky.richtext.facet#mention", "did": people.get(handle)?})
            }
            Feature::Tag(tag) => json!({"$type": "app.bsky.richtext.facet#tag", "tag": tag}),
        })
    };
    let facet = |it: &Facet| {
        let index = json!({"byteStart": it.range.start, "byteEnd": it.range.end});
        Some(json!({"index": index, "features": [feature(&it.leads_to)?]}))
    };
    found.iter().filter_map(facet).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn facets_in(text: &str) -> Vec<(String, Feature)> {
        let RichText { text, facets } = RichText::new(text);
        facets.into_iter().map(|it| (text[it.range].to_owned(), it.leads_to)).collect()
    }

    fn at(text: &str, leads_to: Feature) -> (String, Feature) {
        (text.to_owned(), leads_to)
    }

    fn link(uri: &str) -> Feature {
        Feature::Link(uri.to_owned())
    }

    fn mention(handle: &str) -> Feature {
        Feature::Mention(handle.parse().unwrap())
    }

    fn tag(tag: &str) -> Feature {
        Feature::Tag(tag.to_owned())
    }

    #[test]
    fn links_mentions_and_tags_are_found_in_order() {
        let text = "Hi @alice.bsky.social, see https://example.com/a and example.org #news of $abc";
        assert_eq!(RichText::new(text).text, text.replace("https://", ""));
        assert_eq!(
            facets_in(text),
            [
                at("@alice.bsky.social", mention("alice.bsky.social")),
                at("example.com/a", link("https://example.com/a")),
                at("example.org", link("https://example.org")),
                at("#news", tag("news")),
                at("$abc", tag("$ABC")),
            ]
        );
    }

    #[test]
    fn facet_offsets_are_bytes() {
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
            assert_eq!(RichText::new(&text).facets[0].range.start, before.len(), "{before:?}");
            assert_eq!(
                facets_in(&text),
                [
                    at("example.com/%C3%A4", link("https://example.com/%C3%A4")),
                    at("@bob.example.com", mention("bob.example.com")),
                    at("#тег", tag("тег")),
                    at("#日本語", tag("日本語")),
                ],
                "{before:?}"
            );
        }
    }

    #[test]
    fn facets_do_not_overlap() {
        let link = link("https://example.com/@bob.example.com#tag");
        assert_eq!(
            facets_in("https://example.com/@bob.example.com#tag"),
            [at("example.com/@bob.example...", link.clone())]
        );
        assert_eq!(facets_in("#https://example.com/@bob.example.com#tag"), [at("example.com/@bob.example...", link)]);
        assert_eq!(facets_in("@bob.example.com"), [at("@bob.example.com", mention("bob.example.com"))]);
        assert_eq!(facets_in("me@example.com"), []);
    }

    #[test]
    fn unknown_handle_has_no_facet() {
        let found = RichText::new("@bob.example.com @eve.example.com").facets;
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
            text in "(\\PC|https://|\\$AB|example\\.com|@|#|\\(|\\)|[ \n\u{3000}]|alice\\.bsky\\.social|👩‍👧|é|。){0,40}"
        ) {
            let mut end = 0;
            let RichText { text, facets } = RichText::new(&text);
            for facet in facets {
                prop_assert!(end <= facet.range.start && facet.range.start < facet.range.end);
                end = facet.range.end;
                // Panics if the range splits a character.
                let linked_text = &text[facet.range.clone()];
                match facet.leads_to {
                    Feature::Mention(handle) => prop_assert_eq!(linked_text[1..].to_ascii_lowercase(), handle.as_str()),
                    Feature::Tag(tag) if linked_text.starts_with('$') => prop_assert_eq!(linked_text.to_ascii_uppercase(), tag),
                    Feature::Tag(tag) => prop_assert!(linked_text.ends_with(&tag) && linked_text.chars().count() == tag.chars().count() + 1),
                    Feature::Link(uri) => prop_assert!(uri.is_ascii() && !linked_text.contains(char::is_whitespace)),
                }
            }
        }

        #[test]
        fn preceding_text_only_shifts_facet_offsets(before in "\\PC{0,20}") {
            prop_assume!(RichText::new(&before).facets.is_empty());
            let RichText { text, facets } = RichText::new(&format!("{before} #tag"));
            prop_assert_eq!(&facets.last().unwrap().range, &(before.len() + 1..text.len()));
        }
    }
}
