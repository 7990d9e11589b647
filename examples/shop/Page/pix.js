// A web page's part of Biometric Pix: a client of the merchant server, and one loop. Copy it into your shop.
//
// Every enrollment and payment carries a `next_action`; the loop does what it says, and nothing else. Whatever changes
// something is written into the notebook before it is sent, so that a page that was closed goes on where it was.

const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));

/** What the server says against a request; `code` is stable. */
export class Problem extends Error {
  constructor({status, body}) {
    super(body?.detail ?? "The server does not answer.");
    Object.assign(this, {status, body, code: body?.code ?? "no_answer"});
  }
}

/**
 * What you write around it:
 *   api       where the merchant server is
 *   token     gives the user's; when the server has refused one, that one comes along, and a new one is expected
 *   device    openBank(url), register(options), sign(options), signals(accountTenure), show(record)
 *   notebook  keeps one text: {read(), write(text)}; a localStorage entry will do
 *   fetch     as the browser has it
 */
export class Pix {
  constructor({api, token, device, notebook, fetch}) {
    Object.assign(this, {api, token, device, notebook, fetch});
  }

  // The user.

  /** The banks, in the order in which to show them. */
  async banks() { return (await this.ask("GET", "/v1/institutions?limit=100")).body.results; }

  /** Makes the user Belvo's customer: once, and the same again is harmless. */
  async introduce(person) { return (await this.ask("PUT", "/v1/customer", {body: person})).body; }

  /** The customer, or null for a user who is none yet. */
  async customer() { return (await this.ask("GET", "/v1/customer", {accepts: [404]}).then(ifFound))?.body ?? null; }

  /** The bond of this device with a bank that a user may pay with, or null. */
  async enrollment(deviceId) {
    const query = new URLSearchParams({status: "SUCCEEDED", device_id: deviceId, limit: "1"});
    return (await this.ask("GET", `/v1/enrollments?${query}`)).body.results[0] ?? null;
  }

  // What takes more than one step.

  /** Binds this browser to a bank. */
  async enroll(bank, name) {
    const body = {institution: bank, platform: "BROWSER", name, risk_signals: await this.#signals()};
    return this.run({path: "/v1/enrollments", key: crypto.randomUUID(), body});
  }

  /** Pays an order. One call for one touch: it makes the key that the touch goes by. */
  async pay(enrollment, reference) {
    return this.run({path: "/v1/payment-intents", key: crypto.randomUUID(), body: {enrollment, reference}});
  }

  /** What was begun and has not ended, or null. */
  get unfinished() { return JSON.parse(this.notebook.read() ?? "null"); }

  /** Goes on with it: when the page is opened again, and when the bank has sent the user back. */
  resume() { return this.run(this.unfinished); }

  /** Gives up a payment that nobody has signed. */
  async giveUp(id) {
    const answer = await this.ask("POST", `/v1/payment-intents/${id}/cancel`);
    if (this.unfinished?.id === id) this.notebook.write(null);
    return answer.body;
  }

  async run(pending) {
    try {
      return await this.#loop(pending);
    } catch (problem) {
      // A refusal ends what was begun; silence does not, and neither does a sign-in that fails.
      if (problem instanceof Problem && problem.status !== 0 && problem.status !== 401) this.notebook.write(null);
      throw problem;
    }
  }

  /** The loop. Ends with {record} or with {record, reason}; never ends where the bank's page is opened. */
  async #loop(pending) {
    this.#note(pending);
    let answer = pending.id ? await this.#read(pending) : await this.#begin(pending);
    let openedPage = null;
    for (;;) {
      this.device.show(answer.body);
      const next = answer.body.next_action;
      switch (next?.type ?? "done") {
        case "done":
        case "retry":
          this.notebook.write(null);
          return {record: answer.body, reason: next?.reason};
        case "register":
          answer = await this.#confirm(pending, next.fido_registration_options);
          break;
        case "sign":
          answer = await this.#authorize(pending, next.fido_options);
          break;
        case "redirect":
          if (next.url !== openedPage) await this.device.openBank(next.url, answer.body);
          openedPage = next.url;
          // The bank leads back to a new page; this one sees whatever changes meanwhile.
        default: // and "poll"
          answer = await this.#change(pending, answer);
      }
    }
  }

  async #begin(pending) {
    const {path, key, body} = pending;
    const answer = await this.ask("POST", path, {key, body, accepts: [409]});
    // Another attempt is in the way, or has paid: go on with that one.
    const id = answer.body.payment_intent ?? answer.body.id;
    if (!id) throw new Problem(answer);
    this.#note(Object.assign(pending, {id}));
    return answer.status === 409 ? this.#read(pending) : answer;
  }

  #confirm(pending, options) {
    return this.#hand(pending, "confirm", async () => ({confirmation_data: await this.device.register(options)}));
  }

  #authorize(pending, options) {
    return this.#hand(pending, "authorize", async () => {
      const assertion = await this.device.sign(options);
      return {risk_signals: await this.#signals(), assertion};
    });
  }

  /** Hands over what the authenticator has made: noted before it is sent, since it can be made only once. */
  async #hand(pending, step, make) {
    if (!pending.made) this.#note(Object.assign(pending, {made: await make()}));
    // 409: Belvo has another one, or the time for it is over; 422: Belvo refuses it. The record says which.
    const options = {body: pending.made, accepts: [409, 422], comesAgain: step === "confirm"};
    const answer = await this.ask("POST", `${pending.path}/${pending.id}/${step}`, options);
    if (answer.status >= 400) await pause(1000);
    return this.#read(pending);
  }

  /** The record as soon as it is another one: a long poll, where there is a tag to compare by. */
  async #change(pending, known) {
    if (known.tag) {
      const options = {headers: {"if-none-match": known.tag}};
      const answer = await this.ask("GET", `${pending.path}/${pending.id}?wait=20`, options);
      if (answer.status !== 304) return answer;
    }
    await pause(known.pause);
    return this.#read(pending);
  }

  #read(pending) { return this.ask("GET", `${pending.path}/${pending.id}`); }
  #note(pending) { this.notebook.write(JSON.stringify(pending)); }
  async #signals() { return this.device.signals((await this.customer()).account_tenure); }

  // The client.

  /** Says the same until it is answered, and what `comesAgain` after a 202 too: nothing is done twice. */
  async ask(method, path, {body, key, headers = {}, accepts = [], comesAgain = true} = {}) {
    let refused = null;
    for (let attempt = 1; attempt <= 20; attempt += 1) {
      const bearer = await this.token(refused);
      const sent = {...headers, authorization: `Bearer ${bearer}`};
      if (key) sent["idempotency-key"] = key;
      if (body) sent["content-type"] = "application/json";
      const answer = await this.fetch(this.api + path, {method, headers: sent, body: body && JSON.stringify(body)})
        .then(heard).catch(() => silence);
      if (answer.status === 401 && !refused) {
        refused = bearer;
      } else if (answer.status === 202 && comesAgain && attempt < 20) {
        await pause(answer.pause);
      } else if (isForNow(answer)) {
        await pause(1000 * Math.min(answer.wait || Math.min(0.2 * 2 ** attempt, 6), 10));
      } else if (answer.status >= 400 && !accepts.includes(answer.status)) {
        throw new Problem(answer);
      } else {
        return answer;
      }
    }
    throw new Problem(silence);
  }
}

/** What the network gave. What is no JSON is not the server's, and counts as silence. */
const heard = async answer => {
  const body = [204, 304].includes(answer.status) ? null : await answer.json();
  const {headers, status} = answer;
  const pause = body?.next_action?.after_ms ?? 2000;
  return {status, tag: headers.get("etag"), wait: Number(headers.get("retry-after")), body, pause};
};
const silence = {status: 0};
const ifFound = answer => answer.status === 404 ? null : answer;
/** Whether the same may be said again later: the server is silent, busy, or still at work on the same request. */
const isForNow = ({status, body}) =>
  status === 0 || status === 429 || status >= 500 || status === 409 && body?.code === "in_progress";
