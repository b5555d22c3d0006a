//! Every adapter, through the suite of all platforms. Servers that speak the
//! API of Mastodon differ, so each kind of them is there.

mod bluesky {
    platforms::conformance!(networks::bluesky::Bluesky);
}

mod discord {
    platforms::conformance!(networks::discord::Discord);
}

mod discord_without_an_app {
    platforms::conformance!(networks::discord::Discord<false>);
}

mod discord_with_a_bot {
    platforms::conformance!(networks::discord::bot::DiscordBot);
}

mod facebook {
    platforms::conformance!(networks::facebook::Facebook);
}

mod facebook_for_business {
    platforms::conformance!(networks::facebook::Facebook<true>);
}

mod instagram {
    platforms::conformance!(networks::instagram::Instagram);
}

mod instagram_by_facebook {
    platforms::conformance!(networks::instagram::Instagram<true>);
}

mod linkedin {
    platforms::conformance!(networks::linkedin::LinkedIn);
}

mod linkedin_pages {
    platforms::conformance!(networks::linkedin::LinkedIn<networks::linkedin::Community>);
}

mod mastodon {
    platforms::conformance!(networks::mastodon::Server);
}

mod mastodon_before_4_3 {
    platforms::conformance!(networks::mastodon::Server<networks::mastodon::OldMastodon>);
}

mod gotosocial {
    platforms::conformance!(networks::mastodon::Server<networks::mastodon::GoToSocial>);
}

mod pleroma {
    platforms::conformance!(networks::mastodon::Server<networks::mastodon::Pleroma>);
}

mod pixelfed {
    platforms::conformance!(networks::mastodon::Server<networks::mastodon::Pixelfed>);
}

mod snac {
    platforms::conformance!(networks::mastodon::Server<networks::mastodon::Snac>);
}

mod matrix {
    platforms::conformance!(networks::matrix::Matrix);
}

mod matrix_with_oauth {
    platforms::conformance!(networks::matrix::Matrix<true>);
}

mod pinterest {
    platforms::conformance!(networks::pinterest::Pinterest);
}

mod slack {
    platforms::conformance!(networks::slack::Slack);
}

mod slack_with_token_rotation {
    platforms::conformance!(networks::slack::Slack<networks::slack::TokenRotation>);
}

mod telegram {
    platforms::conformance!(networks::telegram::Telegram);
}

mod threads {
    platforms::conformance!(networks::threads::Threads);
}

mod wordpress {
    platforms::conformance!(networks::wordpress::Wordpress);
}

mod wordpress_without_permalinks {
    platforms::conformance!(networks::wordpress::Wordpress<true>);
}

mod x {
    platforms::conformance!(networks::x::X);
}
