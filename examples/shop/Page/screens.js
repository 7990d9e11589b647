// What stands on the phone: one function for each screen.

import {
  app, begin, cartCount, cartTotal, chooseBank, connect, exampleCPF, introduce, pay, put,
} from "./app.js";
import {machine, software} from "./authenticator.js";
import {$, draw, h} from "./dom.js";
import {icons, products} from "./drawings.js";
import {clock, isText, money, t} from "./texts.js";

const header = (title, back) => h("header.bar",
  back ? h("button.round", {type: "button", "aria-label": t("back"), onclick: back}, draw(icons.back)) : h("span"),
  title ? h("h1", {tabindex: "-1"}, title) : h("span"), h("span"));

const heading = (title, text) => h("div.heading", h("h1", {tabindex: "-1"}, title), text && h("p", text));

const button = (id, text, action, more = {}) =>
  h("button.main", {type: "button", id, onclick: action, ...more}, text);

const home = () => app.show("home");

const dots = number => h("p.dots", {role: "img", "aria-label": t("step", {n: number})},
  [1, 2, 3, 4].map(step => h(`i${step === number ? ".now" : step < number ? ".done" : ""}`)));

const authenticatorNote = () =>
  h("p.note", draw(icons.key), h("span", t(app.hasMachine ? "machine_note" : "software_note")));

const bankName = () => app.enrollment?.details.institution.display_name ?? "";

const problemNote = () => {
  if (!app.problem) return null;
  const text = app.problem.code === "no_answer" ? t("no_answer") : app.problem.message;
  return h("p.alert", {role: "alert"}, text);
};

const badge = name => h(`span.badge.hue${[...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 5}`,
  {"aria-hidden": "true"}, name[0]);

/** What is being corrected is at fault no more. */
const correct = ({target}) => {
  target.removeAttribute("aria-invalid");
  target.nextElementSibling?.remove();
};

const screens = {
  loading: () => h("div.center", h("span.ring"), h("h1.small", {tabindex: "-1"}, t("loading"))),

  broken: () => h("div.center", draw(icons.cross, {class: "sign bad"}), heading(t("offline")),
    button("again", t("again"), begin)),

  home: () => [
    h("header.shop",
      h("div", h("h1.word", {tabindex: "-1"}, t("shop_name")), h("p", t("shop_line"))),
      h("button.round", {type: "button", id: "cart", "aria-label": `${t("cart")}: ${itemCount()}`, onclick: toCart},
        draw(icons.cart), cartCount() ? h("b.count", {"aria-hidden": "true"}, cartCount()) : null)),
    app.enrollment
      ? h("p.ready", draw(icons.check), h("span", t("ready_text", {bank: bankName()})))
      : h("div.promo", draw(icons.finger, {class: "print"}),
        h("div", h("h2", t("promo_title")), h("p", t("promo_text")),
          h("button.link", {type: "button", id: "set-up", onclick: chooseBank}, t("promo_go"), draw(icons.go)))),
    h("ul.products", app.setup.products.map(({id, centavos}) => h("li.product",
      h(`div.picture.${id}`, products[id]()),
      h("h2", t(id)), h("p", t(`${id}_more`)),
      h("p.price", money(centavos)),
      h("button.add", {type: "button", id: `add-${id}`, "aria-label": t("add", {name: t(id)}),
        onclick: () => put(id, 1)}, app.cart.items[id] ? h("b", app.cart.items[id]) : draw(icons.plus))))),
    cartCount() ? h("div.foot", button("to-cart", [
      h("span", t("cart_go")), h("small", itemCount()), h("b", money(cartTotal())),
    ], toCart, {class: "main split"})) : null,
  ],

  person() {
    const known = app.person ?? {};
    const wrong = new Set((app.problem?.body?.errors ?? []).map(error => error.field));
    // What Belvo refuses comes without a pointer to it.
    if (app.problem && !wrong.size) wrong.add(/\bname\b/.test(app.problem.message) ? "/name" : "taken");
    const field = (id, label, text, value, more) => h("label.field", {for: id}, h("span", label),
      h("input", {id, name: id, value, autocomplete: "off", "aria-invalid": text ? "true" : null,
        "aria-describedby": text ? `${id}-fault` : null, oninput: correct, ...more}),
      text ? h("em", {id: `${id}-fault`, role: "alert"}, text) : null);
    const form = h("form.stack", {novalidate: true, onsubmit: event => {
      event.preventDefault();
      const [name, identifier] = [$("#name").value.trim(), $("#cpf").value.trim()];
      app.person = {name, identifier};
      introduce({name, identifier});
    }},
    dots(1), heading(t("person_title"), t("person_text")),
    field("name", t("name"), wrong.has("/name") ? t("wrong_name") : null, known.name ?? "", {maxlength: 80}),
    field("cpf", t("cpf"), wrong.has("/identifier") ? t("wrong_cpf") : wrong.has("taken") ? t("known_cpf") : null,
      known.identifier ?? "", {inputmode: "numeric", maxlength: 14, placeholder: "000.000.000-00"}),
    h("button.link", {type: "button", id: "example", onclick: () => {
      for (const [id, value] of [["name", "Ana Souza"], ["cpf", exampleCPF()]]) {
        $(`#${id}`).value = value;
        correct({target: $(`#${id}`)});
      }
      $("#continue").focus();
    }}, draw(icons.spark), t("example")),
    h("div.foot", h("button.main", {type: "submit", id: "continue"}, t("go_on"))));
    return [header("", home), form];
  },

  bank: () => [
    header("", home), h("div.stack", dots(2), heading(t("bank_title"), t("bank_text")), problemNote(),
      h("ul.banks", app.banks.map(bank => h("li", h("button.row", {
        type: "button", id: `bank-${bank.name}`, disabled: !bank.active, onclick: () => connect(bank),
      }, badge(bank.display_name), h("span", h("b", bank.display_name), bank.active ? null : h("small", t("bank_off"))),
      draw(icons.go)))))),
  ],

  redirect: () => [
    header("", home), h("div.stack.middle", dots(3), badge(app.bank),
      heading(t("redirect_title"), t("redirect_text", {bank: app.bank})),
      h("div.foot",
        h("a.main", {id: "open-bank", href: app.url}, t("redirect_go", {bank: app.bank}), draw(icons.out)))),
  ],

  waiting: () => h("div.center", dots(app.record?.details?.redirect_url ? 4 : 3), h("span.ring"),
    heading(t("waiting_title"), t("waiting_text"))),

  finger: () => [
    header("", home), h("div.stack.middle", dots(4), heading(t("finger_title"), t("finger_text")),
      h("button.print", {type: "button", id: "register", onclick: () => app.press?.()},
        draw(icons.finger), h("span", t("finger_go"))),
      app.problem ? h("p.alert", {role: "alert"}, t("finger_no", {why: app.problem.name})) : null,
      authenticatorNote(),
      app.problem && app.hasMachine ? h("button.link", {type: "button", id: "use-software",
        onclick: () => app.press?.(software)}, t("use_software")) : null),
  ],

  touching: () => h("div.center", dots(4), h("span.print.busy", draw(icons.finger)), heading(t("signing"))),

  confirming: () => h("div.center", dots(4), h("span.ring"), heading(t("confirming_title"), t("waiting_text"))),

  connected: () => h("div.stack.middle", draw(icons.check, {class: "sign good"}),
    heading(t("connected_title"), t("connected_text", {bank: bankName()})),
    h("div.foot", cartCount() ? button("done", t("to_cart"), toCart) : button("done", t("to_shop"), home))),

  cart: () => [
    header(t("cart"), home),
    cartCount() ? h("div.stack", h("ul.lines", Object.entries(app.cart.items).map(([id, count]) => h("li",
      h(`div.picture.${id}`, products[id]()), h("div", h("b", t(id)), h("small", t(`${id}_more`))),
      h("div.stepper",
        h("button", {type: "button", id: `less-${id}`, "aria-label": t("remove", {name: t(id)}),
          onclick: () => put(id, -1)}, "−"),
        h("b", count),
        h("button", {type: "button", id: `more-${id}`, "aria-label": t("add", {name: t(id)}),
          onclick: () => put(id, 1)}, "+"))))),
    h("p.total", h("span", t("total")), h("b", money(cartTotal()))),
    app.enrollment ? [
      h("div.method", badge(bankName()), h("div", h("b", bankName()), h("small", t("this_browser")))),
      app.problem ? h("p.alert", {role: "alert"}, t("finger_no", {why: app.problem.name})) : null,
      h("div.foot", h("button.main.pay", {type: "button", id: "pay", onclick: () => app.press ? app.press() : pay()},
        draw(icons.finger), h("span", t("touch", {amount: money(cartTotal())}))),
      h("p.hint", t("touch_hint"))),
    ] : h("div.foot", button("set-up", t("promo_go"), chooseBank), h("p.hint", t("promo_text"))))
      : h("div.center", draw(icons.cart, {class: "sign"}), heading(t("empty")), button("done", t("to_shop"), home)),
  ],

  paying: () => h("div.center", h(`span.print${app.phase === "signing" ? ".busy" : ".wait"}`, draw(icons.finger)),
    heading(t(app.phase ?? "opening"), money(paidCentavos())), h("p.hint", t("calm"))),

  given_up: () => h("div.center", h("span.ring"), heading(t("given_up"), t("given_up_text"))),

  receipt: () => h("div.stack.middle.receipt", draw(icons.check, {class: "sign good big"}),
    heading(t("paid"), t("paid_to")), h("p.amount", money(Math.round(Number(app.record.amount) * 100))),
    h("dl",
      h("dt", t("from")), h("dd", bankName()),
      h("dt", t("when")), h("dd", clock(new Date(app.record.updated_at))),
      h("dt", t("order")), h("dd", h("code", app.record.reference)),
      h("dt", t("end_to_end")), h("dd", h("code", {id: "end-to-end"},
        app.record.payment_method_information.open_finance_biometric_pix.end_to_end_id ?? "—"))),
    h("p.told", {"data-state": app.order?.state ?? "open"},
      draw(app.order?.state === "paid" ? icons.check : icons.bell),
      h("span", {id: "told"}, t(app.order?.state === "paid" ? "told" : "telling"))),
    h("div.foot", button("more", t("more"), home))),

  failed: () => h("div.stack.middle", draw(icons.cross, {class: "sign bad big"}),
    heading(t(app.reason), t(`${app.reason}_text`)), problemNote(), h("p.hint", t("nothing_paid")),
    h("div.foot", app.reason === "enroll_again" || app.reason === "other_bank"
      ? button("retry", t("promo_go"), chooseBank) : button("retry", t("to_cart"), toCart))),

  refused: () => h("div.stack.middle", draw(icons.cross, {class: "sign bad big"}),
    heading(t(app.reason), isText(`${app.reason}_text`) ? t(`${app.reason}_text`) : null),
    h("div.foot", button("retry", t("again"), chooseBank))),
};

const itemCount = () => cartCount() === 1 ? t("item") : t("items", {n: cartCount()});
const paidCentavos = () => app.order ? Math.round(Number(app.order.amount) * 100) : cartTotal();
const toCart = () => app.show("cart");

let shown = null;

/**
 * Draws the present screen. A focus on the phone goes to the heading of a new screen, and stays where it is in an old
 * one; whoever is at work beside the phone is left there.
 */
export const showScreen = () => {
  const place = $("#screen");
  const focused = place.contains(document.activeElement) ? document.activeElement.id : null;
  const isFocusFree = focused !== null || document.activeElement === document.body;
  const values = [...place.querySelectorAll("input")].map(input => [input.id, input.value]);
  place.replaceChildren(...[screens[app.screen]()].flat().filter(Boolean));
  place.dataset.screen = app.screen;
  if (shown === app.screen) {
    place.classList.remove("enters");
    if (!app.problem) for (const [id, value] of values) if ($(`#${id}`)) $(`#${id}`).value = value;
    const same = focused ? $(`#${CSS.escape(focused)}`, place) : null;
    if (focused !== null) (same ?? $("h1", place))?.focus({preventScroll: true});
  } else {
    place.scrollTop = 0;
    // On a small screen the phone is the page: a new screen begins at its top.
    if (shown && place.getBoundingClientRect().top < 0) scrollTo({top: 0, behavior: "instant"});
    place.classList.add("enters");
    // On the first screen the focus stays with the page.
    if (isFocusFree && shown && shown !== "loading") $("h1", place)?.focus({preventScroll: true});
  }
  const title = $("h1", place)?.textContent;
  if ($("#announcement").textContent !== title) $("#announcement").textContent = title ?? "";
  shown = app.screen;
};
