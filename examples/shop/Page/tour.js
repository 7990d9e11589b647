// The tour: eight steps for those who only want to press "next". Each step presses the shop's own buttons.

import {app, chooseBank, put} from "./app.js";
import {$, pause, place} from "./dom.js";
import {choose} from "./mishaps.js";
import {teach} from "./texts.js";

teach({
  tour: ["Passeio em oito passos", "A tour of eight steps"],
  tour_next: ["Próximo", "Next"],
  tour_1: ["Uma loja", "A shop"],
  tour_1_text: [
    "O telefone é o app de uma loja, e este passeio aperta os botões dele. Comece: quem é o cliente?",
    "The phone is a shop's app, and this tour presses its buttons. To begin with: who is the customer?"],
  tour_2: ["Quem paga", "Who pays"],
  tour_2_text: [
    "PUT /v1/customer faz do usuário um cliente da Belvo, uma única vez. O CPF fica cifrado.",
    "PUT /v1/customer makes the user Belvo's customer, once. The CPF is stored encrypted."],
  tour_3: ["O banco", "The bank"],
  tour_3_text: [
    "POST /v1/enrollments pede ao banco que confie neste navegador. Antes de perguntar à Belvo, o servidor anota.",
    "POST /v1/enrollments asks the bank to trust this browser. The server writes it down before it asks Belvo."],
  tour_4: ["No banco", "At the bank"],
  tour_4_text: [
    "A página do banco abre aqui mesmo. Toque em Autorizar: o banco devolve você a esta loja.",
    "The bank's page opens right here. Press Autorizar: the bank sends you back to this shop."],
  tour_5: ["A digital", "The fingerprint"],
  tour_5_text: [
    "O navegador cria uma chave (WebAuthn). A pública vai ao banco, a privada fica aqui.",
    "The browser makes a key (WebAuthn). The public half goes to the bank, the private one stays here."],
  tour_6: ["Um toque", "One touch"],
  tour_6_text: [
    "A loja põe o preço (PUT /orders), o app pede e assina, o servidor autoriza. É só isso.",
    "The shop sets the price (PUT /orders), the app asks and signs, the server authorizes. That is all."],
  tour_7: ["Agora, uma falha", "Now break something"],
  tour_7_text: [
    "A Belvo executa o pagamento e a resposta se perde. Veja o servidor descobrir, sem pagar duas vezes.",
    "Belvo makes the payment and its answer is lost. Watch the server find out, without paying twice."],
  tour_8: ["Atrás da cortina", "Behind the curtain"],
  tour_8_text: [
    "Tudo está em PostgreSQL: o estado, a história e quem a causou, em SQL simples.",
    "Everything is in PostgreSQL: the state, the history and who caused it, in plain SQL."],
});

const kept = place("shop.tour");

/** The present step: 1 to 8. */
export const tourStep = () => Math.min(8, Math.max(1, Number(kept.read() ?? 1)));

const goTo = step => {
  kept.write(String(step));
  app.tell();
};

/** Presses a button of the phone as soon as it is there; not once the phone has got further by itself. */
const press = async (selector, further = null) => {
  for (let attempt = 0; attempt < 150; attempt += 1) {
    if (further && $(further)) return;
    const button = $(selector);
    if (button && !button.disabled) return button.click();
    await pause(100);
  }
};

const fill = (...ids) => {
  for (const id of ids) put(id, 1);
  app.show("cart");
};

const actions = {
  1: () => app.enrollment ? app.show("home") : chooseBank(),
  async 2() {
    if (app.customer) return;
    if (!$("#example")) await chooseBank();
    await press("#example");
    await pause(500);
    await press("#continue");
  },
  async 3() {
    if (app.enrollment) return;
    if (!$("ul.banks")) await chooseBank();
    await press(".banks .row[id^=bank-mockbank]");
  },
  async 4() {
    if (app.enrollment) return;
    // What comes next stands there when the bank leads back.
    goTo(5);
    await press("#open-bank", "#register");
  },
  async 5() {
    if (!app.enrollment) await press("#register");
  },
  async 6() {
    fill("coffee", "mug");
    await pause(600);
    await press("#pay");
  },
  async 7() {
    choose("authorize_lost");
    fill("honey");
    await pause(600);
    await press("#pay");
  },
  async 8() { await press("#show-sql"); },
};

let isBusy = false;

/** Whether a step is under way, so that the next one has to wait. */
export const isTourBusy = () => isBusy;

export const next = async () => {
  if (isBusy) return;
  isBusy = true;
  app.tell();
  const step = tourStep();
  try {
    await actions[step]();
    goTo(step === 8 ? 1 : step + 1);
  } finally {
    isBusy = false;
    app.tell();
  }
};
