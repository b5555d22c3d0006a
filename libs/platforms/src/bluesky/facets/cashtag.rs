//! Finds cashtags, such as `$ABC`.

use domain::rich_text::can_start_after;

use super::facet::{Facet, Feature};

const LONGEST: usize = 5;

pub(super) fn find(text: &str) -> impl Iterator<Item = Facet> {
    text.match_indices('$').filter(|(at, _)| can_start_after(&text[..*at], &['('])).filter_map(|(at, mark)| {
        let rest = &text[at + mark.len()..];
        let end = rest.find(|it: char| !it.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let is_one = name.starts_with(|it: char| it.is_ascii_alphabetic()) && name.len() <= LONGEST;
        let range = at..at + mark.len() + name.len();
        let tag = format!("${}", name.to_ascii_uppercase());
        (is_one && is_end_of_cashtag(after)).then_some(Facet { range, leads_to: Feature::Tag(tag) })
    })
}

fn is_end_of_cashtag(after: &str) -> bool {
    let is_delimiter =
        |it: char| it.is_whitespace() || matches!(it, '.' | ',' | ';' | ':' | '!' | '?' | ')' | '"' | '\'' | '’');
    after.chars().next().is_none_or(is_delimiter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cashtags(text: &str) -> Vec<(&str, String)> {
        let tag = |it: Facet| match it.leads_to {
            Feature::Tag(tag) => (&text[it.range], tag),
            other => panic!("{other:?}"),
        };
        find(text).map(tag).collect()
    }

    #[test]
    fn cashtag_is_a_dollar_sign_and_a_short_symbol() {
        let cashtag = |it: &'static str| (it, it.to_ascii_uppercase());
        for (text, found) in [
            ("$AAPL", vec![cashtag("$AAPL")]),
            ("$aapl", vec![cashtag("$aapl")]),
            ("$A", vec![cashtag("$A")]),
            ("($GOOG)", vec![cashtag("$GOOG")]),
            ("$AAPL, $MSFT!", vec![cashtag("$AAPL"), cashtag("$MSFT")]),
            ("日本 $ABC12’s", vec![cashtag("$ABC12")]),
        ] {
            assert_eq!(cashtags(text), found, "{text}");
        }
        for text in ["$100", "$TOOLONG", "$ABC123", "no$SPACE", "$", "$ AAPL", "$123ABC", "$AÉ", "$AA-B", "$AA$BB"] {
            assert_eq!(cashtags(text), [], "{text}");
        }
    }
}
