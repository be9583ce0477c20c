#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Shows that every linter accepts a good tree and refuses a bad one, rule by rule."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
C = "/* SPDX-License-Identifier: BSD-3-Clause */\n"
HEADER = C + "/* %s: a sample. */\n#ifndef %s\n#define %s\n\n#endif\n"


def header(name, guard):
    return HEADER % (name, guard, guard)


GOOD = {
    "Makefile": "# SPDX-License-Identifier: BSD-3-Clause\nall:\n\ttrue\n",
    ".gitignore": "/build/\n",
    "src/main.c": C + '#include "src/server.h"\n\nint main(void) {\n    return 0;\n}\n',
    "src/server.h": header("server", "COFFER_SERVER_H"),
    "src/server.c": C + '#include "src/server.h"\n\n#include "net/net.h"\n#include "storage/log.h"\n',
    "src/base/hash.h": header("hash", "COFFER_BASE_HASH_H"),
    "src/base/hash.c": C + '#include "src/base/hash.h"\n\n#include <xxhash.h>\n\n#include "src/tbl/rows.h"\n',
    "src/tbl/rows.h": C + "/* Rows. */\n#define ROWS(X) X(1)\n",
    "src/cmd/command.h": header("command", "COFFER_CMD_COMMAND_H"),
    "src/cmd/command.c": C + '#include "src/cmd/command.h"\n\n#include "storage/store.h"\n',
    "storage/store.h": header("store", "COFFER_STORAGE_STORE_H"),
    "storage/log.h": header("log", "COFFER_STORAGE_LOG_H"),
    "storage/tree.c": C + '#include <lmdb.h>\n\n#include "src/base/hash.h"\n',
    "storage/tree_scan.c": C + "#include <lmdb.h>\n",
    "storage/deflate.c": C + "#include <zlib.h>\n",
    "net/net.h": header("net", "COFFER_NET_NET_H"),
    "net/loop.c": C + '#include <event2/event.h>\n\n#include "net/net.h"\n#include "src/cmd/command.h"\n',
    "tests/unit/test_log.c": C + '#include <cmocka.h>\n\n#include "storage/log.h"\n',
    "tests/lib/__init__.py": "",
    "scripts/tool": "#!/bin/sh\n# SPDX-License-Identifier: BSD-3-Clause\ntrue\n",
}
LONG_BODY = "    f();\n" * 79
# linter, file, its text, what the linter must say
BAD = [
    ("includes", "src/base/a.c", C + '#include "storage/store.h"\n', "must not be included"),
    ("includes", "src/tbl/a.h", C + '/* A. */\n#include "src/base/hash.h"\n', "must not be included"),
    ("includes", "storage/a.c", C + '#include "src/cmd/command.h"\n', "must not be included"),
    ("includes", "storage/a.c", C + '#include "net/net.h"\n', "must not be included"),
    ("includes", "src/cmd/a.c", C + '#include "net/net.h"\n', "must not be included"),
    ("includes", "src/cmd/a.c", C + '#include "storage/log.h"\n', "must not be included"),
    ("includes", "net/a.c", C + '#include "storage/log.h"\n', "must not be included"),
    ("includes", "net/a.c", C + '#include "src/server.h"\n', "must not be included"),
    ("includes", "src/main.c", C + '#include "storage/store.h"\n', "must not be included"),
    ("includes", "net/a.c", C + '#include "net.h"\n', "written from the top"),
    ("includes", "storage/a.c", C + "#include <lmdb.h>\n", "may include <lmdb.h>"),
    ("includes", "storage/treehouse.c", C + "#include <lmdb.h>\n", "may include <lmdb.h>"),
    ("includes", "net/a.c", C + "# include <zlib.h>\n", "may include <zlib.h>"),
    ("includes", "net/a.c", C + "#include <event2/buffer.h>\n", "may include <event2/buffer.h>"),
    ("includes", "storage/a.c", C + "#include <xxhash.h>\n", "may include <xxhash.h>"),
    ("text", "net/a.c", "int a;\n", "licence"),
    ("text", "scripts/a", "#!/bin/sh\ntrue\n", "licence"),
    ("text", "tests/a.py", "import os\n", "licence"),
    ("text", "net/a.c", C + "int a; // TO" "DO\n", "unfinished"),
    ("text", "README.md", "FIX" "ME\n", "unfinished"),
    ("text", "Makefile", "# SPDX-License-Identifier: BSD-3-Clause\n# XX" "X\n", "unfinished"),
    ("text", "net/a.c", C + "int a; \n", "blanks at the end"),
    ("text", "net/a.c", C + "int a;\r\n", "blanks at the end"),
    ("text", "net/a.c", C + "int\ta;\n", "a tab"),
    ("text", "net/a.c", C + "int a;", "end with one line end"),
    ("text", "net/a.c", C + "int a;\n\n", "end with one line end"),
    ("text", "net/a.c", C + "int " + "a" * 120 + ";\n", "columns"),
    ("shape", "net/a.c", C + "\n" * 800, "two modules"),
    ("shape", "net/a.c", C + "int long_one(void) {\n" + LONG_BODY + "}\n", "long_one has 81 lines"),
    ("shape", "net/a.c", C + "int two(int a,\n        int b) {\n" + LONG_BODY + "}\n", "two has 82 lines"),
    ("shape", "net/a.c", C + "int f(void) {\n#ifdef A\n    g();\n#endif\n}\n", "preprocessor inside f"),
    ("headers", "net/a.h", C + "#ifndef COFFER_NET_A_H\n#define COFFER_NET_A_H\n#endif\n", "second line"),
    ("headers", "net/a.h", C + "/* a: it. */\nint a(void);\n", "guarded by COFFER_NET_A_H"),
    ("headers", "net/a.h", header("a", "COFFER_NET_B_H"), "guarded by COFFER_NET_A_H"),
    ("headers", "src/tbl/a.h", C + "#define A(X)\n", "second line"),
    ("names", "NOTES.txt", "\n", "top level"),
    ("names", "doc/a.md", "\n", "top level"),
]


def run(linter, tree):
    """(exit status, output) of one linter on a tree given as path -> text."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            whole = os.path.join(root, path)
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "w", newline="") as file:
                file.write(text)
        command = [sys.executable, "-B", os.path.join(HERE, linter + ".py"), root]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout


def main():
    wrong = 0
    for linter in sorted({row[0] for row in BAD}):
        status, output = run(linter, GOOD)
        if status != 0:
            wrong += 1
            print(f"selftest: {linter} refuses a good tree:\n{output}", end="")
    for linter, path, text, message in BAD:
        status, output = run(linter, {**GOOD, path: text})
        if status != 1 or message not in output or path.split("/")[0] not in output:
            wrong += 1
            print(f"selftest: {linter} does not say '{message}' about {path}:\n{text[:200]}\n{output}", end="")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
