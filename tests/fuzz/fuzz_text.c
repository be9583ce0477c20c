/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/text_parse.h"
#include "tests/fuzz/check_text.h"
#include "tests/fuzz/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    client_run(protocol_choose('\0'), slice_of((const char *)data, n), TEXT_LINE_MAX, check_text);
    return 0;
}
