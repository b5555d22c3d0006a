//! Attempts to agree to a post for a customer, or to see other posts with their link.

use std::sync::Arc;

use domain::{clock::Clock, media::MimeType};
use fakes::conformance::{fake_platform::FakePlatform, samples::sample};
use fakes::tiktok::TikTok;
use serde_json::{Value, json};

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    browser::{Browser, Page},
    deployment::{User, fresh},
    ensure,
    error::Result,
    http_response::{integer, text},
    platforms::several::AllPlatforms,
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(25, [
        "the page, the file and the form of a customer's consent are used in other browsers",
            "403, the post is as it was" => other_browsers;
        "another site agrees to a post for a customer", "403, the post is as it was" => forged_consent;
        "a link is requested for a post of another profile, and files of another post are opened with a link",
            "422 and 404" => other_posts;
        "a form is sent again after the customer has agreed", "the post keeps the first choice" => replayed_consent;
    ])
}

/// With TikTok, which requires a consent for each direct post.
async fn platforms() -> Result<AllPlatforms> {
    let fake: Arc<dyn FakePlatform> = Arc::new(TikTok::<true, true>::start(Clock::System).await);
    AllPlatforms::beside(vec![fake], &[]).await
}

async fn a_profile(user: &User<'_>) -> Result<i64> {
    integer(&user.api.post("/profiles", &json!({ "name": "The Harbor" })).await?.ok(201)?, "id")
}

/// With a video, whose id is returned.
async fn a_draft(user: &User<'_>, account: i64) -> Result<(Value, String)> {
    let video = user.upload(MimeType::Mp4.as_str(), &sample(MimeType::Mp4, 1).bytes).await?;
    let platforms = json!([{ "connected_account_id": account }]);
    let draft = user.create(&json!({ "content": fresh("consent"), "media": [video], "platforms": platforms })).await?;
    let name = video.rsplit('/').next().unwrap_or_default();
    Ok((draft, name.trim_end_matches(".mp4").to_owned()))
}

struct Customer<'a> {
    user: User<'a>,
    account: i64,
    draft: Value,
    video: String,
    browser: Browser,
    url: String,
    page: Page,
}

impl<'a> Customer<'a> {
    async fn new(stack: &'a AllPlatforms) -> Result<Self> {
        let user = stack.deployment().new_user().await?;
        let profile = a_profile(&user).await?;
        let account = stack.connect_for(&user, "tiktok", profile).await?;
        let (draft, video) = a_draft(&user, account).await?;
        let return_url = format!("{}/docs", stack.deployment().origin());
        let body = json!({ "profile_id": profile, "post_id": draft["id"], "return_url": return_url });
        let url = text(&user.api.post("/connect-links", &body).await?.ok(201)?, "url")?.to_owned();
        let mut browser = stack.deployment().browser()?;
        let first = browser.open(&url).await?;
        let page = browser.press(&first, "Continue", &[]).await?;
        ensure!(page.form_with_button("Agree").is_some(), "{}", page.test_error("it asks for no consent"));
        Ok(Self { user, account, draft, video, browser, url, page })
    }

    fn form(&self) -> String {
        format!("{}/{}", self.page.url, self.account)
    }

    fn file(&self, id: &str) -> String {
        self.page.url.as_str().replace("/consent", &format!("/files/{id}"))
    }

    async fn stored(&self) -> Result<Value> {
        self.user.show(integer(&self.draft, "id")?).await
    }

    async fn ensure_unchanged(&self) -> Result {
        let stored = self.stored().await?;
        let is_same =
            stored["revision"] == self.draft["revision"] && stored["platforms"][0].get("consented_at").is_none();
        ensure!(is_same, "{stored}");
        Ok(())
    }
}

/// The hidden field that proves that a form comes from the page.
fn csrf_of(page: &Page) -> String {
    let fields = page.forms().into_iter().flat_map(|it| it.fields);
    fields.filter(|it| it.name == "csrf").find_map(|it| it.value).unwrap_or_default()
}

async fn other_browsers(_: &AttackTargets) -> Result<String> {
    let stack = platforms().await?;
    let customer = Customer::new(&stack).await?;
    let mut stranger = stack.deployment().browser()?;
    // A link of the stranger's own, whose pages give them a cookie.
    let own = Customer::new(&stack).await?;
    let mut statuses = Vec::new();
    for (other, csrf) in [
        (&mut stranger, csrf_of(&customer.page)),
        (&mut customer.user.browser.clone(), csrf_of(&customer.page)),
        (&mut own.browser.clone(), csrf_of(&own.page)),
    ] {
        for address in [customer.url.clone(), customer.page.url.to_string(), customer.file(&customer.video)] {
            statuses.push(other.open(&address).await?.status.as_u16());
        }
        let fields = [("csrf", csrf.as_str()), ("revision", "1"), ("visibility", "SELF_ONLY")];
        statuses.push(other.post(&customer.form(), &fields).await?.status.as_u16());
    }

    ensure!(statuses.iter().all(|it| *it == 403), "{statuses:?}");
    customer.ensure_unchanged().await?;
    Ok(format!("403 for {} requests of 3 browsers", statuses.len()))
}

async fn forged_consent(_: &AttackTargets) -> Result<String> {
    let stack = platforms().await?;
    let mut customer = Customer::new(&stack).await?;
    let (form, revision) = (customer.form(), customer.draft["revision"].to_string());
    let fields = [("revision", revision.as_str()), ("visibility", "PUBLIC_TO_EVERYONE"), ("content", "forged")];

    let mut statuses = Vec::new();
    for csrf in ["", "AAAA"] {
        let fields = [&[("csrf", csrf)], fields.as_slice()].concat();
        statuses.push(customer.browser.post(&form, &fields).await?.status.as_u16());
    }

    ensure!(statuses == [403, 403], "{statuses:?}");
    customer.ensure_unchanged().await?;
    Ok(format!("{statuses:?}"))
}

async fn other_posts(_: &AttackTargets) -> Result<String> {
    let stack = platforms().await?;
    let mut customer = Customer::new(&stack).await?;
    let profile = a_profile(&customer.user).await?;
    let return_url = format!("{}/docs", stack.deployment().origin());
    let body = json!({ "profile_id": profile, "post_id": customer.draft["id"], "return_url": return_url });
    let requested = customer.user.api.post("/connect-links", &body).await?.status;

    let (_, other) = a_draft(&customer.user, customer.account).await?;
    let (own, others) = (customer.file(&customer.video), customer.file(&other));
    let (own, others) = (customer.browser.open(&own).await?.status, customer.browser.open(&others).await?.status);

    ensure!((requested, own.as_u16(), others.as_u16()) == (422, 200, 404), "{requested}, {own}, {others}");
    Ok("422 and 404".to_owned())
}

async fn replayed_consent(_: &AttackTargets) -> Result<String> {
    let stack = platforms().await?;
    let mut customer = Customer::new(&stack).await?;
    let (form, revision, csrf) = (customer.form(), customer.draft["revision"].to_string(), csrf_of(&customer.page));
    let content = text(&customer.draft, "content")?.to_owned();
    let fields = |visibility| {
        [
            ("csrf", csrf.as_str()),
            ("revision", revision.as_str()),
            ("content", content.as_str()),
            ("visibility", visibility),
        ]
    };
    let agreed = customer.browser.post(&form, &fields("SELF_ONLY")).await?;
    ensure!(agreed.url.path() == "/docs", "{}", agreed.test_error("it does not lead to the product"));
    let first = customer.stored().await?;
    ensure!(first["platforms"][0]["consented_at"].is_string() && first["status"] == "draft", "{first}");

    let again = customer.browser.post(&form, &fields("PUBLIC_TO_EVERYONE")).await?;

    ensure!(again.url.path() == "/docs", "{}", again.test_error("it does not lead to the product"));
    let stored = customer.stored().await?;
    ensure!(stored["revision"] == first["revision"], "{stored}");
    ensure!(stored["platforms"][0]["options"]["visibility"] == "SELF_ONLY", "{stored}");
    Ok("the post keeps the first choice".to_owned())
}
