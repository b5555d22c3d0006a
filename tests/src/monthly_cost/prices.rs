use super::Usage;

/// In US dollars.
#[derive(Debug)]
pub struct Price {
    /// The beginning of the row in `docs/deploying.md` to which the price belongs.
    pub row: &'static str,
    pub unit: &'static str,
    pub dollars: f64,
    /// Units for this price.
    pub per: f64,
    /// Free units a month in every account, without an end.
    pub free: f64,
    pub source: &'static str,
    pub(super) used: fn(&Usage) -> f64,
}

/// Prices of us-east-1, as published in the first half of 2026 on the page that each row names.
#[rustfmt::skip]
pub(super) const PRICES: [Price; 13] = [
    Price { row: "KMS", unit: "keys", dollars: 1.00, per: 1.0, free: 0.0, source: "aws.amazon.com/kms/pricing", used: |it| it.keys },
    Price { row: "KMS", unit: "requests", dollars: 0.03, per: 1e4, free: 20_000.0, source: "aws.amazon.com/kms/pricing", used: |it| it.key_requests },
    Price { row: "Secrets Manager", unit: "secrets", dollars: 0.40, per: 1.0, free: 0.0, source: "aws.amazon.com/secrets-manager/pricing", used: |it| it.secrets },
    Price { row: "alarms", unit: "alarms", dollars: 0.10, per: 1.0, free: 10.0, source: "aws.amazon.com/cloudwatch/pricing", used: |it| it.alarms },
    Price { row: "the dashboard", unit: "dashboards", dollars: 3.00, per: 1.0, free: 3.0, source: "aws.amazon.com/cloudwatch/pricing", used: |it| it.dashboards },
    Price { row: "SQS", unit: "requests", dollars: 0.40, per: 1e6, free: 1e6, source: "aws.amazon.com/sqs/pricing", used: |it| it.queue_requests },
    Price { row: "DynamoDB", unit: "write units", dollars: 0.625, per: 1e6, free: 0.0, source: "aws.amazon.com/dynamodb/pricing/on-demand", used: |it| it.write_units },
    Price { row: "DynamoDB", unit: "read units", dollars: 0.125, per: 1e6, free: 0.0, source: "aws.amazon.com/dynamodb/pricing/on-demand", used: |it| it.read_units },
    Price { row: "Scheduler", unit: "runs", dollars: 1.00, per: 1e6, free: 14e6, source: "aws.amazon.com/eventbridge/pricing", used: |it| it.runs },
    Price { row: "Lambda", unit: "invocations", dollars: 0.20, per: 1e6, free: 1e6, source: "aws.amazon.com/lambda/pricing", used: |it| it.invocations },
    Price { row: "Lambda", unit: "GB-s", dollars: 13.3334, per: 1e6, free: 400_000.0, source: "aws.amazon.com/lambda/pricing", used: |it| it.gb_seconds },
    Price { row: "logs", unit: "GB", dollars: 0.50, per: 1.0, free: 5.0, source: "aws.amazon.com/cloudwatch/pricing", used: |it| it.log_gb },
    Price { row: "HTTP API and events", unit: "requests and events", dollars: 1.00, per: 1e6, free: 0.0, source: "aws.amazon.com/api-gateway/pricing, aws.amazon.com/eventbridge/pricing", used: |it| it.requests_and_events },
];
