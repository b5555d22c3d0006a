//! Verifies the signature of a request (AWS Signature Version 4): signs the request again and
//! compares the two signatures.

use std::time::SystemTime;

use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use http::request::Parts;
use subtle::ConstantTimeEq;

use server::{ACCESS_KEYS, Secret};

/// As in AWS.
const SKEW: TimeDelta = TimeDelta::minutes(15);

pub(super) fn is_good(head: &Parts, body: &[u8], secret: &Secret, now: DateTime<Utc>) -> bool {
    both_signatures(head, body, secret, now).is_some_and(|(given, ours)| given.as_bytes().ct_eq(ours.as_bytes()).into())
}

/// The signature in the request, and the expected one.
fn both_signatures<'a>(
    head: &'a Parts,
    body: &'a [u8],
    secret: &Secret,
    now: DateTime<Utc>,
) -> Option<(&'a str, String)> {
    let header = |name: &str| head.headers.get(name).and_then(|it| it.to_str().ok());
    let given = header("authorization")?.strip_prefix("AWS4-HMAC-SHA256 ")?;
    let part = |name: &str| given.split(',').find_map(|it| it.trim().strip_prefix(name));
    let (credential, names, signature) = (part("Credential=")?, part("SignedHeaders=")?, part("Signature=")?);

    let mut scope = credential.split('/');
    let (access_key, _day, region, service) = (scope.next()?, scope.next()?, scope.next()?, scope.next()?);
    if !ACCESS_KEYS.contains(&access_key) || !names.split(';').any(|it| it == "host") {
        return None;
    }
    let signed_at = NaiveDateTime::parse_from_str(header("x-amz-date")?, "%Y%m%dT%H%M%SZ").ok()?.and_utc();
    if SKEW < (now - signed_at).abs() {
        return None;
    }
    // The signer adds the date automatically.
    let names = names.split(';').filter(|it| *it != "x-amz-date");
    let headers: Vec<_> = names.map(|it| Some((it, header(it)?))).collect::<Option<_>>()?;
    let url = format!("http://{}{}", header("host")?, head.uri.path_and_query()?);
    let request =
        SignableRequest::new(head.method.as_str(), url, headers.into_iter(), SignableBody::Bytes(body)).ok()?;

    let mut settings = SigningSettings::default();
    settings.excluded_headers = None;
    let identity = secret.credentials(access_key).into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(SystemTime::from(signed_at))
        .settings(settings)
        .build()
        .ok()?;
    Some((signature, sign(request, &params.into()).ok()?.signature().to_owned()))
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    /// A request as the SDK sends it, signed at noon.
    fn signed(secret: &Secret) -> Parts {
        let mut request = http::Request::post("/")
            .header("host", "localhost:8000")
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", "DynamoDB_20120810.ListTables")
            .body(())
            .unwrap();
        let identity = secret.credentials("local").into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region("us-east-1")
            .name("dynamodb")
            .time(noon().into())
            .settings(SigningSettings::default())
            .build()
            .unwrap();
        let headers = request.headers().iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
        let unsigned =
            SignableRequest::new("POST", "http://localhost:8000/", headers, SignableBody::Bytes(b"{}")).unwrap();
        let (instructions, _) = sign(unsigned, &params.into()).unwrap().into_parts();
        instructions.apply_to_request_http1x(&mut request);
        request.into_parts().0
    }

    #[test]
    fn request_signed_with_the_secret_is_accepted() {
        let secret = Secret::random();
        assert!(is_good(&signed(&secret), b"{}", &secret, noon()));
        assert!(!is_good(&signed(&Secret::random()), b"{}", &secret, noon()));
    }

    #[test]
    fn changed_or_old_request_is_rejected() {
        let secret = Secret::random();
        let good = signed(&secret);

        assert!(!is_good(&good, b"{ }", &secret, noon()), "another body");
        assert!(!is_good(&good, b"{}", &secret, noon() + TimeDelta::minutes(16)), "too late");
        let authorization = good.headers["authorization"].to_str().unwrap().to_owned();
        for (name, value) in [
            ("x-amz-target", "DynamoDB_20120810.Scan".to_owned()),
            ("host", "evil.example".to_owned()),
            ("x-amz-date", "20261121T120001Z".to_owned()),
            ("authorization", authorization.replace("local/", "somebody/")),
            ("authorization", authorization.replace("host;", "")),
            ("authorization", "AWS4-HMAC-SHA256".to_owned()),
        ] {
            let mut changed = good.clone();
            changed.headers.insert(name, value.parse().unwrap());
            assert!(!is_good(&changed, b"{}", &secret, noon()), "{name}: {value}");
        }
    }
}
