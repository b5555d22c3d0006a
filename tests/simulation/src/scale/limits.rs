//! The limits that the services publish, and assumptions where they publish
//! none.

use super::Ms;

/// Write units a partition takes in a second.
/// Source: the `DynamoDB` developer guide, "Understanding `DynamoDB` warm
/// throughput in different scenarios" (warm-throughput-scenarios.html).
pub const PARTITION_WRITE_UNITS: f64 = 1_000.0;

/// Read units a partition takes in a second. Source: the same.
pub const PARTITION_READ_UNITS: f64 = 3_000.0;

/// Write units a second that a new table on demand takes at once.
/// Source: the same, and "Pre-warming a table for on-demand capacity mode"
/// (pre-warming-on-demand-capacity-mode.html).
pub const NEW_TABLE_WRITE_UNITS: f64 = 4_000.0;

/// Read units a second that a new table on demand takes at once. Source: the
/// same.
pub const NEW_TABLE_READ_UNITS: f64 = 12_000.0;

/// How often the SDK makes a call before it gives up.
/// Source: `RetryConfig::standard` in aws-smithy-types 1.9.
pub const STORE_ATTEMPTS: u32 = 3;

/// The back-off after the first throttled call is a random part of this, after
/// the second of twice as much. Source: the same; the 50 ms of the SDK's newer
/// behavior are for other failures than throttling.
pub const THROTTLED_BACK_OFF_MS: Ms = 1_000;

/// The longest back-off. Source: the same.
pub const LONGEST_BACK_OFF_MS: Ms = 20_000;

/// How long a call to the store takes, from and to. Assumed: a few
/// milliseconds there, a few on the way.
pub const STORE_CALL_MS: (Ms, Ms) = (4, 12);

/// The most messages that are sent in one call.
/// Source: the SQS developer guide, "Amazon SQS message quotas"
/// (quotas-messages.html).
pub const SEND_BATCH: u32 = 10;

/// How long sending a batch takes, from and to. Assumed.
pub const SEND_MS: (Ms, Ms) = (10, 30);

/// The most messages that are received in one call.
/// Source: the SQS API reference, `ReceiveMessage`.
pub const RECEIVE_BATCH: u32 = 10;

/// The longest delay of a message, in seconds.
/// Source: the SQS developer guide, "Amazon SQS standard queue quotas"
/// (quotas-queues.html).
pub const MAX_DELAY_S: Ms = 900;

/// How much later than its delay a message becomes visible, at most. Assumed:
/// nothing is published beyond whole seconds.
pub const DELAY_JITTER_MS: Ms = 1_000;

/// The most messages of one queue that may be received and not yet deleted; at
/// this limit nothing more is received. Source: the same as of [`MAX_DELAY_S`].
pub const MAX_IN_FLIGHT: u32 = 120_000;

/// In a fair queue, a group is noisy that has more than this part of the messages
/// in flight, and at least [`NOISY_FROM`] of them; those of other groups are then
/// received first. A second sign, the share of processing time, is left out.
/// Source: the SQS developer guide, "How Amazon SQS fair queues work"
/// (sqs-fair-queues-detailed.html).
pub const NOISY_SHARE: f64 = 0.1;

/// Source: the same.
pub const NOISY_FROM: u32 = 30;

/// How long an event source collects a batch of more than ten messages; a
/// second is the least. Source: the Lambda API reference,
/// `EventSourceMappingConfiguration`, `MaximumBatchingWindowInSeconds`.
pub const BATCHING_WINDOW_MS: Ms = 1_000;

/// The time from the last message of a batch to its invocation. Assumed.
pub const INVOKE_MS: Ms = 25;

/// Invocations at the same time with which an event source begins.
/// Source: the Lambda developer guide, "Configuring scaling behavior for SQS
/// event source mappings" (services-sqs-scaling.html).
pub const STANDARD_START: f64 = 5.0;

/// How many more there may be after each minute of work. Source: the same.
pub const STANDARD_PER_MINUTE: f64 = 300.0;

/// The most there may be. Source: the same.
pub const STANDARD_MOST: f64 = 1_250.0;

/// How many more there may be after each minute in provisioned mode.
/// Source: the same; AWS News Blog, "AWS Lambda enhances event processing with
/// provisioned mode for SQS event-source mapping".
pub const PROVISIONED_PER_MINUTE: f64 = 1_000.0;

/// Invocations at the same time by one poller of provisioned mode.
/// Source: the same; the Lambda developer guide, "How Lambda processes records
/// from stream and queue-based event sources"
/// (invocation-eventsourcemapping.html).
pub const POLLER_INVOCATIONS: f64 = 10.0;

/// Calls in which one poller receives messages, each second. Source: the same.
pub const POLLER_CALLS_PER_S: f64 = 10.0;

/// The least pollers there are when nothing is set.
/// Source: the Lambda API reference, `ProvisionedPollerConfig`.
pub const DEFAULT_POLLERS: u32 = 2;

/// The most pollers that can be kept ready. Source: the same.
pub const MOST_READY_POLLERS: u32 = 200;

/// The most there may be in provisioned mode. Source: the same as of
/// [`PROVISIONED_PER_MINUTE`].
pub const PROVISIONED_MOST: f64 = 20_000.0;

/// How long a new environment takes to start. Assumed: a small native binary.
pub const COLD_START_MS: Ms = 300;

/// Half of all public calls end within this. Assumed.
pub const PLATFORM_MEDIAN_MS: f64 = 300.0;

/// The longest usual call: longer ones, one in a thousand, are cut to this.
/// Assumed.
pub const PLATFORM_LONGEST_MS: f64 = 3_000.0;

/// One public call in so many is slow. Assumed.
pub const SLOW_ONE_IN: u32 = 1_000;

/// How long a slow public call takes. Assumed.
pub const SLOW_MS: Ms = 15_000;
