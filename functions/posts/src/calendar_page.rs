//! `/account/posts/calendar`: posts with a time by day, for a month or a week.

use std::collections::BTreeSet;
use std::ops::Range;

use api::SignedIn;
use api::page::{AccountPage, Page, PageQuery, PageResult};
use askama::Template;
use axum::extract::State;
use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveTime, Utc, Weekday};
use domain::post::{Accounts, Post, PostStatus};
use domain::time_zone::TimeZone;
use serde::Deserialize;

use crate::App;
use crate::posts_page::excerpt;

/// In characters.
const SHOWN_CHARS: usize = 60;

/// Each post may have 300 KB of text.
const MAX_POSTS: usize = 200;

/// Other years are not shown, so that calculations with dates cannot overflow.
const YEARS: Range<i32> = 2000..2200;

#[derive(Deserialize)]
pub(crate) struct CalendarQuery {
    #[serde(default)]
    view: View,
    /// A day of the month or week; today by default.
    on: Option<NaiveDate>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum View {
    #[default]
    Month,
    Week,
}

#[derive(Template)]
#[template(path = "calendar.html")]
struct CalendarPage {
    view: View,
    title: String,
    /// The zone's city, or UTC.
    city: String,
    on: NaiveDate,
    previous: NaiveDate,
    next: NaiveDate,
    days: Vec<CalendarDay>,
    is_empty: bool,
    /// `None` if all posts are shown.
    shown_of_more: Option<usize>,
}

struct CalendarDay {
    date: NaiveDate,
    /// Whether it belongs to the month before or after.
    is_outside: bool,
    is_today: bool,
    entries: Vec<Entry>,
}

struct Entry {
    id: String,
    time: String,
    text: String,
    platforms: String,
    status: PostStatus,
}

pub(crate) async fn show_calendar(
    State(app): State<App>,
    session: SignedIn,
    PageQuery(query): PageQuery<CalendarQuery>,
) -> PageResult<Page> {
    let (store, now, zone) = (&app.api.store, app.api.clock.now(), session.zone());
    let today = zone.local(now).date();
    let on = query.on.filter(|it| YEARS.contains(&it.year())).unwrap_or(today);
    let days = query.view.days(on);
    let times = midnight(days.start, &zone)..midnight(days.end, &zone);

    let found = store.posts_between(session.user, &times, MAX_POSTS).await?;
    let connection_ids: BTreeSet<_> =
        found.posts.iter().flat_map(|it| &it.targets).map(|it| it.connection_id).collect();
    let context = store.load_post_context(session.user, connection_ids, [], None, now).await?;
    let mut entries: Vec<_> = found.posts.iter().filter_map(|it| Entry::new(it, &context.accounts, &zone)).collect();
    let calendar_days = days.start.iter_days().take_while(|it| *it < days.end).map(|date| CalendarDay {
        date,
        is_outside: query.view == View::Month && date.month() != on.month(),
        is_today: date == today,
        entries: entries.extract_if(.., |it| it.0 == date).map(|it| it.1).collect(),
    });
    let page = CalendarPage {
        view: query.view,
        title: query.view.title(on),
        city: zone.city(),
        on,
        previous: query.view.previous(on),
        next: query.view.next(on),
        days: calendar_days.collect(),
        is_empty: found.posts.is_empty(),
        shown_of_more: found.has_more.then_some(found.posts.len()),
    };
    Ok(Page::render("Calendar", &page)?.signed_in(&session).with_account_navigation(AccountPage::Posts).wide())
}

impl View {
    const fn name(self) -> &'static str {
        match self {
            Self::Month => "month",
            Self::Week => "week",
        }
    }

    /// Whole weeks, from Monday.
    fn days(self, on: NaiveDate) -> Range<NaiveDate> {
        match self {
            Self::Month => {
                let first = first_of_month(on);
                let last = first + Months::new(1) - Days::new(1);
                first.week(Weekday::Mon).first_day()..last.week(Weekday::Mon).last_day() + Days::new(1)
            }
            Self::Week => on.week(Weekday::Mon).first_day()..on.week(Weekday::Mon).last_day() + Days::new(1),
        }
    }

    fn previous(self, on: NaiveDate) -> NaiveDate {
        match self {
            Self::Month => first_of_month(on) - Months::new(1),
            Self::Week => on - Days::new(7),
        }
    }

    fn next(self, on: NaiveDate) -> NaiveDate {
        match self {
            Self::Month => first_of_month(on) + Months::new(1),
            Self::Week => on + Days::new(7),
        }
    }

    /// "November 2026", or "Week of 23 November 2026".
    fn title(self, on: NaiveDate) -> String {
        match self {
            Self::Month => on.format("%B %Y").to_string(),
            Self::Week => self.days(on).start.format("Week of %-d %B %Y").to_string(),
        }
    }
}

impl Entry {
    /// The day and the entry of a post; `None` for a draft.
    fn new(post: &Post, accounts: &Accounts, zone: &TimeZone) -> Option<(NaiveDate, Self)> {
        let local = zone.local(post.scheduled_at?);
        let title = |it: &domain::post::Target| {
            accounts.get(&it.connection_id).map_or_else(|| it.provider.clone(), |it| it.rules.title.clone())
        };
        let platforms: BTreeSet<_> = post.targets.iter().map(title).collect();
        let entry = Self {
            id: post.post_id.to_string(),
            time: local.format("%H:%M").to_string(),
            text: excerpt(post.text.as_str(), SHOWN_CHARS),
            platforms: platforms.into_iter().collect::<Vec<_>>().join(", "),
            status: post.status,
        };
        Some((local.date(), entry))
    }
}

fn first_of_month(on: NaiveDate) -> NaiveDate {
    on - Days::new(on.day0().into())
}

/// The start of the day; later, where clocks skip midnight.
fn midnight(date: NaiveDate, zone: &TimeZone) -> DateTime<Utc> {
    let local = date.and_time(NaiveTime::MIN);
    zone.instant(local).or_else(|skipped| zone.instant(skipped.later)).unwrap_or_else(|_| local.and_utc())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::*;

    fn date(raw: &str) -> NaiveDate {
        raw.parse().unwrap()
    }

    #[test]
    fn month_has_whole_weeks() {
        assert_eq!(View::Month.days(date("2026-11-27")), date("2026-10-26")..date("2026-12-07"));
        // It begins on a Monday and ends on a Sunday.
        assert_eq!(View::Month.days(date("2027-02-28")), date("2027-02-01")..date("2027-03-01"));
        assert_eq!(View::Week.days(date("2026-11-29")), date("2026-11-23")..date("2026-11-30"));
    }

    #[test]
    fn previous_and_next_stay_near_the_end_of_a_month() {
        let on = date("2026-03-31");
        assert_eq!((View::Month.previous(on), View::Month.next(on)), (date("2026-02-01"), date("2026-04-01")));
        assert_eq!((View::Week.previous(on), View::Week.next(on)), (date("2026-03-24"), date("2026-04-07")));
    }

    #[test]
    fn day_begins_after_a_skipped_midnight() {
        let zone = TimeZone::parse("America/Santiago").unwrap();
        assert_eq!(midnight(date("2026-09-06"), &zone), "2026-09-06T04:00:00Z".parse::<DateTime<Utc>>().unwrap());
        let berlin = TimeZone::parse("Europe/Berlin").unwrap();
        assert_eq!(midnight(date("2026-07-01"), &berlin), "2026-06-30T22:00:00Z".parse::<DateTime<Utc>>().unwrap());
    }
}
