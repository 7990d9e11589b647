/// One forward-only change of the schema, as it stands in this folder.
public struct Migration: Sendable {
    /// The file's name without its ending, as in `0003_remember_customers`.
    public let name: String
    /// The file's text.
    public let sql: String
}

/// Every migration in order, built into the program so that it needs no file beside it.
public let migrations: [Migration] = [
    Migration("0001_read_the_time_from_one_function", PackageResources._001_read_the_time_from_one_function_sql),
    Migration("0002_keep_the_history_of_every_record", PackageResources._002_keep_the_history_of_every_record_sql),
    Migration("0003_remember_customers", PackageResources._003_remember_customers_sql),
    Migration("0004_remember_enrollments", PackageResources._004_remember_enrollments_sql),
    Migration("0005_remember_payments", PackageResources._005_remember_payments_sql),
    Migration("0006_answer_repeated_requests_alike", PackageResources._006_answer_repeated_requests_alike_sql),
    Migration("0007_remember_what_users_give_up", PackageResources._007_remember_what_users_give_up_sql),
    Migration("0008_give_a_widget_token_again", PackageResources._008_give_a_widget_token_again_sql),
    Migration("0009_keep_what_belvo_tells", PackageResources._009_keep_what_belvo_tells_sql),
    Migration("0010_let_the_shop_set_prices", PackageResources._010_let_the_shop_set_prices_sql),
    Migration("0011_tell_the_shop", PackageResources._011_tell_the_shop_sql),
    Migration(
        "0012_show_operators_what_there_is", PackageResources._012_show_operators_what_there_is_sql),
    Migration(
        "0013_let_go_of_what_is_past_its_time", PackageResources._013_let_go_of_what_is_past_its_time_sql),
    Migration("0014_take_in_what_others_made", PackageResources._014_take_in_what_others_made_sql),
    Migration("0015_count_parked_events", PackageResources._015_count_parked_events_sql),
    Migration("0016_bound_what_strangers_bring", PackageResources._016_bound_what_strangers_bring_sql),
    Migration(
        "0017_remember_whether_belvo_may_still_pay",
        PackageResources._017_remember_whether_belvo_may_still_pay_sql),
    Migration("0018_show_what_may_be_paid", PackageResources._018_show_what_may_be_paid_sql),
    Migration("0019_encrypt_what_tells_of_persons", PackageResources._019_encrypt_what_tells_of_persons_sql),
    Migration("0020_hold_the_reference_of_twins", PackageResources._020_hold_the_reference_of_twins_sql),
    Migration("0021_show_merchants_their_figures", PackageResources._021_show_merchants_their_figures_sql),
    Migration("0022_dispute_orders_paid_beside", PackageResources._022_dispute_orders_paid_beside_sql),
    Migration("0023_hold_the_name_of_twins", PackageResources._023_hold_the_name_of_twins_sql),
    Migration("0024_write_less_for_each_payment", PackageResources._024_write_less_for_each_payment_sql),
    Migration("0025_plan_the_guards_once", PackageResources._025_plan_the_guards_once_sql),
    Migration(
        "0026_keep_contradictions_until_they_are_settled",
        PackageResources._026_keep_contradictions_until_they_are_settled_sql),
    Migration(
        "0027_list_payments_by_status_and_reference",
        PackageResources._027_list_payments_by_status_and_reference_sql),
    Migration("0028_dispute_an_order_once", PackageResources._028_dispute_an_order_once_sql),
    Migration(
        "0029_let_an_operator_say_when_belvo_is_right",
        PackageResources._029_let_an_operator_say_when_belvo_is_right_sql),
    Migration("0030_place_orders_anew_for_their_user", PackageResources._030_place_orders_anew_for_their_user_sql),
    Migration(
        "0031_raise_alarms_when_contradicted_money_arrives",
        PackageResources._031_raise_alarms_when_contradicted_money_arrives_sql),
    Migration(
        "0032_take_strangers_redirects_in_turn", PackageResources._032_take_strangers_redirects_in_turn_sql),
    Migration(
        "0033_keep_the_reference_while_a_webhook_is_unread",
        PackageResources._033_keep_the_reference_while_a_webhook_is_unread_sql),
    Migration(
        "0034_keep_orders_within_what_an_amount_may_be",
        PackageResources._034_keep_orders_within_what_an_amount_may_be_sql),
    Migration(
        "0035_keep_the_reference_for_the_name_of_a_webhook",
        PackageResources._035_keep_the_reference_for_the_name_of_a_webhook_sql),
    Migration(
        "0036_tell_totals_of_what_others_made_apart",
        PackageResources._036_tell_totals_of_what_others_made_apart_sql),
    Migration(
        "0037_keep_the_reference_for_a_movement", PackageResources._037_keep_the_reference_for_a_movement_sql),
    Migration("0038_bound_what_only_grows_in_time", PackageResources._038_bound_what_only_grows_in_time_sql),
    Migration("0039_check_what_only_grows_in_time", PackageResources._039_check_what_only_grows_in_time_sql),
    Migration(
        "0040_know_a_webhook_again_within_its_day", PackageResources._040_know_a_webhook_again_within_its_day_sql),
    Migration("0041_keep_webhooks_by_month", PackageResources._041_keep_webhooks_by_month_sql),
    Migration("0042_keep_events_by_month", PackageResources._042_keep_events_by_month_sql),
    Migration("0043_keep_the_history_by_year", PackageResources._043_keep_the_history_by_year_sql),
    Migration("0044_make_and_drop_partitions", PackageResources._044_make_and_drop_partitions_sql),
    Migration(
        "0045_hold_nothing_for_what_is_not_shown", PackageResources._045_hold_nothing_for_what_is_not_shown_sql),
    Migration("0046_refuse_to_empty_tables", PackageResources._046_refuse_to_empty_tables_sql),
    Migration(
        "0047_remember_what_has_collected_money", PackageResources._047_remember_what_has_collected_money_sql),
    Migration(
        "0048_hold_what_a_token_may_have_signed_until_it_is_read",
        PackageResources._048_hold_what_a_token_may_have_signed_until_it_is_read_sql),
    Migration("0049_count_what_has_collected_as_paid", PackageResources._049_count_what_has_collected_as_paid_sql),
    Migration(
        "0050_open_nothing_beside_an_unread_failure",
        PackageResources._050_open_nothing_beside_an_unread_failure_sql),
    Migration(
        "0051_let_those_who_place_an_order_take_turns",
        PackageResources._051_let_those_who_place_an_order_take_turns_sql),
    Migration("0052_dispute_orders_that_changed_hands", PackageResources._052_dispute_orders_that_changed_hands_sql),
    Migration(
        "0053_tell_of_disputes_found_before_the_order",
        PackageResources._053_tell_of_disputes_found_before_the_order_sql),
    Migration("0054_name_imported_payments_late", PackageResources._054_name_imported_payments_late_sql),
    Migration("0055_hold_nothing_for_a_further_reading", PackageResources._055_hold_nothing_for_a_further_reading_sql),
    Migration("0056_set_imported_payments_right", PackageResources._056_set_imported_payments_right_sql),
    Migration("0057_compare_the_accounts_of_twins", PackageResources._057_compare_the_accounts_of_twins_sql),
]

extension Migration {
    init(_ name: String, _ bytes: [UInt8]) {
        self.init(name: name, sql: String(decoding: bytes, as: UTF8.self))
    }
}
