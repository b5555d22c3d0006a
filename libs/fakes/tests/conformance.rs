//! Runs the conformance suite on every adapter. Servers with the Mastodon API differ, so the suite
//! runs on each kind of them.

mod bluesky {
    platforms::conformance!(fakes::bluesky::Bluesky);
}

mod discord {
    platforms::conformance!(fakes::discord::Discord);
}

mod discord_without_an_app {
    platforms::conformance!(fakes::discord::Discord<false>);
}

mod discord_with_a_bot {
    platforms::conformance!(fakes::discord::bot::DiscordBot);
}

mod facebook {
    platforms::conformance!(fakes::facebook::Facebook);
}

mod facebook_for_business {
    platforms::conformance!(fakes::facebook::Facebook<true>);
}

mod instagram {
    platforms::conformance!(fakes::instagram::Instagram);
}

mod instagram_by_facebook {
    platforms::conformance!(fakes::instagram::Instagram<true>);
}

mod linkedin {
    platforms::conformance!(fakes::linkedin::LinkedIn);
}

mod linkedin_pages {
    platforms::conformance!(fakes::linkedin::LinkedIn<fakes::linkedin::Community>);
}

mod mastodon {
    platforms::conformance!(fakes::mastodon::Server);
}

mod mastodon_before_4_3 {
    platforms::conformance!(fakes::mastodon::Server<fakes::mastodon::OldMastodon>);
}

mod gotosocial {
    platforms::conformance!(fakes::mastodon::Server<fakes::mastodon::GoToSocial>);
}

mod pleroma {
    platforms::conformance!(fakes::mastodon::Server<fakes::mastodon::Pleroma>);
}

mod pixelfed {
    platforms::conformance!(fakes::mastodon::Server<fakes::mastodon::Pixelfed>);
}

mod snac {
    platforms::conformance!(fakes::mastodon::Server<fakes::mastodon::Snac>);
}

mod matrix {
    platforms::conformance!(fakes::matrix::Matrix);
}

mod matrix_with_oauth {
    platforms::conformance!(fakes::matrix::Matrix<true>);
}

mod pinterest {
    platforms::conformance!(fakes::pinterest::Pinterest);
}

mod slack {
    platforms::conformance!(fakes::slack::Slack);
}

mod slack_with_token_rotation {
    platforms::conformance!(fakes::slack::Slack<fakes::slack::TokenRotation>);
}

mod telegram {
    platforms::conformance!(fakes::telegram::Telegram);
}

mod threads {
    platforms::conformance!(fakes::threads::Threads);
}

mod wordpress {
    platforms::conformance!(fakes::wordpress::Wordpress);
}

mod wordpress_without_permalinks {
    platforms::conformance!(fakes::wordpress::Wordpress<true>);
}

mod x {
    platforms::conformance!(fakes::x::X);
}
