//! Runs the conformance suite on every adapter. Servers with the Mastodon API differ, so the suite
//! runs on each kind of them.

macro_rules! conformance_of {
    ($($name:ident: $fake:ty;)+) => {
        $(mod $name {
            fakes::conformance!($fake);
        })+
    };
}

conformance_of! {
    bluesky: fakes::bluesky::Bluesky;
    discord: fakes::discord::Discord;
    discord_without_an_app: fakes::discord::Discord<false>;
    discord_with_a_bot: fakes::discord::bot::DiscordBot;
    facebook: fakes::facebook::Facebook;
    facebook_for_business: fakes::facebook::Facebook<true>;
    ghost: fakes::ghost::Ghost;
    google_business: fakes::google_business::GoogleBusiness<true>;
    instagram: fakes::instagram::Instagram;
    instagram_by_facebook: fakes::instagram::Instagram<true>;
    linkedin: fakes::linkedin::LinkedIn;
    linkedin_pages: fakes::linkedin::LinkedIn<fakes::linkedin::Community>;
    mastodon: fakes::mastodon::Server;
    mastodon_before_4_3: fakes::mastodon::Server<fakes::mastodon::OldMastodon>;
    gotosocial: fakes::mastodon::Server<fakes::mastodon::GoToSocial>;
    pleroma: fakes::mastodon::Server<fakes::mastodon::Pleroma>;
    pixelfed: fakes::mastodon::Server<fakes::mastodon::Pixelfed>;
    snac: fakes::mastodon::Server<fakes::mastodon::Snac>;
    matrix: fakes::matrix::Matrix;
    matrix_with_oauth: fakes::matrix::Matrix<true>;
    pinterest: fakes::pinterest::Pinterest;
    slack: fakes::slack::Slack;
    slack_with_token_rotation: fakes::slack::Slack<fakes::slack::TokenRotation>;
    telegram: fakes::telegram::Telegram;
    threads: fakes::threads::Threads;
    tiktok: fakes::tiktok::TikTok<true, true>;
    tiktok_inbox: fakes::tiktok::TikTok;
    tiktok_photos: fakes::tiktok::TikTok<true>;
    wordpress: fakes::wordpress::Wordpress;
    wordpress_without_permalinks: fakes::wordpress::Wordpress<true>;
    x: fakes::x::X;
    youtube: fakes::youtube::Youtube;
}
