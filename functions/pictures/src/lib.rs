//! Pictures: makes what users uploaded fit what platforms take.
//!
//! A file that somebody made to end its decoder ends this function and nothing
//! else: it takes one file at a time, has no credentials of anybody, and may
//! only read uploads and write what it derived from them.

pub mod config;
mod fitting;

use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use cloud::bucket::{Bucket, BucketError};
use cloud::pictures::PictureResult;
use domain::media::{PictureRequest, human_size};

use self::fitting::fitted;

/// The largest file that is read. The limit of uploads may be set higher; what
/// is made of it has to fit into this function's memory.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// How often a file may end the process. The message of whoever asked comes
/// again each time, and tells how often it came.
pub const MAX_ENDS: u32 = 3;

/// The message of a request that came.
#[derive(Clone, Debug)]
pub struct Coming {
    /// Its id.
    pub message: String,
    /// How often it came, this time included.
    pub received: u32,
}

/// A message that is no request: the queue brings it again, and at last puts
/// it aside.
#[derive(Debug, thiserror::Error)]
#[error("a message that cannot be read: {0}")]
pub struct Unreadable(String);

/// Answers the requests of the queue, one to a batch.
///
/// When our own store fails, the request is dropped, and whoever asked asks
/// again.
pub async fn answer(bucket: &Bucket, event: SqsEvent) -> Result<(), Unreadable> {
    for message in event.records {
        let request = request(&message)?;
        if let Err(error) = fit(bucket, &request, &coming(&message)).await {
            tracing::error!(%error, user_id = %request.file.user(), "a picture was not answered");
        }
    }
    Ok(())
}

fn request(message: &SqsMessage) -> Result<PictureRequest, Unreadable> {
    let body = message.body.as_deref().unwrap_or_default();
    serde_json::from_str(body).map_err(|it| Unreadable(it.to_string()))
}

fn coming(message: &SqsMessage) -> Coming {
    let count = message.attributes.get("ApproximateReceiveCount");
    Coming {
        message: message.message_id.clone().unwrap_or_default(),
        received: count.and_then(|it| it.parse().ok()).unwrap_or(1),
    }
}

/// Sees to it that a request has its answer.
pub async fn fit(bucket: &Bucket, request: &PictureRequest, coming: &Coming) -> Result<(), BucketError> {
    // Several accounts may want the same. The role may not list the bucket, so
    // that whoever takes this function over learns no names of files; then an
    // answer that is not there yet is an error.
    if let Ok(Some(_)) = bucket.picture(request).await {
        return Ok(());
    }
    let begun = begun(bucket, request, coming).await;
    let answer = if MAX_ENDS <= begun {
        tracing::error!(user_id = %request.file.user(), path = %request.file, "a file ended the process each time");
        PictureResult::Refused {
            reason: format!("the file could not be read in {MAX_ENDS} attempts; upload another one"),
        }
    } else {
        note_beginning(bucket, request, coming, begun + 1).await?;
        answer_to(bucket, request).await?
    };
    bucket.put_picture(request, answer).await
}

/// How often this message was begun with before: each time, the process ended
/// before there was an answer. How often it came says less: where too many
/// functions run, messages are brought back that nobody began with.
async fn begun(bucket: &Bucket, request: &PictureRequest, coming: &Coming) -> u32 {
    if coming.received <= 1 {
        return 0;
    }
    // What is not there cannot be told from what cannot be read: see above.
    let noted = bucket.read(&noted_at(request, coming), 8).await.ok().flatten();
    noted.and_then(|it| std::str::from_utf8(&it).ok()?.parse().ok()).unwrap_or(0)
}

async fn note_beginning(
    bucket: &Bucket,
    request: &PictureRequest,
    coming: &Coming,
    begun: u32,
) -> Result<(), BucketError> {
    bucket.put_whole(&noted_at(request, coming), "text/plain", begun.to_string().into()).await.map(drop)
}

/// Beside the answer, and for as long: the same file may be asked for several
/// times at once.
fn noted_at(request: &PictureRequest, coming: &Coming) -> String {
    format!("{}.{}", request.answered_at(), coming.message)
}

async fn answer_to(bucket: &Bucket, request: &PictureRequest) -> Result<PictureResult, BucketError> {
    let refused = |reason: String| PictureResult::Refused { reason };
    let path = request.file.to_string();
    let gone = || refused("the file is not there any more; upload it again".to_owned());
    let Some(look) = bucket.look(&path, 1).await? else { return Ok(gone()) };
    if MAX_FILE_BYTES < look.size_bytes {
        let (max, size) = (human_size(MAX_FILE_BYTES), human_size(look.size_bytes));
        return Ok(refused(format!("the file has {size}; at most {max} can be made to fit")));
    }
    let Some(bytes) = bucket.read(&path, MAX_FILE_BYTES).await? else { return Ok(gone()) };
    let (mime, bounds) = (request.file.mime(), request.bounds);
    let worked = tokio::task::spawn_blocking(move || fitted(bytes.into(), mime, bounds)).await;
    Ok(match worked {
        Ok(Ok(picture)) => PictureResult::Picture { mime_type: picture.mime_type, bytes: picture.bytes },
        Ok(Err(misfit)) => refused(misfit.to_string()),
        // The same file panics every time.
        Err(error) => {
            tracing::error!(%error, %path, "a file made its decoder panic");
            refused("the file is damaged in a way that stops its reading; upload another one".to_owned())
        }
    })
}

#[cfg(test)]
mod tests;
