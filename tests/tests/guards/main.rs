//! Checks that several places agree, and that the sources keep some rules: the API document, the
//! template, the instructions, the code.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

mod circles;
mod config;
mod cost;
mod decoders;
mod document;
mod edge;
mod features;
mod hardening;
mod options;
mod places;
mod roles;
mod routes;
mod scale;
mod tables;
mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tests::template;
use tests::template::ROOT;
use utoipa::openapi::OpenApi;

type Names = BTreeSet<String>;

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(ROOT).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn documented() -> BTreeMap<&'static str, OpenApi> {
    BTreeMap::from([
        ("auth", auth::documented()),
        ("connections", connections::documented()),
        // Its requests are described by the protocol.
        ("mcp", OpenApi::default()),
        ("media", media::documented()),
        ("posts", posts::documented()),
        ("webhooks", webhooks::documented()),
    ])
}

pub(crate) fn document() -> Value {
    serde_json::to_value(api::openapi::describe(documented().into_values())).unwrap()
}

pub(crate) fn quoted_after(source: &str, start: &str) -> Vec<String> {
    let found = source.split(start).skip(1).filter_map(|it| it.split_once('"'));
    found.map(|(text, _)| text.to_owned()).collect()
}

pub(crate) fn rust_files(folder: &str) -> Vec<PathBuf> {
    template::rust_files(folder).unwrap()
}
