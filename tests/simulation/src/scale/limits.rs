//! The quotas that AWS publishes: defaults of an account in us-east-1, read in November 2026.

/// Write units per second of a partition, of a table or an index. Source: the `DynamoDB` developer
/// guide, "Understanding `DynamoDB` warm throughput in different scenarios".
pub const PARTITION_WRITE_UNITS: f64 = 1_000.0;

/// Read units per second of a partition. Source: see [`PARTITION_WRITE_UNITS`].
pub const PARTITION_READ_UNITS: f64 = 3_000.0;

/// Write units per second that a new on-demand table or index accepts immediately. Source: see
/// [`PARTITION_WRITE_UNITS`].
pub const NEW_TABLE_WRITE_UNITS: f64 = 4_000.0;

/// Read units per second, and as many write units, of one on-demand table or index; adjustable. No
/// quota applies to all on-demand tables of an account together. Source: the `DynamoDB` developer
/// guide, "Quotas in Amazon `DynamoDB`", "Throughput default quotas".
pub const TABLE_UNITS: f64 = 40_000.0;

/// Concurrent executions of all functions of an account; adjustable. A new account has fewer, such
/// as 10. Source: the Lambda developer guide, "Lambda quotas".
pub const ACCOUNT_CONCURRENCY: f64 = 1_000.0;

/// Execution environments per second that Lambda adds for one function: 1,000 every 10 seconds.
/// Source: the Lambda developer guide, "Lambda scaling behavior".
pub const ENVIRONMENTS_PER_S: f64 = 100.0;

/// Messages in flight of a standard queue: received and not yet deleted. (A FIFO queue has 20,000,
/// or 120,000 in newer versions of its page; this project has none.) Source: the SQS developer
/// guide, "Amazon SQS standard queue quotas".
pub const MAX_IN_FLIGHT: f64 = 120_000.0;

/// Maximum number of messages per send call. Source: the SQS developer guide, "Amazon SQS message
/// quotas".
pub const SEND_BATCH: u32 = 10;

/// Maximum number of messages per receive call. Source: the SQS API reference, `ReceiveMessage`.
pub const RECEIVE_BATCH: u32 = 10;

/// Batches that an event source in standard mode processes concurrently when it begins. Source:
/// the Lambda developer guide, "Configuring scaling behavior for SQS event source mappings".
pub const POLLERS_AT_START: f64 = 5.0;

/// Increase per second of these batches, while messages are waiting: 300 a minute. Source: see
/// [`POLLERS_AT_START`].
pub const POLLERS_PER_S: f64 = 300.0 / 60.0;

/// Concurrent invocations of one poller in provisioned mode, and its receive calls per second.
/// `template.yaml` uses the standard mode, because `MaximumConcurrency` excludes the provisioned
/// one. Source: the Lambda developer guide, "Lambda parameters for Amazon SQS event source
/// mappings", and "How Lambda processes records from stream and queue-based event sources".
pub const PROVISIONED_POLLER: f64 = 10.0;

/// Requests per second to all HTTP APIs of an account; adjustable. Source: the API Gateway
/// developer guide, "Amazon API Gateway quotas".
pub const GATEWAY_REQUESTS_PER_S: f64 = 10_000.0;

/// Calls of `PutEvents` per second, each with up to ten events; adjustable. Source: the
/// `EventBridge` user guide, "Amazon `EventBridge` quotas".
pub const EVENT_CALLS_PER_S: f64 = 10_000.0;

/// Cryptographic operations with symmetric keys per second; adjustable. The smallest default of
/// all regions. Source: the KMS developer guide, "Request quotas".
pub const KEY_REQUESTS_PER_S: f64 = 10_000.0;
