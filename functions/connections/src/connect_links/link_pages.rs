//! The pages of a connect link. `/connect-links/{secret}` names the recipient; *Continue* there makes this browser the only
//! one of the link, which leads on to `/connect-links/{key}/accounts`, without the secret. Opening the first page changes
//! nothing: mail servers and messengers fetch links before people do.

use api::Segments;
use api::page::{Page, PageForm, PlatformMark};
use askama::Template;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use connecting::{LoadedLink, StartedFlow};
use domain::connect_link::{LinkEnd, LinkError};
use domain::connection::Connection;
use domain::token;
use platforms::Connect;
use serde::Deserialize;
use url::Url;

use crate::App;
use crate::error::ConnectionsError;
use crate::flow_pages::{link_accounts_path, redirect_page, with_refresh};
use crate::participant::{FlowAccessError, GuestCookie};
use crate::recipient::Recipient;

/// A connect link with the browser of a customer.
struct LinkVisit<'a> {
    app: &'a App,
    loaded: LoadedLink,
    cookie: GuestCookie,
    recipient: Recipient,
}

/// A platform that a customer can connect.
struct Offer {
    name: &'static str,
    title: String,
    mark: PlatformMark,
    /// What the customer permits, for a sentence.
    permissions: &'static str,
}

struct Account<'a> {
    name: String,
    title: &'a str,
    mark: PlatformMark,
    avatar: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "link_start.html")]
struct StartPage<'a> {
    action: String,
    csrf: String,
    recipient: &'a Recipient,
    offers: &'a [Offer],
}

#[derive(Template)]
#[template(path = "link_accounts.html")]
struct AccountsPage<'a> {
    /// The path of the link.
    path: String,
    csrf: String,
    recipient: &'a Recipient,
    offers: &'a [Offer],
    accounts: &'a [Account<'a>],
    error: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "link_end.html")]
struct EndPage<'a> {
    heading: &'a str,
    text: String,
    return_url: Option<&'a str>,
}

#[derive(Deserialize)]
pub(crate) struct LinkForm {
    csrf: String,
}

#[derive(Deserialize)]
pub(crate) struct ConnectForm {
    csrf: String,
    platform: String,
}

/// Names the recipient and the platforms.
pub(crate) async fn show_link(
    State(app): State<App>,
    Segments(secret): Segments<String>,
    cookie: Option<GuestCookie>,
) -> Result<Response, FlowAccessError> {
    let visit = app.visit_link(token::hash(&secret), cookie).await?;
    if let Err(error) = visit.loaded.link.clone().open(&visit.cookie.owner(), app.api.clock.now()) {
        return visit.refuse(error);
    }
    if visit.loaded.link.browser.is_some() {
        return Ok(Redirect::to(&link_accounts_path(&visit.loaded.key)).into_response());
    }
    let offers = visit.offers();
    let page = StartPage {
        action: format!("/connect-links/{secret}"),
        csrf: visit.cookie.csrf(),
        recipient: &visit.recipient,
        offers: &offers,
    };
    visit.respond("Connect your accounts", &page)
}

/// Makes this browser the only one of the link.
pub(crate) async fn open_link(
    State(app): State<App>,
    Segments(secret): Segments<String>,
    cookie: Option<GuestCookie>,
    PageForm(form): PageForm<LinkForm>,
) -> Result<Response, FlowAccessError> {
    let visit = app.visit_link(token::hash(&secret), cookie).await?;
    visit.cookie.check(&form.csrf)?;
    let (browser, now) = (visit.cookie.owner(), app.api.clock.now());
    match app.connect_flows().change_link(visit.loaded.clone(), |it| it.open(&browser, now)).await? {
        Ok(opened) => {
            let next = Redirect::to(&link_accounts_path(&opened.key));
            Ok(visit.cookie.respond(next))
        }
        Err(error) => visit.refuse(error),
    }
}

/// Shows the connected accounts and the platforms.
pub(crate) async fn show_link_accounts(
    State(app): State<App>,
    Segments(key): Segments<String>,
    cookie: Option<GuestCookie>,
) -> Result<Response, FlowAccessError> {
    let visit = app.visit_link(key, cookie).await?;
    match visit.check() {
        Ok(()) => visit.accounts(None).await,
        Err(error) => visit.refuse(error),
    }
}

/// Starts to connect an account.
pub(crate) async fn connect_with_link(
    State(app): State<App>,
    Segments(key): Segments<String>,
    cookie: Option<GuestCookie>,
    PageForm(form): PageForm<ConnectForm>,
) -> Result<Response, FlowAccessError> {
    let visit = app.visit_link(key, cookie).await?;
    visit.cookie.check(&form.csrf)?;
    if let Err(error) = visit.check() {
        return visit.refuse(error);
    }
    let offered = app.platforms.get(&form.platform).filter(|it| visit.loaded.link.offers(it.name()));
    let Some(platform) = offered else { return visit.accounts(Some("Choose one of the platforms below.")).await };
    let started = app.connect_flows().start_from_link(visit.loaded.clone(), &visit.cookie.owner(), platform).await?;
    match started {
        Ok(StartedFlow::Started { page, .. }) => visit.leave_for(platform, &page),
        Ok(StartedFlow::OverPlan(_)) => {
            let text = format!("No further account can be connected. Ask {} to change their plan.", visit.recipient);
            visit.accounts(Some(&text)).await
        }
        Err(error) => visit.refuse(error),
    }
}

/// Ends the link.
pub(crate) async fn end_link(
    State(app): State<App>,
    Segments(key): Segments<String>,
    cookie: Option<GuestCookie>,
    PageForm(form): PageForm<LinkForm>,
) -> Result<Response, FlowAccessError> {
    let visit = app.visit_link(key, cookie).await?;
    visit.cookie.check(&form.csrf)?;
    let flows = app.connect_flows();
    let has_connected = !flows.connected_with(&visit.loaded.link).await?.is_empty();
    let (browser, now) = (visit.cookie.owner(), app.api.clock.now());
    match flows.change_link(visit.loaded.clone(), |it| it.finish(&browser, has_connected, now)).await? {
        // The form may not lead to another origin, so a page of ours does.
        Ok(_) => Ok(Redirect::to(&link_accounts_path(&visit.loaded.key)).into_response()),
        Err(error) => visit.refuse(error),
    }
}

/// `GET /connect-links/brand.css`: the color of the operator's brand. The pages permit no inline styles.
pub(crate) async fn show_brand_style(State(app): State<App>) -> Response {
    let headers = [(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, "public, max-age=300")];
    (headers, app.connect_links.brand.style_sheet()).into_response()
}

impl App {
    /// Finds a link; changes nothing.
    async fn visit_link(&self, key: String, cookie: Option<GuestCookie>) -> Result<LinkVisit<'_>, FlowAccessError> {
        let loaded = self.connect_flows().find_link(key).await?.ok_or(FlowAccessError::Unknown)?;
        let user = self.api.store.user(loaded.link.user_id).await?.ok_or(FlowAccessError::Unknown)?;
        let cookie = cookie.unwrap_or_else(GuestCookie::random);
        Ok(LinkVisit { app: self, loaded, cookie, recipient: Recipient::new(&user) })
    }
}

impl LinkVisit<'_> {
    fn check(&self) -> Result<(), LinkError> {
        self.loaded.link.check(Some(&self.cookie.owner()), self.app.api.clock.now())
    }

    fn respond(&self, title: &str, inner: &impl Template) -> Result<Response, FlowAccessError> {
        let page = Page::render(title, inner)?.branded(&self.app.connect_links.brand);
        Ok(self.cookie.respond(page))
    }

    fn offers(&self) -> Vec<Offer> {
        let offer = |name| {
            let platform = self.app.platforms.get(name).filter(|_| self.loaded.link.offers(name))?;
            let (title, mark) = (platform.rules().title, PlatformMark::new(name));
            let info = platforms::platform_infos().iter().find(|it| it.name == name);
            Some(Offer { name, title, mark, permissions: info.map_or("publish posts", |it| it.permissions) })
        };
        self.app.platforms.names().into_iter().filter_map(offer).collect()
    }

    async fn accounts(&self, error: Option<&str>) -> Result<Response, FlowAccessError> {
        let connected = self.app.connect_flows().connected_with(&self.loaded.link).await?;
        let accounts: Vec<_> = connected.iter().map(Account::new).collect();
        let page = AccountsPage {
            path: format!("/connect-links/{}", self.loaded.key),
            csrf: self.cookie.csrf(),
            recipient: &self.recipient,
            offers: &self.offers(),
            accounts: &accounts,
            error,
        };
        self.respond("Connect your accounts", &page)
    }

    /// The first page of a connect flow, ours or the platform's.
    fn leave_for(&self, platform: &dyn Connect, page: &str) -> Result<Response, FlowAccessError> {
        if let Some(path) = page.strip_prefix(&self.app.api.origin).filter(|it| it.starts_with("/connect/")) {
            return Ok(Redirect::to(path).into_response());
        }
        let (page, refresh) = redirect_page(platform, &self.recipient, page)?;
        Ok(with_refresh(page.branded(&self.app.connect_links.brand), refresh))
    }

    fn refuse(&self, error: LinkError) -> Result<Response, FlowAccessError> {
        match error {
            LinkError::AnotherBrowser => Err(FlowAccessError::AnotherBrowser),
            LinkError::Ended(end) => self.ended(end),
            LinkError::Expired => {
                let text =
                    format!("Accounts that you have connected stay connected. Ask {} for a new link.", self.recipient);
                self.end_page(StatusCode::GONE, "This link has expired", text)
            }
            LinkError::Spent => {
                let text = format!("Ask {} for a new link.", self.recipient);
                self.end_page(StatusCode::UNPROCESSABLE_ENTITY, "This link has been used too often", text)
            }
        }
    }

    fn end_page(&self, status: StatusCode, heading: &str, text: String) -> Result<Response, FlowAccessError> {
        let page = Page::render(heading, &EndPage { heading, text, return_url: None })?;
        Ok(page.branded(&self.app.connect_links.brand).status(status).into_response())
    }

    /// Returns to the product. Only the browser of the link gets here.
    fn ended(&self, end: LinkEnd) -> Result<Response, FlowAccessError> {
        let link = &self.loaded.link;
        if link.browser != Some(self.cookie.owner()) {
            return Err(FlowAccessError::AnotherBrowser);
        }
        let mut url = Url::parse(&link.return_url).map_err(|_| ConnectionsError::InvalidUrl)?;
        url.query_pairs_mut()
            .append_pair("connect_link", &link.link_id.to_string())
            .append_pair("status", end.as_str());
        let heading = match end {
            LinkEnd::Completed => "Your accounts are connected",
            LinkEnd::Cancelled => "No account is connected",
        };
        let text = format!("You return to {}.", url.host_str().unwrap_or_default());
        let refresh = HeaderValue::try_from(format!("0; url={url}")).map_err(|_| ConnectionsError::InvalidUrl)?;
        let page = Page::render(heading, &EndPage { heading, text, return_url: Some(url.as_str()) })?;
        Ok(with_refresh(page.branded(&self.app.connect_links.brand), refresh))
    }
}

impl<'a> Account<'a> {
    fn new(connection: &'a Connection) -> Self {
        Self {
            name: connection.profile.shown_name(),
            title: &connection.rules.title,
            mark: PlatformMark::new(&connection.provider),
            avatar: connection.profile.avatar.as_deref(),
        }
    }
}
