//! Builders for tests: each starts from a valid value, so that a test names only what it is about.

use std::sync::LazyLock;

use chrono::{DateTime, TimeZone, Utc};

use crate::clock::Clock;
use crate::connect_link::{ConnectLink, DEFAULT_LIFETIME};
use crate::connection::{AccountInfo, Connection};
use crate::delivery::{Delivery, State};
use crate::id::{ConnectionId, Ids, MediaId, PostId, TargetId, UserId, WebhookId};
use crate::media::{Attachment, MimeType};
use crate::owner::Owner;
use crate::post::{Accounts, NewPost, NewTarget, Post, SegmentKind};
use crate::profile::{Profile, ProfileName};
use crate::random::Random;
use crate::rules::{Counting, Rule, Rules};
use crate::schedule::show;
use crate::text::PostText;
use crate::user::User;
use crate::webhook::{EndpointUrl, EventKind, WebhookDelivery, WebhookEndpoint, WebhookMessage};

/// The only source of ids for all builders: two sources, each with its own clock, could return the
/// same id.
static FRESH: LazyLock<Ids> = LazyLock::new(|| Ids::new(Clock::System, Random::Os));

pub fn noon() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).single().unwrap_or_default()
}

/// Ids of a clock that always shows noon, all different.
pub fn ids() -> Ids {
    static AT_NOON: LazyLock<Ids> = LazyLock::new(|| Ids::new(Clock::manual(noon()), Random::Os));
    AT_NOON.clone()
}

pub fn a_user() -> User {
    User::new(FRESH.fresh::<UserId>(), "Test User", "user@example.com", noon())
}

/// Similar to the sandbox's rules.
pub fn rules() -> Rules {
    Rules::new(
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

pub fn a_connection(user: &User) -> Connection {
    Connection {
        user_id: user.user_id,
        connection_id: FRESH.fresh::<ConnectionId>(),
        provider: "sandbox".to_owned(),
        profile: AccountInfo {
            account_id: "1".to_owned(),
            username: Some("harbour".to_owned()),
            display_name: Some("The Harbour".to_owned()),
            avatar: None,
            profile_url: None,
        },
        scopes: vec!["post".to_owned()],
        needs_reconnection: false,
        refreshed_at: None,
        token_expires_at: None,
        created_at: noon(),
        pending: 0,
        rules: rules(),
        generation: 1,
        of_profile: None,
    }
}

#[expect(clippy::expect_used, reason = "a test cannot continue without its profile")]
pub fn a_profile(user: &User) -> Profile {
    Profile {
        user_id: user.user_id,
        profile_id: FRESH.fresh(),
        name: ProfileName::parse("The Harbor").expect("a name"),
        external_id: None,
        created_at: noon(),
    }
}

pub fn limited_to(profile: &Profile) -> Owner {
    Owner { user_id: profile.user_id, limited_to: Some(profile.profile_id) }
}

/// A link for all platforms that no browser has opened.
pub fn a_connect_link() -> ConnectLink {
    let profile = a_profile(&a_user());
    ConnectLink {
        link_id: FRESH.fresh(),
        user_id: profile.user_id,
        of_profile: profile.reference(),
        platforms: Vec::new(),
        consents: None,
        return_url: "https://product.example/connected".to_owned(),
        created_at: noon(),
        expires_at: noon() + DEFAULT_LIFETIME,
        revision: 0,
        browser: None,
        flows: Vec::new(),
        has_ended: false,
    }
}

pub fn accounts(connections: &[Connection]) -> Accounts {
    connections.iter().map(|it| (it.connection_id, it.clone())).collect()
}

pub fn an_attachment(size_bytes: u64) -> Attachment {
    Attachment {
        media_id: ids().fresh::<MediaId>(),
        mime_type: MimeType::Jpeg,
        size_bytes,
        alt_text: None,
        facts: None,
    }
}

pub fn text(raw: &str) -> PostText {
    PostText::parse(raw).unwrap_or_else(|error| panic!("{raw:?}: {error}"))
}

pub fn a_new_post(scheduled_at: Option<DateTime<Utc>>, connections: &[Connection]) -> NewPost {
    let targets = connections.iter().enumerate().map(|(index, it)| NewTarget::new(index, it.connection_id)).collect();
    NewPost { targets, scheduled_at, ..NewPost::new(text("Hello")) }
}

pub fn a_post(user: &User, scheduled_at: Option<DateTime<Utc>>, connections: &[Connection]) -> Post {
    let new = a_new_post(scheduled_at, connections);
    Post::create(new, &[], user, &accounts(connections), &ids(), noon()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// Due at noon, with nothing to prepare.
pub fn a_delivery() -> Delivery {
    let ids = ids();
    Delivery {
        user_id: ids.fresh::<UserId>(),
        post_id: ids.fresh::<PostId>(),
        target_id: ids.fresh::<TargetId>(),
        connection_id: ids.fresh::<ConnectionId>(),
        profile_id: None,
        provider: "sandbox".to_owned(),
        revision: 1,
        publish_at: noon(),
        state: State::Waiting,
        segments: vec![SegmentKind::Post],
        published: Vec::new(),
        resumed_at: 0,
        comment_error: None,
        next_step_at: noon(),
        due_at: Some(noon()),
        lease_expires_at: None,
        attempts: 0,
        has_begun: false,
        unknown_since: None,
        lost_window: None,
        preparations: Vec::new(),
        restarts: 0,
        intent: None,
        opens_at: None,
        follow_ups: None,
        note: None,
        write_id: 1,
    }
}

/// Enabled for all events.
pub fn an_endpoint() -> WebhookEndpoint {
    let url = EndpointUrl::parse("https://hooks.example/a").unwrap_or_else(|error| panic!("{error}"));
    let new = WebhookEndpoint::new(FRESH.fresh::<UserId>(), FRESH.fresh::<WebhookId>(), url, Vec::new(), None, noon());
    WebhookEndpoint { is_verified: true, ..new }
}

/// Due at noon.
pub fn a_webhook_delivery() -> WebhookDelivery {
    let endpoint = an_endpoint();
    let id = format!("post.published:{}:1", endpoint.webhook_id);
    let detail = serde_json::json!({ "id": id, "occurred_at": show(noon()), "post_id": 7 });
    let message = WebhookMessage::from_event(EventKind::PostPublished, endpoint.webhook_id, &detail);
    let message = message.unwrap_or_else(|| panic!("no message"));
    WebhookDelivery::new(endpoint.user_id, endpoint.webhook_id, message, noon())
}

/// Pseudorandom numbers, the same in every run with the same seed.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The upper bits, because the lower ones of a linear congruential generator have short
        // periods.
        usize::try_from(self.0 >> 33).unwrap_or_default() % end
    }
}
