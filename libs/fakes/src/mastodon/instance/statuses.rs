use chrono::{DateTime, Utc};

use super::Memory;

#[derive(Clone)]
pub(crate) struct Status {
    pub(crate) id: u64,
    /// The unchanged text of the request.
    pub(crate) text: String,
    pub(crate) spoiler_text: String,
    pub(crate) visibility: String,
    pub(crate) sensitive: bool,
    pub(crate) language: Option<String>,
    pub(crate) created_at: DateTime<Utc>,
    /// In the order of the request.
    pub(crate) media: Vec<u64>,
    /// The status that it replies to.
    pub(crate) parent: Option<u64>,
}

impl Status {
    pub(crate) fn is_public(&self) -> bool {
        ["public", "unlisted"].contains(&self.visibility.as_str())
    }
}

impl Memory {
    /// Adds a public status without files, as another app would publish it.
    pub(crate) fn add_status_by_hand(&mut self, text: &str, now: DateTime<Utc>) {
        let id = self.next_id(now);
        self.statuses.push(Status {
            id,
            text: text.to_owned(),
            spoiler_text: String::new(),
            visibility: "public".to_owned(),
            sensitive: false,
            language: None,
            created_at: now,
            media: Vec::new(),
            parent: None,
        });
    }
}
