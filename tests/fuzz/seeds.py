#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes what the fuzz targets start from: seeds.py DIR makes DIR/text, DIR/meta and DIR/binary, and a dictionary of
each protocol's words, DIR/text.dict and so on."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from lib import binary as b  # noqa: E402

LONG = b"k" * 250
TEXT = [
    b"get a\r\nget a b c\r\ngets a\r\ngat 10 a b\r\ngats -1 a\n",
    b"set a 5 10 3\r\nabc\r\nadd a 0 0 0\r\n\r\nreplace a 1 1 1 noreply\r\nx\r\n",
    b"append a 0 0 2\r\n\r\n\r\nprepend a 0 0 1\r\nx\r\ncas a 0 0 1 77\r\nx\r\ncas a 0 0 1 7 noreply\r\nx\r\n",
    b"incr n 1\r\ndecr n 18446744073709551615 noreply\r\ntouch a 5\r\ndelete a\r\ndelete a 0 noreply\r\n",
    b"version\r\nverbosity 1\r\nstats\r\nstats items\r\nstats reset\r\nflush_all 5 noreply\r\ncache_memlimit 64\r\n",
    b"lru_crawler metadump all\r\nlru_crawler mgdump all\r\nstats cachedump 1 2\r\nstats detail dump\r\nquit\r\nget a\r\n",
    b"set a 0 0 -1\r\nset a 0 0 4294967299\r\nset a x 0 3\r\nabc\r\nset a 0 0 3\r\nabcdef\r\nget\r\n",
    b"get " + LONG + b" " + LONG + b"k\r\nset " + LONG + b"k 0 0 1\r\nx\r\nget a\r\n",
    b"get " + b" ".join([LONG] * 9) + b"\r\nget" + b" " * 2100 + b"a\r\nset" + b" " * 2100 + b"a\r\n",
    b"set big 0 0 20001\r\n" + b"b" * 20001 + b"\r\nget big\r\n", b"shutdown\r\nshutdown now\r\ndebug clock 5\r\n",
]
META = [
    b"mg a\r\nmg a v s t c f l h k O1 q u\r\nmg a N30 T60 R10 v\r\nmg a E5 C7 v\r\nmn\r\nme a\r\n",
    b"ms a 3\r\nabc\r\nms a 2 T9 F5 c k s O12 q\r\nhi\r\nms a 1 C5 I ME E9\r\nx\r\nms a 0 MA N60\r\n\r\n",
    b"md a\r\nmd a q k I T30 C9 x F4 E3 O1\r\nma a\r\nma a N60 J13 D5 MD v t c k q\r\nma a M+ T0 C2 E3\r\n",
    b"mg Zm9v b k\r\nms DQogAA== 1 b\r\nx\r\nmg Zm9 b\r\nme Zm9v b\r\nmd Zm9vYg== b k O\r\n",
    b"ms a S5\r\nhello\r\nms a -1\r\nms a x\r\nms a\r\nms a 5 S5\r\nhello\r\nms a 3\r\nabXYmn\r\n",
    b"mg a v v\r\nmg a !\r\nmg a Tx\r\nma a MX\r\nms a 1 MX\r\nx\r\nmg a O" + b"o" * 33 + b"\r\nmx a\r\nmn\r\n",
    b"mg " + LONG + b" k\r\nmg " + LONG + b"k v\r\nmg " + b"////" * 83 + b"/w== b k O" + b"o" * 32 + b" s t c f l h v\r\n",
]
BINARY = [
    b"".join(b.request(name, b"k") for name in ("get", "getq", "getk", "getkq", "delete", "deleteq")),
    b"".join(b.store(name, b"k", b"value", 5, 100, cas=cas) for cas in (0, 7)
             for name in ("set", "setq", "add", "addq", "replace", "replaceq")),
    b"".join(b.request(name, b"k", value=b"v") for name in ("append", "appendq", "prepend", "prependq")),
    b"".join(b.arith(name, b"n", 1, 2, exptime, opaque=9) for exptime in (0, b.NEVER_CREATE)
             for name in ("incr", "incrq", "decr", "decrq")),
    b"".join(b.touch(name, b"k", 100) for name in ("touch", "gat", "gatq", "gatk", "gatkq")),
    b.request("noop") + b.request("version") + b.request("verbosity", extras=bytes(4)) + b.request("flush") +
    b.request("flushq", extras=b"\0\0\0\5") + b.request("stat") + b.request("stat", b"detail dump") + b.request("quit"),
    b.request("sasl_list") + b.request(0x77, b"k", b"ee", b"value") + b.request("quitq") + b.request("noop"),
    b.request("get") + b.request("noop"), b.request("get", b"k", magic=0x81), b.request("get", LONG + b"k"),
    b.request("getk", LONG) + b.store("set", b"a b\r\n\0", b"\x80" * 20001) + b.request("noop"),
]
DICTIONARY = {
    "text": [b"get ", b"gets ", b"gat ", b"gats ", b"set ", b"add ", b"replace ", b"append ", b"prepend ", b"cas ",
             b"incr ", b"decr ", b"delete ", b"touch ", b"stats ", b"flush_all ", b"version", b"verbosity ", b"quit",
             b"lru_crawler metadump all", b"cache_memlimit ", b"shutdown", b"debug ", b" noreply", b" 0 0 1\r\nx\r\n",
             b"\r\n", b" -1", b" 4294967295", b" 18446744073709551615", b" 2147483645"],
    "meta": [b"mg ", b"ms ", b"md ", b"ma ", b"me ", b"mn\r\n", b" 1\r\nx\r\n", b"\r\n", b" b", b" k", b" O", b" q", b" v",
             b" T-1", b" N30", b" R30", b" C1", b" E1", b" F1", b" ME", b" MA", b" MD", b" J1", b" D1", b" I", b" x",
             b" S1", b"Zm9v", b"==", b" c", b" s", b" t", b" f", b" l", b" h", b" u", b" L", b" P"],
    "binary": [b"\x80", *(b"\x80" + bytes([code]) for code in b.OPCODES.values()), b"\0\0\0\4", b"\0\0\0\x08",
               b"\xff\xff\xff\xff"],
}


def main():
    top = sys.argv[1]
    for name, seeds in (("text", TEXT), ("meta", META), ("binary", BINARY)):
        os.makedirs(os.path.join(top, name), exist_ok=True)
        for number, seed in enumerate(seeds):
            with open(os.path.join(top, name, f"seed{number}"), "wb") as file:
                file.write(seed)
        with open(os.path.join(top, name + ".dict"), "w", encoding="ascii") as file:
            file.writelines('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in DICTIONARY[name])


if __name__ == "__main__":
    main()
