import HTTP
import Testing

/// Phones that ask which apps are the shop's are told what is configured, as Apple and Google want it told.
@Suite struct AppAssociationTests {
    private static let apple = "/.well-known/apple-app-site-association"
    private static let android = "/.well-known/assetlinks.json"
    private static let print = (0..<32).map { _ in "AB" }.joined(separator: ":")
    private static let otherPrint = (0..<32).map { _ in "0F" }.joined(separator: ":")

    @Test func `Apple's file opens the callback's path and nothing else, in every app that is named`() async throws {
        let environment = [
            "APPLE_APP_IDS": "ABCDE12345.shop.app,ABCDE12345.shop.app.beta",
            "CALLBACK_URLS": "https://shop.example/app/return,https://elsewhere.example/x",
        ]
        try await TestHarness.open(environment: environment) { harness in
            let answer = try await App(client: harness.client, token: nil).send(.get, Self.apple)
            Transcript().expect(
                answer,
                """
                200 OK
                {
                  applinks: {
                    details: [
                      {
                        appIDs: [
                          "ABCDE12345.shop.app"
                          "ABCDE12345.shop.app.beta"
                        ]
                        components: [
                          {
                            /: "/enrollments/callback"
                            comment: "A bank sends its user back."
                          }
                          {
                            /: "/app/return"
                            comment: "A bank sends its user back."
                          }
                        ]
                      }
                    ]
                  }
                  webcredentials: {
                    apps: [
                      "ABCDE12345.shop.app"
                      "ABCDE12345.shop.app.beta"
                    ]
                  }
                }
                """)
        }
    }

    @Test func `Google's file has one statement a package, with all its certificates`() async throws {
        let apps = "shop.app=\(Self.print),shop.app.beta=\(Self.print),shop.app=\(Self.otherPrint.lowercased())"
        try await TestHarness.open(environment: ["ANDROID_APPS": apps]) { harness in
            let answer = try await App(client: harness.client, token: nil).send(.get, Self.android)
            func statement(_ package: String, _ prints: String...) -> String {
                #"{"relation":["delegate_permission/common.handle_all_urls","#
                    + #""delegate_permission/common.get_login_creds"],"target":{"namespace":"android_app","#
                    + #""package_name":"\#(package)","#
                    + #""sha256_cert_fingerprints":[\#(prints.map { #""\#($0)""# }.joined(separator: ","))]}}"#
            }
            #expect(answer.status == 200)
            let both = statement("shop.app", Self.print, Self.otherPrint)
            #expect(answer.text == "[\(both),\(statement("shop.app.beta", Self.print))]")
        }
    }

    @Test func `the files are JSON for anybody, with and without their content, and may be kept for an hour`()
        async throws
    {
        let environment = ["APPLE_APP_IDS": "ABCDE12345.shop.app", "ANDROID_APPS": "shop.app=\(Self.print)"]
        try await TestHarness.open(environment: environment) { harness in
            let anybody = App(client: harness.client, token: nil)
            for path in [Self.apple, Self.android] {
                let answer = try await anybody.send(.get, path)
                let head = try await anybody.send(.head, path)
                for one in [answer, head] {
                    #expect(one.status == 200, "\(path)")
                    #expect(one.response.headers.values("content-type") == ["application/json"], "\(path)")
                    #expect(one.response.headers.values("cache-control") == ["public, max-age=3600"], "\(path)")
                }
                #expect(head.text.isEmpty && answer.response.body.count < 1_024, "\(path)")
                #expect(try await anybody.send(.post, path).response.headers["allow"] == "GET, HEAD")
            }
        }
    }

    @Test func `without apps there are no files`() async throws {
        try await TestHarness.open { harness in
            for path in [Self.apple, Self.android] {
                let answer = try await App(client: harness.client, token: nil).send(.get, path)
                #expect(answer.status == 404, "\(path)")
                #expect(try answer.string("code") == "not_found", "\(path)")
            }
        }
    }
}
