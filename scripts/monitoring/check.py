"""Makes every alert fire and stop by the fault that it is for, and asks Prometheus all that the dashboard asks.

check.py WORLD FILES [--short] [ALERT...]: WORLD says where the server is, FILES is deploy/monitoring.
"""

import json
import math
import pathlib
import re
import sys
import time

from faults import FAULTS
from prometheus import Monitoring
from site_under_watch import Failure, Site, wait_until

# What the short version plays, among the tests.
SHORT = ["MerchantDown", "BelvoRefusesCredentials", "MoneyAlarm"]


def queries(dashboard):
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"], target["legendFormat"]


def check_dashboard(files, monitoring):
    """Every query has an answer with a number, and every legend's label is one of the answer's."""
    dashboard = json.loads((pathlib.Path(files) / "dashboard.json").read_text(encoding="utf-8"))
    faults, count = [], 0
    for title, expression, legend in queries(dashboard):
        count += 1
        found = monitoring.query(expression.replace("$__range", "5m"))
        if not any(not math.isnan(float(series["value"][1])) for series in found):
            faults.append(f"{title}: {expression} returns nothing")
            continue
        for label in re.findall(r"{{(\w+)}}", legend):
            if not all(label in series["metric"] for series in found):
                faults.append(f"{title}: {expression} has no label {label}")
    if faults:
        raise Failure("\n".join(faults))
    print(f"All {count} queries of the dashboard have an answer.", flush=True)


def inhibitors(files):
    """Which alerts silence which others."""
    text = (pathlib.Path(files) / "alertmanager.yml").read_text(encoding="utf-8")
    pairs = re.findall(
        r'source_matchers: \[alertname="(\w+)"\]\s+target_matchers:[-\s\[\']*alertname=~?"([\w|]+)"', text)
    return {(target, source) for source, targets in pairs for target in targets.split("|")}


def check_alert(name, site, monitoring, silencers):
    begin = time.monotonic()
    if name in monitoring.firing():
        wait_until(f"the end of {name} before its fault", lambda: name not in monitoring.firing(), 120)
    site.wait_for_belvo()
    fault = FAULTS[name](site, monitoring)
    next(fault)
    try:
        wait_until(f"{name}", lambda: name in monitoring.firing(), 90)
        fired = time.monotonic()
        beside = monitoring.firing() - {name}
        receiver = "pager" if monitoring.rules()[name]["labels"]["severity"] == "page" else "tickets"
        if not any((name, other) in silencers for other in beside):
            wait_until(f"{name} at the {receiver}", lambda: monitoring.told(name, "firing") == {receiver}, 30)
    finally:
        # The rest of the generator takes the fault back.
        for _ in fault:
            pass
    wait_until(f"the end of {name}", lambda: site.nudge() or name not in monitoring.firing(), 120)
    stopped = time.monotonic()
    others = f"  (beside it: {', '.join(sorted(beside))})" if beside else ""
    print(f"{name}: fires after {fired - begin:.0f} s, gone {stopped - fired:.0f} s later{others}", flush=True)


def main():
    world, files, *wanted = sys.argv[1:]
    site = Site(json.loads(pathlib.Path(world).read_text(encoding="utf-8")))
    monitoring = Monitoring(files, site.scratch, site.admin_url.removeprefix("http://"))
    silencers = inhibitors(files)
    try:
        site.shop.start()
        site.start()
        monitoring.start()
        if set(monitoring.rules()) != set(FAULTS):
            raise Failure(f"rules without a fault, or the other way: {set(monitoring.rules()) ^ set(FAULTS)}")
        wait_until("a first scrape", lambda: monitoring.value('up{job="merchant"}'))
        site.arrive()
        site.pay()
        site.pay("fail", code="institution_infra_failed")
        wait_until("a scrape of the payments", lambda: monitoring.value(
            'sum(increase(merchant_failures_total[5m]))'))
        check_dashboard(files, monitoring)
        names = SHORT if wanted == ["--short"] else wanted or list(FAULTS)
        failed = []
        for name in names:
            try:
                check_alert(name, site, monitoring, silencers)
            except Failure as failure:
                failed.append(f"{name}: {failure}; firing are {sorted(monitoring.firing())}")
                print(failed[-1], flush=True)
                site.no_faults()
        if failed:
            raise Failure("\n".join(failed))
        print(f"{len(names)} alerts fire by their fault, are told to their receiver, and stop.")
    except Failure as failure:
        sys.exit(str(failure))
    finally:
        monitoring.stop()
        site.shop.stop()
        site.stop()


if __name__ == "__main__":
    main()
