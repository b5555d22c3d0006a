//! Records the AWS calls of functions, read from the requests of their SDK.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use axum::http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::Value;

use super::processes;
use crate::error::Result;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) function: String,
    /// As policies name it, such as `dynamodb:GetItem`.
    pub(super) action: &'static str,
    /// As AWS names it: a table with its index, a queue's URL, a bucket with a key.
    pub(super) resource: String,
}

impl Call {
    /// From the local stack's log, where functions are named by their folders.
    pub(super) fn logged(log: &str) -> Result<BTreeSet<Self>> {
        let mut calls = BTreeSet::new();
        for line in log.lines() {
            let line: Value = serde_json::from_str(line)?;
            let text = |name: &str| line[name].as_str().unwrap_or_default();
            let mut headers = HeaderMap::new();
            if let Some(target) = line["target"].as_str() {
                headers.insert("x-amz-target", target.parse()?);
            }
            let method = text("method").parse()?;
            let request = Request::new(&method, &text("uri").parse()?, &headers, line["body"].to_string().as_bytes());
            let status = u16::try_from(line["status"].as_u64().unwrap_or_default())?;
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
            calls.extend(request.calls(text("function"), status));
        }
        Ok(calls)
    }
}

#[derive(Clone, Default)]
pub(super) struct Recorder {
    calls: Arc<Mutex<RecorderState>>,
}

#[derive(Default)]
struct RecorderState {
    seen: BTreeSet<Call>,
    refused: BTreeSet<String>,
    /// By access key.
    callers: BTreeMap<String, String>,
    programs: PathBuf,
}

pub(super) struct Request {
    access_key: String,
    asks: Vec<(&'static str, String)>,
}

impl Request {
    pub(super) fn new(method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Self {
        let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let access_key = text("authorization")
            .split_once("Credential=")
            .or_else(|| uri.query()?.split_once("X-Amz-Credential="))
            .and_then(|(_, it)| it.split(['/', '%']).next())
            .unwrap_or_default()
            .to_owned();
        let asks = match text("x-amz-target").split_once('.') {
            Some((service, operation)) => {
                json_actions(service, operation, &serde_json::from_slice(body).unwrap_or_default())
            }
            None => vec![s3_action(method, uri)],
        };
        Self { access_key, asks }
    }
}

impl Request {
    /// One request may consist of several calls.
    fn calls(self, function: &str, status: StatusCode) -> Vec<Call> {
        let call = |action, resource| Call { function: function.to_owned(), action, resource };
        let mut calls = Vec::new();
        for (action, resource) in self.asks {
            if status == StatusCode::NOT_FOUND && action == "s3:GetObject" {
                // S3 checks this permission before it reports that an object does not exist.
                let bucket = resource.split('/').next().unwrap_or_default().to_owned();
                calls.push(call("s3:ListBucket", bucket));
            }
            calls.push(call(action, resource));
        }
        calls
    }
}

impl Recorder {
    pub(super) fn set_programs(&self, folder: PathBuf) {
        self.lock().programs = folder;
    }

    pub(super) fn note(&self, request: Request, status: StatusCode, response: &[u8]) {
        let mut calls = self.lock();
        let Some(function) = calls.find_caller(&request.access_key) else {
            return;
        };
        let message = String::from_utf8_lossy(response);
        if message.contains("not authorized to perform") {
            let message: String = message.chars().take(400).collect();
            calls.refused.insert(format!("{function}: {:?}: {message}", request.asks));
        }
        calls.seen.extend(request.calls(&function, status));
    }

    pub(super) fn seen(&self) -> BTreeSet<Call> {
        self.lock().seen.clone()
    }

    /// Requests that got a 403.
    pub(super) fn refused(&self) -> BTreeSet<String> {
        self.lock().refused.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RecorderState> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecorderState {
    fn find_caller(&mut self, access_key: &str) -> Option<String> {
        if !self.callers.contains_key(access_key) {
            let running = processes::below(&self.programs);
            self.callers.extend(running.into_iter().map(|it| (it.access_key, it.name)));
        }
        self.callers.get(access_key).cloned()
    }
}

/// For services that speak JSON. An unknown operation gets a name that no policy has, so that the
/// comparison reports it.
fn json_actions(service: &str, operation: &str, body: &Value) -> Vec<(&'static str, String)> {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let named = |action| vec![(action, table(body))];
    match (service, operation) {
        ("DynamoDB_20120810", "GetItem") => named("dynamodb:GetItem"),
        ("DynamoDB_20120810", "PutItem") => named("dynamodb:PutItem"),
        ("DynamoDB_20120810", "UpdateItem") => named("dynamodb:UpdateItem"),
        ("DynamoDB_20120810", "DeleteItem") => named("dynamodb:DeleteItem"),
        ("DynamoDB_20120810", "Scan") => named("dynamodb:Scan"),
        ("DynamoDB_20120810", "Query") => {
            let index = body["IndexName"].as_str().map(|it| format!("/index/{it}")).unwrap_or_default();
            vec![("dynamodb:Query", format!("{}{index}", text("TableName")))]
        }
        ("DynamoDB_20120810", "BatchGetItem") => {
            let tables = body["RequestItems"].as_object().into_iter().flatten();
            tables.map(|(table, _)| ("dynamodb:BatchGetItem", table.clone())).collect()
        }
        ("DynamoDB_20120810", "TransactWriteItems") => {
            let items = body["TransactItems"].as_array().into_iter().flatten();
            items
                .filter_map(Value::as_object)
                .flatten()
                .map(|(kind, it)| (transaction_action(kind), table(it)))
                .collect()
        }
        ("TrentService", "GenerateDataKey") => vec![("kms:GenerateDataKey", key_resource(body))],
        ("TrentService", "Decrypt") => vec![("kms:Decrypt", key_resource(body))],
        ("AmazonSQS", "SendMessage" | "SendMessageBatch") => vec![("sqs:SendMessage", text("QueueUrl"))],
        ("AWSEvents", "PutEvents") => {
            let entries = body["Entries"].as_array().into_iter().flatten();
            entries.map(|it| ("events:PutEvents", it["EventBusName"].as_str().unwrap_or_default().to_owned())).collect()
        }
        ("secretsmanager", "GetSecretValue") => {
            vec![("secretsmanager:GetSecretValue", secret_name(&text("SecretId")))]
        }
        _ => vec![("unknown", format!("{service}.{operation}"))],
    }
}

fn transaction_action(kind: &str) -> &'static str {
    match kind {
        "Put" => "dynamodb:PutItem",
        "Update" => "dynamodb:UpdateItem",
        "Delete" => "dynamodb:DeleteItem",
        "ConditionCheck" => "dynamodb:ConditionCheckItem",
        _ => "unknown",
    }
}

/// From the name or from the ARN, which ends in the name, a dash and six characters.
fn secret_name(id: &str) -> String {
    let named = id.split_once(":secret:").and_then(|(_, it)| it.rsplit_once('-'));
    named.map_or(id, |(name, _)| name).to_owned()
}

/// For the vault, with a common key prefix, as roles name it: `vault/webhook#*`.
fn table(item: &Value) -> String {
    let table = item["TableName"].as_str().unwrap_or_default();
    let entry = ["Key", "Item"].into_iter().find_map(|it| item[it]["entry"]["S"].as_str());
    match entry {
        Some(entry) if table.ends_with("-vault") => {
            format!("{table}/{}#*", entry.split('#').next().unwrap_or_default())
        }
        _ => table.to_owned(),
    }
}

/// The first part of the encryption context of every secret.
pub(super) const SEALED_BY: &str = "social-publishing";

/// The prefix of the name of the only key. The kind of the secret follows.
pub(super) const KEY: &str = "the key for ";

/// The only key, used for secrets of one kind, if its encryption context is one for which roles
/// allow it.
fn key_resource(body: &Value) -> String {
    let context = &body["EncryptionContext"];
    match context["kind"].as_str() {
        Some(kind) if context["service"] == SEALED_BY => format!("{KEY}{kind}"),
        _ => format!("{KEY}an unknown context: {context}"),
    }
}

fn s3_action(method: &Method, uri: &Uri) -> (&'static str, String) {
    let path = uri.path().trim_start_matches('/').to_owned();
    let has = |name: &str| uri.query().is_some_and(|it| it.split('&').any(|it| it.split('=').next() == Some(name)));
    if has("list-type") {
        return ("s3:ListBucket", path.trim_end_matches('/').to_owned());
    }
    let action = match *method {
        Method::PUT | Method::POST => "s3:PutObject",
        Method::DELETE if has("uploadId") => "s3:AbortMultipartUpload",
        Method::DELETE => "s3:DeleteObject",
        Method::GET | Method::HEAD if path.contains('/') => "s3:GetObject",
        _ => "unknown",
    };
    (action, path)
}
