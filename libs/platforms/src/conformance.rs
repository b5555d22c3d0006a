//! The conformance suite: checks that every adapter passes, against a fake of its platform that is
//! as strict as the platform.
//!
//! An adapter runs it by naming its [`network::Network`] in a test file:
//!
//! ```ignore
//! platforms::conformance!(networks::mastodon::Server);
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]
#![allow(clippy::missing_panics_doc, reason = "see above")]

pub mod checks;
pub mod echo;
pub mod log;
pub mod network;
pub mod options;
pub mod samples;
pub mod shape;
pub mod stage;

/// Generates one test per check, for one platform.
#[macro_export]
macro_rules! conformance {
    ($network:ty) => {
        $crate::conformance! { $network;
            connecting: a_person_connects_an_account, a_person_who_refuses_connects_nothing,
                an_answer_is_taken_once, an_answer_at_another_address_connects_nothing,
                the_code_of_one_server_is_not_brought_to_another, a_server_gets_no_proof_of_another_one,
                an_answer_that_comes_too_late_connects_nothing,
                what_is_typed_may_be_nonsense, a_network_in_trouble_connects_nothing_and_says_so,
                what_was_typed_may_be_enough;
            credentials: ended_credentials_are_renewed, a_passing_failure_does_not_end_a_grant, an_account_goes_on_saying_the_same_of_itself,
                a_grant_that_was_taken_away_is_known_as_gone, a_grant_is_given_back,
                what_somebody_else_needs_is_not_given_back,
                what_came_of_typing_is_renewed_and_given_back;
            intermediaries: an_error_page_at_the_publish_call_delays_the_post,
                a_post_behind_an_error_page_is_not_sent_twice, a_response_without_an_id_leaves_the_outcome_unknown,
                a_response_that_is_not_the_platforms_delays_a_file, an_error_page_at_a_look_up_proves_nothing,
                an_error_page_does_not_end_a_grant;
            publishing: a_text_goes_out_once, every_kind_of_file_it_claims_goes_out,
                as_many_files_as_it_claims_go_out_in_order, what_files_show_is_said_in_the_words_that_were_given,
                the_rules_are_those_of_the_platform,
                text_in_all_scripts_arrives_as_it_was_written, links_are_where_they_fake_the_text,
                steps_that_are_taken_again_change_nothing;
            recognition: the_same_words_twice_are_two_posts, what_did_not_arrive_is_sent_whatever_came_meanwhile,
                everyday_texts_are_recognised, a_lost_post_is_not_missed_among_posts_by_hand, posts_by_hand_are_not_claimed;
            refusals: decisions_do_not_depend_on_the_language_of_refusals;
            troubles: whatever_meets_the_public_call_it_goes_out_once, a_refusal_is_final_and_says_why,
                a_limit_is_kept, whatever_meets_a_file_it_goes_out_once, nothing_is_guessed_while_nobody_answers,
                a_lost_answer_is_found_much_later, what_is_repeated_to_us_is_not_passed_on, a_grant_that_is_gone_is_told_from_every_other_failure;
        }
    };
    ($network:ty; $($group:ident: $($check:ident),+;)+) => {
        $($(
            #[tokio::test]
            async fn $check() {
                $crate::conformance::checks::$group::$check::<$network>().await;
            }
        )+)+
    };
}
