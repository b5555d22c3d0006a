//! The function that verifies addresses of files at `CloudFront` must agree with the service.

use std::io::Write;
use std::process::{Command, Stdio};

use chrono::{DateTime, TimeDelta, Utc};
use domain::id::{MediaId, UserId};
use domain::media::{FileAddress, FileKey, MediaPath, MimeType, PictureBounds, PictureRequest, PublicFile};
use serde_json::{Value, json};
use tests::template::Template;

const SECRET: &str = "0123456789abcdef-_ABCDEF01234567";

fn now() -> DateTime<Utc> {
    "2026-11-24T12:00:00Z".parse().unwrap()
}

fn original_path(user: u64, media: u64, mime_type: MimeType) -> MediaPath {
    MediaPath::new(UserId::new(user).unwrap(), MediaId::new(media).unwrap(), mime_type)
}

/// With the smallest and the largest ids, of every type, as uploaded and derived.
fn files() -> Vec<PublicFile> {
    let last = (1 << 53) - 1;
    let mut files = Vec::new();
    for mime_type in MimeType::ALL {
        for (user, media) in [(1, 1), (7, 42), (last, last)] {
            files.push(PublicFile::Original(original_path(user, media, mime_type)));
        }
    }
    for mime_type in [MimeType::Jpeg, MimeType::Png] {
        for media in 1..20 {
            let request = PictureRequest { file: original_path(7, media, mime_type), bounds: PictureBounds::new(1, 2) };
            files.push(PublicFile::Derived(request.answered_at(), mime_type));
        }
    }
    files
}

/// For requests with these paths and queries at [`now`]: the URI that the function maps to, or its
/// status.
fn answers(requests: &[(String, Value)]) -> Vec<Value> {
    let template = Template::read_edge().unwrap();
    let function = &template.resources("AWS::CloudFront::Function")["FileAddress"];
    assert_eq!(function["FunctionConfig"]["Runtime"], "cloudfront-js-2.0");
    let code = function["FunctionCode"]["Fn::Sub"].as_str().unwrap().replace("${FileSecret}", SECRET);
    assert!(!code.contains("${"), "CloudFormation would replace it: {code}");
    // The limit of CloudFront.
    assert!(code.len() < 10_240);
    let requests =
        requests.iter().map(|(uri, query)| json!({ "method": "GET", "uri": uri, "querystring": query, "headers": {} }));
    let script = format!(
        "{code}
         Date.now = () => {};
         const requests = {};
         const answers = requests.map(request => {{
             const answer = handler({{ request, viewer: {{ ip: '192.0.2.1' }} }});
             return answer.statusCode || answer.uri;
         }});
         console.log(JSON.stringify(answers));",
        now().timestamp_millis(),
        requests.collect::<Value>()
    );
    let mut node = Command::new("node").arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    node.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn edge_maps_each_address_to_the_key_of_its_file() {
    let key = FileKey::new(SECRET).unwrap();
    let files = files();
    let requests: Vec<_> = files
        .iter()
        .map(|file| (FileAddress { file: *file, expires_at: now() + TimeDelta::seconds(1) }.path(&key), json!({})))
        .collect();

    let answers = answers(&requests);

    assert_eq!(answers.len(), files.len());
    for (answer, file) in answers.iter().zip(files) {
        assert_eq!(*answer, format!("/{}", file.bucket_key()));
    }
}

#[test]
fn edge_and_service_refuse_the_same_addresses() {
    let (key, other) = (FileKey::new(SECRET).unwrap(), FileKey::random());
    let at =
        |file, seconds, key: &FileKey| FileAddress { file, expires_at: now() + TimeDelta::seconds(seconds) }.path(key);
    let file = PublicFile::Original(original_path(7, 42, MimeType::Mp4));
    let path = at(file, 60, &key);
    let (mac, rest) = path["/files/".len()..].split_once('/').unwrap();
    let refused = [
        at(file, 0, &key),
        at(file, -60, &key),
        at(file, 60, &other),
        path.replace("/7/42.mp4", "/8/42.mp4"),
        path.replace("/7/42.mp4", "/7/43.mp4"),
        path.replace("/7/42.mp4", "/7/42.mov"),
        path.replace("/7/42.mp4", "/7/042.mp4"),
        path.replace("/7/42.mp4", "/7/42.MP4"),
        path.replace("/7/42.mp4", "/7/%342.mp4"),
        path.replace("/7/42.mp4", "/7/../7/42.mp4"),
        path.replace("/7/42.mp4", "/7//42.mp4"),
        path.replace("/7/42.mp4", "/7/42.mp4/"),
        path.replace("/7/42.mp4", "/7/42"),
        path.replace("/files/", "/Files/"),
        path.replace("/files/", "//files/"),
        format!("/files/{}/{rest}", mac.to_ascii_uppercase()),
        format!("/files/{}/{rest}", &mac[..21]),
        format!("/files/{mac}A/{rest}"),
        format!("/files/{rest}"),
        format!("/files//{rest}"),
        format!("/files/{mac}/0{rest}"),
        format!("/files/{mac}/+{rest}"),
        format!("{path}?"),
        format!("{path}\n"),
        "/files/".to_owned(),
        "/media/7/42.mp4".to_owned(),
    ];
    assert!(FileAddress::verify(&path, &key, now()).is_some());
    for path in &refused {
        assert_eq!(FileAddress::verify(path, &key, now()), None, "{path}");
    }
    let mut requests: Vec<_> = refused.iter().map(|path| (path.clone(), json!({}))).collect();
    requests.push((path.clone(), json!({ "x": { "value": "1" } })));
    requests.push((path, json!({})));

    let mut answers = answers(&requests);

    assert_eq!(answers.pop().unwrap(), "/media/7/42.mp4");
    for (answer, (path, query)) in answers.iter().zip(&requests) {
        assert_eq!(*answer, 404, "{path} {query}");
    }
}

/// `CloudFront` must add the headers that `functions/media` sends to the bucket's response.
#[test]
fn files_from_the_edge_run_nothing_and_are_not_cached() {
    let template = Template::read_edge().unwrap();
    let headers = template.resources("AWS::CloudFront::ResponseHeadersPolicy");
    let headers = &headers["FileHeaders"]["ResponseHeadersPolicyConfig"];
    let security = &headers["SecurityHeadersConfig"];
    assert_eq!(security["ContentSecurityPolicy"]["ContentSecurityPolicy"], "sandbox; default-src 'none'");
    assert_eq!(security["ContentTypeOptions"]["Override"], true);
    assert_eq!(
        headers["CustomHeadersConfig"]["Items"][0],
        json!({ "Header": "Cache-Control", "Value": "no-store", "Override": true })
    );
    let behavior = &template.resources("AWS::CloudFront::Distribution")["Distribution"]["DistributionConfig"];
    let behavior = &behavior["CacheBehaviors"]["Fn::If"][1][0];
    assert_eq!(behavior["PathPattern"], format!("{}*", FileAddress::PREFIX));
    assert_eq!(behavior["ResponseHeadersPolicyId"], json!({ "Ref": "FileHeaders" }));
    assert_eq!(behavior["FunctionAssociations"][0]["FunctionARN"]["Fn::GetAtt"][0], "FileAddress");
}

#[test]
fn only_the_named_distribution_may_read_the_bucket() {
    let template = Template::read().unwrap();
    let policies = template.resources("AWS::S3::BucketPolicy");
    let statements = policies["MediaBucketPolicy"]["PolicyDocument"]["Statement"].as_array().unwrap();
    let allowed: Vec<_> = statements.iter().filter(|it| it["Effect"] != "Deny").collect();
    let [allowed] = allowed[..] else { panic!("{allowed:?}") };
    assert_eq!(allowed["Fn::If"][0], "HasEdge");
    assert_eq!(allowed["Fn::If"][2], json!({ "Ref": "AWS::NoValue" }));
    let allowed = &allowed["Fn::If"][1];
    assert_eq!(allowed["Action"], "s3:GetObject");
    assert_eq!(allowed["Principal"], json!({ "Service": "cloudfront.amazonaws.com" }));
    assert_eq!(allowed["Condition"], json!({ "StringEquals": { "aws:SourceArn": { "Ref": "EdgeDistribution" } } }));
}
