//! The known name that a mistyped name probably means.

/// The known name that differs from `name` in the fewest letters; `None` when all of them differ in
/// more than a third of the letters, because a far guess misleads.
pub fn suggest(name: &str, known: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    // Only the beginning is compared, so that a very long name costs no time.
    let name: String = name.chars().take(64).collect::<String>().to_lowercase();
    let (distance, nearest) =
        known.into_iter().map(|it| (strsim::osa_distance(&name, it), it)).min_by_key(|it| it.0)?;
    let letters = name.chars().count().max(nearest.chars().count());
    (distance * 3 <= letters).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: [&str; 4] = ["content", "scheduled_at", "platforms", "media"];

    #[test]
    fn mistyped_name_gets_the_nearest_known_name() {
        assert_eq!(suggest("Schedule_At", KNOWN), Some("scheduled_at"));
        assert_eq!(suggest("contnt", KNOWN), Some("content"));
        assert_eq!(suggest("text", KNOWN), None);
        assert_eq!(suggest("x", []), None);
    }

    proptest! {
        #[test]
        fn suggestion_is_a_known_name(name in ".{0,100}") {
            prop_assert!(suggest(&name, KNOWN).is_none_or(|it| KNOWN.contains(&it)));
        }
    }
}
