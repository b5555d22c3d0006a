//! Addresses of files, which platforms fetch without a token.

use std::sync::Arc;

use domain::{clock::Clock, media::MimeType};
use fakes::conformance::fake_platform::FakePlatform;
use fakes::instagram::Instagram;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{Attack, AttackTargets};
use crate::{
    attacks, ensure,
    error::{Result, TestError},
    picture,
    platforms::several::AllPlatforms,
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(22, [
        "each character of a file's address is changed", "404 each time" => changed_characters;
        "the user, the file, the type or the end of an address is replaced by another", "404 each time" => replaced_segments;
        "an address is encoded differently, or leads to another folder", "404 each time" => alternative_encodings;
    ])
}

async fn platforms() -> Result<AllPlatforms> {
    let fake: Arc<dyn FakePlatform> = Arc::new(<Instagram>::start(Clock::System).await);
    AllPlatforms::beside(vec![fake], &[]).await
}

/// The id of a new user, and the path from which Instagram fetched an image.
async fn fetched_path(fixture: &AllPlatforms, color: u8) -> Result<(i64, String)> {
    let bytes = picture::png(64, 48, [color, 120, 90]);
    let (user, addresses) = fixture.fetched("instagram", &[(MimeType::Png, bytes)]).await?;
    let [address] = &addresses[..] else { return Err(TestError::new(format!("it fetched {addresses:?}"))) };
    let path = address.strip_prefix(fixture.deployment().origin()).unwrap_or_default().to_owned();
    ensure!(status(fixture, &path).await? == 200, "{path} is not there");
    Ok((user.id, path))
}

/// For exactly this path: no client normalizes it.
async fn status(fixture: &AllPlatforms, path: &str) -> Result<u16> {
    let host = fixture.deployment().origin().trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes()).await?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await?;
    Ok(String::from_utf8_lossy(&head).rsplit(' ').next().unwrap_or_default().parse()?)
}

async fn ensure_not_found(fixture: &AllPlatforms, paths: &[String]) -> Result<String> {
    for path in paths {
        let status = status(fixture, path).await?;
        ensure!(status == 404, "{status} for {path}");
    }
    Ok(format!("404 for {} addresses", paths.len()))
}

async fn changed_characters(_: &AttackTargets) -> Result<String> {
    let fixture = platforms().await?;
    let (_, path) = fetched_path(&fixture, 1).await?;
    let other = |it: u8| if it == b'1' { '2' } else { '1' };
    let at = |at: usize| format!("{}{}{}", &path[..at], other(path.as_bytes()[at]), &path[at + 1..]);
    ensure_not_found(&fixture, &(1..path.len()).map(at).collect::<Vec<_>>()).await
}

async fn replaced_segments(_: &AttackTargets) -> Result<String> {
    let fixture = platforms().await?;
    let ((user, path), (other_user, other)) = (fetched_path(&fixture, 1).await?, fetched_path(&fixture, 2).await?);
    let part = |path: &str, at: usize| path.split('/').nth(at).unwrap_or_default().to_owned();
    let (mac, end, name) = (part(&path, 2), part(&path, 3), part(&path, 5));
    let (other_mac, other_end, other_name) = (part(&other, 2), part(&other, 3), part(&other, 5));
    let later = end.parse::<u64>()? + 1;
    let stem = name.trim_end_matches(".jpg");
    let paths = [
        format!("/files/{mac}/{end}/{other_user}/{name}"),
        format!("/files/{mac}/{end}/{other_user}/{other_name}"),
        format!("/files/{mac}/{end}/{user}/{other_name}"),
        format!("/files/{other_mac}/{end}/{user}/{name}"),
        format!("/files/{other_mac}/{other_end}/{user}/{name}"),
        format!("/files/{mac}/{later}/{user}/{name}"),
        format!("/files/{mac}/9999999999/{user}/{name}"),
        format!("/files/{mac}/{end}/{user}/{stem}.png"),
        format!("/files/{mac}/{end}/{user}/{stem}"),
        format!("/files/{mac}/{end}/{user}/1.jpg"),
        format!("/files/AAAAAAAAAAAAAAAAAAAAAA/{end}/{user}/{name}"),
    ];
    ensure_not_found(&fixture, &paths).await
}

async fn alternative_encodings(_: &AttackTargets) -> Result<String> {
    let fixture = platforms().await?;
    let (user, path) = fetched_path(&fixture, 1).await?;
    let part = |at: usize| path.split('/').nth(at).unwrap_or_default();
    let (mac, end, name) = (part(2), part(3), part(5));
    let paths = [
        format!("{path}?"),
        format!("{path}?x=1"),
        format!("{path}/"),
        format!("{path}%20"),
        format!("{path}%00"),
        format!("/{path}"),
        format!("/.{path}"),
        path.replace(".jpg", ".JPG"),
        path.replace(".jpg", "%2Ejpg"),
        path.replace("/files/", "/Files/"),
        path.replace("/files/", "/files/./"),
        format!("/files/{mac}/0{end}/{user}/{name}"),
        format!("/files/{mac}/{end}/0{user}/{name}"),
        format!("/files/{mac}/{end}/{user}/%2e%2e%2f{user}%2f{name}"),
        format!("/files/{mac}/{end}/{user}/../{user}/{name}"),
        format!("/files/{mac}/{end}/{user}/..%2f..%2f..%2f..%2fmedia"),
        format!("/files/{mac}/{end}/..%2fderived%2f{user}/{name}"),
        format!("/files/derived/{user}/{name}"),
        format!("/files/derived/{end}/{user}/{name}"),
        format!("/derived/{user}/{name}"),
    ];
    ensure_not_found(&fixture, &paths).await
}
