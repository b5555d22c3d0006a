//! The limits that the services publish, and assumptions where they publish none.

use super::Ms;

/// Write units per second of a partition. Source: the `DynamoDB` developer guide, "Understanding
/// `DynamoDB` warm throughput in different scenarios" (warm-throughput-scenarios.html).
pub const PARTITION_WRITE_UNITS: f64 = 1_000.0;

/// Read units per second of a partition. Source: see [`PARTITION_WRITE_UNITS`].
pub const PARTITION_READ_UNITS: f64 = 3_000.0;

/// Write units per second that a new on-demand table accepts immediately. Source: see
/// [`PARTITION_WRITE_UNITS`], and "Pre-warming a table for on-demand capacity mode"
/// (pre-warming-on-demand-capacity-mode.html).
pub const NEW_TABLE_WRITE_UNITS: f64 = 4_000.0;

/// Read units per second that a new on-demand table accepts immediately. Source: see
/// [`NEW_TABLE_WRITE_UNITS`].
pub const NEW_TABLE_READ_UNITS: f64 = 12_000.0;

/// Maximum number of attempts of a call by the SDK. Source: `RetryConfig::standard` in
/// aws-smithy-types 1.9.
pub const STORE_ATTEMPTS: u32 = 3;

/// The back-off after the first throttled call is a random part of this, and doubles after the
/// second. Source: see [`STORE_ATTEMPTS`]; the 50 ms of the SDK's newer behavior are for errors
/// other than throttling.
pub const THROTTLED_BACK_OFF_MS: Ms = 1_000;

/// The longest back-off. Source: see [`STORE_ATTEMPTS`].
pub const LONGEST_BACK_OFF_MS: Ms = 20_000;

/// Minimum and maximum duration of a call to the store. Assumed: a few milliseconds in the store,
/// and a few in the network.
pub const STORE_CALL_MS: (Ms, Ms) = (4, 12);

/// Maximum number of messages per send call. Source: the SQS developer guide, "Amazon SQS message
/// quotas" (quotas-messages.html).
pub const SEND_BATCH: u32 = 10;

/// Minimum and maximum duration of sending a batch. Assumed.
pub const SEND_MS: (Ms, Ms) = (10, 30);

/// Maximum number of messages per receive call. Source: the SQS API reference, `ReceiveMessage`.
pub const RECEIVE_BATCH: u32 = 10;

/// Maximum delay of a message, in seconds. Source: the SQS developer guide, "Amazon SQS standard
/// queue quotas" (quotas-queues.html).
pub const MAX_DELAY_S: Ms = 900;

/// Maximum time from the end of a message's delay until the message is visible. Assumed: the
/// documentation has only whole seconds.
pub const DELAY_JITTER_MS: Ms = 1_000;

/// Maximum number of messages in flight of one queue; at this limit, no further message is
/// received. Source: see [`MAX_DELAY_S`].
pub const MAX_IN_FLIGHT: u32 = 120_000;

/// In a fair queue, a group is noisy if it has more than this part of the messages in flight, and
/// at least [`NOISY_FROM`] of them; messages of other groups are then received first. A second
/// criterion, the share of processing time, is omitted. Source: the SQS developer guide, "How
/// Amazon SQS fair queues work" (sqs-fair-queues-detailed.html).
pub const NOISY_SHARE: f64 = 0.1;

/// Source: see [`NOISY_SHARE`].
pub const NOISY_FROM: u32 = 30;

/// How long an event source collects a batch of more than ten messages; the minimum is one second.
/// Source: the Lambda API reference, `EventSourceMappingConfiguration`,
/// `MaximumBatchingWindowInSeconds`.
pub const BATCHING_WINDOW_MS: Ms = 1_000;

/// The time from the last message of a batch to its invocation. Assumed.
pub const INVOKE_MS: Ms = 25;

/// Initial limit of concurrent invocations of an event source. Source: the Lambda developer guide,
/// "Configuring scaling behavior for SQS event source mappings" (services-sqs-scaling.html).
pub const STANDARD_START: f64 = 5.0;

/// Increase of that limit per minute of work. Source: see [`STANDARD_START`].
pub const STANDARD_PER_MINUTE: f64 = 300.0;

/// Maximum of that limit. Source: see [`STANDARD_START`].
pub const STANDARD_MOST: f64 = 1_250.0;

/// Increase of the limit per minute in provisioned mode. Source: see [`STANDARD_START`]; AWS News
/// Blog, "AWS Lambda enhances event processing with provisioned mode for SQS event-source mapping".
pub const PROVISIONED_PER_MINUTE: f64 = 1_000.0;

/// Concurrent invocations of one poller in provisioned mode. Source: see
/// [`PROVISIONED_PER_MINUTE`]; the Lambda developer guide, "How Lambda processes records from
/// stream and queue-based event sources" (invocation-eventsourcemapping.html).
pub const POLLER_INVOCATIONS: f64 = 10.0;

/// Receive calls of one poller per second. Source: see [`POLLER_INVOCATIONS`].
pub const POLLER_CALLS_PER_S: f64 = 10.0;

/// Default minimum of pollers. Source: the Lambda API reference, `ProvisionedPollerConfig`.
pub const DEFAULT_POLLERS: u32 = 2;

/// Maximum of pollers that can be kept ready. Source: see [`DEFAULT_POLLERS`].
pub const MOST_READY_POLLERS: u32 = 200;

/// Maximum of the limit in provisioned mode. Source: see [`PROVISIONED_PER_MINUTE`].
pub const PROVISIONED_MOST: f64 = 20_000.0;

/// Start time of a new environment. Assumed: a small native binary.
pub const COLD_START_MS: Ms = 300;

/// Median duration of publish calls. Assumed.
pub const PLATFORM_MEDIAN_MS: f64 = 300.0;

/// The longest usual call: longer calls, one in a thousand, are cut to this. Assumed.
pub const PLATFORM_LONGEST_MS: f64 = 3_000.0;

/// One publish call in this many is slow. Assumed.
pub const SLOW_ONE_IN: u32 = 1_000;

/// Duration of a slow publish call. Assumed.
pub const SLOW_MS: Ms = 15_000;
