use std::time::Duration;

use auth::LinkError;
use lettre::message::Mailbox;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrecy::{ExposeSecret, SecretString};

use crate::error::ServerError;

/// Applies to each command of the SMTP server.
const TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Clone)]
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl std::fmt::Debug for Mailer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailer").field("from", &self.from).finish_non_exhaustive()
    }
}

impl Mailer {
    /// `url` is like `smtps://user:password@smtp.example.com`, or `smtp://…?tls=required` for STARTTLS.
    pub fn new(url: &SecretString, from: &str) -> Result<Self, ServerError> {
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose_secret());
        // The error could quote the password.
        let transport = transport.map_err(|_| ServerError::Mail("not the URL of an SMTP server".to_owned()))?;
        let from = from.parse().map_err(|_| ServerError::Mail("the sender is not an e-mail address".to_owned()))?;
        Ok(Self { transport: transport.timeout(Some(TIMEOUT)).build(), from })
    }

    pub(crate) async fn send_link(&self, email: &str, origin: &str, link: &SecretString) -> Result<(), LinkError> {
        let failed = |error: &dyn std::error::Error| LinkError(error.to_string());
        let message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, email.parse().map_err(|error| failed(&error))?))
            .subject("Your sign-in link")
            .body(text(origin, link))
            .map_err(|error| failed(&error))?;
        self.transport.send(message).await.map_err(|error| failed(&error))?;
        Ok(())
    }

    pub(crate) async fn check(&self) -> Result<bool, LinkError> {
        self.transport.test_connection().await.map_err(|error| LinkError(error.to_string()))
    }
}

fn text(origin: &str, link: &SecretString) -> String {
    format!(
        "Open this link to sign in to {origin}:\n\n{}\n\nIt works once and for 15 minutes. If you did not request it, \
         ignore this e-mail.\n",
        link.expose_secret()
    )
}
