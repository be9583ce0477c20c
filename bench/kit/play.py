# SPDX-License-Identifier: BSD-3-Clause
"""Plays a scenario against servers, and lays out what came out beside what was published."""

import textwrap

from kit import generator, machine, published, scenarios, servers, table


def play(arguments, name, scale, rounds, kinds):
    """Starts the servers itself, in turn.  Returns the Results."""
    scenario = scenarios.SCENARIOS[name]
    entrants = servers.entrants_of(kinds, scenario.memory(scale))
    return generator.in_turn(arguments, entrants, rounds, lambda session: scenario.test(session, scale),
                             device="device" in scenario.columns)


def play_running(arguments, name, scale, rounds, server, label):
    """Against a server that runs already."""
    results = generator.Results()
    for _ in range(rounds):
        scenarios.SCENARIOS[name].test(generator.Session(arguments, server, label, results), scale)
    return results


def _paragraph(title, text):
    return textwrap.fill(text, 118, initial_indent=f"  {title:10}", subsequent_indent=" " * 12)


def head(name, scale, day=None, where=None):
    """What was published, and what is measured here, before the table."""
    record = published.PUBLISHED[name]
    lines = [f"{name}: {record['title']}",
             _paragraph("published", f"{record['date']}; {record['hardware']}"),
             _paragraph("measured", f"{day or machine.today()}; {where or machine.short()}; client and server on one "
                        f"machine; scale {scale:g}"),
             _paragraph("", "Other machines, other versions: not like for like.")]
    return "\n".join(lines + [_paragraph("", note) for note in record["notes"]])


def lay_out(name, scale, results, day=None, where=None):
    scenario = scenarios.SCENARIOS[name]
    figures = published.PUBLISHED[name]["figures"]
    return "\n".join([head(name, scale, day, where), "",
                      table.of_results(results, scenario.columns, figures, scenario.best),
                      table.closing(results, scenario.best)])
