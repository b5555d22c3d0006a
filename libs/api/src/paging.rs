use contract::PageMeta;
use domain::listing::Listing;

use crate::fields::{FieldValue, Fields};

const DEFAULT_PER_PAGE: u64 = 15;

const MAX_PER_PAGE: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// From 1.
    pub page: u64,
    pub per_page: u64,
}

impl Paging {
    pub fn parse(fields: &mut Fields) -> Self {
        Self {
            page: number(fields, "page", Listing::MAX_PAGE).unwrap_or(1),
            per_page: number(fields, "per_page", MAX_PER_PAGE).unwrap_or(DEFAULT_PER_PAGE),
        }
    }

    pub fn cut<T>(self, all: Vec<T>) -> (Vec<T>, PageMeta) {
        let Self { page, per_page } = self;
        let total = u64::try_from(all.len()).unwrap_or(u64::MAX);
        let first = (page - 1) * per_page;
        let shown = (0..).zip(all).filter(|(index, _)| (first..first + per_page).contains(index));
        let shown = shown.map(|it| it.1).collect();
        (shown, PageMeta { current_page: page, last_page: total.div_ceil(per_page).max(1), per_page, total })
    }
}

fn number(fields: &mut Fields, name: &str, max: u64) -> Option<u64> {
    match fields.integer(name) {
        FieldValue::Value(number) if (1..=max).contains(&number) => Some(number),
        FieldValue::Value(_) => {
            fields.add(name, format!("must be from 1 to {max}"));
            None
        }
        FieldValue::Absent | FieldValue::Null | FieldValue::Invalid => None,
    }
}
