# SPDX-License-Identifier: BSD-3-Clause
"""Results as text for people."""

import statistics


def grouped(value, decimals=0):
    return f"{value:,.{decimals}f}"


def _number(figure, decimals=0, divisor=1.0):
    def cell(rounds, _):
        values = [figures[figure] for figures in rounds if figures.get(figure) is not None]
        return grouped(statistics.median(values) / divisor, decimals) if values else "-"
    return cell


def _ratio(figure):
    def cell(rounds, first):
        values = [[figures[figure] for figures in some if figures.get(figure) is not None] for some in (rounds, first)]
        if not values[0] or not values[1] or not statistics.median(values[1]):
            return "-"
        return f"{statistics.median(values[0]) / statistics.median(values[1]):.2f}"
    return cell


def _hits(rounds, _):
    shares = [100 * figures["hits"] / keys for figures in rounds if (keys := figures["hits"] + figures["misses"])]
    return f"{statistics.median(shares):.1f}" if shares else "-"


def _spread(rounds, _):
    """Half the distance of the extremes, in percent of the median."""
    values = [figures["server_cpu_us"] for figures in rounds if figures.get("server_cpu_us")]
    return f"{100 * (max(values) - min(values)) / 2 / statistics.median(values):.0f} %" if values else "-"


# Title and how a cell is made of the rounds of a server and of the first server.
COLUMNS = {
    "speed": [("requests/s", _number("requests_per_s")), ("ratio", _ratio("requests_per_s"))],
    "keys": [("keys/s", _number("keys_per_s")), ("ratio", _ratio("keys_per_s"))],
    "cpu": [("CPU us", _number("server_cpu_us", 2)), ("ratio", _ratio("server_cpu_us"))],
    "split": [("user", _number("server_user_us", 2)), ("system", _number("server_system_us", 2))],
    "latency": [("p50 us", _number("p50_us")), ("p99", _number("p99_us")), ("p99.9", _number("p999_us"))],
    "tail": [("p99 us", _number("p99_us")), ("p99.9", _number("p999_us"))],
    "memory": [("RSS MB", _number("server_resident", 0, 1e6))],
    "device": [("device MB", _number("device_written", 0, 1e6))],
    "hits": [("hits %", _hits)],
    "seconds": [("seconds", _number("unit_seconds", 6)), ("ratio", _ratio("unit_seconds"))],
    "spread": [("spread", _spread)],
}
USUAL = ("speed", "cpu", "split", "latency", "memory", "device", "spread")


def lay_out(rows):
    """Rows of texts in columns: the first two to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if i < 2 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def of_results(results, columns=USUAL, published=None, best=False):
    """A line for each test and server; `published` figures {test: {server: text}} stand beside them, those of servers
    that were not measured on lines of their own.  best: of the rounds, the fastest, not the median."""
    chosen = [column for name in columns for column in COLUMNS[name]]
    rows = [["", ""] + [title for title, _ in chosen] + (["published"] if published else [])]
    for test, by_label in results.data.items():
        figures = {label: [max(rounds, key=lambda one: one["requests_per_s"])] if best else rounds
                   for label, rounds in by_label.items()}
        first = next(iter(figures.values()))
        known = dict((published or {}).get(test, {}))
        name = test
        for label, rounds in figures.items():
            cells = [cell(rounds, first) for _, cell in chosen]
            rows.append([name, label] + cells + ([known.pop(label, "")] if published else []))
            name = ""
        for label, text in known.items():
            rows.append(["", label] + [""] * len(chosen) + [text])
    return lay_out(rows)


def closing(results, best=False):
    """What must be said below a table."""
    rounds = results.rounds()
    return (f"{'best' if best else 'median'} of {rounds} round{'s' if rounds > 1 else ''}; "
            f"{results.unexpected():,.0f} errors, wrong values or unexpected misses")
