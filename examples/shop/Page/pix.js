// A web page's part of Biometric Pix: a client of the merchant server, and one loop. Copy it into your shop.
//
// Every enrollment and payment carries a `next_action`; the loop does what it says, and nothing else. Whatever changes
// something is written into the notebook before it is sent, so that a page that was closed goes on where it was.

const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));

/** What the server says against a request; `code` is stable. */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail ?? `status ${status}`);
    Object.assign(this, {status, body, code: body?.code ?? "no_answer"});
  }
}

/**
 * What you write around it:
 *   api       where the merchant server is
 *   token     asks the shop's backend for a new user's token
 *   device    openBank(url), register(options), sign(options), signals(accountTenure), show(record)
 *   notebook  keeps one text: {read(), write(text)}; a localStorage entry will do
 *   fetch     as the browser has it
 */
export class Pix {
  #token = null;

  constructor({api, token, device, notebook, fetch}) {
    Object.assign(this, {api, newToken: token, device, notebook, fetch});
  }

  // The user.

  /** The banks, in the order in which to show them. */
  async banks() { return (await this.ask("GET", "/v1/institutions")).body.results; }

  /** Makes the user Belvo's customer: once, and the same again is harmless. */
  async introduce(person) { return (await this.ask("PUT", "/v1/customer", {body: person, comesAgain: true})).body; }

  /** The customer, or null for a user who is none yet. */
  async customer() { return (await this.ask("GET", "/v1/customer", {accepts: [404]}).then(ifFound))?.body ?? null; }

  /** The bond of this device with a bank that a user may pay with, or null. */
  async enrollment(deviceId) {
    const query = new URLSearchParams({status: "SUCCEEDED", device_id: deviceId, limit: "1"});
    return (await this.ask("GET", `/v1/enrollments?${query}`)).body.results[0] ?? null;
  }

  // What takes more than one step.

  /** Binds this browser to a bank. */
  async enroll(institution, name) {
    const {account_tenure} = await this.customer();
    const body = {institution, platform: "BROWSER", name, risk_signals: this.device.signals(account_tenure)};
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
    const answer = await this.ask("POST", `/v1/payment-intents/${id}/cancel`, {accepts: [409]});
    this.notebook.write(null);
    return answer.body;
  }

  /** The loop. Ends with {record} or with {record, reason}; never ends where the bank's page is opened. */
  async run(errand) {
    this.#note(errand);
    let {record, tag} = errand.id ? await this.#read(errand) : await this.#begin(errand);
    for (;;) {
      this.device.show(record);
      const next = record.next_action;
      switch (next?.type ?? "done") {
        case "done":
        case "retry":
          this.notebook.write(null);
          return {record, reason: next?.reason};
        case "redirect":
          await this.device.openBank(next.url, record);
          // The bank leads back to a new page; this one sees whatever changes meanwhile.
        case "poll":
          ({record, tag} = await this.#change(errand, tag, next.after_ms));
          continue;
        case "register":
          await this.#confirm(errand, next.fido_registration_options);
          break;
        case "sign":
          await this.#authorize(errand, next.fido_options);
      }
      ({record, tag} = await this.#read(errand));
    }
  }

  async #begin(errand) {
    const {path, key, body} = errand;
    const answer = await this.ask("POST", path, {key, body, accepts: [409]});
    // Another attempt is in the way, or has paid: go on with that one.
    const other = answer.status === 409 ? answer.body.payment_intent : null;
    if (answer.status === 409 && !other) throw this.#end(new Problem(409, answer.body));
    this.#note(Object.assign(errand, {id: other ?? answer.body.id}));
    return other ? this.#read(errand) : {record: answer.body, tag: answer.tag};
  }

  #confirm(errand, options) {
    return this.#hand(errand, "confirm", async () => ({confirmation_data: await this.device.register(options)}));
  }

  #authorize(errand, options) {
    return this.#hand(errand, "authorize", async () => {
      const {account_tenure} = await this.customer();
      const assertion = await this.device.sign(options);
      return {risk_signals: this.device.signals(account_tenure), assertion};
    });
  }

  /** Hands over what the authenticator has made: noted before it is sent, since it can be made only once. */
  async #hand(errand, step, make) {
    if (errand.step !== step) this.#note(Object.assign(errand, {step, made: await make()}));
    // 409: Belvo has another one, or the time for it is over; 422: Belvo refuses it. The record says which.
    const options = {body: errand.made, accepts: [409, 422], comesAgain: step === "confirm"};
    const answer = await this.ask("POST", `${errand.path}/${errand.id}/${step}`, options);
    if (answer.status >= 400) await pause(1000);
  }

  async #read(errand, options) {
    const answer = await this.ask("GET", `${errand.path}/${errand.id}`, options);
    return {record: answer.body, tag: answer.tag};
  }

  /** The record as soon as it is another one: a long poll, where there is a tag to compare by. */
  async #change(errand, tag, after = 2000) {
    if (!tag) {
      await pause(after);
      return this.#read(errand);
    }
    for (;;) {
      const path = `${errand.path}/${errand.id}?wait=20`;
      const answer = await this.ask("GET", path, {headers: {"if-none-match": tag}, accepts: [304]});
      if (answer.status !== 304) return {record: answer.body, tag: answer.tag};
    }
  }

  #note(errand) { this.notebook.write(JSON.stringify(errand)); }

  #end(problem) {
    // A sign-in that fails ends nothing.
    if (problem.status !== 401) this.notebook.write(null);
    return problem;
  }

  // The client.

  /**
   * Sends a request until it is answered: whatever it is, it may be said twice. After a 202 nobody knows what became
   * of it; what `comesAgain` is then said again, so that the server can send what was lost on its way.
   */
  async ask(method, path, {body, key, headers = {}, accepts = [], comesAgain = Boolean(key)} = {}) {
    let renewed = false;
    for (let attempt = 0, unknown = 0; ; attempt += 1) {
      this.#token ??= await this.newToken();
      const sent = {...headers, authorization: `Bearer ${this.#token}`};
      if (key) sent["idempotency-key"] = key;
      if (body) sent["content-type"] = "application/json";
      const answer = await this.fetch(this.api + path, {method, headers: sent, body: body && JSON.stringify(body)})
        .then(async answer => ({
          status: answer.status, tag: answer.headers.get("etag"), wait: Number(answer.headers.get("retry-after")),
          body: await answer.text().then(text => text ? JSON.parse(text) : null),
        }), () => null);
      if (answer?.status === 401 && !renewed) {
        [this.#token, renewed] = [null, true];
      } else if (answer?.status === 202 && comesAgain && unknown < 30) {
        [attempt, unknown] = [0, unknown + 1];
        await pause(answer.body.next_action?.after_ms ?? 2000);
      } else if (!answer || isForNow(answer)) {
        // Nothing is done twice, so the same is said again: for a minute or so.
        if (attempt === 12) throw new Problem(answer?.status ?? 0, answer?.body);
        await pause(Math.min((answer?.wait || Math.min(0.4 * 2 ** attempt, 6)) * 1000, 10_000));
      } else if (answer.status < 400 || accepts.includes(answer.status)) {
        return answer;
      } else {
        throw this.#end(new Problem(answer.status, answer.body));
      }
    }
  }
}

const ifFound = answer => answer.status === 404 ? null : answer;
/** Whether the same may be said again later: the server is busy or away, or still at work on the same request. */
const isForNow = ({status, body}) =>
  [429, 500, 502, 503, 504].includes(status) || status === 409 && body?.code === "in_progress";
