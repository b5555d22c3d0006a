//! PDF documents, which are inspected before a post with them is scheduled.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "documents",
        [
            document_is_published_unchanged,
            document_must_be_the_only_file,
            document_with_too_many_pages_is_refused,
            encrypted_and_damaged_documents_are_refused_when_scheduled,
            file_of_another_type_is_no_document,
            rules_of_documents_are_listed,
        ]
    )
}

/// A document of this many empty pages.
fn document(pages: usize, trailer: &str) -> Vec<u8> {
    let kids = (3..3 + pages).fold(String::new(), |mut kids, number| {
        let _ = write!(kids, "{number} 0 R ");
        kids
    });
    let head = ["<</Type/Catalog/Pages 2 0 R>>".to_owned(), format!("<</Type/Pages/Count {pages}/Kids[{kids}]>>")];
    let page = || "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<<>>>>".to_owned();
    let (mut file, mut table, mut count) = ("%PDF-1.7\n".to_owned(), "0000000000 65535 f \n".to_owned(), 1);
    for object in head.into_iter().chain(std::iter::repeat_with(page).take(pages)) {
        let _ = writeln!(table, "{:010} 00000 n ", file.len());
        let _ = writeln!(file, "{count} 0 obj\n{object}\nendobj");
        count += 1;
    }
    let at = file.len();
    let end = format!("trailer\n<</Size {count}/Root 1 0 R{trailer}>>\nstartxref\n{at}\n%%EOF\n");
    format!("{file}xref\n0 {count}\n{table}{end}").into_bytes()
}

fn scheduled(content: &str, connection: &Value, media: &[&str]) -> Result<Value> {
    let (platforms, at) = (targets(&[connection])?, moment::in_seconds(0));
    Ok(json!({ "content": content, "platforms": platforms, "media": media, "scheduled_at": at }))
}

async fn document_is_published_unchanged(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let (content, bytes) = (fresh("our plan"), document(300, ""));
    let path = user.upload("application/pdf", &bytes).await?;

    let post = user.create(&scheduled(&content, &connection, &[&path])?).await?;
    user.reaches(integer(&post, "id")?, "published", 60).await?;

    same(&post["media"][0]["file_type"], &json!("document"), "file_type")?;
    let entry = deployment.appears(&content, 10).await?;
    let shown = &list(&entry, "media")?[0];
    same(&shown["mime_type"], &json!("application/pdf"), "mime_type")?;
    let link = url::Url::parse(deployment.origin())?.join(text(shown, "url")?)?;
    same(deployment.http().get(link).send().await?.bytes().await?.to_vec(), bytes, "the document")
}

async fn document_must_be_the_only_file(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let path = user.upload("application/pdf", &document(1, "")).await?;
    let other = user.upload("application/pdf", &document(2, "")).await?;

    for second in [other, user.picture().await?] {
        let message = refused(&user, &connection, &[&path, &second]).await?;
        ensure!(message.contains("a document as the only file of a post; this has 2 files"), "it says: {message}");
    }
    Ok(())
}

async fn document_with_too_many_pages_is_refused(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let path = user.upload("application/pdf", &document(301, "")).await?;

    let message = refused(&user, &connection, &[&path]).await?;

    ensure!(message.contains("at most 300 pages; file 1 has 301"), "it says: {message}");
    Ok(())
}

/// A draft may have any document.
async fn encrypted_and_damaged_documents_are_refused_when_scheduled(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let encrypted = document(1, "/Encrypt<</Filter/Standard/V 4/R 4>>");
    let whole = document(20, "");
    let truncated = whole[..whole.len() / 2].to_vec();
    for (bytes, expected) in [(encrypted, "file 1 is encrypted; save it"), (truncated, "file 1 is damaged; export it")]
    {
        let path = user.upload("application/pdf", &bytes).await?;

        let message = refused(&user, &connection, &[&path]).await?;

        ensure!(message.contains(expected), "it says: {message}");
        user.create(&json!({ "content": "a draft", "platforms": targets(&[&connection])?, "media": [path] })).await?;
    }
    Ok(())
}

async fn file_of_another_type_is_no_document(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let path = user.upload("application/pdf", b"This is a text, whatever its name ends in.").await?;
    let body = json!({ "content": "no document", "media": [path] });
    user.api.post("/posts", &body).await?.invalid(&["media.0"])?;
    Ok(())
}

async fn rules_of_documents_are_listed(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let shown = user.api.get(&format!("/connections/{}", integer(&connection, "id")?)).await?.ok(200)?;
    let rules = list(&shown, "meta")?;
    for (name, value) in
        [("document_alone", json!("yes")), ("readable_documents", json!("yes")), ("max_pages", json!(300))]
    {
        let rule = rules.iter().find(|it| it["name"] == name);
        same(rule.map(|it| &it["value"]), Some(&value), name)?;
    }
    Ok(())
}

/// The message about the files of a post that cannot be scheduled.
async fn refused(user: &User<'_>, connection: &Value, media: &[&str]) -> Result<String> {
    let body = scheduled("refused", connection, media)?;
    let field = "platforms.0.media";
    let errors = user.api.post("/posts", &body).await?.invalid(&[field])?;
    Ok(errors[field][0].as_str().unwrap_or_default().to_owned())
}
