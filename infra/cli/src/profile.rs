//! Saved sign-ins, in `profiles.json`, which only its owner can read.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::error::CliError;
use crate::keyring;

#[derive(Default, Serialize, Deserialize)]
struct Profiles {
    #[serde(default)]
    profiles: BTreeMap<String, Profile>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Profile {
    /// The origin of the deployment.
    pub(crate) url: String,
    /// `None` if a keyring stores the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoredToken {
    Keyring,
    File(PathBuf),
}

impl Profile {
    pub(crate) fn find(name: &str) -> Result<Option<Self>, CliError> {
        Ok(read()?.profiles.remove(name))
    }

    /// In the keyring if possible, else in the file.
    pub(crate) fn keep(name: &str, url: &str, token: &SecretString) -> Result<StoredToken, CliError> {
        let is_in_keyring = keyring::keep(&entry(name, url), token);
        let token = (!is_in_keyring).then(|| token.expose_secret().to_owned());
        let mut all = read()?;
        all.profiles.insert(name.to_owned(), Self { url: url.to_owned(), token });
        write(&all)?;
        Ok(if is_in_keyring { StoredToken::Keyring } else { StoredToken::File(path()?) })
    }

    /// Keeps the deployment for the next sign-in. Returns its origin; `None` if there was no token.
    pub(crate) fn forget(name: &str) -> Result<Option<String>, CliError> {
        let mut all = read()?;
        let Some(profile) = all.profiles.get_mut(name) else { return Ok(None) };
        let url = profile.url.clone();
        if profile.token.take().is_some() {
            write(&all)?;
            return Ok(Some(url));
        }
        let entry = entry(name, &url);
        if keyring::find(&entry).is_none() {
            return Ok(None);
        }
        if !keyring::remove(&entry) {
            let why = "the token could not be removed from the keyring; unlock the keyring and try again";
            return Err(CliError::Failed(why.to_owned()));
        }
        Ok(Some(url))
    }

    pub(crate) fn token(&self, name: &str) -> Result<Option<(SecretString, StoredToken)>, CliError> {
        Ok(match &self.token {
            Some(token) => Some((token.clone().into(), StoredToken::File(path()?))),
            None => keyring::find(&entry(name, &self.url)).map(|it| (it, StoredToken::Keyring)),
        })
    }
}

/// The name of a token in the keyring. The deployment is part of it, so that after any interruption
/// a token is never sent to another deployment.
fn entry(name: &str, url: &str) -> String {
    format!("{name}#{url}")
}

pub(crate) fn path() -> Result<PathBuf, CliError> {
    let folder = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let home = || folder("HOME").map(|it| it.join(".config"));
    let config = folder("XDG_CONFIG_HOME").or_else(home);
    let config = config.ok_or_else(|| CliError::Failed("no home folder was found; set XDG_CONFIG_HOME".to_owned()))?;
    Ok(config.join("social").join("profiles.json"))
}

fn read() -> Result<Profiles, CliError> {
    let path = path()?;
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Profiles::default()),
        Err(error) => return Err(CliError::Failed(format!("{}: {error}", path.display()))),
    };
    // Also if the permissions were changed by hand.
    let others = fs::metadata(&path)?.permissions().mode() & 0o077;
    if others != 0 {
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    }
    serde_json::from_str(&text).map_err(|error| {
        CliError::Failed(format!("{}: {error}; delete the file and run `social login`", path.display()))
    })
}

fn write(all: &Profiles) -> Result<(), CliError> {
    let path = path()?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let text = serde_json::to_string_pretty(all).map_err(|it| CliError::Failed(it.to_string()))?;
    // Written to a temporary file and renamed, so that no crash leaves half a file.
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()?;
    Ok(fs::rename(part, path)?)
}
