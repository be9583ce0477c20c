/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/listener.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/address.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_dir.h"

static struct options options_for(char *first, char *second) {
    struct options options = {.backlog = 16, .port = 0};
    options.listen.item[0] = first;
    options.listen.item[1] = second;
    options.listen.count = second != NULL ? 2 : 1;
    return options;
}

static void expect_address(const struct listeners *listeners, unsigned at, const char *begin) {
    char text[ADDRESS_TEXT];
    assert_true(at < listeners->count);
    address_print_own(text, listeners->fd[at]);
    assert_memory_equal(text, begin, strlen(begin));
}

static void test_addresses(void **state) {
    (void)state;
    struct options options = options_for((char[]){"127.0.0.1:0"}, (char[]){"[::1]:0"});
    struct listeners listeners;
    assert_ok(listeners_open(&listeners, &options, NULL));
    assert_int_equal(listeners.count, 2);
    expect_address(&listeners, 0, "tcp:127.0.0.1:");
    expect_address(&listeners, 1, "tcp6:[::1]:");
    listeners_close(&listeners);
    assert_int_equal(listeners.count, 0);
}

static void test_bad_addresses(void **state) {
    (void)state;
    static char *const bad[] = {"",       ":0",     "127.0.0.1:",     "192.0.2.1:0",
                                "[::1",   "[::1]x", "127.0.0.1:http", "256.1.1.1:0"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct options options = options_for((char[]){"127.0.0.1:0"}, bad[i]);
        struct listeners listeners;
        options.port = 1;
        assert_status(listeners_open(&listeners, &options, NULL), ST_INVALID);
        assert_int_equal(listeners.count, 0);
    }
}

static void test_busy_port(void **state) {
    (void)state;
    struct options options = options_for((char[]){"127.0.0.1:0"}, NULL);
    struct listeners first, second;
    char address[ADDRESS_TEXT];
    assert_ok(listeners_open(&first, &options, NULL));
    address_print_own(address, first.fd[0]);
    options = options_for(address + strlen("tcp:"), NULL);
    assert_status(listeners_open(&second, &options, NULL), ST_BUSY);
    listeners_close(&first);
}

/* Without a port of its own an address is left out with -p 0. */
static void test_port_zero(void **state) {
    (void)state;
    struct options options = options_for((char[]){"127.0.0.1"}, (char[]){"::1"});
    struct listeners listeners;
    assert_ok(listeners_open(&listeners, &options, NULL));
    assert_int_equal(listeners.count, 0);
    listeners_close(&listeners);
}

static void test_unix_socket(void **state) {
    (void)state;
    struct test_dir dir;
    struct listeners first, second;
    struct stat st;
    char path[500];
    test_dir_make(&dir);
    snprintf(path, sizeof path, "%s/socket", dir.path);
    struct options options = options_for((char[]){"127.0.0.1:0"}, NULL);
    options.socket_path = path;
    options.socket_mask = (char[]){"640"};
    assert_ok(listeners_open(&first, &options, NULL));
    assert_int_equal(first.count, 1);
    expect_address(&first, 0, "unix:/");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_status(listeners_open(&second, &options, NULL), ST_BUSY);
    assert_int_equal(stat(path, &st), 0);

    /* The process dies without removing the file: the next one does. */
    assert_int_equal(close(first.fd[0]), 0);
    assert_ok(listeners_open(&second, &options, NULL));
    listeners_close(&second);
    assert_int_equal(stat(path, &st), -1);
    test_dir_remove(&dir);
}

static void test_unix_path_is_something_else(void **state) {
    (void)state;
    struct test_dir dir;
    struct listeners listeners;
    struct stat st;
    char path[500];
    test_dir_make(&dir);
    struct options options = options_for((char[]){"127.0.0.1:0"}, NULL);
    options.socket_path = path;
    options.socket_mask = (char[]){"700"};
    snprintf(path, sizeof path, "%s", dir.path);
    assert_status(listeners_open(&listeners, &options, NULL), ST_INVALID);
    assert_int_equal(stat(path, &st), 0);
    snprintf(path, sizeof path, "%s/%0150d", dir.path, 0);
    assert_status(listeners_open(&listeners, &options, NULL), ST_INVALID);
    snprintf(path, sizeof path, "%s/socket", dir.path);
    options.socket_mask = (char[]){"9"};
    assert_status(listeners_open(&listeners, &options, NULL), ST_INVALID);
    test_dir_remove(&dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_bad_addresses),
        cmocka_unit_test(test_busy_port),
        cmocka_unit_test(test_port_zero),
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_unix_path_is_something_else),
    };
    return cmocka_run_group_tests_name("listener", tests, NULL, NULL);
}
