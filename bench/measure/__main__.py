"""python3 -m measure WHAT --programs DIRECTORY [SECTION...]: started by the scripts of ./dev."""

import argparse
import pathlib
import signal
import sys

from . import attack, hiccups, http, night, payment, scale, speed
from .amounts import Amounts
from .processes import Failure
from .site import Site


def main() -> None:
    parser = argparse.ArgumentParser(prog="measure")
    parser.add_argument("what", choices=["speed", "http", "attack", "night", "hiccups", "payment", "scale"])
    parser.add_argument("sections", nargs="*")
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="where the built programs are")
    parser.add_argument("--peers", type=pathlib.Path, help="where the servers that are compared are")
    parser.add_argument("--rounds", type=int, default=12, help="how often all that is compared over HTTP is measured")
    parser.add_argument("--least", action="store_true", help="only try whether everything works; no report is kept")
    options = parser.parse_intermixed_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        sites = {
            "attack": attack.AttackSite, "night": night.NightSite, "payment": payment.PaymentSite,
            "scale": scale.ScaleSite}
        with sites.get(options.what, Site)(options.programs) as site:
            if options.what == "night":
                text = night.run(site, keep=not options.least)
            elif options.what == "hiccups":
                rounds = 1 if options.least else 3
                text = hiccups.run(site, rounds, options.sections, keep=not (options.least or options.sections))
            elif options.what == "payment":
                amounts = (5, (20,)) if options.least else (40, (150, 10_000))
                text = payment.run(site, *amounts, keep=not options.least)
            elif options.what == "scale":
                amounts = scale.ScaleAmounts.least() if options.least else scale.ScaleAmounts()
                text = scale.run(site, amounts, keep=not options.least)
            elif options.what == "attack":
                amounts = attack.Amounts.least() if options.least else attack.Amounts()
                text = attack.run(site, amounts, "floods" in options.sections, keep=not options.least)
            elif options.what == "speed":
                amounts = Amounts.least() if options.least else Amounts()
                text = speed.run(site, amounts, next(iter(options.sections), None), keep=not options.least)
            else:
                rounds = 2 if options.least else options.rounds
                text = http.run(site, options.peers, rounds, options.sections, keep=not options.least)
        print(text)
    except Failure as failure:
        sys.exit(f"./dev: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


main()
