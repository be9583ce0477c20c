/* SPDX-License-Identifier: BSD-3-Clause */
/* coffer-bench: measures memcached-compatible servers and Redis with one mouth.
 *
 * Exit status: 0 when all went well, 1 when a reply was an error or a value wrong or the run could not be
 * done, 2 when the command line makes no sense. */
#include "bench/run.h"
#include "bench/settings.h"

int main(int argc, char **argv) {
    struct settings settings;
    if (settings_parse(&settings, argc, argv) != ST_OK) {
        return 2;
    }
    if (settings.help) {
        settings_help();
        return 0;
    }
    return run(&settings) == ST_OK ? 0 : 1;
}
