"""Holds what apps were told, what Belvo has and what the rows say against each other.

The rules are those of chaos/Chaos/Judgement.
"""

import time
from collections import Counter
from dataclasses import dataclass, field

from .machines import Failure

OPEN = """
    SELECT 'payment ' || id || ' is ' || state FROM payments WHERE status = 'PENDING'
    UNION ALL SELECT 'enrollment ' || id FROM enrollments WHERE status = 'PENDING'
    UNION ALL SELECT 'customer ' || id FROM customers WHERE state = 'creating'
    UNION ALL SELECT 'webhook ' || id FROM webhook_receipts WHERE outcome = 'received'"""
ROWS = """
    SELECT id, subject, coalesce(reference, id::text), state, assertion_digest IS NOT NULL FROM payments"""


@dataclass
class Verdict:
    payments: int = 0
    paid: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def is_good(self):
        return not (self.lost or self.doubled or self.stuck or self.wrong)


def judge(site, crowd, known):
    """Waits until everything has come to its end, and judges all that was played; `known` is what was found before."""
    verdict, testimony = Verdict(), crowd.testimony
    verdict.stuck += settle(site)
    verdict.stuck += [f"orphan: {row}" for row in lines(site, "SELECT record_type || ' ' || id FROM ops.orphans")]
    verdict.stuck += [f"{reference} is not paid for the app" for reference, paid in testimony.paid.items() if not paid]
    verdict.wrong += testimony.complaints
    crowd.read_calls()
    rows = {}
    for row in lines(site, ROWS):
        identifier, subject, reference, state, is_signed = row.split("|")
        rows[identifier] = (f"{subject}/{reference}", state, is_signed == "t")
    verdict.payments = len(rows)
    verdict.paid = sum(state == "succeeded" for _, state, _ in rows.values())
    judge_intents(rows, site.control("GET", "/sandbox/intent-counts")["results"], verdict)
    judge_calls(crowd.calls, verdict)
    judge_answers(rows, testimony.answers, verdict)
    for kind in ("lost", "doubled", "stuck", "wrong"):
        fresh = [text for text in getattr(verdict, kind) if text not in known]
        known.update(fresh)
        setattr(verdict, kind, fresh)
    return verdict


def lines(site, sql):
    return [line for line in site.query(sql, database="merchant").splitlines() if line]


def settle(site):
    """What is open in the end, after more and more time."""
    for jump in range(6):
        end = time.monotonic() + 10 + 3 * jump
        while time.monotonic() < end:
            left = lines(site, OPEN)
            if not left:
                return []
            time.sleep(0.3)
        site.pass_time(310)
    return left


def judge_intents(rows, intents, verdict):
    """Every intent is one payment of ours; of those for one reference one is paid."""
    paid = Counter()
    for intent in intents:
        identifier = intent["external_id"]
        if intent["created"] > 1:
            verdict.doubled.append(f"{intent['created']} intents for payment {identifier}")
        if identifier not in rows:
            verdict.lost.append(f"intent for {identifier} was opened and never remembered")
            continue
        reference, state, is_signed = rows[identifier]
        paid[reference] += intent["succeeded"]
        if intent["authorized"] and not is_signed:
            verdict.lost.append(f"payment {identifier} was authorized, and its signature is not remembered")
        if intent["succeeded"] and state != "succeeded":
            verdict.lost.append(f"payment {identifier} is paid at Belvo and {state} here")
        if not intent["succeeded"] and state == "succeeded":
            verdict.wrong.append(f"payment {identifier} counts as paid here and is not")
    verdict.doubled += [f"{reference} was paid {count} times" for reference, count in paid.items() if count > 1]


def judge_calls(calls, verdict):
    """What moves money was sent once. A creation may go again: under its id Belvo has one intent all the same."""
    counts = Counter(call["path"] for call in calls if call["endpoint"] == "authorize_payment_intent")
    verdict.doubled += [f"{path} was called {count} times" for path, count in counts.items() if count > 1]


def judge_answers(rows, answers, verdict):
    """What was answered is still true, and one key made one payment."""
    made = {}
    for told in answers:
        row = rows.get(told.id)
        if row is None:
            verdict.lost.append(f"{told.kind} of payment {told.id} was answered, and it is not there")
            continue
        if told.kind == "create" and made.setdefault((told.subject, told.key), told.id) != told.id:
            verdict.doubled.append(f"key {told.key} made {made[told.subject, told.key]} and {told.id}")
        if told.kind == "authorize" and not row[2]:
            verdict.lost.append(f"payment {told.id}: the signature was taken and is not there")
        if told.kind == "end" and row[1] != "succeeded":
            verdict.lost.append(f"payment {told.id} was paid for the app and is {row[1]}")


def must_be_whole(site):
    """Everything is healed before something else is broken."""
    try:
        return site.wait_until_whole()
    except Failure as failure:
        raise Failure(f"{failure}; the members are {site.members()}") from failure
