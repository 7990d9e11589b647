extension CallbackPage {
    /// Posts what a bank put into the fragment, which browsers do not send, and takes it out of the address first.
    ///
    /// Where there is nothing to post, the page says what `template` holds.
    static let collector = """
        (() => {
        "use strict";
        const fields = new URLSearchParams(location.hash.slice(1)), form = document.forms[0];
        history.replaceState(null, "", location.pathname);
        if (fields.get("state")) {
          for (const [name, value] of fields) {
            const input = document.createElement("input");
            input.type = "hidden"; input.name = name; input.value = value;
            form.append(input);
          }
          form.submit();
        } else {
          const main = document.querySelector("main"), said = document.querySelector("template");
          main.dataset.state = said.dataset.state;
          document.title = said.dataset.title;
          main.querySelector("[role=status]").replaceChildren(said.content);
        }
        })();
        """

    /// Takes the code out of the address and the history, opens the app once, and asks how things stand until they
    /// are settled: 2 s apart at first, 20 s in the end, at most 50 times.
    ///
    /// The app is opened after the load event: a page that leaves for an app before that never finishes loading.
    /// The history's own state remembers that the app was opened: it outlives a reload and needs no storage. Only the
    /// text in the live region is exchanged, and only when it has changed, so that a screen reader says each state
    /// once and the focus stays. Of a page only `main` is parsed: the browser would hold its style to the
    /// policy of this one, and complain.
    static let updater = """
        (() => {
        "use strict";
        const main = document.querySelector("main"), is = main.dataset, here = is.address;
        if (here !== undefined)
          history.replaceState("used" in is ? {opened: true} : history.state, "", here || location.pathname);
        const open = () => {
          const link = main.querySelector("a");
          if (!link || !("opens" in is) || (history.state && history.state.opened)) return;
          history.replaceState({opened: true}, "");
          location.assign(link.href);
        };
        const show = text => {
          const part = text.slice(text.indexOf("<main"), text.indexOf("</main>"));
          const next = new DOMParser().parseFromString(part, "text/html").querySelector("main");
          const link = main.querySelector("a"), button = next.querySelector("a");
          if (link && button) {
            link.href = button.getAttribute("href");
            if (link.textContent !== button.textContent) link.textContent = button.textContent;
          } else if (link) link.remove();
          else if (button) main.querySelector(".hint").before(button);
          for (const name of ["every", "opens"])
            if (name in next.dataset) is[name] = next.dataset[name]; else delete is[name];
          if (next.dataset.state !== is.state) {
            is.state = next.dataset.state;
            document.title = next.querySelector("h1").textContent;
            for (const part of ["[role=status]", ".hint"])
              main.querySelector(part).replaceChildren(...next.querySelector(part).childNodes);
          }
          open();
        };
        let left = 50, pause = Number(is.every), asks = false, timer;
        const ask = async () => {
          clearTimeout(timer);
          if (asks || document.hidden || !("every" in is)) return;
          if (left-- < 1) { delete is.every; is.rests = ""; return; }
          asks = true;
          try {
            const answer = await fetch(here, {cache: "no-store", credentials: "omit", redirect: "error"});
            if (answer.ok) show(await answer.text());
            else if (answer.status < 500 && answer.status !== 429) { delete is.every; is.rests = ""; }
          } catch { /* Offline: the next time may do. */ }
          asks = false;
          if ("every" in is) timer = setTimeout(ask, pause = Math.min(pause * 1.25, 20000));
        };
        addEventListener("load", () => setTimeout(open));
        if ("every" in is) {
          timer = setTimeout(ask, pause);
          document.addEventListener("visibilitychange", ask);
          addEventListener("online", ask);
        }
        })();
        """
}
