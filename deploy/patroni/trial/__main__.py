"""Plays them and prints a table: python3 -m trial --programs DIRECTORY --scratch DIRECTORY [SCENARIO...]"""

import argparse
import pathlib
import signal
import sys
import traceback

from .app import Crowd, Testimony
from .judge import judge
from .scenarios import SCENARIOS, play
from .site import Site


def row(outcome):
    verdict = outcome.verdict
    gaps = " | ".join(f"{outcome.gaps[kind]:.1f} s" for kind in ("read", "create", "end"))
    return (f"| {outcome.name} | {outcome.deed} | {gaps} | {outcome.seen} | {len(verdict.lost)} | "
            f"{len(verdict.doubled)} | {len(verdict.stuck) + len(verdict.wrong)} |")


def main():
    parser = argparse.ArgumentParser(prog="./dev ha")
    parser.add_argument("--programs", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--section")
    parser.add_argument("--buyers", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=" ".join(SCENARIOS))
    wishes = parser.parse_args()
    unknown = [name for name in wishes.scenarios if name not in SCENARIOS]
    if unknown:
        parser.error(f"there is no scenario {unknown[0]}; there are {' '.join(SCENARIOS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    site = Site(wishes.programs, wishes.scratch)
    site.start()
    testimony = Testimony()
    crowd = Crowd(site, testimony, wishes.buyers)
    rows, known, good = [], set(), True
    for name in wishes.scenarios or SCENARIOS:
        outcome = play(name, site, crowd, wishes.seconds, judge, known)
        verdict = outcome.verdict
        rows.append(row(outcome))
        print(rows[-1], flush=True)
        for kind in ("lost", "doubled", "stuck", "wrong"):
            for text in getattr(verdict, kind)[:10]:
                print(f"    {kind}: {text}", flush=True)
        # The control has to lose something: otherwise nothing is shown by what the others did not lose.
        kept = bool(verdict.lost) if outcome.is_control else verdict.is_good
        if not kept:
            print(f"    {outcome.name}: {'nothing was lost' if outcome.is_control else 'a promise was broken'}")
        good = good and kept
    print(f"{verdict.payments} payments, {verdict.paid} of them paid.")
    if wishes.section:
        head = ("| what | how | reads | creates | ends of payments | what apps saw besides | lost | doubled | "
                "stuck or wrong |\n|---|---|---|---|---|---|---|---|---|\n")
        tail = f"\n\n{verdict.payments} payments in all, {verdict.paid} of them paid.\n"
        pathlib.Path(wishes.section).write_text(head + "\n".join(rows) + tail)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    try:
        main()
    except SystemExit:
        raise
    except BaseException:
        traceback.print_exc()
        sys.exit(2)
    finally:
        sys.stdout.flush()
