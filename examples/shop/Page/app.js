// The shop's app: who the visitor is, what is in the cart, and the steps that lead to a payment.

import {hasAuthenticator, machine, software} from "./authenticator.js";
import {$, pause, place} from "./dom.js";
import {Pix, Problem} from "./pix.js";
import {language} from "./texts.js";

const places = Object.fromEntries(
  ["device", "pending", "cart", "authenticator", "bank", "language"].map(name => [name, place(`shop.${name}`)]));

/** Everything that the screens show. `tell()` after a change draws them anew. */
export const app = {
  setup: null, subject: null, token: null, customer: null, enrollment: null, banks: null,
  screen: "loading", record: null, kind: null, phase: null, problem: null, reason: null, order: null,
  cart: JSON.parse(places.cart.read() ?? '{"id": "", "items": {}}'),
  hasMachine: false, press: null, mishap: null, listeners: [], exchanges: [],
  tell() { for (const listener of app.listeners) listener(); },
  show(screen, more = {}) {
    Object.assign(app, {problem: null, press: null}, more, {screen});
    app.tell();
  },
};

export const cartCount = () => Object.values(app.cart.items).reduce((sum, count) => sum + count, 0);
export const cartTotal = () => Object.entries(app.cart.items).reduce(
  (sum, [id, count]) => sum + count * app.setup.products.find(product => product.id === id).centavos, 0);

/** The shop's own backend. */
export const backend = async (method, path, body) => {
  const headers = body ? {"content-type": "application/json"} : {};
  const answer = await fetch(path, {method, headers, body: body && JSON.stringify(body)});
  // For the visitor a shop that cannot answer is one that does not; and it refuses no payment.
  if (!answer.ok) throw new Problem({status: 0});
  return answer.status === 204 ? null : answer.json();
};

// What the loop needs of this browser.

const deviceId = () => {
  if (!places.device.read()) places.device.write(crypto.randomUUID());
  return places.device.read();
};

const authenticator = () => places.authenticator.read() === "machine" ? machine : software;

/** Resolves when the visitor presses the screen's one big button. */
const pressed = (screen, more) => new Promise(press => app.show(screen, {...more, press}));

const device = {
  // Belvo's web SDK collects these with signals() and getDevice(): docs/apps.md, "An app that is a web page".
  signals: accountTenure => ({
    osVersion: navigator.platform || "web", userTimeZoneOffset: zone(), language: navigator.language.slice(0, 2),
    screenDimensions: {height: screen.height, width: screen.width}, accountTenure, deviceId: deviceId(),
  }),

  show(record) {
    Object.assign(app, {record, kind: "amount" in record ? "payment" : "enrollment"});
    const step = record.next_action?.type;
    if (app.kind === "enrollment") {
      if (step === "poll") app.show(app.screen === "finger" || app.phase === "confirming" ? "confirming" : "waiting");
    } else if (step === "poll") {
      app.phase = record.in_doubt ? "looking" : app.phase === "opening" ? "opening" : "settling";
    }
    app.tell();
  },

  /** The visitor leaves for the bank, and comes back to this page (WEB_RETURN_URL). */
  async openBank(url, record) { app.show("redirect", {url, bank: record.details.institution.display_name}); },

  async register(options) {
    let problem = null;
    for (;;) {
      const chosen = await pressed("finger", {problem}) ?? (app.hasMachine ? machine : software);
      places.authenticator.write(chosen.kind);
      app.show("touching", {phase: "confirming"});
      try {
        await touch(chosen);
        const made = await chosen.register(options);
        app.show("confirming");
        return made;
      } catch (error) {
        problem = error;
      }
    }
  },

  async sign(options) {
    if (app.mishap?.sign) await app.mishap.sign();
    for (;;) {
      app.phase = "signing";
      app.tell();
      try {
        await touch(authenticator());
        const made = await authenticator().sign(options);
        app.phase = "sending";
        app.tell();
        return made;
      } catch (problem) {
        // Nothing was signed, so nothing was sent: the visitor may touch again.
        await pressed("cart", {problem});
        app.show("paying");
      }
    }
  },
};

/** In software nobody is asked; a moment shows that something was touched. */
const touch = chosen => chosen === software ? pause(700) : null;

const zone = () => {
  const minutes = -new Date().getTimezoneOffset();
  const two = number => String(Math.floor(Math.abs(number))).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
};

/** Every exchange with the merchant server is shown beside the phone, so it is noted here. */
const noting = async (address, options) => {
  const exchange = {
    kind: "exchange", at: Date.now(), method: options.method, address, headers: options.headers, body: options.body,
    status: null,
  };
  app.exchanges.push(exchange);
  app.noted?.(exchange);
  try {
    const answer = await fetch(address, options);
    const text = await answer.clone().text();
    Object.assign(exchange, {
      status: answer.status, answer: text, took: Date.now() - exchange.at,
      isReplay: answer.headers.has("idempotent-replayed"),
    });
    return answer;
  } catch (error) {
    Object.assign(exchange, {status: 0, took: Date.now() - exchange.at});
    throw error;
  } finally {
    app.noted?.(exchange);
  }
};

export let pix = null;

// What the visitor does.

const guarded = action => async (...values) => {
  try {
    await action(...values);
  } catch (problem) {
    if (!(problem instanceof Problem)) console.error(problem);
    app.show(app.screen === "loading" ? "broken" : app.screen === "paying" ? "failed" : app.screen, {
      problem, reason: app.screen === "paying" ? "later" : app.reason,
    });
  }
};

/** A CPF that nobody has: nine digits at random, and the two that check them. */
export const exampleCPF = () => {
  const digits = Array.from(crypto.getRandomValues(new Uint8Array(9)), byte => byte % 10);
  if (new Set(digits).size === 1) digits[0] = (digits[0] + 1) % 10;
  for (const length of [10, 11]) {
    const sum = digits.reduce((sum, digit, place) => sum + digit * (length - place), 0);
    digits.push(sum * 10 % 11 % 10);
  }
  return digits.join("").replace(/(...)(...)(...)(..)/, "$1.$2.$3-$4");
};

export const introduce = guarded(async person => {
  try {
    await pix.introduce(person);
    deviceId();
  } catch (problem) {
    return app.show("person", {problem, person});
  }
  app.customer = await pix.customer();
  await chooseBank();
});

export const chooseBank = guarded(async () => {
  if (!app.customer) return app.show("person");
  app.banks ??= await pix.banks();
  app.show("bank");
});

export const connect = guarded(async bank => {
  places.bank.write(bank.display_name);
  app.show("waiting", {bank: bank.display_name, phase: null});
  await finishEnrollment(pix.enroll(bank.id, navigator.userAgent.includes("Mobile") ? "Phone" : "Browser"));
});

const finishEnrollment = async journey => {
  const {record, reason} = await journey;
  app.phase = null;
  if (reason) return app.show("refused", {reason, record});
  app.enrollment = record;
  app.show("connected", {record});
};

export const put = (id, change) => {
  const items = {...app.cart.items, [id]: Math.min(9, Math.max(0, (app.cart.items[id] ?? 0) + change))};
  if (!items[id]) delete items[id];
  // Another cart is another order: a reference stands for one amount.
  app.cart = {id: crypto.randomUUID(), items};
  places.cart.write(JSON.stringify(app.cart));
  app.tell();
};

/** One touch: the shop's backend places the order, the merchant server takes the payment. */
export const pay = guarded(async () => {
  app.show("paying", {phase: "opening", record: null, reason: null});
  const items = Object.entries(app.cart.items).map(([id, count]) => ({id, count}));
  app.order = await backend("POST", "/shop/orders", {cart: app.cart.id, items});
  // The one that befalls this payment; another may be chosen before it has ended.
  const {mishap} = app;
  await mishap?.before?.();
  const second = mishap?.beside?.();
  await finishPayment(pix.pay(app.enrollment.id, app.order.reference), mishap);
  await second;
});

const finishPayment = async (journey, mishap = null) => {
  const {record, reason} = await journey.catch(problem => mishap?.caught?.(problem) ?? Promise.reject(problem));
  app.phase = null;
  if (reason) {
    app.show("failed", {reason, record});
  } else {
    app.cart = {id: "", items: {}};
    places.cart.write(null);
    app.show("receipt", {record});
    await hearOfPayment(record.reference);
  }
  await mishap?.after?.(record);
};

/** The shop hears by an event, not from its page. */
const hearOfPayment = async reference => {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    // A shop that was started anew has forgotten its orders.
    app.order = await backend("GET", `/shop/orders/${reference}`).catch(() => app.order);
    app.tell();
    if (app.order?.state === "paid" || app.screen !== "receipt") return;
    await pause(500);
  }
};

const goOn = guarded(async () => {
  const pending = pix.unfinished;
  if (pending.path === "/v1/enrollments") {
    app.show("waiting", {bank: places.bank.read()});
    return finishEnrollment(pix.resume());
  }
  app.show("paying", {phase: "settling"});
  await finishPayment(pix.resume());
});

export const speak = tag => {
  language.tag = tag;
  places.language.write(tag);
  document.documentElement.lang = tag;
  app.tell();
};

export const startOver = guarded(async () => {
  for (const name of ["pending", "cart", "authenticator", "bank", "device"]) places[name].write(null);
  Object.assign(app, {customer: null, enrollment: null, record: null, cart: {id: "", items: {}}, mishap: null});
  await backend("POST", "/shop/session", {anew: true});
  await begin();
});

export const begin = guarded(async () => {
  if (places.language.read()) language.tag = places.language.read();
  document.documentElement.lang = language.tag;
  app.show("loading");
  app.hasMachine = await hasAuthenticator();
  app.setup = await backend("GET", "/shop/setup");
  Object.assign(app, {subject: (await backend("POST", "/shop/session", {})).subject, token: null});
  pix = new Pix({
    api: app.setup.api, device, notebook: places.pending, fetch: noting,
    token: async refused => {
      if (!app.token || app.token === refused) app.token = (await backend("GET", "/shop/token")).token;
      return app.token;
    },
  });
  // Who has never been introduced from here need not be asked for.
  app.customer = places.device.read() ? await pix.customer() : null;
  app.enrollment = app.customer ? await pix.enrollment(deviceId()) : null;
  // What the bank's redirect says is a hint; the record is what counts.
  if (location.search) history.replaceState(null, "", "/");
  if (pix.unfinished) return goOn();
  app.show("home");
});
