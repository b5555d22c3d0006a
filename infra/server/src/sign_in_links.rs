//! Sign-in links: a file in the data folder for each, named by the hash of the link's token. The program
//! creates them while the service runs, which has no other access to its store.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use auth::{LinkError, SignInLink, SignInLinks};
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::token::{hash, random_token};
use lettre::Address;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::form_urlencoded::Serializer;

use crate::error::ServerError;
use crate::mail::Mailer;
use crate::sync::write_durably;

/// Below the data folder.
const FOLDER: &str = "sign-in-links";

/// For links in e-mails.
const MAILED: TimeDelta = TimeDelta::minutes(15);

/// For links that the operator passes on.
const HANDED_OVER: TimeDelta = TimeDelta::hours(24);

/// For one address.
const BETWEEN_MAILS: TimeDelta = TimeDelta::minutes(1);

#[derive(Serialize, Deserialize)]
struct Stored {
    /// `None` if the user enters it.
    email: Option<String>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    expires_at: DateTime<Utc>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    created_at: DateTime<Utc>,
}

#[derive(Clone, Debug)]
pub struct LinkFolder {
    folder: PathBuf,
    origin: String,
    clock: Clock,
    mailer: Option<Mailer>,
    /// Held while a link is created for an e-mail, so that concurrent requests send one.
    mailing: Arc<Mutex<()>>,
}

impl LinkFolder {
    pub fn new(data: &Path, origin: impl Into<String>, clock: Clock, mailer: Option<Mailer>) -> Self {
        Self { folder: data.join(FOLDER), origin: origin.into(), clock, mailer, mailing: Arc::default() }
    }

    /// For the operator to pass on. Without an address, the user enters one.
    pub fn create(&self, email: Option<&str>) -> Result<SecretString, ServerError> {
        if let Some(invalid) = email.filter(|it| it.parse::<Address>().is_err()) {
            return Err(ServerError::Email(invalid.to_owned()));
        }
        self.create_until(email.map(str::to_lowercase), HANDED_OVER, "")
    }

    fn create_until(&self, email: Option<String>, valid: TimeDelta, next: &str) -> Result<SecretString, ServerError> {
        let (token, now) = (random_token(), self.clock.now());
        let path = self.path(token.expose_secret());
        let stored = Stored { email, created_at: now, expires_at: now + valid };
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(&self.folder)?;
            write_durably(&self.folder, &hash(token.expose_secret()), &serde_json::to_vec(&stored)?)
        };
        write().map_err(|source| ServerError::File { path: path.clone(), source })?;
        let mut query = Serializer::new(String::new());
        query.append_pair("token", token.expose_secret());
        if !next.is_empty() {
            query.append_pair("next", next);
        }
        Ok(format!("{}/sign-in/link?{}", self.origin, query.finish()).into())
    }

    fn path(&self, token: &str) -> PathBuf {
        self.folder.join(hash(token))
    }

    /// `None` if the link is expired or its file is not readable as one.
    fn read(&self, path: &Path) -> std::io::Result<Option<Stored>> {
        match std::fs::read(path) {
            Ok(json) => {
                let stored: Option<Stored> = serde_json::from_slice(&json).ok();
                Ok(stored.filter(|it| self.clock.now() < it.expires_at))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes expired links. Returns whether an address got one less than a minute ago.
    fn tidy(&self, email: &str) -> std::io::Result<bool> {
        let mut is_recent = false;
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            match self.read(&path)? {
                None => match std::fs::remove_file(&path) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                },
                Some(it) => {
                    let age = self.clock.now() - it.created_at;
                    is_recent |= it.email.as_deref() == Some(email) && age < BETWEEN_MAILS;
                }
            }
        }
        Ok(is_recent)
    }
}

#[async_trait]
impl SignInLinks for LinkFolder {
    fn sends_mail(&self) -> bool {
        self.mailer.is_some()
    }

    async fn send(&self, email: &str, next: &str) -> Result<(), LinkError> {
        let Some(mailer) = &self.mailer else { return Err(LinkError("SMTP_URL is not set".to_owned())) };
        let link = {
            let _one = self.mailing.lock().unwrap_or_else(PoisonError::into_inner);
            if self.tidy(email).map_err(|it| LinkError(it.to_string()))? {
                return Ok(());
            }
            let link = self.create_until(Some(email.to_owned()), MAILED, next);
            link.map_err(|it| LinkError(it.to_string()))?
        };
        mailer.send_link(email, &self.origin, &link).await
    }

    async fn find(&self, token: &str) -> Result<Option<SignInLink>, LinkError> {
        let stored = self.read(&self.path(token)).map_err(|it| LinkError(it.to_string()))?;
        Ok(stored.map(|it| SignInLink { email: it.email }))
    }

    async fn redeem(&self, token: &str) -> Result<Option<SignInLink>, LinkError> {
        let found = self.find(token).await?;
        // Of two processes that delete a file, one succeeds.
        match std::fs::remove_file(self.path(token)) {
            Ok(()) => Ok(found),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(LinkError(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::noon;
    use tempfile::TempDir;

    use super::*;

    fn links(folder: &TempDir, clock: &Clock) -> LinkFolder {
        LinkFolder::new(folder.path(), "https://social.example", clock.clone(), None)
    }

    fn token(link: &SecretString) -> String {
        let (url, token) = link.expose_secret().split_once("?token=").unwrap();
        assert_eq!(url, "https://social.example/sign-in/link");
        token.to_owned()
    }

    #[tokio::test]
    async fn link_works_once() {
        let (folder, clock) = (TempDir::new().unwrap(), Clock::manual(noon()));
        let created = links(&folder, &clock).create(Some("One@Example.com")).unwrap();
        let other_process = links(&folder, &clock);

        let found = other_process.find(&token(&created)).await.unwrap();
        let first = other_process.redeem(&token(&created)).await.unwrap();
        let second = other_process.redeem(&token(&created)).await.unwrap();

        let expected = Some(SignInLink { email: Some("one@example.com".to_owned()) });
        assert_eq!((found, first, second), (expected.clone(), expected, None));
    }

    #[tokio::test]
    async fn expired_and_unknown_links_are_refused() {
        let (folder, clock) = (TempDir::new().unwrap(), Clock::manual(noon()));
        let links = links(&folder, &clock);
        let created = links.create(None).unwrap();
        clock.advance(HANDED_OVER + TimeDelta::milliseconds(1));

        assert_eq!(links.redeem(&token(&created)).await.unwrap(), None);
        assert_eq!(links.redeem("../instance.json").await.unwrap(), None);
    }

    #[test]
    fn second_mail_within_a_minute_is_not_sent() {
        let (folder, clock) = (TempDir::new().unwrap(), Clock::manual(noon()));
        let links = links(&folder, &clock);
        links.create_until(Some("one@example.com".to_owned()), MAILED, "/posts").unwrap();

        assert!(links.tidy("one@example.com").unwrap());
        assert!(!links.tidy("two@example.com").unwrap());
        clock.advance(MAILED);
        assert!(!links.tidy("one@example.com").unwrap());
        assert_eq!(std::fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 0);
    }
}
