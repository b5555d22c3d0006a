//! The conformance suite: checks that every adapter passes, against a fake of its platform or a real
//! server.
//!
//! An adapter runs it by naming its [`fake_platform::FakePlatform`] in a test file:
//!
//! ```ignore
//! fakes::conformance!(fakes::mastodon::Server);
//! ```

pub mod adapter_harness;
pub mod checks;
pub mod echo;
pub mod fake_platform;
pub mod log;
pub mod options;
pub mod samples;
pub mod shape;

/// Generates one test per check, for one platform.
#[macro_export]
macro_rules! conformance {
    ($fake:ty) => {
        $crate::conformance_checks!([$crate::conformance_tests] $fake);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($fake:ty; $($group:ident: $($check:ident),+;)+) => {
        $($(
            #[tokio::test]
            async fn $check() {
                $crate::conformance::checks::$group::$check($crate::conformance::fake_platform::start_fake::<$fake>).await;
            }
        )+)+
    };
}

/// Passes the checks of each group to the macro of this path, for one platform.
#[macro_export]
macro_rules! conformance_checks {
    ([$($with:tt)+] $($fake:tt)+) => {
        $($with)+! { $($fake)+;
            connecting: user_connects_an_account, denied_authorization_connects_nothing,
                callback_is_accepted_once, callback_at_another_redirect_uri_connects_nothing,
                code_of_one_server_is_not_sent_to_another, server_receives_no_secret_of_another_server,
                late_callback_connects_nothing,
                invalid_form_values_are_refused_with_a_message, failing_platform_connects_nothing_and_reports_it,
                form_values_may_be_sufficient;
            credentials: expired_credentials_are_refreshed, temporary_error_does_not_end_a_grant, account_info_stays_the_same,
                revoked_grant_is_reported_as_ended, disconnecting_revokes_the_grant,
                grant_of_another_user_is_not_revoked,
                grant_without_page_is_refreshed_and_revoked;
            intermediaries: an_error_page_at_the_publish_call_delays_the_post,
                a_post_behind_an_error_page_is_not_sent_twice, a_response_without_an_id_leaves_the_outcome_unknown,
                response_of_an_intermediary_delays_a_file, an_error_page_at_a_look_up_proves_nothing,
                an_error_page_does_not_end_a_grant;
            publishing: text_is_published_once, files_alone_are_published_once, every_supported_file_type_is_published,
                maximum_number_of_files_is_published_in_order, files_have_their_alt_texts,
                rules_match_the_platform,
                text_in_all_scripts_arrives_unchanged, links_cover_their_urls_in_the_text,
                repeated_steps_change_nothing;
            recognition: equal_texts_are_two_posts, lost_call_is_repeated_despite_newer_posts,
                everyday_texts_are_recognized, lost_post_is_found_among_manual_posts, manual_posts_are_not_claimed,
                post_of_a_lost_window_is_not_sent_again, restored_post_is_not_published_early;
            refusals: decisions_do_not_depend_on_the_language_of_refusals;
            threads: thread_is_published_in_order_with_its_files, lost_reply_is_found_and_sent_once,
                equal_threads_are_not_mixed_up, refused_reply_leaves_the_thread_as_it_is,
                reply_is_prepared_before_its_parent_is_public, thread_continues_after_its_grant_ended,
                comment_is_published_once;
            troubles: every_fault_of_the_publish_call_publishes_once, refusal_is_final_and_has_the_reason,
                rate_limit_delays_the_post, every_fault_of_an_upload_publishes_once, failed_look_up_decides_nothing,
                lost_response_is_found_hours_later, repeated_secrets_are_redacted, only_an_ended_grant_asks_for_reconnection;
        }
    };
}
