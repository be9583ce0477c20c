# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the results, as small SVG files, by gnuplot."""

import os
import shutil
import subprocess
import sys

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44")
HEAD = """set terminal svg size 640,360 font "sans,11" background "white"
set output "{path}"
set title "{title}"
set ylabel "{unit}"
set grid ytics lc rgb "#dddddd"
set border 3
set tics nomirror
set key top left
"""


def _gnuplot(script):
    done = subprocess.run(["gnuplot"], input=script, text=True, check=False)
    return done.returncode == 0


def _block(rows):
    return "\n".join(" ".join(f'"{cell}"' if isinstance(cell, str) else f"{cell:g}" for cell in row) for row in rows)


def bars(path, title, unit, results, tests, figure):
    """A group of bars for each test, a bar for each server."""
    labels = list(results.data[tests[0]])
    rows = [[test] + [results.median(test, label, figure) for label in labels] for test in tests]
    plots = ", ".join(f"$data using {i + 2}:xtic(1) title '{label}' lc rgb '{COLOURS[i % len(COLOURS)]}'"
                      for i, label in enumerate(labels))
    return _gnuplot(f"$data << EOD\n{_block(rows)}\nEOD\n" + HEAD.format(path=path, title=title, unit=unit) +
                    "set style data histogram\nset style fill solid\nset yrange [0:*]\n"
                    "set boxwidth 0.9\nset key top right\nplot " + plots + "\n")


def lines(path, title, unit, results, tests, figure):
    """A line for each server over the tests [(x, test)], x logarithmic."""
    labels = list(results.data[tests[0][1]])
    rows = [[x] + [results.median(test, label, figure) for label in labels] for x, test in tests]
    plots = ", ".join(f"$data using 1:{i + 2} with linespoints title '{label}' lw 2 lc rgb '{COLOURS[i % len(COLOURS)]}'"
                      for i, label in enumerate(labels))
    return _gnuplot(f"$data << EOD\n{_block(rows)}\nEOD\n" + HEAD.format(path=path, title=title, unit=unit) +
                    "set logscale x\nset yrange [0:*]\nset xlabel 'connections'\nset key bottom right\nplot " + plots +
                    "\n")


def percentiles(path, title, results, test):
    """Latency by percentile, the rounds of each server one behind the other in the same line style."""
    blocks, plots = "", []
    for i, (label, rounds) in enumerate(results.data[test].items()):
        middle = sorted(rounds, key=lambda figures: figures["p99_us"])[len(rounds) // 2]
        rows = [[1 / (1 - percent / 100), micros] for percent, micros in middle["percentiles_us"]
                if 50 <= percent < 99.995]
        blocks += f"$d{i} << EOD\n{_block(rows)}\nEOD\n"
        plots.append(f"$d{i} with linespoints title '{label}' lw 2 lc rgb '{COLOURS[i % len(COLOURS)]}'")
    return _gnuplot(blocks + HEAD.format(path=path, title=title, unit="microseconds") +
                    "set logscale xy\nset xtics ('50 %%' 2, '90 %%' 10, '99 %%' 100, '99.9 %%' 1000, '99.99 %%' 10000)\n"
                    .replace("%%", "%") + "plot " + ", ".join(plots) + "\n")


def draw(directory, context):
    """[(file name, title)] of the plots made; none where gnuplot is not installed."""
    if not shutil.which("gnuplot"):
        print("gnuplot is not installed: no plots", file=sys.stderr)
        return []
    os.makedirs(directory, exist_ok=True)
    speed = context.results["speed"][2]
    numbers = context.results["connections"][2]
    rate = context.results["latency"][2]
    tests = [f"{operation} {depth} deep" for operation in ("GET", "SET") for depth in (1, 16, 32)]
    made = []

    def add(name, title, draw_it):
        if draw_it(os.path.join(directory, name), title):
            made.append((name, title))
    add("cpu.svg", "Server CPU for a request", lambda path, title:
        bars(path, title, "microseconds", speed, tests, "server_cpu_us"))
    add("speed.svg", "Requests a second", lambda path, title:
        bars(path, title, "requests/s", speed, tests, "requests_per_s"))
    for operation in ("GET", "SET"):
        points = [(int(test.split(", ")[1]), test) for test in numbers.data
                  if test.startswith(operation + ", ") and test.count(",") == 1]
        add(f"connections-{operation.lower()}.svg", f"{operation}, depth 1, by number of connections",
            lambda path, title, points=points: lines(path, title, "requests/s", numbers, points, "requests_per_s"))
        add(f"latency-{operation.lower()}.svg", f"Latency of {operation} at half of the highest speed",
            lambda path, title, operation=operation: percentiles(path, title, rate, f"{operation} at half speed"))
    return made
