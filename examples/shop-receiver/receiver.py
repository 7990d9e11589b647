"""The shop's side of the events: checks the signature, remembers which events it has, answers 200."""

import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from standardwebhooks import Webhook, WebhookVerificationError

webhook, seen = Webhook(os.environ["SHOP_WEBHOOK_SECRET"]), set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            webhook.verify(body.decode(), {name.lower(): value for name, value in self.headers.items()})
        except WebhookVerificationError:
            return self.send_error(400)
        if self.headers["webhook-id"] not in seen:  # In a shop: a unique key in the database.
            seen.add(self.headers["webhook-id"])
            event = json.loads(body)
            print(event["type"], event["data"].get("reference") or event["data"]["id"], flush=True)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments): pass


server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
print("listening", server.server_port, flush=True)
server.serve_forever()
