//! The search form above the posts.

use domain::id::{ConnectionId, ProfileId};
use domain::post::Filter;
use domain::text::Label;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// An empty field does not filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Search {
    /// Words of the post.
    pub(super) q: String,
    pub(super) account: String,
    pub(super) profile: String,
    pub(super) label: String,
}

impl Search {
    /// `None` if the fields can fit no post.
    pub(super) fn filter(&self) -> Option<Filter> {
        let (text, account, label) = (self.q.trim(), self.account.trim(), self.label.trim());
        let profile = self.profile.trim();
        Some(Filter {
            text: (!text.is_empty()).then(|| text.to_owned()),
            connection: if account.is_empty() { None } else { Some(ConnectionId::parse(account)?) },
            profile: if profile.is_empty() { None } else { Some(ProfileId::parse(profile)?) },
            label: if label.is_empty() { None } else { Some(Label::parse(label).ok()?) },
            ..Filter::default()
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.filter().is_some_and(|it| it == Filter::default())
    }

    /// As the end of a query.
    pub(super) fn query(&self) -> String {
        let fields = [("q", &self.q), ("account", &self.account), ("profile", &self.profile), ("label", &self.label)];
        let given = fields.into_iter().filter(|it| !it.1.is_empty());
        let pairs = given.map(|(name, value)| format!("&{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
        pairs.collect::<Vec<_>>().concat()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::*;

    #[test]
    fn empty_fields_do_not_filter() {
        let blank = Search { q: " ".to_owned(), ..Search::default() };
        assert!(Search::default().is_empty() && blank.is_empty());
        assert_eq!(Search::default().query(), "");
    }

    #[test]
    fn fields_are_kept_in_links() {
        let search = Search {
            q: "a & b".to_owned(),
            account: "17".to_owned(),
            profile: "18".to_owned(),
            label: "spring".to_owned(),
        };
        assert_eq!(search.query(), "&q=a%20%26%20b&account=17&profile=18&label=spring");
        let filter = search.filter().unwrap();
        assert_eq!((filter.text.as_deref(), filter.profile), (Some("a & b"), ProfileId::parse("18")));
        assert_eq!((filter.connection, filter.label), (ConnectionId::parse("17"), Label::parse("spring").ok()));
    }

    #[test]
    fn unknown_account_fits_nothing() {
        assert_eq!(Search { account: "x".to_owned(), ..Search::default() }.filter(), None);
        assert_eq!(Search { profile: "x".to_owned(), ..Search::default() }.filter(), None);
    }
}
