import Testing

/// The loop of the shop's page, without the shop around it: in a real browser, with answers that a test makes.
@Suite(
    .enabled(if: Chromium.path != nil, "\(Chromium.absence)"),
    .enabled(if: ShopDemo.isPossible, "the programs are not built"), .timeLimit(.minutes(5)))
struct ShopLoopTests {
    @Test func `what was begun outlives a refusal of something else, a sign-in that fails, and silence`() async throws {
        try await ShopVisitor.visit(.init(hasReader: false)) { visitor in
            let seen = try await visitor.tab.text(
                """
                (async () => {
                  \(Self.stage)
                  return [
                    await play(pix => pix.introduce({}), [400]), await play(pix => pix.resume(), [401, 401]),
                    await play(pix => pix.giveUp("8"), [200]), await play(pix => pix.resume(), []),
                    await play(pix => pix.resume(), ["<html>", 404]), await play(pix => pix.giveUp("7"), [200]),
                  ].join(", ");
                })()
                """)
            #expect(seen == "400 kept, 401 kept, done kept, 0 kept, 404 forgotten, done forgotten")
        }
    }

    /// `play(action, answers)` has a loop that has signed payment 7 do something while these are the answers, and tells
    /// how it ended and whether the payment is still in the notebook. A number is a status; after the last there is no
    /// answer.
    private static let stage = """
        const {Pix} = await import("/pix.js");
        const play = async (action, answers) => {
          let text = JSON.stringify({path: "/v1/payment-intents", key: "tap", body: {}, id: "7", made: {}});
          const notebook = {read: () => text, write: value => { text = value; }};
          const fetch = async () => {
            if (!answers.length) throw new TypeError("no answer");
            const answer = answers.shift();
            return typeof answer === "number" ? new Response("{}", {status: answer}) : new Response(answer);
          };
          const wait = window.setTimeout;
          window.setTimeout = done => wait(done, 0);
          try {
            const pix = new Pix({api: "", token: async () => "token", device: {show() {}}, notebook, fetch});
            return `${await action(pix).then(() => "done", problem => problem.status)} ${text ? "kept" : "forgotten"}`;
          } finally {
            window.setTimeout = wait;
          }
        };
        """
}
