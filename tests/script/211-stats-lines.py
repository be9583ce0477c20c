# SPDX-License-Identifier: BSD-3-Clause
"""What monitoring reads (memcached_exporter, telegraf, collectd, munin): every line is `STAT name value` with one
word for the value, the fields are there and are numbers, `stats` fits in 4 KB."""

import re

from lib.checks import connect, ensure, serving

GENERAL = """pid uptime time version pointer_size rusage_user rusage_system max_connections curr_connections
    total_connections rejected_connections connection_structures cmd_get cmd_set cmd_flush cmd_touch get_hits
    get_misses delete_hits delete_misses incr_hits incr_misses decr_hits decr_misses cas_hits cas_misses cas_badval
    touch_hits touch_misses auth_cmds auth_errors bytes_read bytes_written limit_maxbytes accepting_conns
    listen_disabled_num threads conn_yields bytes curr_items total_items evictions reclaimed expired_unfetched
    evicted_unfetched store_too_large store_no_memory lru_crawler_starts direct_reclaims crawler_items_checked
    crawler_reclaimed moves_to_cold moves_to_warm moves_within_lru total_malloced hash_power_level hash_bytes
    hash_is_expanding""".split()
SETTINGS = """maxbytes maxconns tcpport udpport inter verbosity domain_socket umask growth_factor chunk_size
    num_threads reqs_per_event cas_enabled tcp_backlog item_size_max evictions flush_enabled""".split()
ITEMS = """number age evicted evicted_nonzero evicted_time outofmemory tailrepairs reclaimed expired_unfetched
    evicted_unfetched crawler_reclaimed number_hot number_warm number_cold age_hot age_warm mem_requested moves_to_cold
    moves_to_warm moves_within_lru direct_reclaims hits_to_hot hits_to_warm hits_to_cold hits_to_temp""".split()
SLABS = """chunk_size chunks_per_page total_pages total_chunks used_chunks free_chunks free_chunks_end get_hits
    cmd_set delete_hits incr_hits decr_hits cas_hits cas_badval touch_hits""".split()
GROUPS = ["", "settings", "items", "slabs", "sizes", "conns", "persist"]


def read_group(wire, group):
    """The raw reply, checked line by line."""
    wire.send(f"stats {group}".rstrip().encode() + b"\r\n")
    lines = []
    while True:
        line = wire.line().decode("latin-1")
        lines.append(line)
        if line == "END":
            return lines
        ensure(re.fullmatch(r"STAT [!-~]+ [!-~]+", line) or group == "conns" and re.fullmatch(r"STAT \S+ .+", line),
               f"`stats {group}`: not a name and one word: {line!r}")


def fields(lines):
    return dict(line.split(" ", 2)[1:] for line in lines[:-1])


def number(text):
    return re.fullmatch(r"-?\d+(\.\d+)?", text)


def check_general(found, lines):
    for name in GENERAL:
        ensure(name in found, f"`stats` lacks {name}")
    for name, value in found.items():
        ensure(number(value) or name in ("version", "libevent"), f"`stats`: {name} is no number: {value}")
        ensure(":" not in name, f"`stats`: a colon in {name} is taken for a slab")
    ensure(re.fullmatch(r"\d+\.\d+\.\d+", found["version"]), f"version {found['version']}")
    for name in ("rusage_user", "rusage_system"):
        ensure(re.fullmatch(r"\d+\.\d{6}", found[name]), f"{name} {found[name]}")
    ensure(int(found["limit_maxbytes"]) > 0, "limit_maxbytes is 0")
    ensure(int(found["bytes"]) <= int(found["limit_maxbytes"]), "bytes exceeds limit_maxbytes")
    ensure("extstore_limit_maxbytes" not in found, "extstore_limit_maxbytes without the rest of extstore_*")
    size = sum(len(line) + 2 for line in lines)
    ensure(size < 4096, f"`stats` has {size} bytes; collectd reads 4096")


def check_classes(items, slabs):
    ensure({name.split(":")[1] for name in items} and all(name.startswith("items:") for name in items),
           "`stats items` has other lines than items:N:name")
    for name in ITEMS:
        ensure(f"items:1:{name}" in items, f"`stats items` lacks items:1:{name}")
    for name in SLABS:
        ensure(f"1:{name}" in slabs, f"`stats slabs` lacks 1:{name}")
    loose = {name for name in slabs if ":" not in name}
    ensure(loose == {"active_slabs", "total_malloced"}, f"`stats slabs`: lines without a class: {loose}")
    for name, value in list(items.items()) + list(slabs.items()):
        ensure(number(value), f"{name} is no number: {value}")


def test(binary):
    with serving(binary) as server:
        wire = connect(server)
        for i in range(50):
            wire.store(b"k%d" % i, b"x" * (1 << i % 16), 0, i)
        wire.get(b"k3")
        groups = {group: read_group(wire, group) for group in GROUPS}
        found = {group: fields(lines) for group, lines in groups.items() if group != "conns"}
        check_general(found[""], groups[""])
        for name in SETTINGS:
            ensure(name in found["settings"], f"`stats settings` lacks {name}")
        if found["settings"].get("lru_crawler") == "yes":
            for name in "lru_crawler_sleep lru_crawler_tocrawl lru_maintainer_thread hot_lru_pct warm_lru_pct " \
                        "hot_max_factor warm_max_factor".split():
                ensure(name in found["settings"], f"`stats settings` lacks {name} though lru_crawler is yes")
        check_classes(found["items"], found["slabs"])
        ensure(found["sizes"] == {"sizes_status": "disabled"}, f"`stats sizes`: {found['sizes']}")
        ensure(len(found["persist"]) > 5, "`stats persist` tells nothing")
        ensure(wire.ask(b"stats reset") == b"RESET", "`stats reset`")
        # munin and others end a line by LF alone, or leave a space behind `stats`.
        for ask in (b"stats\n", b"stats \r\n"):
            wire.send(ask)
            while wire.line() != b"END":
                pass
