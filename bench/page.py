# SPDX-License-Identifier: MIT
"""page - how soon the page draws a large profile, and how smoothly it zooms: the table `page`.

The profile has 100,000 stacks of about 30 frames (tests/reader/forge). `plimsoll html` makes the report, and headless
chromium opens it (page.mjs). The control is a document of the same size, with the same data, that ignores the data and
draws a rectangle. What the control takes is the browser's own cost.
"""

import gzip
import json
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from measure import Broken
from tables import table

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "web/built"
SCENARIO = "100k-stacks"
PAINT_MS_MAX = 1000
FRAME_MS_MAX = 1000 / 60 * 1.5  # a late frame is visible; the clock of frames has a few ms of noise
BUNDLE_BYTES_MAX = 150_000
ZOOMS = 24

CONTROL_SCRIPT = """<script>
const canvas = document.createElement("canvas");
canvas.id = "flame";
document.body.append(canvas);
canvas.getContext("2d").fillRect(0, 0, 100, 100);
performance.mark("plimsoll-drawn");
</script>
</body>
</html>
"""


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def bundle_bytes():
    """The compressed size of the page itself."""
    parts = [BUILT / name for name in ("page.js", "page.css")]
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in parts)


def make_report(place):
    profile, report = place.scratch / "large.plim", place.scratch / "large.html"
    output_of("ninja", "-C", place.build, "tests/reader/forge")
    output_of(place.build / "tests/reader/forge", SCENARIO, profile)
    done = subprocess.run([place.build / "plimsoll", "html", profile, "-o", report], capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"plimsoll html: {done.stderr.strip()}")
    return report


def make_control(report):
    """The same document with the data, but with a script that only draws a rectangle."""
    text = report.read_text()
    data = re.search(r'<script type="application/octet-stream"[^>]*>[^<]*</script>', text)[0]
    control = report.with_name("control.html")
    control.write_text("<!doctype html>\n<html>\n<body>\n" + data + CONTROL_SCRIPT)
    return control


def p95(values):
    return statistics.quantiles(values, n=20)[-1]


def row(title, found, control):
    drawn, frame = statistics.median(found["drawn_ms"]), statistics.median(found["frame_ms"])
    ratio = "" if found is control else f"{drawn / statistics.median(control['drawn_ms']):.1f}"
    draw = "" if found is control else f"{statistics.median(found['draw_ms']):.1f} ms"
    return [title, f"{found['nodes']:,}", f"{drawn:,.0f} ms", ratio, f"{frame:.1f} ms",
            f"{p95(found['frame_ms']):.1f} ms", draw]


def measure_page(place, programs, options, targets):
    del programs
    if not shutil.which("node") or not (HERE.parent / "tests/node_modules/playwright-core").is_dir():
        print("\nThe page: not measured, node or its packages are missing (tools/setup check installs them).")
        return
    report = make_report(place)
    control = make_control(report)
    rounds = 2 if options.quick else min(options.rounds, 7)
    found = json.loads(output_of("node", HERE / "page.mjs", rounds, 8 if options.quick else ZOOMS, report, control))
    ours, bare = found[str(report)], found[str(control)]
    bundle = bundle_bytes()
    print(f"measured {report.name}", file=sys.stderr)
    size = report.stat().st_size / 1e6
    table("The page", f"A report of {size:.1f} MB with 100,000 stacks, opened from disk at 1440 × 900: from the "
          f"navigation to the first flame graph drawn, the median of {rounds} rounds; the time between frames while "
          "zooming in and out, in the median and at the 95th percentile; and what drawing one takes. The page itself "
          f"has {bundle / 1000:.0f} KB, packed. The control is a document with the same data that draws a rectangle.",
          ["page", "nodes", "first drawn", "ratio", "frame", "95%", "drawing"],
          [row("control", bare, bare), row("report", ours, bare)])
    drawn = statistics.median(ours["drawn_ms"])
    frame, frame_control = p95(ours["frame_ms"]), p95(bare["frame_ms"])
    targets.add("page, first drawn, 100,000 stacks", f"{drawn:,.0f} ms", f"at most {PAINT_MS_MAX:,} ms",
                drawn <= PAINT_MS_MAX)
    allowed = max(FRAME_MS_MAX, 1.5 * frame_control)
    targets.add(f"page, 95% of frames while zooming over {ours['nodes']:,} nodes", f"{frame:.1f} ms",
                f"at most {allowed:.1f} ms", frame <= allowed)
    targets.add("page, bundle, packed", f"{bundle / 1000:.0f} KB", f"at most {BUNDLE_BYTES_MAX // 1000} KB",
                0 < bundle <= BUNDLE_BYTES_MAX)
