//! A response of a real server, from `tests/recordings`.

#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod fields;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::fields::Fields;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The package or document that has it.
    pub source: String,
    /// Method and path, with `{id}` in place of ids.
    pub request: String,
    status: u16,
    headers: BTreeMap<String, String>,
    /// `null` where the response has no body.
    pub body: Value,
    /// The fields that the adapter's types have read so far.
    #[serde(skip)]
    fields_read: Fields,
}

impl Recording {
    /// All recordings of a platform, with the names of their files.
    pub fn all(platform: &str) -> Vec<(String, Self)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings").join(platform);
        let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
        files.sort();
        let read = |path: PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let recording = serde_json::from_slice(&std::fs::read(&path).unwrap());
            (name.clone(), recording.unwrap_or_else(|error| panic!("{name}: {error}")))
        };
        files.into_iter().map(read).collect()
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap()
    }

    /// Only those that adapters read.
    pub fn headers(&self) -> HeaderMap {
        let header = |(name, value): (&String, &String)| -> (HeaderName, HeaderValue) {
            (name.parse().unwrap(), value.parse().unwrap())
        };
        self.headers.iter().map(header).collect()
    }

    pub fn bytes(&self) -> Vec<u8> {
        if self.body.is_null() { Vec::new() } else { self.body.to_string().into_bytes() }
    }

    pub fn read<T: DeserializeOwned>(&self) -> T {
        fields::read(&self.body, &self.fields_read)
            .unwrap_or_else(|error| panic!("{} {}: {error}", self.request, self.source))
    }
    pub(crate) fn into_fields_read(self) -> (String, BTreeSet<String>) {
        (self.request, self.fields_read.into_inner())
    }
}
