//! AWS calls that the tests make themselves.

mod user_pool;

use reqwest::{Client, Method};
use serde_json::Value;

pub use self::user_pool::{PASSWORD, UserPool};
use crate::{ensure, error::Result};

/// The emulator accepts this access key for the root of the account.
pub(crate) const ROOT: &str = "test";

pub(crate) const REGION: &str = "us-east-1";

#[derive(Clone, Debug)]
pub struct Root {
    http: Client,
    url: String,
}

impl Root {
    pub(crate) fn new(http: Client, url: String) -> Self {
        Self { http, url }
    }

    /// For services that speak JSON; `target` is such as `AmazonSQS.SendMessage`.
    pub async fn call(&self, target: &str, body: &Value) -> Result<Value> {
        let request = self.request(Method::POST, "/", signing_name(target)).header("x-amz-target", target);
        let request = request.header("content-type", "application/x-amz-json-1.1").body(body.to_string());
        send(request, target).await
    }

    pub async fn invoke(&self, function: &str, event: &Value) -> Result<Value> {
        let path = format!("/2015-03-31/functions/{function}/invocations");
        send(self.request(Method::POST, &path, "lambda").body(event.to_string()), function).await
    }

    pub async fn remove_object(&self, bucket: &str, key: &str) -> Result {
        send(self.request(Method::DELETE, &format!("/{bucket}/{key}"), "s3"), key).await?;
        Ok(())
    }

    pub async fn put_object(&self, bucket: &str, key: &str, bytes: &'static [u8]) -> Result {
        send(self.request(Method::PUT, &format!("/{bucket}/{key}"), "s3").body(bytes), key).await?;
        Ok(())
    }

    pub async fn create_bucket(&self, bucket: &str) -> Result {
        send(self.request(Method::PUT, &format!("/{bucket}"), "s3"), bucket).await?;
        Ok(())
    }

    pub async fn object(&self, bucket: &str, key: &str) -> Result<Vec<u8>> {
        let response = self.request(Method::GET, &format!("/{bucket}/{key}"), "s3").send().await?;
        ensure!(response.status().is_success(), "{key}: {}", response.status());
        Ok(response.bytes().await?.to_vec())
    }

    pub async fn has_object(&self, bucket: &str, key: &str) -> Result<bool> {
        let response = self.request(Method::HEAD, &format!("/{bucket}/{key}"), "s3").send().await?;
        ensure!([200, 404].contains(&response.status().as_u16()), "{key}: {}", response.status());
        Ok(response.status().is_success())
    }

    fn request(&self, method: Method, path: &str, service: &str) -> reqwest::RequestBuilder {
        // The emulator does not check the signature of the root.
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={ROOT}/20260101/{REGION}/{service}/aws4_request, SignedHeaders=host, Signature=0"
        );
        self.http.request(method, format!("{}{path}", self.url)).header("authorization", authorization)
    }
}

async fn send(request: reqwest::RequestBuilder, description: &str) -> Result<Value> {
    let response = request.send().await?;
    let (status, failed) = (response.status(), response.headers().get("x-amz-function-error").is_some());
    let text = response.text().await?;
    ensure!(status.is_success() && !failed, "{description}: {status} {text}");
    if text.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&text)?) }
}

fn signing_name(target: &str) -> &'static str {
    match target.split(['.', '_']).next().unwrap_or_default() {
        "AWSCognitoIdentityProviderService" => "cognito-idp",
        "AmazonSQS" => "sqs",
        "Logs" => "logs",
        _ => "dynamodb",
    }
}
