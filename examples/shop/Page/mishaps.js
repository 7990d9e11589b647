// What can be made to go wrong, what to expect then, and what came of it. The demonstration's own; no shop has this.

import {app, backend, pix} from "./app.js";
import {pause} from "./dom.js";
import {teach} from "./texts.js";

teach({
  mishap_refused: ["O banco recusa", "The bank refuses"],
  mishap_refused_expect: [
    "O pagamento falha com um motivo que o app mostra; o pedido fica livre para outra tentativa.",
    "The payment fails with a reason that the app shows; the order is free for another attempt."],
  mishap_create_lost: ["A resposta da criação se perde", "The answer to the creation is lost"],
  mishap_create_lost_expect: [
    "A Belvo criou o pagamento e ninguém soube. O servidor procura por ele em vez de criar outro.",
    "Belvo has made the payment, and nobody knows. The server looks for it and does not make another."],
  mishap_authorize_lost: ["A resposta da autorização se perde", "The answer to the authorization is lost"],
  mishap_authorize_lost_expect: [
    "O dinheiro pode ter saído. O servidor não autoriza de novo: lê até saber.",
    "The money may have left. The server does not authorize again: it reads until it knows."],
  mishap_away: ["A Belvo some por 20 segundos", "Belvo is away for 20 seconds"],
  mishap_away_expect: [
    "O app ouve “tente em instantes” e repete o mesmo pedido, com a mesma chave, até dar certo.",
    "The app is told to try in a moment, and says the same again under the same key until it works."],
  mishap_webhooks_lost: ["Os webhooks se perdem", "The webhooks are lost"],
  mishap_webhooks_lost_expect: [
    "Nada depende deles: o servidor consulta a Belvo por conta própria.",
    "Nothing depends on them: the server asks Belvo by itself."],
  mishap_late_success: ["Pago depois da desistência", "Paid after giving up"],
  mishap_late_success_expect: [
    "O app desiste antes de assinar, e o banco paga mesmo assim. O registro é corrigido e o segundo toque não paga.",
    "The app gives up before it signs, and the bank pays all the same. The record is put right, and a second touch "
      + "pays nothing."],
  mishap_killed: ["O servidor morre no meio", "The server is killed half-way"],
  mishap_killed_expect: [
    "kill -9 enquanto a Belvo recebe a assinatura. Outro processo começa, lê o que estava em curso e conclui.",
    "kill -9 while Belvo takes the signature. Another process starts, reads what was under way and finishes it."],
  mishap_two_taps: ["Dois toques ao mesmo tempo", "Two touches at once"],
  mishap_two_taps_expect: [
    "Dois pedidos, duas chaves, um pedido da loja: o segundo recebe 409 e o número do primeiro.",
    "Two requests, two keys, one order: the second gets 409 and the id of the first."],
});

/** Thrown in place of a signature. */
class GivenUp extends Error {
  constructor(record) {
    super("given up");
    this.record = record;
  }
}

const arm = mishap => () => backend("POST", "/demo/mishap", {mishap});

const own = {
  two_taps: {
    needs: () => true,
    beside: () => pix.ask("POST", "/v1/payment-intents", {
      key: crypto.randomUUID(), body: {enrollment: app.enrollment.id, reference: app.order.reference}, accepts: [409],
    }),
  },
  late_success: {
    before: arm("late_success"),
    async sign() {
      const {record} = app;
      app.show("given_up");
      await pause(1200);
      await pix.giveUp(record.id);
      throw new GivenUp(record);
    },
    /** The bank pays what was given up; then the visitor touches once more. */
    async caught(problem) {
      if (!(problem instanceof GivenUp)) throw problem;
      await pause(800);
      await backend("POST", "/demo/settle", {belvo_id: problem.record.belvo_id});
      for (let attempt = 0; attempt < 60; attempt += 1) {
        const answer = await pix.ask("GET", `/v1/payment-intents/${problem.record.id}`);
        if (answer.body.status === "SUCCEEDED") break;
        await pause(500);
      }
      return pix.pay(app.enrollment.id, app.order.reference);
    },
  },
  killed: {needs: () => app.setup?.kills, before: arm("killed")},
};

/** Switches a mishap on for the next payment, or with nothing off. */
export const choose = name => {
  app.verdict = null;
  if (!name) {
    app.mishap = null;
    return app.tell();
  }
  const mishap = {
    name, before: arm(name), ...own[name],
    /** Puts everything right, and asks both sides how often was paid. */
    async after(record) {
      if (app.mishap === mishap) app.mishap = null;
      if (name !== "two_taps" && name !== "away") await backend("POST", "/demo/mishap", {});
      const reference = record?.reference ?? app.order.reference;
      app.verdict = {name, status: record?.status, ...await backend("GET", `/demo/verdict?reference=${reference}`)};
      app.tell();
    },
  };
  if (name === "two_taps") mishap.before = null;
  app.mishap = mishap;
  app.tell();
};

export const names = [
  "two_taps", "create_lost", "authorize_lost", "killed", "away", "webhooks_lost", "late_success", "refused",
];

export const isPossible = name => (own[name]?.needs?.() ?? app.setup?.breaks) && app.setup?.breaks;
