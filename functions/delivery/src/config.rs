//! This function's environment variables, in addition to those of every function that publishes.

use cloud::config::{ConfigError, optional, parsed, required};
use domain::media::FileKey;
use platforms::{Publish, Registry};
use publishing::FileAddresses;

#[derive(Clone, Debug)]
pub struct Config {
    /// `PICTURES_QUEUE_URL`: the queue of the pictures function.
    pub pictures_queue_url: String,
    /// From `FILE_SECRET`, `ORIGIN` and `EDGE_SERVES_FILES`: the URLs of files that platforms
    /// fetch. `EDGE_SERVES_FILES` is `true` if `CloudFront` serves the files, including videos.
    pub file_addresses: Option<FileAddresses>,
}

impl Config {
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self { pictures_queue_url: required("PICTURES_QUEUE_URL")?, file_addresses: file_addresses()? })
    }

    /// An error if an enabled platform fetches files and no URL can be given: each of its posts
    /// with an image would wait in vain.
    pub fn check(&self, platforms: &Registry<dyn Publish>) -> Result<(), ConfigError> {
        let platform_names = platforms.names_fetching_files();
        if self.file_addresses.is_some() || platform_names.is_empty() {
            return Ok(());
        }
        let reason = format!(
            "{} cannot be used without it, because they fetch files from this service; set at least {} characters, the \
             same for the functions media and delivery; make them with: openssl rand -hex 32",
            platform_names.join(", "),
            FileKey::MIN_LENGTH
        );
        Err(ConfigError::Invalid { name: "FILE_SECRET", reason })
    }
}

fn file_addresses() -> Result<Option<FileAddresses>, ConfigError> {
    let Some(secret) = optional("FILE_SECRET") else { return Ok(None) };
    let key = FileKey::new(&secret);
    Ok(Some(FileAddresses {
        origin: required("ORIGIN")?.trim_end_matches('/').to_owned(),
        key: key.map_err(|it| ConfigError::Invalid { name: "FILE_SECRET", reason: it.to_string() })?,
        serves_videos: parsed("EDGE_SERVES_FILES", false)?,
    }))
}
