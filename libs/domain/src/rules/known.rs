use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum StoredRule<T> {
    Known(T),
    Unknown(IgnoredAny),
}

/// Skips stored entries that this version does not know.
///
/// A connection may have been stored by a newer version that was rolled back. A rule that is not
/// checked here is still enforced by the platform itself.
pub(super) fn known<'de, D: Deserializer<'de>, T: Deserialize<'de>>(stored: D) -> Result<Vec<T>, D::Error> {
    let stored = Vec::<StoredRule<T>>::deserialize(stored)?;
    let known = stored.into_iter().filter_map(|it| match it {
        StoredRule::Known(known) => Some(known),
        StoredRule::Unknown(IgnoredAny) => None,
    });
    Ok(known.collect())
}
