//! Facets: links, mentions and tags in a text.

use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

use super::schema::{Checked, array, fault, require, string};

/// Checks the facets of a text: they start and end at UTF-8 character boundaries
/// and do not overlap. Real servers accept other facets, but readers display them
/// wrongly or not at all.
pub(super) fn check(facets: &Value, text: &str, path: &str) -> Checked<()> {
    let mut ranges = Vec::new();
    for (index, facet) in array(facets, usize::MAX, path)?.iter().enumerate() {
        let path = format!("{path}[{index}]");
        ranges.push(range(&facet["index"], text, &format!("{path}.index"))?);
        let features = format!("{path}.features");
        let listed = array(&facet["features"], usize::MAX, &features)?;
        require(!listed.is_empty(), &features, "a facet without a feature")?;
        for it in listed {
            feature(it, &features)?;
        }
    }
    ranges.sort_unstable();
    let apart = ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    require(apart, path, "facets overlap")
}

/// The parts of a text that are links. The facets are already checked.
pub(super) fn links(facets: &Value, text: &str) -> Vec<String> {
    let facets = facets.as_array().into_iter().flatten();
    let links = facets.filter(|it| it["features"][0]["$type"] == "app.bsky.richtext.facet#link");
    links.filter_map(|it| range(&it["index"], text, "").ok()).map(|(start, end)| text[start..end].to_owned()).collect()
}

fn range(index: &Value, text: &str, path: &str) -> Checked<(usize, usize)> {
    let offset = |name: &str| index[name].as_u64().and_then(|it| usize::try_from(it).ok());
    let (Some(start), Some(end)) = (offset("byteStart"), offset("byteEnd")) else {
        return fault(path, "expected byteStart and byteEnd");
    };
    require(start < end && end <= text.len(), path, "out of the text")?;
    let whole = text.is_char_boundary(start) && text.is_char_boundary(end);
    require(whole, path, "cuts a character")?;
    Ok((start, end))
}

fn feature(feature: &Value, path: &str) -> Checked<()> {
    match feature["$type"].as_str() {
        Some("app.bsky.richtext.facet#link") => require(is_uri(string(&feature["uri"], path)?), path, "expected a uri"),
        Some("app.bsky.richtext.facet#mention") => {
            require(is_did(string(&feature["did"], path)?), path, "expected a did")
        }
        Some("app.bsky.richtext.facet#tag") => tag(string(&feature["tag"], path)?, path),
        _ => fault(path, "expected a known feature"),
    }
}

/// A tag has at most 64 graphemes and 640 bytes. Its `#` is only in the text; the tag
/// of a double hash tag keeps one `#`.
pub(super) fn tag(tag: &str, path: &str) -> Checked<()> {
    require(!tag.is_empty() && tag != "#" && !tag.starts_with("##"), path, "a tag is a word without #")?;
    require(tag.len() <= 640 && tag.graphemes(true).count() <= 64, path, "string too big (maximum 64 graphemes)")
}

/// A scheme, a colon, and a rest without spaces.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|it: char| it.is_ascii_alphabetic())
        && scheme.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '+' | '.' | '-'));
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let is_rest = !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace);
    is_scheme && is_rest && text.len() <= 8192
}

fn is_did(text: &str) -> bool {
    let mut parts = text.splitn(3, ':');
    parts.next() == Some("did")
        && parts.next().is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_lowercase()))
        && parts.next().is_some_and(|it| {
            !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:%-".contains(&byte))
        })
}
