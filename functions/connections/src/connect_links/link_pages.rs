//! The pages of a connect link. `/connect-links/{secret}` names the recipient; *Continue* there
//! makes this browser the only one of the link, which leads on to `/connect-links/{key}/accounts`,
//! without the secret. Opening the first page changes nothing: mail servers and messengers fetch
//! links before people do. A link that asks for consents leads on to `/connect-links/{key}/consent`
//! instead.

pub(crate) mod consents;

use api::page::{Page, PageError, PageForm, PlatformMark};
use api::{ClientIp, GuestCookie, Segments};
use askama::Template;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use cloud::audit::{self, Event};
use connecting::{LoadedLink, StartedFlow};
use domain::connect_link::{ConnectLink, LinkError, LinkResult, MAX_FLOWS};
use domain::connection::Connection;
use domain::token;
use platforms::Connect;
use serde::Deserialize;
use url::Url;

use self::consents::PostConsents;
use crate::App;
use crate::error::ConnectionsError;
use crate::flow_pages::{redirect_page, sentence, with_refresh};
use crate::participant::FlowAccessError;
use crate::recipient::Recipient;

/// A connect link with the browser of a customer.
struct LinkVisit<'a> {
    app: &'a App,
    loaded: LoadedLink,
    cookie: GuestCookie,
    recipient: Recipient,
}

struct Offer {
    name: &'static str,
    title: String,
    mark: PlatformMark,
    /// The permissions that the customer gives, for a sentence.
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
    path: String,
    csrf: String,
    recipient: &'a Recipient,
    offers: &'a [Offer],
    accounts: &'a [Account<'a>],
    /// Why the last step did not connect all accounts.
    left_out: Option<String>,
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

pub(crate) async fn show_link(
    State(app): State<App>,
    Segments(secret): Segments<String>,
    cookie: Option<GuestCookie>,
) -> Result<Response, FlowAccessError> {
    let visit = app.visit_link(token::hash(&secret), cookie).await?;
    if let Err(error) = visit.loaded.link.clone().open(&visit.cookie.owner(), app.api.clock.now()) {
        return visit.refuse(error).await;
    }
    if visit.loaded.link.browser.is_some() {
        return Ok(Redirect::to(&visit.page()).into_response());
    }
    if visit.loaded.link.consents.is_some() {
        return visit.start_consents(format!("/connect-links/{secret}"));
    }
    let offers = visit.offers();
    let page = StartPage {
        action: format!("/connect-links/{secret}"),
        csrf: visit.cookie.csrf(),
        recipient: &visit.recipient,
        offers: &offers,
    };
    let page = Page::render("Connect your accounts", &page)?.branded(&app.connect_links.brand);
    Ok(visit.cookie.respond(page))
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
        Ok(_) => Ok(visit.cookie.respond(Redirect::to(&visit.page()))),
        Err(error) => visit.refuse(error).await,
    }
}

pub(crate) async fn show_link_accounts(
    State(app): State<App>,
    Segments(key): Segments<String>,
    cookie: Option<GuestCookie>,
) -> Result<Response, FlowAccessError> {
    let visit = app.visit_link(key, cookie).await?;
    match visit.check() {
        Ok(()) if visit.loaded.link.consents.is_some() => visit.refuse(LinkError::AnotherPurpose).await,
        Ok(()) => visit.accounts(None).await,
        Err(error) => visit.refuse(error).await,
    }
}

pub(crate) async fn connect_with_link(
    State(app): State<App>,
    Segments(key): Segments<String>,
    cookie: Option<GuestCookie>,
    address: ClientIp,
    PageForm(form): PageForm<ConnectForm>,
) -> Result<Response, FlowAccessError> {
    let visit = app.visit_link(key, cookie).await?;
    visit.cookie.check(&form.csrf)?;
    if let Err(error) = visit.check() {
        return visit.refuse(error).await;
    }
    if visit.loaded.link.consents.is_some() {
        return visit.refuse(LinkError::AnotherPurpose).await;
    }
    let offered = app.platforms.get(&form.platform).filter(|it| visit.loaded.link.offers(it.name()));
    let Some(platform) = offered else { return visit.accounts(Some("Choose one of the platforms below.")).await };
    let started = app.connect_flows().start_from_link(visit.loaded.clone(), &visit.cookie.owner(), platform).await?;
    match started {
        Ok(StartedFlow::Started { page, .. }) => visit.leave_for(platform, &page),
        Ok(StartedFlow::OverPlan(reason)) => {
            audit::Entry::new(Event::PlanRefused)
                .user(visit.loaded.link.user_id)
                .address(address.0)
                .why(&reason)
                .write();
            let text = format!("No further account can be connected. Ask {} to change their plan.", visit.recipient);
            visit.accounts(Some(&text)).await
        }
        Err(error) => visit.refuse(error).await,
    }
}

pub(crate) async fn end_link(
    State(app): State<App>,
    Segments(key): Segments<String>,
    cookie: Option<GuestCookie>,
    PageForm(form): PageForm<LinkForm>,
) -> Result<Response, FlowAccessError> {
    let visit = app.visit_link(key, cookie).await?;
    visit.cookie.check(&form.csrf)?;
    let are_given = match &visit.loaded.link.consents {
        Some(consents) => matches!(visit.post_consents(consents).await?, PostConsents::Given),
        None => false,
    };
    let (browser, now) = (visit.cookie.owner(), app.api.clock.now());
    let end = |it: ConnectLink| if are_given { it.complete(&browser, now) } else { it.finish(&browser, now) };
    match app.connect_flows().change_link(visit.loaded.clone(), end).await? {
        // The form may not lead to another origin, so a page of ours does.
        Ok(_) => Ok(Redirect::to(&visit.page()).into_response()),
        Err(error) => visit.refuse(error).await,
    }
}

/// `GET /connect-links/brand.css`: the color of the operator's brand. The pages permit no inline styles.
pub(crate) async fn show_brand_style(State(app): State<App>) -> Response {
    let headers = [(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, "public, max-age=300")];
    (headers, app.connect_links.brand.style_sheet()).into_response()
}

/// Shows the operator's brand on error pages, too: customers do not know this service.
pub(crate) async fn with_branded_error(State(app): State<App>, mut response: Response) -> Response {
    match response.extensions_mut().remove::<PageError>() {
        Some(error) => error.into_branded_response(&app.connect_links.brand),
        None => response,
    }
}

impl App {
    async fn visit_link(&self, key: String, cookie: Option<GuestCookie>) -> Result<LinkVisit<'_>, FlowAccessError> {
        let found = self.api.visit_link(key, cookie).await?.ok_or(FlowAccessError::Unknown)?;
        let api::RequestedLink { key, link, user, cookie } = found;
        Ok(LinkVisit { app: self, loaded: LoadedLink { key, link }, cookie, recipient: Recipient::new(&user) })
    }
}

impl LinkVisit<'_> {
    fn check(&self) -> Result<(), LinkError> {
        self.loaded.link.check(Some(&self.cookie.owner()), self.app.api.clock.now())
    }

    fn offers(&self) -> Vec<Offer> {
        let offer = |name| {
            let platform = self.app.platforms.get(name).filter(|_| self.loaded.link.offers(name))?;
            let (title, mark) = (platform.rules().title, PlatformMark::new(name));
            Some(Offer { name, title, mark, permissions: platforms::permissions(name) })
        };
        self.app.platforms.names().into_iter().filter_map(offer).collect()
    }

    /// The platforms are listed while the link is open.
    async fn accounts(&self, error: Option<&str>) -> Result<Response, FlowAccessError> {
        let connected = self.app.connect_flows().connected_with(&self.loaded.link).await?;
        let accounts: Vec<_> = connected.connections.iter().map(Account::new).collect();
        let is_open = self.check().is_ok();
        let page = AccountsPage {
            path: format!("/connect-links/{}", self.loaded.key),
            csrf: self.cookie.csrf(),
            recipient: &self.recipient,
            offers: &if is_open { self.offers() } else { Vec::new() },
            accounts: &accounts,
            left_out: connected.left_out.as_deref().map(sentence),
            error,
        };
        let status = match error {
            _ if !is_open => StatusCode::GONE,
            Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
            None => StatusCode::OK,
        };
        let page = Page::render("Connect your accounts", &page)?.branded(&self.app.connect_links.brand);
        Ok(self.cookie.respond(page.status(status)))
    }

    fn leave_for(&self, platform: &dyn Connect, page: &str) -> Result<Response, FlowAccessError> {
        if let Some(path) = page.strip_prefix(&self.app.api.origin).filter(|it| it.starts_with("/connect/")) {
            return Ok(Redirect::to(path).into_response());
        }
        let (page, refresh) = redirect_page(platform, &self.recipient, page)?;
        Ok(with_refresh(page.branded(&self.app.connect_links.brand), refresh))
    }

    async fn refuse(&self, error: LinkError) -> Result<Response, FlowAccessError> {
        let recipient = &self.recipient;
        match error {
            LinkError::AnotherBrowser => Err(FlowAccessError::AnotherBrowser),
            // Only the browser of the link gets this error.
            LinkError::Ended => self.ended().await,
            LinkError::Expired if self.is_own() && self.loaded.link.consents.is_some() => self
                .return_page("This link has expired", format!("To agree to the post, ask {recipient} for a new one.")),
            LinkError::Expired if self.is_own() => {
                let text = format!("This link has expired. To connect an account, ask {recipient} for a new one.");
                self.accounts(Some(&text)).await
            }
            LinkError::Expired => {
                let text = format!("Ask {recipient} for a new one.");
                let page = EndPage { heading: "This link has expired", text, return_url: None };
                let page = Page::render("This link has expired", &page)?.branded(&self.app.connect_links.brand);
                Ok(page.status(StatusCode::GONE).into_response())
            }
            LinkError::AnotherPurpose => Ok(Redirect::to(&self.page()).into_response()),
            LinkError::Spent => {
                let text = format!(
                    "This link accepts {MAX_FLOWS} attempts. To connect another account, ask {recipient} for a new link."
                );
                self.accounts(Some(&text)).await
            }
        }
    }

    fn is_own(&self) -> bool {
        self.loaded.link.browser == Some(self.cookie.owner())
    }

    async fn ended(&self) -> Result<Response, FlowAccessError> {
        let link = &self.loaded.link;
        let connected = self.app.connect_flows().connected_with(link).await?;
        let result = link.result(!connected.connections.is_empty());
        let heading = match (result, &link.consents) {
            (LinkResult::Cancelled, None) => "No accounts were connected",
            (LinkResult::Completed, None) => "Your accounts are connected",
            (LinkResult::Cancelled, Some(_)) => "You have not agreed to the post",
            (LinkResult::Completed, Some(_)) => "You have agreed to the post",
        };
        let mut url = Url::parse(&link.return_url).map_err(|_| ConnectionsError::InvalidUrl)?;
        let mut query = url.query_pairs_mut();
        query.append_pair("connect_link", &link.link_id.to_string()).append_pair("status", result.as_str());
        drop(query);
        let text = format!("You are being taken back to {}.", url.host_str().unwrap_or_default());
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
