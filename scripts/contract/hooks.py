"""What schemathesis cannot know about the world that it checks, and a check of ours.

A schema cannot say which banks there are, which enrollment has SUCCEEDED, or which check digits fit. Without those,
each valid request would end at the first of these gates, and nothing behind it would be checked.
"""

import datetime
import json
import os
import re
import uuid

import schemathesis
from hypothesis import strategies as st

from document import Document

DOCUMENT = Document(os.environ["CONTRACT_DOCUMENT"])
with open(os.environ["CONTRACT_WORLD"], encoding="utf-8") as file:
    WORLD = json.load(file)


schemathesis.openapi.format("telephone", st.from_regex(r"\+55 \(?[1-9]{2}\)? 9[0-9]{4}-?[0-9]{4}", fullmatch=True))
schemathesis.openapi.format("utc-offset", st.from_regex(r"[+-](0[0-9]|1[0-2])(:[0-5][0-9])?", fullmatch=True))
schemathesis.openapi.format("iso-639-1", st.sampled_from(["pt", "en", "es", "de", "ja"]))
schemathesis.openapi.format("callback-url", st.just(WORLD["callback_url"]))
schemathesis.openapi.format("enrollment-id", st.just(WORLD["enrollment"]))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Puts the world's own facts in the place of well-formed ones that were made up; malformed ones stay."""
    if re.fullmatch("[!-~]{1,255}", str(case.headers.get("Idempotency-Key", ""))):
        # What was made up is made up again, and would be refused as a repetition.
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if case.query.get("wait") in range(1, 31):
        # So that the whole run takes minutes.
        case.query["wait"] = 1
    if isinstance(case.body, dict):
        ground(case.operation.label, case.body)


def ground(operation, body):
    if operation == "PUT /v1/customer" and is_tax_number(body.get("identifier")):
        body["identifier"] = with_check_digits(body["identifier"])
    for member in ["institution", "enrollment"]:
        if is_id(body.get(member)):
            body[member] = WORLD[member]
    signals = body.get("risk_signals")
    if isinstance(signals, dict) and is_day(signals.get("accountTenure")):
        signals["accountTenure"] = WORLD["tenure"]
    if operation == "POST /v1/payment-intents":
        # The shop of this run has no orders, and without one both are required.
        body.setdefault("amount", "19.90")
        body.setdefault("description", "Two coffees")
        # 0.07 and not 0.07000000000000001: multiples of a hundredth are not always hundredths in binary.
        if isinstance(body["amount"], float) and abs(body["amount"] - round(body["amount"], 2)) < 1e-9:
            body["amount"] = round(body["amount"], 2)


def is_tax_number(value):
    pattern = DOCUMENT.value["components"]["schemas"]["CustomerToPut"]["properties"]["identifier"]["pattern"]
    return isinstance(value, str) and re.search(pattern, value)


def with_check_digits(number):
    """A CPF or CNPJ with check digits that fit: weights from 2 on, from the right; a remainder below 2 gives 0."""
    characters = re.sub("[^0-9A-Z]", "", number.upper())[:-2]
    if len(set(characters)) == 1:
        # One repeated digit is refused whatever its check digits.
        characters = characters[:-1] + ("1" if characters[0] == "0" else "0")
    weight_max = 11 if len(characters) == 9 else 9
    for _ in range(2):
        weighed = zip(reversed(characters), (2 + place % (weight_max - 1) for place in range(len(characters))))
        rest = sum((ord(character) - 48) * weight for character, weight in weighed) % 11
        characters += "0" if rest < 2 else str(11 - rest)
    return characters


def is_id(value):
    return isinstance(value, str) and re.fullmatch("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", value)


def is_day(value):
    try:
        return isinstance(value, str) and len(value) == 10 and datetime.date.fromisoformat(value)
    except ValueError:
        return False


@schemathesis.check
def no_undocumented_members(context, response, case):
    """The schemas of answers are open, since apps ignore what they do not know; the server sends nothing such."""
    operation = DOCUMENT.value["paths"][case.operation.path].get(case.method.lower())
    if operation is None:
        return
    answer = DOCUMENT.resolve(operation["responses"].get(str(response.status_code), {}))
    kind = response.headers.get("content-type", [""])[0].split(";")[0]
    media = answer.get("content", {}).get(kind)
    if media and kind.endswith("json"):
        found = list(DOCUMENT.undocumented(media["schema"], response.json()))
        assert not found, "; ".join(found)
