use async_trait::async_trait;
use domain::media::MimeType;
use domain::options::{OptionValue, Options};
use platforms::FieldValues;
use serde_json::{Value, json};
use url::Url;

use super::{Event, Matrix, Memory, PASSWORD, ROOM, USER, access};
use crate::conformance::fake_platform::{
    Call, Decision, Detour, FakePlatform, InjectedFault, PublicMedium, PublicPost,
};
use crate::fake::fake_platform::fake_platform;
use crate::fake::oauth::{Authorizes, decide};

#[async_trait]
impl<const OAUTH: bool> FakePlatform for Matrix<OAUTH> {
    fake_platform!("matrix");

    fn settings(&self) -> Value {
        json!({})
    }

    fn form_values(&self) -> FieldValues {
        let password = if OAUTH { "" } else { PASSWORD };
        let typed = [("user", USER), ("password", password), ("homeserver", &self.base_url())];
        typed.map(|(name, it)| (name.to_owned(), it.into())).into()
    }

    fn direct_form_values(&self) -> Option<FieldValues> {
        (!OAUTH).then(|| self.form_values())
    }

    /// Enables sign-in on the homeserver's page.
    fn form_values_naming_server(&self) -> Option<FieldValues> {
        self.enable_page();
        Some(self.form_values().into_iter().filter(|(name, _)| name != "password").collect())
    }

    fn has_authorization_page(&self) -> bool {
        OAUTH
    }

    fn proof_parameter(&self) -> &'static str {
        if OAUTH { "code" } else { "loginToken" }
    }

    fn options(&self) -> Options {
        [("room".to_owned(), OptionValue::Text(ROOM.to_owned()))].into_iter().collect()
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        if OAUTH { decide(url, USER, decision).await } else { access::sign_in_at(url).await }
    }

    fn can_fail(&self, call: Call, _: InjectedFault) -> bool {
        call != Call::Process
    }

    fn revoke(&self) {
        self.fake.oauth().revoke_all();
    }

    fn end_access_tokens(&self) {
        self.fake.end_access_tokens();
    }

    /// The old page redirects for both detours. The honest authorization server sends its issuer
    /// (RFC 9207). Where one does not, the issuer of the authorization response is unknown: the
    /// hostile homeserver has registered our redirect URI at the honest one.
    fn detour_target(&self) -> String {
        self.enable_page();
        self.names_itself();
        self.base_url()
    }

    fn redirect_users_to(&self, honest: &str, detour: Detour) -> bool {
        self.fake.memory().leads_to = Some((detour, honest.to_owned()));
        true
    }

    fn issued_secrets(&self) -> Vec<String> {
        let login_tokens = self.fake.memory().login_tokens.clone();
        let grants = self.fake.oauth().grants.clone();
        let tokens = grants.into_iter().flat_map(|it| [Some(it.access_token), it.refresh_token]).flatten();
        login_tokens.into_iter().chain(tokens).collect()
    }

    fn publish_manual_post(&self, text: &str) {
        let content = json!({ "msgtype": "m.text", "body": text });
        self.fake.memory().say(ROOM, content, None, self.fake.clock.now());
    }

    /// Messages whose transaction ids have the same prefix are one post.
    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        let mut posts: Vec<(String, PublicPost)> = Vec::new();
        for event in &memory.events {
            let Some((_, transaction)) = &event.transaction else { continue };
            let post = transaction.rsplit_once('.').map_or(transaction.as_str(), |(post, _)| post);
            if let Some((_, known)) = posts.iter_mut().find(|(it, _)| it == post) {
                known.media.extend(medium(&memory, event, false));
                continue;
            }
            let media: Vec<_> = medium(&memory, event, true).into_iter().collect();
            // Without a caption, the body of a file is its name.
            let is_name = event.content["body"] == event.content["filename"];
            let text = event.content["body"].as_str().filter(|_| !is_name).unwrap_or_default().to_owned();
            let parent = event.content["m.relates_to"]["m.in_reply_to"]["event_id"].as_str();
            let reply_to = parent.map(str::to_owned);
            posts.push((post.to_owned(), PublicPost { id: event.id.clone(), text, media, reply_to }));
        }
        posts.into_iter().map(|(_, post)| post).collect()
    }

    fn links(&self) -> Option<Vec<String>> {
        let memory = self.fake.memory();
        let html = memory.events.last()?.content["formatted_body"].as_str().unwrap_or_default().to_owned();
        let links = html.split("<a href=").skip(1).filter_map(|it| it.split_once('>')?.1.split_once("</a>"));
        Some(links.map(|(words, _)| words.to_owned()).collect())
    }

    fn grant_count(&self) -> usize {
        self.fake.oauth().usable()
    }
}

/// The file of a message. The first file's caption is the text of the post; that of a further file
/// is its alternative text, unless it is the filename.
fn medium(memory: &Memory, event: &Event, is_first: bool) -> Option<PublicMedium> {
    let content = &event.content;
    let file = memory.files.get(content["url"].as_str()?)?;
    let mime_type = MimeType::parse(&file.mime_type).expect("the service sends files of its own types");
    let caption = content["body"].as_str().filter(|_| !is_first && content["body"] != content["filename"]);
    Some(PublicMedium { mime_type, bytes: file.bytes.to_vec(), alt_text: caption.map(str::to_owned) })
}
