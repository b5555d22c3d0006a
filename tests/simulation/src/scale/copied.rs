//! Values of the code and the template that cannot be imported, because they are private or not
//! Rust. A test compares each with the line that it is copied from.

/// `LEAD_TIME` in `libs/cloud/src/queue.rs`, in seconds.
pub(super) const LEAD_S: u32 = 2;
/// `CONCURRENCY` in `libs/cloud/src/queue.rs`.
pub(super) const SENDS_AT_ONCE: u32 = 16;
/// `PAGE` in `libs/publishing/src/plan.rs`.
pub(super) const PAGE: u32 = 1_000;
/// `SHARDS_AT_ONCE` in `libs/publishing/src/plan.rs`.
pub(super) const SHARDS_AT_ONCE: u32 = 8;
/// `MAX_IMMEDIATE_ROLL_UPS` in `libs/publishing/src/plan.rs`.
pub(super) const IMMEDIATE_ROLL_UPS: u32 = 4_000;
/// `DEFERRED_ROLL_UPS_PER_SECOND` in `libs/publishing/src/plan.rs`.
pub(super) const DEFERRED_ROLL_UPS_PER_S: u32 = 200;
/// `RECORDED_AFTER` in `libs/permits/src/lib.rs`, in seconds.
pub(super) const RECORDED_AFTER_S: usize = 3;
/// `PERMIT_WAIT` in `libs/permits/src/lib.rs`, in seconds.
pub(super) const PERMIT_WAIT_S: u32 = 3;
/// `Timeout` of `PublisherFunction` in `template.yaml`, in seconds.
pub(super) const TICK_LIMIT_S: f64 = 55.0;
/// The largest allowed value of `DeliveryBatch` in `template.yaml`.
pub(super) const LARGEST_BATCH: u32 = 50;
/// The largest allowed value of `DeliveryConcurrency` in `template.yaml`.
pub(super) const MOST_ENVIRONMENTS: u32 = 1_000;
/// The largest allowed value of `DueShards` in `template.yaml`.
pub(super) const MOST_SHARDS: u32 = 100;
/// Requests per second that the stage of the API in `template.yaml` admits.
pub(super) const REQUESTS_PER_S: u32 = 500;
/// `MaximumConcurrency` of `WebhooksFunction` in `template.yaml`.
pub(super) const WEBHOOK_ENVIRONMENTS: u32 = 10;
