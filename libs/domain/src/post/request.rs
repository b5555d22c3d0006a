//! What a client asks for: a new post, or changes of one.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::connection::Connection;
use crate::id::ConnectionId;
use crate::media::Attachment;
use crate::text::PostText;

/// A target as a client names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTarget {
    /// Its place in the request, for messages.
    pub index: usize,
    /// The account.
    pub connection_id: ConnectionId,
    /// The text for this target alone.
    pub text: Option<PostText>,
}

/// A post as a client writes it; media are given beside it, once verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPost {
    /// What is said.
    pub text: PostText,
    /// Where it goes, each account once.
    pub targets: Vec<NewTarget>,
    /// When.
    pub scheduled_at: Option<DateTime<Utc>>,
}

/// What a client changes. Absent is unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// What is said.
    pub text: Option<PostText>,
    /// Where it goes: the whole set.
    pub targets: Option<Vec<NewTarget>>,
    /// When; `Some(None)` unschedules.
    pub scheduled_at: Option<Option<DateTime<Utc>>>,
    /// What it carries, verified.
    pub media: Option<Vec<Attachment>>,
}

/// The accounts that a request names and that are this user's.
pub type Accounts = BTreeMap<ConnectionId, Connection>;
