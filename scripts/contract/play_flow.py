"""Plays a whole journey as an app does, and holds every answer against the document.

play_flow.py DOCUMENT WORLD: WORLD is a JSON file that says where the server is and who asks; what was found on the
way (the customer's tenure, a bank, an enrollment that can pay) is written back to it, for the checks that come after.
With --show FILE every answer is written there, to take examples from.
"""

import json
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from document import Document

TAX_NUMBER = "529.982.247-25"
PATIENCE = 60


class App:
    """A user's app, which keeps every answer."""

    def __init__(self, world, document):
        self.world = world
        self.document = document
        self.answers = []
        self.faults = []
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), KeepRedirects())

    def ask(self, method, path, body=None, expected=200, token=True, headers=None, form=None):
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {self.world['token']}"
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            content = form.encode()
        request = urllib.request.Request(self.world["merchant"] + path, content, headers, method=method)
        try:
            answer = self.opener.open(request, timeout=60)
        except urllib.error.HTTPError as refusal:
            answer = refusal
        text = answer.read()
        kind = answer.headers.get_content_type()
        value = json.loads(text) if text and kind.endswith("json") else None
        self.answers.append({"request": f"{method} {path}", "body": body, "status": answer.status,
                             "headers": dict(answer.headers), "answer": value})
        if answer.status != expected:
            told = text.decode(errors="replace")
            sys.exit(f"{method} {path} answered {answer.status} in place of {expected}: {told}")
        for fault in self.document.faults_of_answer(method, path, answer.status, answer.headers, kind, value):
            self.faults.append(f"{method} {path} {answer.status}: {fault}")
        return Answer(value, answer.headers)

    def wait(self, path, done):
        """Reads a resource until it is as wanted."""
        end = time.monotonic() + PATIENCE
        while not done(found := self.ask("GET", path).value):
            if time.monotonic() > end:
                sys.exit(f"{path} did not get on: {json.dumps(found)}")
            time.sleep(0.2)
        return found

    def phone(self, *arguments, options=None):
        run = subprocess.run([self.world["phone"], *arguments, "--key-file", self.world["keys"]],
                             input=options, capture_output=True, text=True, check=True)
        return json.loads(run.stdout)


class Answer:
    def __init__(self, value, headers):
        self.value = value
        self.headers = headers


class KeepRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like any other."""

    def redirect_request(self, *_):
        return None


def approve(world, url, decision):
    """The user at the bank: gives the parameters with which the bank sends them back."""
    page = urllib.parse.urlsplit(url)
    form = urllib.parse.parse_qsl(page.query) + [("decision", decision)]
    context = ssl.create_default_context(cafile=world["ca"])
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context), KeepRedirects())
    target = urllib.parse.urlunsplit(page._replace(query=""))
    try:
        answer = opener.open(target, urllib.parse.urlencode(form).encode(), timeout=20)
    except urllib.error.HTTPError as redirect:
        answer = redirect
    if "Location" not in answer.headers:
        sys.exit(f"the bank answered {answer.status} without a redirect")
    return urllib.parse.urlsplit(answer.headers["Location"]).query


def has_action(kind):
    return lambda resource: (resource["next_action"] or {}).get("type") == kind


def has_ended(resource):
    return resource["status"] != "PENDING"


def play(app, world):
    for path in ["/livez", "/readyz", "/.well-known/apple-app-site-association", "/.well-known/assetlinks.json"]:
        app.ask("GET", path, token=False)
    if app.ask("GET", "/openapi.json", token=False).value != app.document.value:
        sys.exit("/openapi.json is another document: the programs are of another version.")
    app.ask("GET", "/v1/customer", expected=401, token=False)
    app.ask("GET", "/v1/customer", expected=404)
    bank = app.ask("GET", "/v1/institutions").value["results"][0]["id"]
    app.ask("PUT", "/v1/customer", {"name": "", "identifier": "111.111.111-11", "nickname": "Ana"}, expected=400)
    wish = {"name": "Ana Souza", "identifier": TAX_NUMBER, "email": "ana@example.com"}
    app.ask("PUT", "/v1/customer", wish, expected=201)
    app.ask("PUT", "/v1/customer", wish, expected=200)
    app.ask("PUT", "/v1/customer", {**wish, "identifier": "111.444.777-35"}, expected=409)
    tenure = app.ask("GET", "/v1/customer").value["account_tenure"]
    app.ask("POST", "/v1/widget-token", expected=201)

    signals = app.phone("risk-signals", "--account-tenure", tenure)
    to_create = {"institution": bank, "name": "Ana's phone", "platform": "IOS", "risk_signals": signals,
                 "metadata": {"shop": "centro"}}
    # Somebody refuses at the bank, and the app hands it over.
    refused = app.ask("POST", "/v1/enrollments", to_create, expected=201).value
    redirect = dict(urllib.parse.parse_qsl(approve(world, refused["next_action"]["url"], "refuse")))
    app.ask("POST", "/v1/enrollments/complete-redirection", redirect)
    app.ask("GET", f"/v1/enrollments/{refused['id']}/fido-registration-options", expected=409)
    # Approved, and the browser brings it.
    browsed = app.ask("POST", "/v1/enrollments", to_create, expected=201).value
    query = approve(world, browsed["next_action"]["url"], "approve")
    app.ask("GET", f"/enrollments/callback?{query}", token=False)
    app.ask("POST", "/enrollments/callback", form=query, token=False)
    # Approved, and the app goes on.
    key = {"Idempotency-Key": "enrollment-1"}
    enrollment = app.ask("POST", "/v1/enrollments", to_create, headers=key, expected=201).value
    app.ask("POST", "/v1/enrollments", to_create, headers=key, expected=201)
    app.ask("POST", "/v1/enrollments", {**to_create, "name": "Another"}, headers=key, expected=422)
    path = f"/v1/enrollments/{enrollment['id']}"
    redirect = dict(urllib.parse.parse_qsl(approve(world, enrollment["next_action"]["url"], "approve")))
    app.ask("GET", f"{path}/fido-registration-options", expected=202)
    app.ask("POST", "/v1/enrollments/complete-redirection", redirect)
    registering = app.wait(path, has_action("register"))
    app.ask("GET", f"{path}/fido-registration-options")
    confirmation = app.phone("register", "-", options=json.dumps(registering))
    app.ask("POST", f"{path}/confirm", {"confirmation_data": confirmation}, expected=204)
    app.wait(path, has_ended)
    app.ask("GET", f"/v1/enrollments?status=SUCCEEDED&limit=1&device_id={signals['deviceId']}")

    payment = {"enrollment": enrollment["id"], "reference": "order-1042", "amount": "19.90",
               "description": "Two coffees"}
    app.ask("POST", "/v1/payment-intents", payment, expected=400)
    key = {"Idempotency-Key": "tap-1"}
    signing = app.ask("POST", "/v1/payment-intents", payment, headers=key, expected=201).value
    app.ask("POST", "/v1/payment-intents", payment, headers=key, expected=201)
    app.ask("POST", "/v1/payment-intents", {**payment, "amount": "20.90"}, headers=key, expected=422)
    app.ask("POST", "/v1/payment-intents", payment, headers={"Idempotency-Key": "tap-2"}, expected=409)
    path = f"/v1/payment-intents/{signing['id']}"
    assertion = app.phone("sign", "-", options=json.dumps(signing))
    authorization = {"risk_signals": signals, "assertion": assertion}
    app.ask("POST", f"{path}/authorize", authorization, expected=204)
    app.ask("POST", f"{path}/authorize", authorization, expected=204)
    paid = app.wait(path, has_ended)
    app.ask("POST", "/v1/payment-intents", payment, headers={"Idempotency-Key": "tap-3"}, expected=409)
    app.ask("POST", f"{path}/cancel", expected=409)
    tag = app.ask("GET", path).headers["ETag"]
    app.ask("GET", f"{path}?wait=30", headers={"If-None-Match": tag}, expected=304)
    # Another one, which the user gives up.
    key = {"Idempotency-Key": "tap-4"}
    other = app.ask("POST", "/v1/payment-intents", {**payment, "reference": None}, headers=key, expected=201).value
    app.ask("POST", f"/v1/payment-intents/{other['id']}/cancel")
    app.ask("POST", f"/v1/payment-intents/{other['id']}/cancel", {})
    app.ask("GET", "/v1/payment-intents?status=SUCCEEDED&reference=order-1042")
    for resource in [app.ask("GET", f"/v1/enrollments/{enrollment['id']}").value, paid]:
        if resource["status"] != "SUCCEEDED":
            sys.exit(f"a good journey ended with {json.dumps(resource)}")

    world.update(institution=bank, tenure=tenure, enrollment=enrollment["id"])


def main():
    document, world_path = Document(sys.argv[1]), sys.argv[2]
    with open(world_path, encoding="utf-8") as file:
        world = json.load(file)
    app = App(world, document)
    try:
        play(app, world)
    finally:
        if sys.argv[3:4] == ["--show"]:
            with open(sys.argv[4], "w", encoding="utf-8") as file:
                json.dump(app.answers, file, indent=2, ensure_ascii=False)
    with open(world_path, "w", encoding="utf-8") as file:
        json.dump(world, file)
    if app.faults:
        sys.exit("\n".join(dict.fromkeys(app.faults)))
    print(f"{len(app.answers)} answers are as the document says.")


if __name__ == "__main__":
    main()
