// swift-tools-version: 6.2
import PackageDescription

/// Every target is held to the same strictness: a warning is an error, and what a file uses it imports.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let jwtKit: Target.Dependency = .product(name: "JWTKit", package: "jwt-kit")

let package = Package(
    name: "biometric-pix-merchant",
    products: [
        .executable(name: "merchant", targets: ["MerchantProgram"]),
        .executable(name: "belvo-sandbox", targets: ["BelvoSandboxProgram"]),
        .executable(name: "phone", targets: ["PhoneProgram"]),
        .executable(name: "shop", targets: ["ShopProgram"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.0"),
    ],
    targets: [
        // System libraries, wrapped where Swift cannot call them: macros and variadic functions.
        .target(name: "CLinux"),
        .target(name: "COpenSSL", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "CLibpq", linkerSettings: [.linkedLibrary("pq"), .linkedLibrary("ssl")]),

        // Layers, lowest first. Arrows point down only; Tests/StyleTests reads the imports and keeps it so.
        .target(name: "Transport", dependencies: ["CLinux", "COpenSSL"], swiftSettings: strict),
        .target(name: "JSON", swiftSettings: strict),
        .target(name: "HTTP", dependencies: ["Transport"], swiftSettings: strict),
        .target(name: "Postgres", dependencies: ["CLibpq", "Transport"], swiftSettings: strict),
        .target(name: "Belvo", dependencies: ["HTTP", "JSON"], swiftSettings: strict),
        .target(name: "Payments", swiftSettings: strict),
        .target(
            name: "Migrations",
            path: "migrations",
            resources: [
                .embedInCode("0001_read_the_time_from_one_function.sql"),
                .embedInCode("0002_keep_the_history_of_every_record.sql"),
                .embedInCode("0003_remember_customers.sql"),
                .embedInCode("0004_remember_enrollments.sql"),
                .embedInCode("0005_remember_payments.sql"),
                .embedInCode("0006_answer_repeated_requests_alike.sql"),
                .embedInCode("0007_remember_what_users_give_up.sql"),
                .embedInCode("0008_give_a_widget_token_again.sql"),
                .embedInCode("0009_keep_what_belvo_tells.sql"),
                .embedInCode("0010_let_the_shop_set_prices.sql"),
                .embedInCode("0011_tell_the_shop.sql"),
                .embedInCode("0012_show_operators_what_there_is.sql"),
                .embedInCode("0013_let_go_of_what_is_past_its_time.sql"),
                .embedInCode("0014_take_in_what_others_made.sql"),
                .embedInCode("0015_count_parked_events.sql"),
                .embedInCode("0016_bound_what_strangers_bring.sql"),
                .embedInCode("0017_remember_whether_belvo_may_still_pay.sql"),
                .embedInCode("0018_show_what_may_be_paid.sql"),
                .embedInCode("0019_encrypt_what_tells_of_persons.sql"),
                .embedInCode("0020_hold_the_reference_of_twins.sql"),
                .embedInCode("0021_show_merchants_their_figures.sql"),
                .embedInCode("0022_dispute_orders_paid_beside.sql"),
                .embedInCode("0023_hold_the_name_of_twins.sql"),
                .embedInCode("0024_write_less_for_each_payment.sql"),
                .embedInCode("0025_plan_the_guards_once.sql"),
                .embedInCode("0026_keep_contradictions_until_they_are_settled.sql"),
                .embedInCode("0027_list_payments_by_status_and_reference.sql"),
                .embedInCode("0028_dispute_an_order_once.sql"),
                .embedInCode("0029_let_an_operator_say_when_belvo_is_right.sql"),
                .embedInCode("0030_place_orders_anew_for_their_user.sql"),
                .embedInCode("0031_raise_alarms_when_contradicted_money_arrives.sql"),
                .embedInCode("0032_take_strangers_redirects_in_turn.sql"),
                .embedInCode("0033_keep_the_reference_while_a_webhook_is_unread.sql"),
                .embedInCode("0034_keep_orders_within_what_an_amount_may_be.sql"),
                .embedInCode("0035_keep_the_reference_for_the_name_of_a_webhook.sql"),
                .embedInCode("0036_tell_totals_of_what_others_made_apart.sql"),
                .embedInCode("0037_keep_the_reference_for_a_movement.sql"),
                .embedInCode("0038_bound_what_only_grows_in_time.sql"),
                .embedInCode("0039_check_what_only_grows_in_time.sql"),
                .embedInCode("0040_know_a_webhook_again_within_its_day.sql"),
                .embedInCode("0041_keep_webhooks_by_month.sql"),
                .embedInCode("0042_keep_events_by_month.sql"),
                .embedInCode("0043_keep_the_history_by_year.sql"),
                .embedInCode("0044_make_and_drop_partitions.sql"),
                .embedInCode("0045_hold_nothing_for_what_is_not_shown.sql"),
                .embedInCode("0046_refuse_to_empty_tables.sql"),
                .embedInCode("0047_remember_what_has_collected_money.sql"),
                .embedInCode("0048_hold_what_a_token_may_have_signed_until_it_is_read.sql"),
                .embedInCode("0049_count_what_has_collected_as_paid.sql"),
                .embedInCode("0050_open_nothing_beside_an_unread_failure.sql"),
                .embedInCode("0051_let_those_who_place_an_order_take_turns.sql"),
                .embedInCode("0052_dispute_orders_that_changed_hands.sql"),
                .embedInCode("0053_tell_of_disputes_found_before_the_order.sql"),
                .embedInCode("0054_name_imported_payments_late.sql"),
                .embedInCode("0055_hold_nothing_for_a_further_reading.sql"),
                .embedInCode("0056_set_imported_payments_right.sql"),
                .embedInCode("0057_compare_the_accounts_of_twins.sql"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Contract",
            path: "contract",
            resources: [.embedInCode("openapi.json")],
            swiftSettings: strict
        ),
        // The server, in layers of its own.
        .target(
            name: "MerchantModel",
            dependencies: ["JSON", "Payments", "Transport", logging, crypto],
            swiftSettings: strict
        ),
        .target(
            name: "MerchantStore",
            dependencies: ["MerchantModel", "HTTP", "JSON", "Migrations", "Payments", "Postgres", "Transport", crypto],
            swiftSettings: strict
        ),
        .target(
            name: "BelvoGate",
            dependencies: ["MerchantModel", "Belvo", "HTTP", "Payments", "Transport", logging],
            swiftSettings: strict
        ),
        .target(
            name: "MerchantAuth",
            dependencies: ["MerchantModel", "HTTP", "JSON", "Payments", "Transport", crypto, jwtKit],
            swiftSettings: strict
        ),
        .target(
            name: "MerchantWorkflows",
            dependencies: [
                "MerchantModel", "MerchantStore", "BelvoGate", "MerchantAuth", "Belvo", "HTTP", "JSON", "Payments",
                "Transport", logging, crypto,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "MerchantAPI",
            dependencies: [
                "MerchantModel", "MerchantStore", "BelvoGate", "MerchantAuth", "MerchantWorkflows", "Belvo", "Contract",
                "HTTP", "JSON", "Payments", "Transport", logging, crypto,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "MerchantServer",
            dependencies: [
                "MerchantModel", "MerchantStore", "BelvoGate", "MerchantAuth", "MerchantWorkflows", "MerchantAPI",
                "Belvo", "HTTP", "JSON", "Payments", "Postgres", "Transport", logging,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "BelvoSandbox",
            dependencies: ["Transport", "HTTP", "JSON", "COpenSSL"],
            swiftSettings: strict
        ),

        // Programs: read the configuration, build what runs, and run it.
        .executableTarget(
            name: "MerchantProgram",
            dependencies: [
                "MerchantModel", "MerchantStore", "MerchantAuth", "MerchantServer", "Payments", "Postgres", "Transport",
                argumentParser, logging,
            ],
            swiftSettings: strict,
            plugins: ["EmbedCommit"]
        ),
        // Tells the program which commit it is built from.
        .plugin(name: "EmbedCommit", capability: .buildTool()),
        .executableTarget(
            name: "BelvoSandboxProgram",
            dependencies: ["BelvoSandbox", "HTTP", "Transport", argumentParser],
            swiftSettings: strict
        ),

        // What tests are played with: a phone that signs, a database for each test.
        .target(
            name: "SoftwareAuthenticator",
            dependencies: ["COpenSSL", "JSON"],
            path: "Tests/SoftwareAuthenticator",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "PhoneProgram",
            dependencies: ["SoftwareAuthenticator", "JSON", argumentParser],
            path: "Tests/Phone",
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport",
            dependencies: ["Postgres", "Transport"],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),

        // An app's side of docs/merchant-api.md, and what must be true of payments in the end, for all who play them.
        .target(
            name: "AppRequests",
            dependencies: ["HTTP", "JSON", "SoftwareAuthenticator", "Transport"],
            path: "Tests/AppRequests",
            swiftSettings: strict
        ),
        .target(
            name: "Invariants",
            dependencies: ["JSON", "Postgres"],
            path: "Tests/Invariants",
            swiftSettings: strict
        ),

        .executableTarget(
            name: "LoadProgram",
            dependencies: ["AppRequests", "HTTP", "JSON", "Transport", "SoftwareAuthenticator", argumentParser],
            path: "bench/load",
            swiftSettings: strict
        ),

        // What ./dev bench-http compares with other servers; no part of the product.
        .executableTarget(
            name: "EchoProgram",
            dependencies: ["HTTP", "JSON", "Postgres", "Transport", argumentParser],
            path: "bench/echo",
            swiftSettings: strict
        ),

        // The site of a merchant, broken in earnest (./dev chaos).
        .target(
            name: "Chaos",
            dependencies: [
                "AppRequests", "CLinux", "HTTP", "Invariants", "JSON", "Postgres", "SoftwareAuthenticator", "Transport",
            ],
            path: "chaos/Chaos",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "ChaosProgram",
            dependencies: ["Chaos", "Transport", argumentParser],
            path: "chaos/Program",
            swiftSettings: strict
        ),

        // What the fuzzer checks (./dev fuzz), and a test on its corpus.
        .target(
            name: "FuzzProperties", dependencies: ["BelvoSandbox", "HTTP", "JSON"], path: "fuzz/Properties",
            swiftSettings: strict),

        // For developers of apps: Foundation alone, nothing of the server. On Linux, where the tests run it, a part of
        // Foundation is a module of its own, of which a file for phones knows nothing.
        .target(
            name: "ExamplePix", path: "examples/ios", exclude: ["README.md"],
            swiftSettings: strict + [
                .unsafeFlags(
                    ["-Xfrontend", "-import-module", "-Xfrontend", "FoundationNetworking"], .when(platforms: [.linux]))
            ]),

        // The demonstration, the tutorial and the reference integration: never part of `merchant`.
        .executableTarget(
            name: "ShopProgram",
            dependencies: ["COpenSSL", "HTTP", "JSON", "Postgres", "Transport", argumentParser],
            path: "examples/shop",
            exclude: ["Page", "README.md"],
            swiftSettings: strict
        ),

        .testTarget(name: "StyleTests", swiftSettings: strict),
        .testTarget(name: "JSONTests", dependencies: ["JSON"], swiftSettings: strict),
        .testTarget(name: "TransportTests", dependencies: ["Transport", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "HTTPTests", dependencies: ["HTTP", "Transport", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "PostgresTests", dependencies: ["Postgres", "TestSupport", "Transport"], swiftSettings: strict),
        .testTarget(
            name: "ChaosTests",
            dependencies: [
                "AppRequests", "Chaos", "HTTP", "Invariants", "JSON", "Postgres", "SoftwareAuthenticator",
                "TestSupport",
                "Transport",
            ],
            swiftSettings: strict),
        .testTarget(name: "FuzzTests", dependencies: ["FuzzProperties"], swiftSettings: strict),
        .testTarget(name: "BelvoTests", dependencies: ["Belvo", "HTTP", "JSON"], swiftSettings: strict),
        .testTarget(name: "PaymentsTests", dependencies: ["Payments"], swiftSettings: strict),
        .testTarget(
            name: "SoftwareAuthenticatorTests",
            dependencies: ["SoftwareAuthenticator", "COpenSSL", "JSON"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "BelvoSandboxTests",
            dependencies: ["BelvoSandbox", "COpenSSL", "HTTP", "JSON", "SoftwareAuthenticator", "Transport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "AppRequests", "Invariants",
                "MerchantModel", "MerchantStore", "BelvoGate", "MerchantAuth", "MerchantWorkflows", "MerchantAPI",
                "MerchantServer", "Belvo", "BelvoSandbox", "HTTP", "JSON", "Payments", "Postgres",
                "SoftwareAuthenticator",
                "TestSupport", "Transport", logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MerchantTests",
            dependencies: [
                "MerchantModel", "MerchantStore", "BelvoGate", "MerchantAuth", "MerchantWorkflows", "MerchantAPI",
                "MerchantServer", "Contract", "AppRequests", "BelvoSandbox", "SoftwareAuthenticator", "TestSupport",
                "ExamplePix",
                logging,
                crypto,
                .product(name: "CryptoExtras", package: "swift-crypto"),
                jwtKit,
            ],
            exclude: ["Examples/Android"],
            swiftSettings: strict
        ),
    ]
)
