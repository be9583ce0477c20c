# SPDX-License-Identifier: BSD-3-Clause
"""The report of a run with, at its end, a table of the clients and what each showed."""

import json

from conversation import COMMANDS
from lib.runner import Report

HEADS = {"replace": "repl", "append": "app", "prepend": "pre", "delete": "del", "big": "500k", "expiry": "exp"}


class Table(Report):
    """least: so many clients have to run, or the whole fails."""

    def __init__(self, names, least=0):
        super().__init__()
        self.names = names
        self.least = least
        self.rows = {}

    def add(self, name, verdict, text, seconds):
        row = {}
        if name in self.names:
            if verdict == "ok":
                text, _, data = text.partition("\n")
                row = json.loads(data)
            self.rows[name] = (verdict, text, row)
        super().add(name, verdict, text, seconds)

    def close(self):
        if self.rows:
            self._show()
        ran = sum(verdict != "skip" for verdict, _, _ in self.rows.values())
        if ran < self.least:
            self.add("enough-clients", "FAIL", f"{ran} clients ran, at least {self.least} have to", 0)
        return super().close()

    def _show(self):
        heads = [HEADS.get(name, name) for name in COMMANDS]
        print("\n" + f"{'client':25} {'version':12} " + " ".join(heads) + "  restart kill -9  reconnects")
        for name in self.names:
            if name not in self.rows:
                continue
            verdict, text, row = self.rows[name]
            if verdict != "ok":
                print(f"{name:25} {'FAILED' if verdict == 'FAIL' else 'skipped: ' + text.splitlines()[0]}")
                continue
            cells = " ".join(("x" if command in row["commands"] else "-").center(len(head))
                             for command, head in zip(COMMANDS, heads))
            kept = f"{row['records']:7} {row['records']:7}  {row['back']}" if "records" in row else ""
            print(f"{name:25} {row['version'][:12]:12} {cells}  {kept}".rstrip())
        print("x shown, - the client has no such command; kept records, all read back; reconnects by itself or "
              "had to be opened anew\n")
