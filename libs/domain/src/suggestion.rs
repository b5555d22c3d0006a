//! Suggestions for mistyped names.

/// The known name that is most similar; `None` when none is known.
pub fn suggest(name: &str, known: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    // Only the beginning is compared, so that a very long name costs no time.
    let name: String = name.chars().take(64).collect::<String>().to_lowercase();
    let likeness = |it: &&str| strsim::jaro_winkler(&name, it);
    known.into_iter().max_by(|one, two| likeness(one).total_cmp(&likeness(two)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: [&str; 4] = ["content", "scheduled_at", "platforms", "media"];

    #[test]
    fn typing_error_suggests_the_intended_name() {
        assert_eq!(suggest("Schedule_At", KNOWN), Some("scheduled_at"));
        assert_eq!(suggest("contnt", KNOWN), Some("content"));
        assert_eq!(suggest("x", []), None);
    }

    proptest! {
        #[test]
        fn any_name_gets_a_suggestion(name in ".{0,100}") {
            prop_assert!(KNOWN.contains(&suggest(&name, KNOWN).unwrap()));
        }
    }
}
