#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

use std::collections::{BTreeMap, BTreeSet};

pub use crate::recording::Recording;
use crate::{bluesky, discord, ghost, mastodon, matrix, slack, telegram, wordpress, x};

/// Reads recorded success responses, each with the name of its file.
type Reader = fn(&[(String, Recording)]);

/// By platform name.
const READERS: [(&str, Reader); 9] = [
    (bluesky::NAME, bluesky::recordings::read_successes),
    (discord::NAME, discord::recordings::read_successes),
    (ghost::NAME, ghost::recordings::read),
    (mastodon::NAME, mastodon::recordings::read_successes),
    (matrix::NAME, matrix::recordings::read_successes),
    (slack::NAME, slack::recordings::read_successes),
    (telegram::NAME, telegram::recordings::read_successes),
    (wordpress::NAME, wordpress::recordings::read_successes),
    (x::NAME, x::recordings::read_successes),
];

/// The fields that the adapter of a platform reads in recorded responses of success, by request.
/// They are JSON pointers, in which `*` matches the elements of an array.
pub fn fields_read(platform: &str) -> BTreeMap<String, BTreeSet<String>> {
    let recordings = Recording::all(platform);
    let (_, read_successes) = READERS.iter().find(|(name, _)| *name == platform).unwrap();
    read_successes(&recordings);
    let mut fields: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, recording) in recordings {
        let (request, read) = recording.into_fields_read();
        fields.entry(request).or_default().extend(read);
    }
    fields
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_recordings_folder_is_read() {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings");
        let folders = std::fs::read_dir(all).unwrap().map(|it| it.unwrap()).filter(|it| it.path().is_dir());
        let folders: BTreeSet<_> = folders.map(|it| it.file_name().into_string().unwrap()).collect();

        assert_eq!(folders, READERS.iter().map(|(name, _)| (*name).to_owned()).collect());
    }
}
