// Beside the phone: what this is, the tour, and the switches that make something go wrong.

import {app, cartCount, put} from "./app.js";
import {$, draw, h} from "./dom.js";
import {icons} from "./drawings.js";
import {choose, isPossible, names} from "./mishaps.js";
import {teach, t} from "./texts.js";
import {isTourBusy, next, tourStep} from "./tour.js";

teach({
  break_title: ["E se algo falhar?", "What if something fails?"],
  break_text: ["Vale para o próximo pagamento.", "For the next payment."],
  break_none: ["Nada falha", "Nothing fails"],
  break_needs: ["Primeiro conecte um banco.", "Connect a bank first."],
  expect: ["O que esperar", "What to expect"],
  happened: ["O que aconteceu", "What happened"],
  once: ["Pago uma vez.", "Paid once."],
  never: ["Nada foi pago.", "Nothing was paid."],
  twice: ["Pago {n} vezes!", "Paid {n} times!"],
  counted: [
    "Belvo: {made} criado(s), {belvo} pago(s). Banco de dados: {attempts} tentativa(s), {paid} paga(s).",
    "Belvo: {made} made, {belvo} paid. Database: {attempts} attempted, {paid} paid."],
  try_it: ["Pagar com esta falha", "Pay with this mishap"],
});

const tour = () => {
  const step = tourStep();
  return h("section.card.tour", {"aria-labelledby": "tour-title"},
    h("h2", {id: "tour-title"}, t("tour")),
    h("p.progress", {role: "img", "aria-label": `${step} / 8`},
      Array.from({length: 8}, (_, index) => h(`i${index + 1 < step ? ".done" : index + 1 === step ? ".now" : ""}`))),
    h("h3", h("span", step), t(`tour_${step}`)), h("p", t(`tour_${step}_text`)),
    h("button.main", {type: "button", id: "next", onclick: next, "aria-disabled": isTourBusy() ? "true" : null},
      t("tour_next"), draw(icons.go)));
};

const verdict = () => {
  const {verdict} = app;
  if (!verdict) return null;
  const count = verdict.paid_at_belvo;
  const isRight = count === verdict.paid && count === (verdict.status === "FAILED" ? 0 : 1);
  return h(`div.verdict${isRight ? ".right" : ".wrong"}`, {
    role: "status", id: "verdict", tabindex: "-1", "data-paid": count,
  },
    draw(isRight ? icons.check : icons.cross), h("div",
      h("h3", t("happened")),
      h("p", h("b", t(["never", "once"][count] ?? "twice", {n: count})), " ", t(`mishap_${verdict.name}`), "."),
      h("p", t("counted", {
        made: verdict.created_at_belvo, belvo: count, attempts: verdict.attempts, paid: verdict.paid,
      }))));
};

const expectation = name => h("div.expect", h("h3", t("expect")), h("p", t(`mishap_${name}_expect`)),
  app.enrollment ? h("button.main.small", {type: "button", id: "try", onclick: () => {
    if (!cartCount()) put("honey", 1);
    app.show("cart");
    $("#pay").click();
  }}, draw(icons.finger), t("try_it")) : h("p.none", t("break_needs")));

const mishaps = () => {
  const chosen = app.mishap?.name ?? "";
  const option = (name, text) => [h(`label.choice${name === chosen ? ".chosen" : ""}`,
    h("input", {type: "radio", name: "mishap", id: `mishap-${name || "none"}`, value: name, checked: name === chosen,
      onchange: () => choose(name)}), h("span", text)), name && name === chosen ? expectation(name) : null];
  return h("section.card.breaks", {"aria-labelledby": "break-title"},
    h("h2", {id: "break-title"}, t("break_title")), h("p", t("break_text")), verdict(),
    h("fieldset", h("legend.visually-hidden", t("break_title")),
      option("", t("break_none")), names.filter(isPossible).map(name => option(name, t(`mishap_${name}`)))));
};

/** Draws the guide; the focus stays where it was, or goes to what came of it. */
export const showGuide = () => {
  const place = $("#guide-content");
  const focused = place.contains(document.activeElement) ? document.activeElement.id : null;
  place.replaceChildren(
    h("div.lead", h("h2", t("headline")), h("p", t("lead"))), tour(), app.setup?.breaks ? mishaps() : "");
  if (focused) ($(`#${focused}`) ?? $("#verdict"))?.focus({preventScroll: true});
};
