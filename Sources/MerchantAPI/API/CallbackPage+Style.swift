extension CallbackPage {
    /// The page's layout: one column that fills a phone, and a card where there is room; light or dark as the device is
    /// set. Every text has a contrast of at least 4.5:1 (WCAG 2.2, 1.4.3), and nothing moves where the device asks for
    /// reduced motion.
    static let style = """
        :root { color-scheme: light dark; --ground: #f3f6f4; --page: #fff; --ink: #12211b; --soft: #4d5c55;
          --line: #dfe6e2; --act: #0a5f4e; --on: #fff; --tint: #dcefe8; --sign: #0a5f4e }
        [data-state=failed], [data-state=unreadable] { --tint: #fbe5e1; --sign: #9f2a1d }
        [data-state=used], [data-state=expired] { --tint: #e5e9f6; --sign: #34488f }
        @media (prefers-color-scheme: dark) {
          :root { --ground: #0b110f; --page: #141c19; --ink: #eef5f1; --soft: #a6b5ae; --line: #26312c;
            --act: #5fd6b4; --on: #04231a; --tint: #17362c; --sign: #6fe0c0 }
          [data-state=failed], [data-state=unreadable] { --tint: #3d1c18; --sign: #ffb4a8 }
          [data-state=used], [data-state=expired] { --tint: #202a4a; --sign: #b3c3ff }
        }
        * { box-sizing: border-box }
        html { -webkit-text-size-adjust: 100%; text-size-adjust: 100% }
        body { margin: 0; min-height: 100vh; min-height: 100svh; display: flex; flex-direction: column;
          background: var(--page); color: var(--ink); overflow-wrap: break-word;
          font: 1.125rem/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, system-ui, sans-serif;
          padding: env(safe-area-inset-top) env(safe-area-inset-right) env(safe-area-inset-bottom)
            env(safe-area-inset-left) }
        main { flex: 1; width: 100%; max-width: 28rem; margin: 0 auto; padding: 2rem 1.5rem 1rem; display: flex;
          flex-direction: column }
        [role=status] { margin: auto 0; padding-bottom: 2.5rem; text-align: center }
        .sign { width: 6rem; height: 6rem; padding: 1.2rem; margin-bottom: 1.75rem; border-radius: 50%;
          background: var(--tint); fill: none; stroke: var(--sign); stroke-width: 2; stroke-linecap: round;
          stroke-linejoin: round }
        .track { opacity: .25 }
        .turns { transform-origin: 12px 12px }
        h1 { margin: 0 0 .75rem; font-size: 1.875rem; line-height: 1.2; font-weight: 700; letter-spacing: -.015em;
          text-wrap: balance }
        p { margin: 0; text-wrap: pretty }
        [role=status] p { color: var(--soft); text-wrap: balance }
        .button { display: flex; align-items: center; justify-content: center; min-height: 3.5rem;
          padding: .75rem 1.25rem; border: 1px solid transparent; border-radius: 1rem; background: var(--act);
          color: var(--on); font-weight: 600; text-align: center; text-decoration: none }
        .button:focus-visible { outline: 3px solid var(--act); outline-offset: 3px }
        .hint { min-height: 1.5em; margin-top: .875rem; font-size: .9375rem; text-align: center;
          text-wrap: balance; color: var(--soft) }
        footer { width: 100%; max-width: 28rem; margin: 0 auto; padding: 0 1.5rem 1.25rem; font-size: .8125rem;
          color: var(--soft); text-align: center }
        footer p { padding-top: 1rem; border-top: 1px solid var(--line) }
        @media (min-width: 40rem) {
          body { justify-content: center; background: var(--ground); padding: 2rem }
          main, footer { background: var(--page); padding-left: 2.5rem; padding-right: 2.5rem }
          main { flex: none; padding-top: 3rem; border-radius: 1.5rem 1.5rem 0 0 }
          footer { padding-bottom: 1.5rem; border-radius: 0 0 1.5rem 1.5rem }
        }
        @media (prefers-reduced-motion: no-preference) {
          .turns { animation: turn 1.1s linear infinite }
          [data-rests] .turns { animation: none }
          @keyframes turn { to { transform: rotate(1turn) } }
        }
        """
}
