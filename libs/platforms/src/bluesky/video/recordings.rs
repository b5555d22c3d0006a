use super::job;
use super::limits::Limits;
use super::service::Token;
use crate::bluesky::reply::Reply;
use crate::recording::Recording;

pub(in crate::bluesky) fn read(name: &str, recording: &Recording) {
    match recording.request.as_str() {
        "GET /xrpc/com.atproto.server.getServiceAuth" => drop(recording.read::<Token>().token),
        "GET /xrpc/app.bsky.video.getUploadLimits" => assert!(recording.read::<Limits>().can_upload, "{name}"),
        "POST /xrpc/app.bsky.video.uploadVideo" | "GET /xrpc/app.bsky.video.getJobStatus" => {
            let (status, headers, body) = (recording.status(), recording.headers(), recording.bytes());
            let request = job::status(&Reply { status, headers, body }).unwrap_or_else(|| panic!("{name}"));
            let is_done = recording.body.pointer("/jobStatus/state").is_some_and(|it| it == "JOB_STATE_COMPLETED");
            assert!(!request.job_id.is_empty() && request.blob.is_some() == is_done, "{name}");
        }
        other => panic!("{name}: no type of the adapter reads {other}"),
    }
}
