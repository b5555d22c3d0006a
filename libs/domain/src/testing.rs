//! Builders for tests: each starts from something valid, so that a test names
//! only what it is about. And randomness that repeats itself.

use std::cell::Cell;
use std::sync::LazyLock;

use chrono::{DateTime, TimeZone, Utc};

use crate::clock::Clock;
use crate::connection::{Connection, Profile};
use crate::delivery::{Delivery, State};
use crate::id::{ConnectionId, Ids, MediaId, PostId, TargetId, UserId};
use crate::media::{Attachment, MimeType};
use crate::post::{Accounts, NewPost, NewTarget, Post};
use crate::rules::{Counting, Rule, Rules};
use crate::text::PostText;
use crate::token::Bucket;
use crate::user::User;

/// One source for all builders: of two, each with a clock of its own, one could
/// give out what the other has.
static FRESH: LazyLock<Ids> = LazyLock::new(|| Ids::new(Clock::System));

thread_local! {
    /// The state of this thread's source; `None` is the operating system.
    static SEEDED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// From now on this thread's random numbers follow from `seed` alone, so that
/// a run can be repeated; `None` gives it back the operating system's.
pub fn seed_randomness(seed: impl Into<Option<u64>>) {
    SEEDED.set(seed.into());
}

/// Fills `bytes` where [`seed_randomness`] was called; whether it was.
pub(crate) fn fill_seeded(bytes: &mut [u8]) -> bool {
    let Some(mut state) = SEEDED.get() else { return false };
    for chunk in bytes.chunks_mut(8) {
        // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
        // generators, 2014).
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        chunk.copy_from_slice(&mixed.to_le_bytes()[..chunk.len()]);
    }
    SEEDED.set(Some(state));
    true
}

/// The time in tests.
pub fn noon() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).single().unwrap_or_default()
}

/// Ids of a clock that stands at noon.
pub fn ids() -> Ids {
    Ids::new(Clock::manual(noon()))
}

/// A user.
pub fn a_user() -> User {
    User {
        user_id: FRESH.fresh::<UserId>(),
        name: "Test User".to_owned(),
        email: "user@example.com".to_owned(),
        created_at: noon(),
        bucket: Bucket::random(),
        plan: None,
    }
}

/// Rules like the sandbox's.
pub fn rules() -> Rules {
    Rules::of(
        "Sandbox",
        [
            Rule::max_text(500, Counting::code_points()),
            Rule::max_images(4),
            Rule::max_videos(1),
            Rule::NotMixed,
            Rule::mime_types([MimeType::Jpeg, MimeType::Png, MimeType::Mp4]),
            Rule::max_image_bytes(20 << 20),
            Rule::max_video_bytes(60 << 20),
        ],
    )
}

/// A connected account.
pub fn a_connection(user: &User) -> Connection {
    Connection {
        user_id: user.user_id,
        connection_id: FRESH.fresh::<ConnectionId>(),
        provider: "sandbox".to_owned(),
        profile: Profile {
            account_id: "1".to_owned(),
            username: Some("harbour".to_owned()),
            display_name: Some("The Harbour".to_owned()),
            avatar: None,
            profile_url: None,
        },
        scopes: vec!["post".to_owned()],
        needs_reconnection: false,
        renewed_at: None,
        token_expires_at: None,
        created_at: noon(),
        pending: 0,
        rules: rules(),
        generation: 1,
    }
}

/// Accounts as a request finds them.
pub fn accounts(connections: &[Connection]) -> Accounts {
    connections.iter().map(|it| (it.connection_id, it.clone())).collect()
}

/// A picture of so many bytes.
pub fn an_attachment(size_bytes: u64) -> Attachment {
    Attachment { media_id: ids().fresh::<MediaId>(), mime_type: MimeType::Jpeg, size_bytes }
}

/// A text.
pub fn text(raw: &str) -> PostText {
    PostText::parse(raw).unwrap_or_else(|error| panic!("{raw:?}: {error}"))
}

/// A post as a client writes it, aimed at these accounts.
pub fn a_new_post(scheduled_at: Option<DateTime<Utc>>, connections: &[Connection]) -> NewPost {
    let targets = connections
        .iter()
        .enumerate()
        .map(|(index, it)| NewTarget { index, connection_id: it.connection_id, text: None })
        .collect();
    NewPost { text: text("Hello"), targets, scheduled_at }
}

/// A post.
pub fn a_post(user: &User, scheduled_at: Option<DateTime<Utc>>, connections: &[Connection]) -> Post {
    let new = a_new_post(scheduled_at, connections);
    Post::create(new, Vec::new(), user, &accounts(connections), &ids(), noon())
        .unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// A delivery due at noon, with nothing to prepare.
pub fn a_delivery() -> Delivery {
    let ids = ids();
    Delivery {
        user_id: ids.fresh::<UserId>(),
        post_id: ids.fresh::<PostId>(),
        target_id: ids.fresh::<TargetId>(),
        connection_id: ids.fresh::<ConnectionId>(),
        provider: "sandbox".to_owned(),
        revision: 1,
        publish_at: noon(),
        state: State::Waiting,
        look_at: noon(),
        due_at: Some(noon()),
        lease_ends: None,
        attempts: 0,
        begun: false,
        prepared: true,
        progress: None,
        restarts: 0,
        intent: None,
        note: None,
        stamp: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{random_bytes, random_u32};

    #[test]
    fn seeded_randomness_repeats_itself_until_it_is_given_up() {
        let draw = || (random_u32(), random_bytes::<19>());

        seed_randomness(7);
        let first = [draw(), draw()];
        seed_randomness(7);
        let again = [draw(), draw()];
        seed_randomness(8);
        let other = draw();
        seed_randomness(None);
        let unseeded = draw();

        assert_eq!(first, again);
        assert_ne!(first[0], first[1]);
        assert_ne!(first[0], other);
        assert!(!first.contains(&unseeded));
    }
}
