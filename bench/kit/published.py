# SPDX-License-Identifier: BSD-3-Clause
"""The figures of public tests as they were published, with their date and hardware: a memory of the field, not
like-for-like numbers.

Of each: title, date, where it was measured, what it was criticised for, and figures {test: {server: text}} under the
names that the scenarios give their tests."""

TIM_YANG = {
    "title": 'Tim Yang, "MemcacheDB, Tokyo Tyrant, Redis performance test"',
    "date": "August 2009 (16 threads), November 2009 (50 threads)",
    "hardware": "two machines on a LAN, 2 x Xeon E5410 2.33 GHz, 8 GB, SCSI disk; Java client; memcached 1.2.8, "
                "memcachedb 1.2.1-beta (BDB 4.7, -N), Tokyo Tyrant 1.1.9 (hash), Redis 0.900",
    "notes": ["Criticised for: no response times, no CPU, data that stay in the page cache, sync settings unlike each "
              "other, an order of keys that was not told."],
}

PUBLISHED = {
    "tim-yang-100b": {
        **TIM_YANG,
        "figures": {
            "write, 16 clients": {"memcached": "55,989", "redis": "85,765", "MemcacheDB": "25,583",
                                  "Tokyo Tyrant": "42,988"},
            "read, 16 clients": {"memcached": "50,974", "redis": "71,708", "MemcacheDB": "35,260",
                                 "Tokyo Tyrant": "46,238"},
            "write, 50 clients": {"memcached": "103,242", "MemcacheDB": "32,985", "Tokyo Tyrant": "54,189"},
            "read, 50 clients": {"memcached": "106,102", "MemcacheDB": "59,178", "Tokyo Tyrant": "73,384"},
        },
    },
    "tim-yang-20k": {
        **TIM_YANG,
        "date": "August 2009",
        "figures": {
            "write, 16 clients": {"redis": "1,542", "MemcacheDB": "357", "Tokyo Tyrant": "3,501"},
            "read, 16 clients": {"redis": "957", "MemcacheDB": "327", "Tokyo Tyrant": "257"},
        },
    },
    "antirez-clients": {
        "title": 'antirez, "On Redis, Memcached, Speed, Benchmarks and The Toilet"',
        "date": "September 2010",
        "hardware": "one idle Linux box, Core 2 Quad Q8300 2.5 GHz, client and server on it",
        "notes": ["Published as plots: equal with one client, Redis ahead with many.  The CPU figures are seconds of "
                  "user + system time for a million requests, so microseconds for one."],
        "figures": {
            "CPU, 50 clients": {"memcached": "8.64 + 19.37", "redis": "8.95 + 20.59"},
        },
    },
    "toilet-sizes": {
        "title": 'sys/toilet, "Redis vs Memcached"',
        "date": "August 2010",
        "hardware": "not told; Redis 2.0.0rc4, memcached 1.4.5, one client in a loop",
        "notes": ["Published as plots: Redis 20-26 % slower than memcached; multi-get of very many keys quadratic in "
                  "Redis (fixed after); memcached fell to a hundredth over 8 KB values.",
                  "Criticised for: one client in a loop measures round trips and the client's library."],
        "figures": {},
    },
    "php-100k": {
        "title": '"Compare performance Redis | Memcache | Memcached" (a PHP loop, one client)',
        "date": "2012",
        "hardware": "i5-3570K, Ubuntu 12.04; Redis 2.5.10, memcached 1.4.13 with libmemcached's client",
        "notes": ["Seconds.  What was a multi set there (MSET, setMulti) is 1,000 sets at once here, or 100 where only "
                  "100 are set."],
        "figures": {
            "set 100,000": {"memcached": "1.806", "redis": "1.766"},
            "get existing": {"memcached": "1.447", "redis": "1.560"},
            "get missing": {"memcached": "1.336", "redis": "1.519"},
            "multi set 100,000": {"memcached": "1.468", "redis": "0.0999"},
            "multi get 100,000": {"memcached": "0.328", "redis": "4.645"},
            "md5 keys: multi set 100,000": {"memcached": "1.472", "redis": "0.109"},
            "md5 keys: multi get 100,000": {"memcached": "0.845", "redis": "19.23"},
            "random keys: multi set 100,000": {"memcached": "0.949", "redis": "0.0608"},
            "random keys: multi get 100,000": {"memcached": "0.319", "redis": "4.886"},
            "multi set 1,000": {"memcached": "0.0151", "redis": "0.00089"},
            "multi get 1,000": {"memcached": "0.00080", "redis": "0.00096"},
            "multi set 100": {"memcached": "0.00208", "redis": "0.000185"},
            "multi get 100": {"memcached": "0.000111", "redis": "0.000115"},
            "delete 100,000": {"memcached": "1.559", "redis": "1.837"},
        },
    },
    "memurai-pipeline": {
        "title": "Memurai, performance comparison with Redis",
        "date": "not told",
        "hardware": "two bare-metal machines of one data centre; redis-benchmark, 50 clients, 200,000 requests, median "
                    "of 300 repetitions",
        "notes": ["Published as plots: equal at depth 1, ahead of Redis by a few percent at depth 16."],
        "figures": {},
    },
    "pipeline-depth": {
        "title": 'antirez, "Why we don\'t have benchmarks comparing Redis with other DBs"',
        "date": "January 2015",
        "hardware": "m3.medium of Amazon, one core, 100-byte values",
        "notes": ["Unpipelined about 3 s of system time against 1.5 s of user time in ten seconds: every server "
                  "measures the kernel and the network."],
        "figures": {
            "GET 1 deep": {"redis": "32,000"},
            "GET 4 deep": {"redis": "100,000"},
            "GET 8 deep": {"redis": "180,000"},
            "GET 32 deep": {"redis": "250,000"},
        },
    },
    "cold": {
        "title": "the first objection to the test of 2009: small data stay in the page cache",
        "date": "2009, comments",
        "hardware": "no figures were given",
        "notes": ["Twice the server's memory is written; what has files is restarted with none of them in the page "
                  "cache; then the oldest keys are read first.  memcached forgets instead: see its hits."],
        "figures": {},
    },
    "random-overwrite": {
        "title": "the second objection to the test of 2009: overwrite in random order",
        "date": "2009, comments",
        "hardware": "no figures were given",
        "notes": ["There, writes were expected to fall to the speed of reads from disk."],
        "figures": {},
    },
}
