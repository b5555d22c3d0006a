//! The pictures function: resizes uploaded images to the bounds of platforms, and inspects uploaded
//! documents.
//!
//! A file that was crafted to crash its decoder ends only this function: it handles one file at a
//! time, has no credentials of users, and may only read uploads and write what it derived from
//! them.

pub mod config;
mod document;
mod error;
mod fitting;

use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use cloud::bucket::Bucket;
use cloud::pictures::PictureResult;
use domain::media::{DerivedPath, DocumentFacts, DocumentRequest, FileRequest, PictureRequest, human_size};

pub use self::error::PicturesError;
use self::fitting::fitted;

/// The limit of uploads may be higher, but decoding has to fit into this function's memory.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Above the default limit of uploads.
const MAX_DOCUMENT_BYTES: u64 = 256 << 20;

/// After each end of the process, the queue delivers the message again, with a higher receive
/// count.
pub const MAX_ENDS: u32 = 3;

#[derive(Clone, Debug)]
pub struct MessageReceipt {
    pub message: String,
    /// Includes this time.
    pub received: u32,
}

/// If our store fails, the request is dropped, and the requester sends it again.
pub async fn handle(bucket: &Bucket, event: SqsEvent) -> Result<(), PicturesError> {
    for message in event.records {
        let request = request(&message)?;
        if let Err(error) = respond(bucket, &request, &coming(&message)).await {
            tracing::error!(%error, user_id = %request.file().user(), "request for a file failed");
        }
    }
    Ok(())
}

fn request(message: &SqsMessage) -> Result<FileRequest, PicturesError> {
    let body = message.body.as_deref().unwrap_or_default();
    Ok(serde_json::from_str(body)?)
}

fn coming(message: &SqsMessage) -> MessageReceipt {
    let count = message.attributes.get("ApproximateReceiveCount");
    MessageReceipt {
        message: message.message_id.clone().unwrap_or_default(),
        received: count.and_then(|it| it.parse().ok()).unwrap_or(1),
    }
}

pub async fn respond(bucket: &Bucket, request: &FileRequest, receipt: &MessageReceipt) -> Result<(), PicturesError> {
    match request {
        FileRequest::Picture(request) => fit(bucket, request, receipt).await,
        FileRequest::Document(request) => inspect(bucket, request, receipt).await,
    }
}

async fn fit(bucket: &Bucket, request: &PictureRequest, receipt: &MessageReceipt) -> Result<(), PicturesError> {
    // Several accounts may request the same result. The role may not list the bucket, so that an
    // attacker who controls this function learns no names of files; therefore a result that does
    // not exist yet is an error.
    if let Ok(Some(_)) = bucket.picture(request).await {
        return Ok(());
    }
    let attempts = begun(bucket, request.answered_at(), receipt).await;
    let result = if MAX_ENDS <= attempts {
        tracing::error!(user_id = %request.file.user(), path = %request.file, "file ended the process in every attempt");
        PictureResult::Refused {
            reason: format!("the file could not be read in {MAX_ENDS} attempts; upload another one"),
        }
    } else {
        record_attempts(bucket, request.answered_at(), receipt, attempts + 1).await?;
        resize_file(bucket, request).await?
    };
    Ok(bucket.put_picture(request, result).await?)
}

/// Each earlier start ended the process without a result. The receive count alone is too high: when
/// too many functions run, messages return that were never started.
async fn begun(bucket: &Bucket, result: DerivedPath, receipt: &MessageReceipt) -> u32 {
    if receipt.received <= 1 {
        return 0;
    }
    // A missing file cannot be distinguished from an unreadable one: see above.
    let recorded = bucket.read(&attempts_key(result, receipt), 8).await.ok().flatten();
    recorded.and_then(|it| std::str::from_utf8(&it).ok()?.parse().ok()).unwrap_or(0)
}

async fn record_attempts(
    bucket: &Bucket,
    result: DerivedPath,
    receipt: &MessageReceipt,
    attempts: u32,
) -> Result<(), PicturesError> {
    bucket.put_whole(&attempts_key(result, receipt), "text/plain", attempts.to_string().into()).await?;
    Ok(())
}

/// Next to the result, and kept as long: several messages may request the same file at once.
fn attempts_key(result: DerivedPath, receipt: &MessageReceipt) -> String {
    format!("{result}.{}", receipt.message)
}

async fn inspect(bucket: &Bucket, request: &DocumentRequest, receipt: &MessageReceipt) -> Result<(), PicturesError> {
    // A missing result is an error, as in `fit`.
    if let Ok(Some(_)) = bucket.document_facts(request).await {
        return Ok(());
    }
    let (path, result) = (request.document.to_string(), request.answered_at());
    let attempts = begun(bucket, result, receipt).await;
    if MAX_ENDS <= attempts {
        tracing::error!(user_id = %request.document.user(), %path, "file ended the process in every attempt");
        return Ok(bucket.put_document_facts(request, DocumentFacts::Damaged).await?);
    }
    record_attempts(bucket, result, receipt, attempts + 1).await?;
    // Without the file, no post can use it, so the result would not be read.
    let Some(metadata) = bucket.head(&path, 1).await? else { return Ok(()) };
    let facts = if MAX_DOCUMENT_BYTES < metadata.size_bytes {
        tracing::error!(size_bytes = metadata.size_bytes, %path, "document is too large to inspect");
        DocumentFacts::Damaged
    } else {
        let Some(bytes) = bucket.read(&path, MAX_DOCUMENT_BYTES).await? else { return Ok(()) };
        let inspected = tokio::task::spawn_blocking(move || document::inspect(&bytes)).await;
        inspected.unwrap_or(DocumentFacts::Damaged)
    };
    Ok(bucket.put_document_facts(request, facts).await?)
}

async fn resize_file(bucket: &Bucket, request: &PictureRequest) -> Result<PictureResult, PicturesError> {
    let refused = |reason: String| PictureResult::Refused { reason };
    let path = request.file.to_string();
    let deleted = || refused("the file no longer exists; upload it again".to_owned());
    let Some(metadata) = bucket.head(&path, 1).await? else { return Ok(deleted()) };
    if MAX_FILE_BYTES < metadata.size_bytes {
        let (max, size) = (human_size(MAX_FILE_BYTES), human_size(metadata.size_bytes));
        return Ok(refused(format!("the file has {size}; at most {max} can be resized. Upload a smaller one")));
    }
    let Some(bytes) = bucket.read(&path, MAX_FILE_BYTES).await? else { return Ok(deleted()) };
    let (mime, bounds) = (request.file.mime(), request.bounds);
    let resized = tokio::task::spawn_blocking(move || fitted(bytes.into(), mime, bounds)).await;
    Ok(match resized {
        Ok(Ok(picture)) => PictureResult::Picture { mime_type: picture.mime_type, bytes: picture.bytes },
        Ok(Err(combination_error)) => refused(combination_error.to_string()),
        // Another attempt with this file would panic too.
        Err(error) => {
            tracing::error!(%error, %path, "image conversion panicked");
            refused("the file is damaged and cannot be read; upload another one".to_owned())
        }
    })
}

#[cfg(test)]
mod tests;
