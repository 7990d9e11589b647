// The fingerprint: the machine's own where the browser offers one, else one in software, which says so.
//
// The software one is for demonstrations: a key pair that the browser keeps and does not give out, used without anybody
// being asked. What it makes is checked by the bank like any other (ES256, no attestation).

/** Whether this machine has a fingerprint reader, a face camera or a PIN that pages may use. */
export const hasAuthenticator = async () => {
  try {
    return await PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable();
  } catch {
    return false;
  }
};

/** The machine's: what a shop uses. */
export const machine = {
  kind: "machine",

  async register(options) {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    publicKey.authenticatorSelection = {authenticatorAttachment: "platform", userVerification: "required"};
    return (await navigator.credentials.create({publicKey})).toJSON();
  },

  async sign(options) {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return (await navigator.credentials.get({publicKey})).toJSON();
  },
};

/** The one in software. */
export const software = {
  kind: "software",

  async register({rp, user, challenge}) {
    const keys = await crypto.subtle.generateKey({name: "ECDSA", namedCurve: "P-256"}, false, ["sign"]);
    const id = crypto.getRandomValues(new Uint8Array(32));
    await keep(text(id), {key: keys.privateKey, user: user.id, count: 0});
    const point = new Uint8Array(await crypto.subtle.exportKey("raw", keys.publicKey));
    const credential = [
      ...new Uint8Array(16), 0, id.length, ...id,
      // COSE: {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y}
      0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32, ...point.slice(1, 33), 0x22, 0x58, 32, ...point.slice(33),
    ];
    const data = [...await digest(rp.id), PRESENT | VERIFIED | HAS_CREDENTIAL, 0, 0, 0, 0, ...credential];
    // CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
    const attestation = [
      0xa3, 0x63, ...ascii("fmt"), 0x64, ...ascii("none"), 0x67, ...ascii("attStmt"), 0xa0,
      0x68, ...ascii("authData"), 0x58, data.length, ...data,
    ];
    return envelope(text(id), {
      attestationObject: text(attestation), clientDataJSON: text(clientData("webauthn.create", challenge)),
      transports: ["internal"],
    });
  },

  async sign({rpId, challenge, allowCredentials}) {
    for (const {id} of allowCredentials) {
      const credential = await kept(id);
      if (!credential) continue;
      credential.count += 1;
      await keep(id, credential);
      const count = [24, 16, 8, 0].map(shift => credential.count >>> shift & 255);
      const data = new Uint8Array([...await digest(rpId), PRESENT | VERIFIED, ...count]);
      const client = clientData("webauthn.get", challenge);
      const signed = new Uint8Array([...data, ...new Uint8Array(await crypto.subtle.digest("SHA-256", client))]);
      const raw = await crypto.subtle.sign({name: "ECDSA", hash: "SHA-256"}, credential.key, signed);
      return envelope(id, {
        authenticatorData: text(data), clientDataJSON: text(client), signature: text(der(new Uint8Array(raw))),
        userHandle: credential.user,
      });
    }
    throw new DOMException("This browser has none of the keys.", "NotAllowedError");
  },
};

const [PRESENT, VERIFIED, HAS_CREDENTIAL] = [1, 4, 64];

const ascii = word => [...word].map(letter => letter.charCodeAt(0));

const text = bytes => btoa(String.fromCharCode(...bytes))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const digest = async word => new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(word)));

const clientData = (type, challenge) => new TextEncoder().encode(
  JSON.stringify({type, challenge, origin: location.origin, crossOrigin: false}));

const envelope = (id, response) => ({
  id, rawId: id, type: "public-key", authenticatorAttachment: "platform", clientExtensionResults: {}, response,
});

/** ASN.1's SEQUENCE of two INTEGERs, as signatures travel, from the 64 bytes that browsers give. */
const der = raw => {
  const integer = bytes => {
    const short = bytes.slice(bytes.findIndex(byte => byte !== 0));
    const value = short[0] & 0x80 ? [0, ...short] : [...short];
    return [2, value.length, ...value];
  };
  const both = [...integer(raw.slice(0, 32)), ...integer(raw.slice(32))];
  return [0x30, both.length, ...both];
};

// The keys lie in IndexedDB, which keeps them without showing them.

const store = async (mode, action) => {
  const database = await new Promise((done, fail) => {
    const request = indexedDB.open("software-authenticator", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("credentials");
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
  return new Promise((done, fail) => {
    const request = action(database.transaction("credentials", mode).objectStore("credentials"));
    request.onsuccess = () => { database.close(); done(request.result); };
    request.onerror = () => { database.close(); fail(request.error); };
  });
};

const keep = (id, credential) => store("readwrite", credentials => credentials.put(credential, id));
const kept = id => store("readonly", credentials => credentials.get(id));
