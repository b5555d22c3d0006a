//! This function's environment variables, in addition to those of every function that publishes.

use cloud::config::{ConfigError, optional, parsed, required};
use domain::media::FileKey;
use platforms::{Publish, Registry};
use publishing::FileAddresses;

/// The URLs of files that platforms fetch, from `FILE_SECRET`, `ORIGIN` and `EDGE_SERVES_FILES`.
/// `EDGE_SERVES_FILES` is `true` if `CloudFront` serves the files, including videos.
///
/// # Errors
/// Also if `FILE_SECRET` is missing and an enabled platform fetches files: each of its posts with
/// an image would wait in vain.
pub fn file_addresses(platforms: &Registry<dyn Publish>) -> Result<Option<FileAddresses>, ConfigError> {
    let invalid = |reason| ConfigError::Invalid { name: "FILE_SECRET", reason };
    let Some(secret) = optional("FILE_SECRET") else {
        let platform_names = platforms.names_fetching_files();
        return if platform_names.is_empty() { Ok(None) } else { Err(invalid(missing_secret(&platform_names))) };
    };
    let key = FileKey::new(&secret);
    Ok(Some(FileAddresses {
        origin: required("ORIGIN")?.trim_end_matches('/').to_owned(),
        key: key.map_err(|it| invalid(it.to_string()))?,
        serves_videos: parsed("EDGE_SERVES_FILES", false)?,
    }))
}

fn missing_secret(platform_names: &[&str]) -> String {
    format!(
        "{} cannot be used without it, because they fetch files from this service; set at least {} characters, the \
         same for the functions media and delivery; make them with: openssl rand -hex 32",
        platform_names.join(", "),
        FileKey::MIN_LENGTH
    )
}
