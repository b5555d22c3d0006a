use std::collections::HashMap;

use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::DisplayErrorContext;
use cloud::bucket::{Bucket, BucketConfig};
use storage::DEFAULT_DUE_SHARDS;

use super::MoveError;

pub(super) struct Stack {
    name: String,
    pub(super) id: String,
    parameters: HashMap<String, String>,
    outputs: HashMap<String, String>,
}

impl Stack {
    pub(super) async fn describe(sdk: &SdkConfig, name: &str) -> Result<Self, MoveError> {
        let failed = |reason: String| MoveError::Stack { name: name.to_owned(), reason };
        let described = Client::new(sdk).describe_stacks().stack_name(name).send().await;
        let described = described.map_err(|error| failed(DisplayErrorContext(error).to_string()))?;
        let stack = described.stacks.unwrap_or_default().into_iter().next();
        let stack = stack.ok_or_else(|| failed("it does not exist".to_owned()))?;
        let parameters = stack.parameters.unwrap_or_default().into_iter();
        let outputs = stack.outputs.unwrap_or_default().into_iter();
        Ok(Self {
            name: name.to_owned(),
            id: stack.stack_id.unwrap_or_else(|| name.to_owned()),
            parameters: parameters.filter_map(|it| Some((it.parameter_key?, it.parameter_value?))).collect(),
            outputs: outputs.filter_map(|it| Some((it.output_key?, it.output_value?))).collect(),
        })
    }

    /// Checks that nothing is published, and that users and deliveries will be found. `issuer` is that of
    /// the source, `None` with links.
    pub(super) fn check(&self, issuer: Option<&str>) -> Result<(), MoveError> {
        if self.parameter("Schedules")? != "DISABLED" {
            return Err(MoveError::SchedulesEnabled(self.name.clone()));
        }
        let due_shards = self.due_shards()?;
        if due_shards < DEFAULT_DUE_SHARDS {
            return Err(MoveError::TooFewShards(self.name.clone(), due_shards));
        }
        let there = self.parameter("OidcIssuer")?;
        match issuer {
            Some(here) if here != there => {
                let there = if there.is_empty() { "its own user pool" } else { there };
                Err(MoveError::OtherIssuer { here: here.to_owned(), there: there.to_owned() })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn due_shards(&self) -> Result<u32, MoveError> {
        let value = self.parameter("DueShards")?;
        value.parse().map_err(|_| self.failed(format!("DueShards is {value}")))
    }

    pub(super) fn sealing_key(&self) -> Result<String, MoveError> {
        self.output("SealingKeyArn").map(str::to_owned)
    }

    pub(super) fn bucket(&self, sdk: &SdkConfig) -> Result<Bucket, MoveError> {
        let endpoint = self.parameter("MediaEndpoint")?;
        let config = BucketConfig {
            name: self.output("MediaBucketName")?.to_owned(),
            endpoint: Some(endpoint.to_owned()).filter(|it| !it.is_empty()),
            public_endpoint: None,
        };
        Ok(Bucket::new(sdk, &config))
    }

    fn parameter(&self, name: &str) -> Result<&str, MoveError> {
        let found = self.parameters.get(name).map(String::as_str);
        found.ok_or_else(|| self.failed(format!("it has no parameter {name}; deploy this version")))
    }

    fn output(&self, name: &str) -> Result<&str, MoveError> {
        let found = self.outputs.get(name).map(String::as_str);
        found.ok_or_else(|| self.failed(format!("it has no output {name}; deploy this version")))
    }

    fn failed(&self, reason: String) -> MoveError {
        MoveError::Stack { name: self.name.clone(), reason }
    }
}
