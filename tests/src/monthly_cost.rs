//! What an idle deployment costs in a month, and what posts and requests add: resources and
//! schedules are counted in `template.yaml`, with the defaults of its parameters, and multiplied by
//! list prices.

mod conditions;
mod prices;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::error::{Result, TestError};
use crate::template::{FUNCTIONS, Template};
use crate::{ensure, fail};

use self::conditions::is_created;
use self::prices::PRICES;
pub use self::prices::Price;

const HOURS: f64 = 730.0;

/// An assumption: no deployment was measured.
const RUN_SECONDS: f64 = 0.050;
const RUN_LOG_BYTES: f64 = 620.0;

/// What a post of one target without a file consumes: units of `DynamoDB`, requests of SQS and KMS,
/// events. `docs/deploying.md` explains them.
const POST_WRITE_UNITS: f64 = 30.0 + 5.0;
const POST_READ_UNITS: f64 = 10.0 + POST_EVENTS;
const POST_EVENTS: f64 = 3.0;
const POST_QUEUE_REQUESTS: f64 = 3.0 + 3.0 * POST_EVENTS;
const POST_LOG_BYTES: f64 = 3_400.0;

/// A delivery waits for the second.
const REQUEST_SECONDS: f64 = 0.050;
const DELIVERY_SECONDS: f64 = 2.2;
const EVENT_SECONDS: f64 = 0.020;

/// What a request such as `GET /posts` consumes: the check of the caller writes a unit. A bench
/// counts four units in all.
const REQUEST_READ_UNITS: f64 = 3.0;
const REQUEST_WRITE_UNITS: f64 = 1.0;

/// Requests to an empty queue: five pollers of Lambda wait 20 seconds each.
///
/// Source: "Configuring scaling behavior for SQS event source mappings", Lambda guide.
const POLLERS: f64 = 5.0;
const POLL_SECONDS: f64 = 20.0;

/// While requests arrive, DynamoDB uses the key of a table for this long before it asks KMS again.
///
/// Source: "`DynamoDB` encryption at rest: how it works", `DynamoDB` guide.
const TABLE_KEY_MINUTES: f64 = 5.0;

/// What one run of a scheduled function consumes when there is nothing to do. A guard compares it
/// with a measured run.
#[derive(Clone, Copy, Debug)]
pub struct ScheduledRun {
    pub function: &'static str,
    pub read_units: f64,
    pub write_units: f64,
    pub tables: &'static [&'static str],
}

/// With the default of `DueShards`.
pub const SCHEDULED_RUNS: [ScheduledRun; 3] = [
    ScheduledRun { function: "publisher", read_units: 13.0, write_units: 1.0, tables: &["deliveries", "outbox"] },
    ScheduledRun {
        function: "upkeep",
        read_units: 6.5,
        write_units: 0.0,
        tables: &["credentials", "media", "profiles"],
    },
    ScheduledRun { function: "webhooks", read_units: 4.0, write_units: 0.0, tables: &["webhook_deliveries"] },
];

const FREE_WHEN_IDLE: [&str; 20] = [
    "AWS::ApiGatewayV2::Api",
    "AWS::ApiGatewayV2::ApiMapping",
    "AWS::ApiGatewayV2::DomainName",
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage",
    "AWS::Cognito::UserPool",
    "AWS::Cognito::UserPoolClient",
    "AWS::Cognito::UserPoolDomain",
    "AWS::Events::EventBus",
    "AWS::Events::Rule",
    "AWS::IAM::Role",
    "AWS::Lambda::Permission",
    "AWS::Route53::RecordSet",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::Subscription",
    "AWS::SNS::Topic",
    "AWS::SQS::Queue",
    "AWS::SQS::QueuePolicy",
];

/// Some are counted by the requests that they cause.
const COUNTED: [&str; 7] = [
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::DynamoDB::Table",
    "AWS::KMS::Key",
    "AWS::Logs::LogGroup",
    "AWS::SecretsManager::Secret",
    "AWS::Serverless::Function",
];

/// Units in a month.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    keys: f64,
    key_requests: f64,
    secrets: f64,
    alarms: f64,
    dashboards: f64,
    queue_requests: f64,
    write_units: f64,
    read_units: f64,
    runs: f64,
    invocations: f64,
    gb_seconds: f64,
    log_gb: f64,
    requests_and_events: f64,
}

/// In a month.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Of one target, without a file.
    pub posts: f64,
    /// Other than those that schedule these posts.
    pub requests: f64,
}

#[derive(Clone, Debug)]
pub struct MonthlyCost {
    units: Vec<(&'static Price, f64)>,
}

/// A row of the table in `docs/deploying.md`, in US dollars a month.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: &'static str,
    pub dollars: f64,
    /// Without what is free in every account.
    pub dollars_beyond_free: f64,
}

impl MonthlyCost {
    /// Fails for a resource or schedule whose cost is not known here.
    pub fn from_template(template: &Template) -> Result<Self> {
        Self::with_traffic(template, Traffic::default())
    }

    pub fn with_traffic(template: &Template, traffic: Traffic) -> Result<Self> {
        let mut usage = Usage::counted(template)?;
        usage.add_traffic(template, traffic)?;
        Ok(Self { units: PRICES.iter().map(|it| (it, (it.used)(&usage))).collect() })
    }

    pub fn units(&self) -> &[(&'static Price, f64)] {
        &self.units
    }

    /// One row for each service, and the total.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for (price, units) in &self.units {
            let dollars = price.dollars * units / price.per;
            let dollars_beyond_free = price.dollars * (units - price.free).max(0.0) / price.per;
            match rows.iter_mut().find(|it| it.name == price.row) {
                Some(row) => {
                    row.dollars += dollars;
                    row.dollars_beyond_free += dollars_beyond_free;
                }
                None => rows.push(Row { name: price.row, dollars, dollars_beyond_free }),
            }
        }
        rows.push(Row {
            name: "total",
            dollars: rows.iter().map(|it| it.dollars).sum(),
            dollars_beyond_free: rows.iter().map(|it| it.dollars_beyond_free).sum(),
        });
        rows
    }
}

impl Usage {
    fn counted(template: &Template) -> Result<Self> {
        let resources = template.json()["Resources"].as_object().into_iter().flatten();
        for (name, resource) in resources {
            let kind = resource["Type"].as_str().unwrap_or_default();
            ensure!(FREE_WHEN_IDLE.contains(&kind) || COUNTED.contains(&kind), "{name}: what does {kind} cost?");
        }
        let mut usage = Self {
            keys: count(template, "AWS::KMS::Key")?,
            secrets: count(template, "AWS::SecretsManager::Secret")?,
            alarms: count(template, "AWS::CloudWatch::Alarm")?,
            dashboards: count(template, "AWS::CloudWatch::Dashboard")?,
            ..Self::default()
        };
        let mut tables: BTreeSet<&'static str> = BTreeSet::new();
        for folder in FUNCTIONS {
            let function = &template.function(folder)["Properties"];
            for (_, event) in function["Events"].as_object().into_iter().flatten() {
                match event["Type"].as_str() {
                    Some("SQS") => usage.queue_requests += POLLERS * HOURS * 3600.0 / POLL_SECONDS,
                    Some("ScheduleV2") => tables.extend(usage.add_schedule(template, folder, event)?.tables),
                    other => fail!("{folder}: what does an event of type {other:?} cost?"),
                }
            }
        }
        usage.key_requests = as_f64(tables.len()) * HOURS * 60.0 / TABLE_KEY_MINUTES;
        Ok(usage)
    }

    fn add_schedule(&mut self, template: &Template, folder: &str, event: &Value) -> Result<&'static ScheduledRun> {
        let run = SCHEDULED_RUNS.iter().find(|it| it.function == folder);
        let run = run.ok_or_else(|| TestError::new(format!("{folder}: what does a run consume?")))?;
        let runs = HOURS * 60.0 / minutes(event["Properties"]["ScheduleExpression"].as_str().unwrap_or_default())?;

        self.runs += runs;
        self.invocations += runs;
        self.gb_seconds += runs * RUN_SECONDS * memory_gb(template, folder)?;
        self.log_gb += runs * RUN_LOG_BYTES / 1e9;
        self.read_units += runs * run.read_units;
        self.write_units += runs * run.write_units;
        Ok(run)
    }

    fn add_traffic(&mut self, template: &Template, Traffic { posts, requests }: Traffic) -> Result {
        let [for_posts, for_delivery, for_webhooks] =
            ["posts", "delivery", "webhooks"].map(|it| memory_gb(template, it));
        let (for_posts, for_delivery, for_webhooks) = (for_posts?, for_delivery?, for_webhooks?);
        let (all_requests, events) = (posts + requests, POST_EVENTS * posts);
        self.write_units += posts * POST_WRITE_UNITS + requests * REQUEST_WRITE_UNITS;
        self.read_units += posts * POST_READ_UNITS + requests * REQUEST_READ_UNITS;
        self.queue_requests += posts * POST_QUEUE_REQUESTS;
        self.key_requests += posts;
        self.invocations += all_requests + posts + events;
        self.gb_seconds += all_requests * REQUEST_SECONDS * for_posts
            + posts * DELIVERY_SECONDS * for_delivery
            + events * EVENT_SECONDS * for_webhooks;
        self.log_gb += (posts * POST_LOG_BYTES + requests * RUN_LOG_BYTES) / 1e9;
        self.requests_and_events += all_requests + events;
        Ok(())
    }
}

fn memory_gb(template: &Template, folder: &str) -> Result<f64> {
    let memory_mb = template.function(folder)["Properties"]["MemorySize"].as_f64();
    memory_mb.map(|it| it / 1024.0).ok_or_else(|| TestError::new(format!("{folder} has no memory size")))
}

/// Only resources that the defaults create.
fn count(template: &Template, kind: &str) -> Result<f64> {
    let mut created = 0;
    for name in template.resources(kind).into_keys() {
        created += usize::from(is_created(template, name)?);
    }
    Ok(as_f64(created))
}

fn as_f64(count: usize) -> f64 {
    u32::try_from(count).unwrap_or(u32::MAX).into()
}

/// `expression` is such as `rate(5 minutes)`.
fn minutes(expression: &str) -> Result<f64> {
    let rate = expression.strip_prefix("rate(").and_then(|it| it.strip_suffix(')')).and_then(|it| it.split_once(' '));
    match rate {
        Some((count, "minute" | "minutes")) => Ok(count.parse()?),
        Some((count, "hour" | "hours")) => Ok(60.0 * count.parse::<f64>()?),
        Some((count, "day" | "days")) => Ok(24.0 * 60.0 * count.parse::<f64>()?),
        _ => fail!("the period of {expression} is not known"),
    }
}
