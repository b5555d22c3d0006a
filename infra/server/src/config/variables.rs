//! The variables of the process: of the environment, of a configuration file, and of files that
//! `NAME_FILE` names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cloud::config::ConfigError;
use toml::{Table, Value};

use super::NAMES;
use crate::error::ServerError;

#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    #[error(transparent)]
    Variable(#[from] ConfigError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("{name} cannot be read: {source}")]
    File { name: String, source: std::io::Error },
    #[error("{} is not TOML: {reason}", .path.display())]
    Format { path: PathBuf, reason: String },
    #[error("{}: {name} is not a setting", .path.display())]
    Unknown { path: PathBuf, name: String },
    #[error("{0} and {0}_FILE are both set")]
    Twice(&'static str),
}

/// Merges the environment with a file. The environment wins.
pub fn read(
    environment: impl IntoIterator<Item = (String, String)>,
    file: Option<&Path>,
) -> Result<BTreeMap<String, String>, Vec<SettingError>> {
    let mut errors = Vec::new();
    let mut variables = match file.map(read_file) {
        None => BTreeMap::new(),
        Some(Ok((variables, unknown))) => {
            errors.extend(unknown);
            variables
        }
        Some(Err(error)) => return Err(vec![error]),
    };
    let is_known = |name: &str| NAMES.contains(&name.strip_suffix("_FILE").unwrap_or(name));
    let set: BTreeMap<_, _> = environment.into_iter().filter(|(name, _)| is_known(name)).collect();
    for name in NAMES {
        let file_name = format!("{name}_FILE");
        // A variable of the environment replaces both forms of the file.
        if set.contains_key(name) || set.contains_key(&file_name) {
            variables.remove(name);
            variables.remove(&file_name);
        }
    }
    variables.extend(set);
    for name in NAMES {
        let Some(path) = variables.remove(&format!("{name}_FILE")) else { continue };
        if variables.contains_key(name) {
            errors.push(SettingError::Twice(name));
            continue;
        }
        match std::fs::read_to_string(&path) {
            Ok(text) => drop(variables.insert(name.to_owned(), text.trim_end_matches(['\n', '\r']).to_owned())),
            Err(source) => errors.push(SettingError::File { name: format!("{name}_FILE ({path})"), source }),
        }
    }
    if errors.is_empty() { Ok(variables) } else { Err(errors) }
}

/// Returns an error for each unknown name. A value that is not a text is passed on as JSON.
fn read_file(path: &Path) -> Result<(BTreeMap<String, String>, Vec<SettingError>), SettingError> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|source| SettingError::File { name: path.display().to_string(), source })?;
    let format = |reason: String| SettingError::Format { path: path.to_owned(), reason };
    // The message quotes the line of the error, which could be a secret: only the position is kept.
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |it| 1 + text.get(..it.start).unwrap_or_default().matches('\n').count());
        format(format!("line {line}: {}", error.message()))
    })?;
    let (mut variables, mut unknown) = (BTreeMap::new(), Vec::new());
    for (name, value) in table {
        let variable = name.to_uppercase();
        if !NAMES.contains(&variable.strip_suffix("_FILE").unwrap_or(&variable)) {
            unknown.push(SettingError::Unknown { path: path.to_owned(), name });
            continue;
        }
        let value = match value {
            Value::String(text) => text,
            other => serde_json::to_string(&other).map_err(|error| format(error.to_string()))?,
        };
        variables.insert(variable, value);
    }
    Ok((variables, unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn environment_wins_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let config = file(
            &folder,
            "config.toml",
            "origin = \"https://a.example\"\nguest_hand_offs = true\n[platforms.mastodon]\n",
        );

        let read = read(environment(&[("ORIGIN", "https://b.example"), ("PATH", "/bin")]), Some(&config)).unwrap();

        assert_eq!(read["ORIGIN"], "https://b.example");
        assert_eq!(read["GUEST_HAND_OFFS"], "true");
        assert_eq!(read["PLATFORMS"], r#"{"mastodon":{}}"#);
        assert!(!read.contains_key("PATH"));
    }

    #[test]
    fn secret_is_read_from_the_file_that_a_variable_names() {
        let folder = tempfile::tempdir().unwrap();
        let secret = file(&folder, "secret", "s3cret\n");
        let config = file(&folder, "config.toml", "oidc_client_secret = \"other\"\n");

        let set = environment(&[("OIDC_CLIENT_SECRET_FILE", secret.to_str().unwrap())]);
        let read = read(set, Some(&config)).unwrap();

        assert_eq!(read["OIDC_CLIENT_SECRET"], "s3cret");
    }

    #[test]
    fn every_error_is_reported_and_quotes_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let config = file(&folder, "config.toml", "origins = \"https://a.example\"\nlisten_at = 1\n");
        let set = environment(&[("SMTP_URL", "smtp://x"), ("SMTP_URL_FILE", "/x"), ("METRICS_TOKEN_FILE", "/missing")]);

        let errors: Vec<_> = read(set, Some(&config)).unwrap_err().iter().map(ToString::to_string).collect();

        assert_eq!(errors.len(), 4, "{errors:?}");
        for part in
            ["origins is not a setting", "listen_at", "SMTP_URL and SMTP_URL_FILE", "METRICS_TOKEN_FILE (/missing)"]
        {
            assert!(errors.iter().any(|it| it.contains(part)), "{part} is not in {errors:?}");
        }
        let broken = file(&folder, "broken.toml", "listen = \"x\"\nsmtp_url = \"s3cret\n");
        let error = read([], Some(&broken)).unwrap_err()[0].to_string();
        assert!(error.contains("line 2") && !error.contains("s3cret"), "{error}");
    }
}
