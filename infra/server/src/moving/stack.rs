//! The stack as AWS describes it.

use std::collections::HashMap;

use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::DisplayErrorContext;
use cloud::bucket::{Bucket, BucketConfig};
use storage::DEFAULT_DUE_SHARDS;

use super::MoveError;

pub(super) struct Stack {
    name: String,
    /// The ARN.
    pub(super) id: String,
    pub(super) due_shards: u32,
    /// The ARN of the key that encrypts credentials.
    pub(super) sealing_key: String,
    media: BucketConfig,
    /// Empty for the user pool of the stack.
    issuer: String,
    has_schedules: bool,
}

impl Stack {
    pub(super) async fn describe(sdk: &SdkConfig, name: &str) -> Result<Self, MoveError> {
        let failed = |reason: String| MoveError::Stack { name: name.to_owned(), reason };
        let described = Client::new(sdk).describe_stacks().stack_name(name).send().await;
        let described = described.map_err(|error| failed(DisplayErrorContext(error).to_string()))?;
        let stack = described.stacks.unwrap_or_default().into_iter().next();
        let stack = stack.ok_or_else(|| failed("it does not exist".to_owned()))?;
        let parameters = stack.parameters.unwrap_or_default().into_iter();
        let parameters: HashMap<_, _> =
            parameters.filter_map(|it| Some((it.parameter_key?, it.parameter_value?))).collect();
        let outputs = stack.outputs.unwrap_or_default().into_iter();
        let outputs: HashMap<_, _> = outputs.filter_map(|it| Some((it.output_key?, it.output_value?))).collect();
        let parameter = |key: &str| {
            parameters
                .get(key)
                .cloned()
                .ok_or_else(|| failed(format!("it has no parameter {key}; deploy this version")))
        };
        let output = |key: &str| {
            outputs.get(key).cloned().ok_or_else(|| failed(format!("it has no output {key}; deploy this version")))
        };
        let endpoint = |key: &str| parameter(key).map(|it| Some(it).filter(|it| !it.is_empty()));
        let due_shards = parameter("DueShards")?;
        Ok(Self {
            name: name.to_owned(),
            id: stack.stack_id.unwrap_or_else(|| name.to_owned()),
            due_shards: due_shards.parse().map_err(|_| failed(format!("DueShards is {due_shards}")))?,
            sealing_key: output("SealingKeyArn")?,
            media: BucketConfig {
                name: output("MediaBucketName")?,
                endpoint: endpoint("MediaEndpoint")?,
                public_endpoint: None,
            },
            issuer: parameter("OidcIssuer")?,
            has_schedules: parameter("Schedules")? != "DISABLED",
        })
    }

    /// Checks that nothing is published, and that users and deliveries will be found. `issuer` is that of
    /// the source, `None` with links.
    pub(super) fn check(&self, issuer: Option<&str>) -> Result<(), MoveError> {
        if self.has_schedules {
            return Err(MoveError::NotHeld(self.name.clone()));
        }
        if self.due_shards < DEFAULT_DUE_SHARDS {
            return Err(MoveError::TooFewShards(self.name.clone(), self.due_shards));
        }
        match issuer {
            Some(here) if here != self.issuer => {
                let there = if self.issuer.is_empty() { "its own user pool" } else { &self.issuer };
                Err(MoveError::OtherIssuer { here: here.to_owned(), there: there.to_owned() })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn bucket(&self, sdk: &SdkConfig) -> Bucket {
        Bucket::new(sdk, &self.media)
    }
}
