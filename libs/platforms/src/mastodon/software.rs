//! The software of a server, and how it differs from Mastodon.

use domain::rules::Counting;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Software {
    /// Mastodon, and forks with its version numbers. Software that names a version of Mastodon in
    /// addition to its own name is [`Software::Other`].
    Mastodon,
    GoToSocial,
    Pleroma,
    /// A fork of Pleroma.
    Akkoma,
    Pixelfed,
    Other,
}

impl Software {
    /// Detected by fields of the instance: its `version`, which begins with the version of Mastodon
    /// whose API it follows, except on `GoToSocial`, and its `source_url`.
    pub(super) fn detect(version: &str, source_url: &str) -> Self {
        let version = version.to_ascii_lowercase();
        let mentions = |name: &str| version.contains(name) || source_url.to_ascii_lowercase().contains(name);
        match version.split_once("(compatible;") {
            Some((_, name)) if name.contains("akkoma") => Self::Akkoma,
            Some((_, name)) if name.contains("pleroma") => Self::Pleroma,
            Some((_, name)) if name.contains("pixelfed") => Self::Pixelfed,
            None if mentions("gotosocial") || version.starts_with("0.") => Self::GoToSocial,
            None if is_mastodon_version(&version) => Self::Mastodon,
            _ => Self::Other,
        }
    }

    /// The display name; `None` if the version does not name the software.
    pub(super) fn title(self, version: &str) -> Option<&str> {
        match self {
            Self::Mastodon => Some("Mastodon"),
            Self::GoToSocial => Some("GoToSocial"),
            Self::Pleroma => Some("Pleroma"),
            Self::Akkoma => Some("Akkoma"),
            Self::Pixelfed => Some("Pixelfed"),
            Self::Other => name_in_version(version),
        }
    }

    /// Whether a repeat with the same `Idempotency-Key` creates nothing new for an hour, provided
    /// that the first call created something. Otherwise no key is sent: Pixelfed refuses a repeat
    /// even if the first call failed, and Pleroma and Akkoma repeat their first response for hours,
    /// including an error that has passed since.
    pub(super) const fn keeps_keys(self) -> bool {
        matches!(self, Self::Mastodon)
    }

    /// Whether a refused token call does not show the cause: the app, or its code or token.
    pub(super) const fn hides_why_tokens_fail(self) -> bool {
        matches!(self, Self::Pleroma | Self::Akkoma)
    }

    /// Whether a status shows its files under their uploaded ids. Pleroma and its forks assign some
    /// new ids.
    pub(super) const fn keeps_ids_of_files(self) -> bool {
        matches!(self, Self::Mastodon | Self::GoToSocial | Self::Pixelfed)
    }

    /// Whether to try the newer upload call, which responds before the file is processed. Older
    /// versions of Pixelfed lack it, and newer ones respond to either call only when the file is
    /// ready, so the older call loses nothing.
    pub(super) const fn uploads_in_background(self) -> bool {
        !matches!(self, Self::Pixelfed)
    }

    /// The content type of a text. Without it, the account's own setting decides, which may be
    /// Markdown.
    pub(super) const fn content_type(self) -> Option<&'static str> {
        match self {
            // Only forks of Mastodon know it; Mastodon itself ignores it.
            Self::Mastodon | Self::GoToSocial | Self::Pleroma | Self::Akkoma => Some("text/plain"),
            Self::Pixelfed | Self::Other => None,
        }
    }

    /// The scopes to request; `supported` is the server's list.
    pub(super) fn scopes(self, supported: Option<&[String]>) -> &'static str {
        let has = |scope: &str| supported.is_some_and(|it| it.iter().any(|it| it == scope));
        match self {
            Self::Pleroma | Self::Akkoma | Self::Pixelfed => "read write",
            _ if has("profile") => "profile read:statuses write:statuses write:media",
            _ => "read:accounts read:statuses write:statuses write:media",
        }
    }

    /// How this version counts a text; `url` is the number of characters that the server states for
    /// a link.
    pub(super) fn counting(self, version: &str, url: u32) -> Counting {
        match self {
            Self::Mastodon if counts_conjuncts(version) => Counting::graphemes().url(url).short_mentions(),
            Self::Mastodon => Counting::graphemes_of_unicode_15().url(url).short_mentions(),
            // It depends on the Erlang version, which is unknown. The older rules never count less.
            Self::Pleroma | Self::Akkoma => Counting::graphemes_of_unicode_15(),
            // The warning is counted separately: `longest_warning`.
            Self::Pixelfed => return Counting::code_points(),
            // GoToSocial states a length of links but does not use it.
            Self::GoToSocial | Self::Other => Counting::code_points(),
        }
        .with_warnings()
    }

    /// The most code points of a content warning, if it is not counted as part of the text.
    pub(super) const fn longest_warning(self) -> Option<u32> {
        match self {
            Self::Pixelfed => Some(140),
            _ => None,
        }
    }

    /// The most code points of an alternative text, if the server does not state it. Mastodon
    /// states it since 4.4, only in the second version of the call. Source: pull request 39306 of
    /// `mastodon/mastodon` (June 2026).
    pub(super) fn max_description_chars(self, version: &str) -> u64 {
        match self {
            Self::Mastodon if (4, 7) <= release(version) => 10_000,
            Self::Pixelfed => 1000,
            Self::Mastodon | Self::GoToSocial | Self::Pleroma | Self::Akkoma | Self::Other => 1500,
        }
    }

    /// Whether a warning is dropped unless the status is marked as sensitive. Other software keeps
    /// it, or marks the status itself.
    pub(super) const fn drops_warnings(self) -> bool {
        matches!(self, Self::Pixelfed)
    }

    /// Whether one post may have both pictures and videos. Pixelfed accepts them, but leaves such
    /// posts out of the listing that look-ups read.
    pub(super) const fn mixes(self) -> bool {
        matches!(self, Self::GoToSocial | Self::Pleroma | Self::Akkoma)
    }

    pub(super) const fn takes_videos(self) -> bool {
        !matches!(self, Self::Mastodon | Self::Other)
    }

    /// Whether a thread can be published. The replies of Pixelfed are comments, which its listing
    /// leaves out, so that a lost one could not be looked up.
    pub(super) const fn has_threads(self) -> bool {
        !matches!(self, Self::Pixelfed)
    }

    pub(super) const fn needs_media(self) -> bool {
        matches!(self, Self::Pixelfed)
    }
}

/// The name in a version like `4.0.0 (compatible; Mitra 2.18.0)`, `4.0.0 (not true; really
/// snac/2.52)` or `takahe/0.9`: the word before the last number.
fn name_in_version(version: &str) -> Option<&str> {
    let (before, _) = version.trim_end_matches(')').rsplit_once(['/', ' '])?;
    let name = before.rsplit(['(', ' ', ';']).next()?;
    let is_name = name.starts_with(char::is_alphabetic) && name.len() <= 40;
    let is_plain = name.chars().all(|it| it.is_alphanumeric() || matches!(it, '.' | '-' | '_'));
    (is_name && is_plain).then_some(name)
}

/// Whether a version is like `4.5.2`, `4.6.0-rc.1` or `4.3.1+glitch`, or like `4.0.0rc1` and
/// `3.5.0beta2`, the form of betas and release candidates before 4.1.
fn is_mastodon_version(version: &str) -> bool {
    let end = version.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(version.len());
    let (numbers, suffix) = version.split_at(end);
    let has_three_numbers = numbers.split('.').count() == 3 && numbers.split('.').all(|it| !it.is_empty());
    let is_word = |it: &str| 1 < it.len() && it.starts_with(['+', '-']) && !it.contains(char::is_whitespace);
    let is_suffix = |it: &str| it.is_empty() || is_word(it);
    let is_digit = |it: char| it.is_ascii_digit();
    let prerelease =
        suffix.strip_prefix("rc").or_else(|| suffix.strip_prefix("beta")).filter(|it| it.starts_with(is_digit));
    has_three_numbers && is_suffix(prerelease.map_or(suffix, |it| it.trim_start_matches(is_digit)))
}

/// The first two numbers of a version.
fn release(version: &str) -> (u32, u32) {
    let mut numbers = version.split(|it: char| !it.is_ascii_digit()).map_while(|it| it.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Whether a version of Mastodon counts a conjunct as one character, as Unicode does since 15.1.
/// The Ruby version decides: 4.6 runs on Ruby 4.0, the first with those rules, and so do its betas;
/// nightlies and alphas before them ran on 3.4.
fn counts_conjuncts(version: &str) -> bool {
    let is_early = version.starts_with("4.6.0-alpha") || version.starts_with("4.6.0-nightly");
    (4, 6) <= release(version) && !is_early
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_is_detected_by_its_version() {
        for (version, source_url, software) in [
            ("4.5.2", "https://github.com/mastodon/mastodon", Software::Mastodon),
            ("4.5.0+glitch", "https://github.com/glitch-soc/mastodon", Software::Mastodon),
            ("4.2.1+hometown-1.1.1", "", Software::Mastodon),
            ("0.19.1+git-5b0b3b9", "https://codeberg.org/superseriousbusiness/gotosocial", Software::GoToSocial),
            ("0.17.3 git-1ab2c3d", "", Software::GoToSocial),
            ("2.7.2 (compatible; Pleroma 2.5.5)", "", Software::Pleroma),
            ("2.7.2 (compatible; Akkoma 3.10.4-0-g)", "", Software::Akkoma),
            ("3.5.3 (compatible; Pixelfed 0.12.3)", "", Software::Pixelfed),
            ("4.2.1 (compatible; Iceshrimp.NET/2024.1)", "", Software::Other),
            ("4.6.0-rc.1", "", Software::Mastodon),
            ("4.0.0rc1", "https://github.com/mastodon/mastodon", Software::Mastodon),
            ("3.5.0beta12+glitch", "", Software::Mastodon),
            ("4.0.0rc", "", Software::Other),
            ("4.0.0rcx1", "", Software::Other),
            ("4.0.0alpha", "", Software::Other),
            ("4.3.1+glitch", "", Software::Mastodon),
            ("4.0.0 (not true; really snac/2.x)", "", Software::Other),
            ("4.5.2+", "", Software::Other),
            ("4.5.2-of mine", "", Software::Other),
            ("4.5", "", Software::Other),
            ("4..2", "", Software::Other),
            ("2024.1.0.1", "", Software::Other),
            ("takahe/0.9", "", Software::Other),
        ] {
            assert_eq!(Software::detect(version, source_url), software, "{version}");
        }
    }

    #[test]
    fn mastodon_counts_conjuncts_as_one_since_4_6() {
        for (version, counts) in [
            ("3.5.19", false),
            ("4.5.9", false),
            ("4.5.0+glitch", false),
            ("4.2.1+hometown-4.6.0", false),
            ("4.6.0-alpha.5+glitch", false),
            ("4.6.0-nightly.2026-02-01", false),
            ("4.6.0-beta.1", true),
            ("4.6.0-rc.1", true),
            ("4.6.0", true),
            ("4.6.2+glitch", true),
            ("4.10.0-alpha.1", true),
            ("5.0.0", true),
            ("4", false),
            ("", false),
            ("99999999999.0.0", false),
        ] {
            assert_eq!(counts_conjuncts(version), counts, "{version}");
        }
    }

    #[test]
    fn narrowest_supported_scopes_are_requested() {
        let supported = ["profile", "read", "write:media"].map(str::to_owned);

        let modern = Software::Mastodon.scopes(Some(&supported));
        assert_eq!(modern, "profile read:statuses write:statuses write:media");
        assert!(Software::Mastodon.scopes(None).starts_with("read:accounts read:statuses"));
        assert_eq!(Software::Pixelfed.scopes(None), "read write");
    }
}
