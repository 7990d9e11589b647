"""Draws the dashboard with live data, as Grafana would, since Grafana is not at hand.

pictures.py WORLD FILES DIRECTORY: plays a quiet time and then a bad one, and draws each into DIRECTORY. A minute of a
window is a second here, as in the check of the alerts.
"""

import json
import math
import os
import pathlib
import re
import sys
import time

import faults
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from PIL import Image  # noqa: E402

from prometheus import Monitoring
from site_under_watch import Background, Failure, Site, wait_until

SECONDS = int(os.environ.get("MONITOR_SCENE_SECONDS", "75"))
COLOURS = {"green": "#2c9f45", "red": "#c4162a", "orange": "#e0752d"}
UNITS = {"s": "s", "reqps": "/s", "percentunit": "", "bytes": "B", "short": ""}


def hastened(expression, window):
    """The expression with minutes as seconds; none shorter than a rate of Prometheus' needs."""
    expression = expression.replace("$__range", f"{window}s")
    return re.sub(r"\[(\d+)m\]", lambda found: f"[{max(10, 4 * int(found[1]))}s]", expression)


def value_text(value, unit):
    if math.isnan(value):
        return "no data"
    if unit == "bytes":
        return f"{value / 1_048_576:.0f} MiB"
    if unit == "percentunit":
        return f"{100 * value:.0f} %"
    text = f"{value:.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.2f}"
    return f"{text} {UNITS.get(unit, unit)}".strip()


def legend_of(target, series):
    text = target.get("legendFormat") or ""
    return re.sub(r"{{(\w+)}}", lambda found: series["metric"].get(found[1], ""), text)


class Drawing:
    def __init__(self, monitoring, dashboard, begin, end):
        self.monitoring, self.dashboard, self.begin, self.end = monitoring, dashboard, begin, end
        self.empty = []

    def range(self, expression):
        """Series of (seconds, value)."""
        return self.monitoring.get("query_range", query=hastened(expression, int(self.end - self.begin)),
                                   start=self.begin, end=self.end, step=1)["result"]

    def now(self, expression):
        return self.monitoring.get(
            "query", query=hastened(expression, int(self.end - self.begin)), time=self.end)["result"]

    def draw(self, path, title):
        panels = self.dashboard["panels"]
        height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
        figure = plt.figure(figsize=(19, height * 0.34), facecolor="#f4f5f5")
        figure.text(0.01, 1 - 0.35 / (height * 0.34), title, fontsize=15, weight="bold", va="center")
        for panel in panels:
            place = panel["gridPos"]
            x, w = place["x"] / 24, place["w"] / 24
            y, h = (place["y"] + 2) / (height + 2), place["h"] / (height + 2)
            if panel["type"] == "row":
                figure.text(x + 0.005, 1 - y - h / 2, panel["title"], fontsize=12, weight="bold", va="center")
                continue
            pad = 0.5 / (height + 2)
            axes = figure.add_axes([x + 0.035 if panel["type"] == "timeseries" else x + 0.005, 1 - y - h + pad,
                                    w - 0.045 if panel["type"] == "timeseries" else w - 0.01, h - 2.8 * pad])
            axes.set_title(panel["title"], fontsize=9, loc="left")
            getattr(self, panel["type"])(axes, panel)
        figure.savefig(path, dpi=60)
        plt.close(figure)
        # It has few colours; as a palette it is a third of the size.
        Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)

    def unit(self, panel):
        return panel.get("fieldConfig", {}).get("defaults", {}).get("unit", "short")

    def stat(self, axes, panel):
        """One figure, on the colour of its threshold."""
        found = self.now(panel["targets"][0]["expr"])
        value = float(found[0]["value"][1]) if found else math.nan
        colour = "orange" if math.isnan(value) else None
        for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]:
            if colour is None or (step["value"] is not None and value >= step["value"]):
                colour = colour if math.isnan(value) else step["color"]
        text = value_text(value, self.unit(panel))
        for mapping in panel["fieldConfig"]["defaults"].get("mappings", []):
            text = mapping.get("options", {}).get(f"{value:g}", {}).get("text", text)
        axes.set_facecolor(COLOURS[colour])
        axes.text(0.5, 0.5, text, ha="center", va="center", fontsize=20, color="white", transform=axes.transAxes)
        axes.set_xticks([])
        axes.set_yticks([])

    def bargauge(self, axes, panel):
        """A bar for each figure."""
        bars = [(legend_of(target, series), float(series["value"][1])) for target in panel["targets"]
                for series in self.now(target["expr"])]
        bars = [(name, value) for name, value in bars if not math.isnan(value)][::-1]
        if not bars:
            self.empty.append(panel["title"])
            axes.text(0.5, 0.5, "no data", ha="center", transform=axes.transAxes)
        axes.barh(range(len(bars)), [value for _, value in bars], color="#a9c6f2")
        most = max([value for _, value in bars] + [1])
        axes.set_xlim(0, most * 1.15)
        for row, (_, value) in enumerate(bars):
            axes.text(most * 1.13, row, value_text(value, self.unit(panel)), va="center", ha="right", fontsize=9)
        for row, (name, _) in enumerate(bars):
            axes.text(most * 0.01, row, name, va="center", fontsize=9)
        axes.set_xticks([])
        axes.set_yticks([])

    def timeseries(self, axes, panel):
        lines = 0
        for target in panel["targets"]:
            for series in self.range(target["expr"]):
                values = [(float(at) - self.end, float(value)) for at, value in series["values"]]
                values = [(at, math.nan if math.isinf(value) else value) for at, value in values]
                if all(math.isnan(value) for _, value in values):
                    continue
                lines += 1
                # Grafana's legend is beside the picture; this one has room for what is not zero.
                label = legend_of(target, series) if any(value for _, value in values) else None
                axes.plot(*zip(*values), label=label, linewidth=1.2)
        if not lines:
            self.empty.append(panel["title"])
        axes.set_xlim(self.begin - self.end, 0)
        axes.set_ylim(bottom=0)
        axes.tick_params(labelsize=7)
        axes.grid(color="#dddddd", linewidth=0.5)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=6, loc="upper left", ncols=2 if lines > 4 else 1, framealpha=0.6)


def scene(name, title, monitoring, dashboard, directory, seconds):
    """Lets what is under way go on for so long, and draws it."""
    begin = time.time()
    time.sleep(seconds)
    drawing = Drawing(monitoring, dashboard, begin, time.time())
    path = pathlib.Path(directory, f"{name}.png")
    drawing.draw(path, f"{title}, {seconds} s; a minute of a window is 4 s")
    print(f"{path}; without data: {', '.join(drawing.empty) or 'no panel'}; "
          f"firing: {', '.join(sorted(monitoring.firing())) or 'nothing'}", flush=True)


def main():
    world, files, directory = sys.argv[1:]
    site = Site(json.loads(pathlib.Path(world).read_text(encoding="utf-8")))
    monitoring = Monitoring(files, site.scratch, site.admin_url.removeprefix("http://"))
    dashboard = json.loads((pathlib.Path(files) / "dashboard.json").read_text(encoding="utf-8"))
    try:
        site.shop.start()
        site.start()
        monitoring.start()
        wait_until("a first scrape", lambda: monitoring.value('up{job="merchant"}'))
        site.arrive()
        with Background(site.pay, pause=0.2), Background(site.enroll, pause=2):
            scene("well", "All is well", monitoring, dashboard, directory, SECONDS)
            site.fault("status", status=503)
            money = faults.money_alarm(site, monitoring)
            with Background(site.ask_belvo, pause=0.05):
                scene("belvo-away", "Belvo answers 503", monitoring, dashboard, directory, SECONDS // 2)
            site.no_faults()
            wait_until("an end of the fault", lambda: site.nudge() or "BelvoAway" not in monitoring.firing(), 120)
            next(money)
            wait_until("the alarm", lambda: "MoneyAlarm" in monitoring.firing())
            scene("money", "Something is wrong with money", monitoring, dashboard, directory, SECONDS // 3)
    except Failure as failure:
        sys.exit(str(failure))
    finally:
        monitoring.stop()
        site.shop.stop()
        site.stop()


if __name__ == "__main__":
    main()
