//! Responses of real servers, from `tests/recordings`.

use std::path::{Path, PathBuf};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A response, and the request that it belongs to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recording {
    /// Which package or document has it.
    pub(crate) source: String,
    /// Method and path, with `{id}` in place of ids.
    pub(crate) request: String,
    status: u16,
    headers: std::collections::BTreeMap<String, String>,
    /// `null` where the response has no body.
    pub(crate) body: Value,
}

impl Recording {
    /// All of a platform, by the names of their files.
    pub(crate) fn all(platform: &str) -> Vec<(String, Self)> {
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

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap()
    }

    pub(crate) fn headers(&self) -> HeaderMap {
        let header = |(name, value): (&String, &String)| -> (HeaderName, HeaderValue) {
            (name.parse().unwrap(), value.parse().unwrap())
        };
        self.headers.iter().map(header).collect()
    }

    /// The body as it was sent.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        if self.body.is_null() { Vec::new() } else { self.body.to_string().into_bytes() }
    }

    /// The body as the adapter reads it.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> T {
        T::deserialize(&self.body).unwrap_or_else(|error| panic!("{} {}: {error}", self.request, self.source))
    }
}
