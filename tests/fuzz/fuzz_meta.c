/* SPDX-License-Identifier: BSD-3-Clause */
/* A text connection on which every line is a meta command: 'm' stands in front of each, unless it is there. */
#include <stdlib.h>

#include "net/text_parse.h"
#include "src/base/check.h"
#include "tests/fuzz/check_text.h"
#include "tests/fuzz/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char *stream = malloc(2 * n + 1);
    size_t length = 0;
    CHECK(stream != NULL);
    for (size_t i = 0; i < n; i++) {
        if ((i == 0 || data[i - 1] == '\n') && data[i] != 'm') {
            stream[length++] = 'm';
        }
        stream[length++] = (char)data[i];
    }
    client_run(protocol_choose('m'), slice_of(stream, length), TEXT_LINE_MAX, check_text);
    free(stream);
    return 0;
}
