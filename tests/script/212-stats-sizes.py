# SPDX-License-Identifier: BSD-3-Clause
"""--track-sizes answers `stats sizes` with a histogram."""

from lib.checks import connect, ensure, serving


def test(binary):
    with serving(binary, "--track-sizes") as server:
        wire = connect(server)
        for i in range(10):
            wire.store(b"k%d" % i, b"x" * 1000)
        sizes = wire.stats("sizes")
        counts = {name: int(value) for name, value in sizes.items() if name.isdigit()}
        ensure(sum(counts.values()) == 10, f"10 items were stored, the histogram says {sizes}")
        ensure(all(900 < int(size) < 1400 for size in counts), f"items of 1000 bytes have the sizes {counts}")
