// What is behind the curtain: the state machine, every request and answer, the rows in PostgreSQL. It shows, and does
// nothing.

import {app, backend} from "./app.js";
import {$, h, pause} from "./dom.js";
import {showRecords} from "./records.js";
import {language, shortened, teach, t} from "./texts.js";

teach({
  state_title: ["Estado", "State"],
  state_none: ["Aqui acende o estado do cadastro ou do pagamento.",
    "The state of the enrollment or payment lights up here."],
  timeline: ["O que acontece", "What happens"],
  timeline_none: ["Cada pedido, resposta, webhook e evento aparece aqui.",
    "Every request, answer, webhook and event appears here."],
  clear: ["Limpar", "Clear"],
  enrollment: ["Cadastro do aparelho", "Enrollment"],
  payment: ["Pagamento", "Payment"],
  creating: ["criando", "creating"], at_bank: ["no banco", "at the bank"], completing: ["voltando", "coming back"],
  awaiting_options: ["preparando", "getting ready"], awaiting_fingerprint: ["espera digital", "awaits finger"],
  confirming: ["conferindo", "confirming"], awaiting_signature: ["espera a assinatura", "awaits the signature"],
  authorizing: ["autorizando", "authorizing"], succeeded: ["concluído", "succeeded"], failed: ["falhou", "failed"],
  created: ["criado", "created"],
  lane_exchange: ["App → Servidor", "App → Server"], lane_belvo_call: ["Servidor → Belvo", "Server → Belvo"],
  lane_webhook: ["Belvo → Servidor", "Belvo → Server"], lane_event: ["Servidor → Loja", "Server → Shop"],
  lane_order: ["Loja → Servidor", "Shop → Server"], lane_state: ["PostgreSQL", "PostgreSQL"],
  lane_trouble: ["Falha", "Trouble"],
  server_up: ["o servidor está de volta", "the server is back"],
  server_down: ["o servidor não responde", "the server is away"],
  killed: ["kill -9: o servidor morreu", "kill -9: the server is dead"],
  armed: ["falha ligada: {name}", "switched on: {name}"], over: ["falha desligada", "switched off"],
  lost: ["resposta perdida", "answer lost"], refused_request: ["recusado sem processar", "not taken"],
  webhook_lost: ["webhook perdido", "webhook lost"], repeated: ["repetido", "repeated"],
  request: ["Pedido", "Request"], answer: ["Resposta", "Answer"], copy_curl: ["Copiar curl", "Copy curl"],
  copied_curl: ["Copiado", "Copied"], waiting_answer: ["sem resposta ainda", "no answer yet"],
  no_reply: ["sem resposta", "no answer"], same_again: ["resposta repetida", "replayed"],
});

const paths = {
  enrollment: [
    "creating", "at_bank", "completing", "awaiting_options", "awaiting_fingerprint", "confirming", "succeeded"],
  payment: ["creating", "awaiting_signature", "authorizing", "succeeded"],
};

const lines = [];
const rows = new Map();
// What happened before this visitor came is no business of this page.
let since = Number(sessionStorage.getItem("shop.since") ?? Date.now());
sessionStorage.setItem("shop.since", since);

// The feed: a long poll at the shop, which watches the rest.

const watched = () => [
  app.record ? `${app.kind}:${app.record.id}` : null, app.customer ? `customer:${app.customer.id}` : null,
].filter(Boolean);

const follow = async () => {
  let [run, after] = [0, 0];
  for (;;) {
    try {
      const query = new URLSearchParams([["run", run], ["after", after], ...watched().map(name => ["record", name])]);
      const news = await backend("GET", `/demo/feed?${query}`);
      [run, after] = [news.run, news.last];
      lines.push(...news.lines.map(line => ({...line, key: `${run}.${line.number}`, at: moment(line.at)})));
      if (news.lines.length) showPanels();
    } catch {
      await pause(2000);
    }
  }
};

const moment = value => typeof value === "number" ? value : Date.parse(value);

// What the app said before it went to the bank is still there when it comes back. Tokens are not kept.

const recalled = JSON.parse(sessionStorage.getItem("shop.exchanges") ?? "[]");
// What was not answered by then no longer will be.
app.exchanges.push(...recalled.filter(exchange => exchange.status !== null));
app.noted = exchange => {
  exchange.key ??= `exchange.${exchange.at}.${app.exchanges.length}`;
  exchange.headers = mask(exchange.headers);
  sessionStorage.setItem("shop.exchanges", JSON.stringify(app.exchanges.slice(-60)));
  showPanels();
};

const mask = headers => ({...headers, ...(headers.authorization ? {authorization: "Bearer eyJ…"} : {})});
const maskedBody = text => text?.replace(/("identifier":\s*")[^"]*(\d\d")/, "$1***.***.***-$2");

const clear = () => {
  [app.exchanges.length, lines.length] = [0, 0];
  rows.clear();
  sessionStorage.setItem("shop.since", since = Date.now());
  sessionStorage.removeItem("shop.exchanges");
  showPanels();
};

// Lines.

/** A line's lane, text, and how it went. */
const describe = line => {
  switch (line.kind) {
    case "exchange": {
      const {pathname, search} = new URL(line.address);
      const isWait = search.includes("wait=");
      return {lane: "exchange", text: `${line.method} ${shortened(pathname)}${isWait ? " (wait)" : ""}`,
        outcome: line.status === null ? "…" : line.status || t("no_reply"),
        isBad: line.status === 0 || line.status >= 400,
        remark: line.isReplay ? t("same_again") : null};
    }
    case "belvo_call": {
      // A browser that asks the bank's page for its icon is none of the server's calls.
      if (!line.endpoint) return null;
      const isLost = line.fault === "drop_answer";
      const path = shortened(line.path).replace(/\?.*$/, "").replace("/payments/br", "").replace(/\/$/, "");
      return {lane: "belvo_call", text: `${line.method} ${path}`,
        outcome: line.processed ? line.status : "✕", isBad: !!line.fault || line.status >= 400,
        remark: isLost ? t("lost") : line.fault ? line.processed ? line.fault : t("refused_request") : null};
    }
    case "webhook":
      return {lane: "webhook", text: `${line.webhook_type} ${line.webhook_code}`,
        outcome: line.state === "lost" ? "✕" : "200",
        isBad: line.state === "lost", remark: line.state === "lost" ? t("webhook_lost") : null};
    case "event":
      return {lane: "event", text: line.body.type, outcome: "204", remark: line.repeated ? t("repeated") : null};
    case "order":
      return {lane: "order", text: `${line.method} ${line.path}`, outcome: line.status, isBad: line.status >= 400};
    case "state":
      return {lane: "state", text: `${line.state_before ?? line.record_type} → ${line.state_after}`,
        outcome: line.caused_by, isWord: true};
    case "server": return {lane: "trouble", text: t(line.up ? "server_up" : "server_down"), isGood: line.up};
    case "killed": return {lane: "trouble", text: t("killed")};
    case "mishap":
      return {lane: "trouble", text: line.armed ? t("armed", {name: t(`mishap_${line.armed}`)}) : t("over"),
        isGood: !line.armed};
    default: return null;
  }
};

const pretty = text => {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text ?? ""; }
};

/** The request as one would send it by hand, with a token of this visitor's made by `./dev token`. */
const curl = line => {
  const quoted = text => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = [`curl -i -X ${line.method} ${quoted(line.address)}`,
    `-H "Authorization: Bearer $(./dev token ${app.subject})"`];
  for (const [name, value] of Object.entries(line.headers)) {
    if (name !== "authorization") parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  }
  if (line.body) parts.push(`-d ${quoted(line.body)}`);
  return parts.join(" \\\n  ");
};

const copier = (text, label = "copy_curl") => h("button.copy", {type: "button", onclick: async event => {
  const button = event.currentTarget;
  await navigator.clipboard.writeText(text).catch(() => {});
  button.textContent = t("copied_curl");
}}, t(label));

const block = text => h("pre", {tabindex: "0"}, text);

const inside = line => {
  if (line.kind === "exchange") {
    const head = Object.entries(line.headers).map(([name, value]) => `${name}: ${value}\n`).join("");
    return [
      h("p.label", t("request")),
      block(`${line.method} ${line.address}\n${head}\n${pretty(maskedBody(line.body))}`.trim()),
      h("p.label", `${t("answer")} ${line.status || ""} ${line.took === undefined ? "" : `· ${line.took} ms`}`),
      block(line.status ? pretty(line.answer) || "—" : t(line.status === null ? "waiting_answer" : "no_reply")),
      copier(curl(line)),
    ];
  }
  const {key, number, at, kind, count, ...rest} = line;
  return block(JSON.stringify(rest.body ?? rest, null, 2));
};

const time = value => {
  const date = new Date(value);
  return `${date.toLocaleTimeString(language.tag, {hour12: false})}.${String(date.getMilliseconds()).padStart(3, "0")}`;
};

/** Whether what the shop sent or got is about this visitor, and not about another one at the same shop. */
const isOurs = told => !told?.subject || told.subject === app.subject;

/** All lines in the order of their times; what only repeats itself counts up. */
const gathered = () => {
  const all = [...app.exchanges, ...lines].filter(
    line => line.at >= since && line.kind !== "row" && isOurs(line.body?.data ?? line.body));
  all.sort((a, b) => a.at - b.at);
  const result = [];
  for (const line of all) {
    const view = describe(line);
    if (!view) continue;
    const last = result.at(-1);
    if (last && last.view.text === view.text && last.view.outcome === view.outcome && line.method === "GET") {
      Object.assign(last, {line, view, count: last.count + 1});
    } else {
      result.push({key: line.key, line, view, count: 1});
    }
  }
  return result.slice(-120);
};

const mood = view => view.isBad ? " bad" : view.isGood ? " good" : "";

/** A line's element, which stays the same while the line changes: it keeps the focus, and stays unfolded. */
const rowOf = ({key, line, view, count}) => {
  if (!rows.has(key)) rows.set(key, makeRow());
  const row = rows.get(key);
  const state = JSON.stringify([line.key, line.took, view, count, language.tag]);
  if (row.state === state) return row.element;
  Object.assign(row, {state, line});
  row.element.className = `line ${view.lane}${mood(view)}`;
  row.element.dataset.kind = line.kind;
  row.summary.replaceChildren(
    h("time", time(line.at)), h("span.lane", t(`lane_${view.lane}`)),
    h("span.what", h("span", view.text), count > 1 ? h("i", `×${count}`) : null,
      view.remark ? h("em", view.remark) : null),
    h(`b${view.isWord ? ".word" : ""}`, view.outcome ?? ""));
  fill(row);
  return row.element;
};

const makeRow = () => {
  const [summary, content] = [h("summary", {tabindex: "-1"}), h("div")];
  const element = h("details", {ontoggle: () => {
    fill(row);
    if (element.open) element.scrollIntoView({block: "nearest"});
  }}, summary, content);
  const row = {element, summary, content};
  return row;
};

/** What a line has inside is drawn when it is unfolded. */
const fill = ({element, content, line}) => content.replaceChildren(...element.open ? [inside(line)].flat() : []);

// The lines are one stop for Tab, and arrows lead from one to the next.

const summaries = () => [...$("#timeline").querySelectorAll("summary")];

const stopAt = chosen => { for (const summary of summaries()) summary.tabIndex = summary === chosen ? 0 : -1; };

const moves = {ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity};

const moveFocus = event => {
  const all = summaries();
  const place = all.indexOf(document.activeElement);
  if (place < 0 || !(event.key in moves)) return;
  event.preventDefault();
  all[Math.min(all.length - 1, Math.max(0, place + moves[event.key]))].focus();
};

/** Puts the elements into a place in this order, and touches none that stands right. */
const arrange = (place, elements) => {
  for (const child of [...place.children]) if (!elements.includes(child)) child.remove();
  elements.forEach((element, index) => {
    if (place.children[index] !== element) place.insertBefore(element, place.children[index] ?? null);
  });
};

// The state machine.

const stateOf = record => {
  const told = lines.findLast(line => line.kind === "state" && line.record_id === record.id);
  return told?.state_after ?? (record.status === "PENDING" ? null : record.status.toLowerCase());
};

const machineView = () => {
  if (!app.record) return h("p.none", t("state_none"));
  const steps = paths[app.kind];
  const visited = lines.filter(line => line.kind === "state" && line.record_id === app.record.id);
  const present = stateOf(app.record);
  const ends = present === "failed" ? [...steps.slice(0, -1), "failed"] : steps;
  const place = ends.indexOf(present);
  return [
    h("p.record", h("b", t(app.kind)), h("code", shortened(app.record.id))),
    h("ol.machine", {"aria-label": t("state_title")}, ends.map((state, index) => {
      const isVisited = visited.some(line => line.state_after === state);
      return h(`li.${state}${state === present ? ".now" : isVisited || index < place ? ".done" : ""}`,
        {"aria-current": state === present ? "step" : null, "data-state": state}, t(state));
    })),
  ];
};

// The whole.

const build = () => {
  const content = $("#behind-content");
  content.replaceChildren(
    h("section.card", {"aria-labelledby": "state-title"}, h("h2", {id: "state-title"}, t("state_title")),
      h("div", {id: "state"})),
    h("section.card", {"aria-labelledby": "timeline-title"},
      h("h2", {id: "timeline-title"}, h("span", t("timeline")),
        h("button.quiet", {type: "button", id: "clear", onclick: clear}, t("clear"))),
      h("div.timeline", {
        id: "timeline", role: "log", "aria-label": t("timeline"), "aria-live": "off", onkeydown: moveFocus,
        onfocusin: event => { if (event.target.matches("summary")) stopAt(event.target); },
      })),
    h("section.card", {id: "records", "aria-labelledby": "records-title"}));
};

let builtIn = null;
let drawing = false;

/** Draws the panels at the next frame, however often it is asked until then. */
export const showPanels = () => {
  if (!builtIn) follow();
  if (builtIn !== language.tag) {
    builtIn = language.tag;
    build();
  }
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    $("#state").replaceChildren(...[machineView()].flat());
    const timeline = $("#timeline");
    // It follows what happens, but for somebody who is reading there.
    const isAtEnd = timeline.scrollHeight - timeline.scrollTop - timeline.clientHeight < 60;
    const follows = isAtEnd || !timeline.matches(":hover, :focus-within");
    const all = gathered();
    arrange(timeline, all.length ? all.map(rowOf) : [h("p.none", t("timeline_none"))]);
    if (!timeline.matches(":focus-within")) stopAt(summaries().at(-1));
    if (follows) timeline.scrollTop = timeline.scrollHeight;
    showRecords(lines, copier);
  });
};
