//! Users in the deployment's Cognito user pool.

use serde_json::{Value, json};

use super::Root;
use crate::error::Result;

/// For every test user: the pool requires twelve characters of several kinds.
pub const PASSWORD: &str = "Harbour-lights-7";

#[derive(Clone, Debug)]
pub struct UserPool {
    root: Root,
    id: String,
}

impl UserPool {
    pub(crate) fn new(root: Root, id: String) -> Self {
        Self { root, id }
    }

    /// Creates the user unless it exists.
    pub async fn join(&self, email: &str) -> Result {
        let name = email.split('@').next().unwrap_or(email);
        let attributes: Vec<Value> = [("email", email), ("email_verified", "true"), ("name", name)]
            .map(|(name, value)| json!({ "Name": name, "Value": value }))
            .into();
        let person = json!({
            "UserPoolId": self.id,
            "Username": email,
            "UserAttributes": attributes,
            "MessageAction": "SUPPRESS",
        });
        match self.root.call("AWSCognitoIdentityProviderService.AdminCreateUser", &person).await {
            Ok(_) => {}
            Err(error) if error.to_string().contains("UsernameExistsException") => return Ok(()),
            Err(error) => return Err(error),
        }
        let password = json!({ "UserPoolId": self.id, "Username": email, "Password": PASSWORD, "Permanent": true });
        self.root.call("AWSCognitoIdentityProviderService.AdminSetUserPassword", &password).await?;
        Ok(())
    }

    pub async fn rename(&self, email: &str, name: &str) -> Result {
        let attributes = json!([{ "Name": "name", "Value": name }]);
        let change = json!({ "UserPoolId": self.id, "Username": email, "UserAttributes": attributes });
        self.root.call("AWSCognitoIdentityProviderService.AdminUpdateUserAttributes", &change).await?;
        Ok(())
    }
}
