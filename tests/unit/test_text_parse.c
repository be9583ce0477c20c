/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/text_parse.h"

#include "src/base/buffer.h"
#include "tests/unit/support_feed.h"

static void expect_bytes(const char *input, size_t n, const char *expected) {
    feed_expect(protocol_choose('g'), TEXT_LINE_MAX, input, n, expected);
}

static void expect(const char *input, const char *expected) {
    expect_bytes(input, strlen(input), expected);
}

/* ---- retrieval ---- */

static void test_get(void **state) {
    (void)state;
    expect("get a\r\n", "GET a\n> END\n");
    expect("get a\n", "GET a\n> END\n");
    expect("gets a bb a\r\n", "GET a with-cas\nGET bb with-cas\nGET a with-cas\n> END\n");
    expect("  get   a   b  \r\nget c\r\n", "GET a\nGET b\n> END\nGET c\n> END\n");
    expect("get noreply\r\n", "GET noreply\n> END\n");
    expect("get a\tb c\rd\r\n", "GET a\\09b\nGET c\\0dd\n> END\n");
    expect("get \xa0\xa1 \xc3\xa4 a\x01z\r\n", "GET \\a0\\a1\nGET \\c3\\a4\nGET a\\01z\n> END\n");
    expect_bytes("get a\0b\r\n", 9, "GET a\\00b\n> END\n");
}

static void test_get_and_touch(void **state) {
    (void)state;
    expect("gat 10 a b\r\n", "GET a touch=10\nGET b touch=10\n> END\n");
    expect("gats -1 a\r\n", "GET a touch=-1 with-cas\n> END\n");
    expect("gat x a\r\nget b\r\n", "> CLIENT_ERROR invalid exptime argument\nGET b\n> END\n");
    expect("gat 1.5 a\r\n", "> CLIENT_ERROR invalid exptime argument\n");
    expect("gat 0 a\r\nget a\r\n", "GET a touch=0\n> END\nGET a\n> END\n");
}

static void test_retrieval_without_keys(void **state) {
    (void)state;
    expect("get\r\ngets\r\ngat\r\ngats\r\ngat 10\r\nget \r\ngat 10  \n",
           "> ERROR\n> ERROR\n> ERROR\n> ERROR\n> ERROR\n> ERROR\n> ERROR\n");
    expect("get\tx\r\ngetx a\r\n", "> ERROR\n> ERROR\n");
}

/* One line with every key, as one letter and a length. */
static void keys(struct buffer *line, const char *verb, unsigned count, size_t length) {
    assert_ok(buffer_printf(line, "%s", verb));
    for (unsigned i = 0; i < count; i++) {
        assert_ok(buffer_append(line, " ", 1));
        for (size_t j = 0; j < length; j++) {
            assert_ok(buffer_append(line, "k", 1));
        }
    }
}

static void test_key_lengths(void **state) {
    (void)state;
    struct buffer line;
    buffer_init(&line);
    keys(&line, "get", 1, 250);
    keys(&line, "\r\nget", 2, 250);
    keys(&line, "\nget", 1, 251);
    keys(&line, "\nget a", 1, 251);
    keys(&line, " b\r\ngat 1", 1, 251);
    assert_ok(buffer_printf(&line, "\r\nget z\r\n"));
    expect_bytes(buffer_head(&line), buffer_length(&line),
                 "GET 250xk\n> END\nGET 250xk\nGET 250xk\n> END\n> CLIENT_ERROR bad command line format\n"
                 "> CLIENT_ERROR bad command line format\n> CLIENT_ERROR bad command line format\nGET z\n> END\n");
    buffer_free(&line);
}

static void test_long_multi_get(void **state) {
    (void)state;
    struct buffer line, expected;
    buffer_init(&line);
    buffer_init(&expected);
    keys(&line, "gets", 400, 9);
    assert_ok(buffer_printf(&line, " \r\nversion\r\n"));
    for (unsigned i = 0; i < 400; i++) {
        assert_ok(buffer_printf(&expected, "GET kkkkkkkkk with-cas\n"));
    }
    assert_ok(buffer_printf(&expected, "> END\nVERSION\n%c", 0));
    expect_bytes(buffer_head(&line), buffer_length(&line), buffer_head(&expected));
    buffer_free(&line);
    buffer_free(&expected);
}

static void test_long_key_in_long_multi_get(void **state) {
    (void)state;
    struct buffer line, expected;
    buffer_init(&line);
    buffer_init(&expected);
    keys(&line, "gat 7", 12, 200);
    keys(&line, "", 1, 251);
    keys(&line, "", 3, 9000);
    assert_ok(buffer_printf(&line, "\r\nversion\r\n"));
    for (unsigned i = 0; i < 12; i++) {
        assert_ok(buffer_printf(&expected, "GET 200xk touch=7\n"));
    }
    assert_ok(buffer_printf(&expected, "> CLIENT_ERROR bad command line format\nVERSION\n%c", 0));
    expect_bytes(buffer_head(&line), buffer_length(&line), buffer_head(&expected));
    buffer_free(&line);
    buffer_free(&expected);
}

static void test_endless_blanks(void **state) {
    (void)state;
    struct buffer line;
    buffer_init(&line);
    assert_ok(buffer_printf(&line, "get %5000s a\r\nget %5000s\r\n%5000s get a\r\ngat %5000s 1 a\r\nversion\r\n", "",
                            "", "", ""));
    expect_bytes(buffer_head(&line), buffer_length(&line),
                 "GET a\n> END\n> ERROR\n> CLIENT_ERROR line too long\n> CLIENT_ERROR line too long\nVERSION\n");
    buffer_free(&line);
}

/* ---- storage ---- */

static void test_store(void **state) {
    (void)state;
    expect("set a 1 2 3\r\nabc\r\n", "STORE a set flags=1 exp=2 [abc]\n");
    expect("add a 4294967295 -1 0\n\r\n", "STORE a add flags=4294967295 exp=-1 []\n");
    expect("replace a 0 0 1\r\nx\r\nappend a 0 0 1\r\ny\r\nprepend a 0 0 1\r\nz\r\n",
           "STORE a replace flags=0 exp=0 [x]\nSTORE a append flags=0 exp=0 [y]\nSTORE a prepend flags=0 exp=0 [z]\n");
    expect("cas a 0 9 2 18446744073709551615\r\nhi\r\n", "STORE a set flags=0 exp=9 cas=18446744073709551615 [hi]\n");
    expect("set a 0 2147483648 1\r\nx\r\n", "STORE a set flags=0 exp=2147483648 [x]\n");
    expect("set a 0 0 4\r\n\r\n\r\n\r\n", "STORE a set flags=0 exp=0 [\r\n\r\n]\n");
}

static void test_store_noreply(void **state) {
    (void)state;
    expect("set a 0 0 1 noreply\r\nx\r\n", "STORE a set flags=0 exp=0 noreply [x]\n");
    expect("cas a 0 0 1 7 noreply\r\nx\r\n", "STORE a set flags=0 exp=0 cas=7 noreply [x]\n");
    expect("set a 0 0 1 what\r\nx\r\n", "STORE a set flags=0 exp=0 [x]\n");
}

static void test_bad_data_block(void **state) {
    (void)state;
    expect("set a 0 0 3\r\nabcXXget b\r\n", "STORE a set flags=0 exp=0 [abc] bad\nGET b\n> END\n");
    expect("set a 0 0 3\r\nabc\nget b\r\n", "STORE a set flags=0 exp=0 [abc] bad\n> ERROR\n");
}

static void test_refused_block_is_dropped(void **state) {
    (void)state;
    const char *inputs[] = {
        "set a x 0 3\r\nabc\r\nget a\r\n",          "set a -1 0 3\r\nabc\r\nget a\r\n",
        "set a 4294967296 0 3\r\nabc\r\nget a\r\n", "set a 0 1.5 3\r\nabc\r\nget a\r\n",
        "set a 0 x 3\r\nabc\r\nget a\r\n",          "set a 0 18446744073709551615 3\r\nabc\r\nget a\r\n",
        "cas a 0 0 3 x\r\nabc\r\nget a\r\n",        "cas a 0 0 3 -1\r\nabc\r\nget a\r\n",
    };
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        expect(inputs[i], "> CLIENT_ERROR bad command line format\nGET a\n> END\n");
    }
    expect("set a 0 0 1 noreply x\r\nx\r\nget a\r\n", "> ERROR\nGET a\n> END\n");
}

static void test_refused_block_without_reply(void **state) {
    (void)state;
    expect("set foo 0 1.5 3 noreply\r\nbar\r\nget a\r\n", "GET a\n> END\n");
    expect("cas foo 0 0 3 noreply\r\nbar\r\nget a\r\n", "GET a\n> END\n");
    expect("set foo 0 0 -1 noreply\r\nget a\r\n", "GET a\n> END\n");
}

static void test_length_nobody_can_know(void **state) {
    (void)state;
    const char *inputs[] = {
        "set n 0 0 -1\r\nget a\r\n",         "set n 0 0 4294967299\r\nget a\r\n",
        "set n 0 0 abc\r\nget a\r\n",        "set n 0 0 1.5\r\nget a\r\n",
        "set n 0 0 2147483646\r\nget a\r\n", "set n 0 0 99999999999999999999999\r\nget a\r\n",
        "set n 0 0 +1\r\nget a\r\n",         "set n 0 0 18446744073709551615\r\nget a\r\n",
    };
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        expect(inputs[i], "> CLIENT_ERROR bad command line format\nGET a\n> END\n");
    }
}

static void test_store_key_too_long(void **state) {
    (void)state;
    struct buffer line;
    buffer_init(&line);
    keys(&line, "set", 1, 250);
    assert_ok(buffer_printf(&line, " 0 0 1\r\n1\r\n"));
    keys(&line, "set", 1, 251);
    assert_ok(buffer_printf(&line, " 0 0 1\r\n1\r\n"));
    keys(&line, "set", 1, 251);
    assert_ok(buffer_printf(&line, " 0 0 1 noreply\r\n1\r\nget a\r\n"));
    expect_bytes(buffer_head(&line), buffer_length(&line),
                 "STORE 250xk set flags=0 exp=0 [1]\n> CLIENT_ERROR bad command line format\nGET a\n> END\n");
    buffer_free(&line);
}

/* ---- the rest ---- */

static void test_delete(void **state) {
    (void)state;
    expect("delete a\r\ndelete a noreply\r\ndelete a 0\r\ndelete a 0 noreply\r\n",
           "DELETE a\nDELETE a noreply\nDELETE a\nDELETE a noreply\n");
    expect("delete a 1\r\ndelete a 0 x\r\ndelete a x\r\ndelete a 1 noreply\r\n",
           "> CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\n"
           "> CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\n"
           "> CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\n");
    expect("delete\r\ndelete a b c d\r\n", "> ERROR\n> ERROR\n");
}

static void test_arith(void **state) {
    (void)state;
    expect("incr a 1\r\ndecr a 18446744073709551615 noreply\r\nincr a 1 x\r\n",
           "ARITH a +1\nARITH a -18446744073709551615 noreply\nARITH a +1\n");
    expect("incr a -1\r\nincr a 0.2\r\nincr a 18446744073709551616\r\nincr a x noreply\r\n",
           "> CLIENT_ERROR invalid numeric delta argument\n> CLIENT_ERROR invalid numeric delta argument\n"
           "> CLIENT_ERROR invalid numeric delta argument\n");
    expect("incr\r\nincr a\r\ndecr a 1 x y\r\n", "> ERROR\n> ERROR\n> ERROR\n");
}

static void test_touch(void **state) {
    (void)state;
    expect("touch a 10\r\ntouch a -1 noreply\r\n", "TOUCH a exp=10\nTOUCH a exp=-1 noreply\n");
    expect("touch a x\r\ntouch a 1.5\r\ntouch a\r\ntouch\r\n",
           "> CLIENT_ERROR invalid exptime argument\n> CLIENT_ERROR invalid exptime argument\n> ERROR\n> ERROR\n");
}

static void test_flush(void **state) {
    (void)state;
    expect("flush_all\r\nflush_all 0\r\nflush_all 5\r\nflush_all noreply\r\nflush_all 5 noreply\r\nflush_all -1\r\n",
           "FLUSH\nFLUSH\nFLUSH exp=5\nFLUSH noreply\nFLUSH exp=5 noreply\nFLUSH exp=-1\n");
    expect("flush_all x\r\nflush_all x noreply\r\nflush_all 1 2 3\r\n",
           "> CLIENT_ERROR invalid exptime argument\n> ERROR\n");
}

static void test_administration(void **state) {
    (void)state;
    expect("version\r\nversion x\r\nquit\r\n", "VERSION\nVERSION\nQUIT\n");
    expect("stats\r\nstats items\r\nstats cachedump 1 10\r\nstats \r\n",
           "STATS\nSTATS items\nSTATS cachedump 1 10\nSTATS\n");
    expect("verbosity 1\r\nverbosity 1 noreply\r\nverbosity noreply\r\nverbosity\r\nverbosity foo\r\n",
           "VERBOSITY 1\nVERBOSITY 1 noreply\n> ERROR\n> CLIENT_ERROR bad command line format\n");
    expect("verbosity foo bar x\r\n", "> ERROR\n");
    expect("cache_memlimit 64\r\ncache_memlimit 64 noreply\r\ncache_memlimit x\r\ncache_memlimit\r\n",
           "MEMLIMIT 64\nMEMLIMIT 64 noreply\n> ERROR\n> ERROR\n");
    expect("shutdown\r\nshutdown graceful\r\ndebug clock 5\r\n", "SHUTDOWN\nSHUTDOWN graceful\nDEBUG clock 5\n");
    expect("stats 1 2 3 4 5 6 7 8\r\nstats 1 2 3 4 5 6 7 8 9\r\n", "STATS 1 2 3 4 5 6 7 8\n> ERROR\n");
}

static void test_metadump(void **state) {
    (void)state;
    expect("lru_crawler metadump all\r\nlru_crawler metadump hash\r\nlru_crawler metadump 1\r\n",
           "DUMP\nDUMP\nDUMP\n");
    expect("lru_crawler metadump x\r\nlru_crawler metadump\r\nlru_crawler foo\r\nlru_crawler\r\n",
           "> BADCLASS invalid class id\n> ERROR\n> ERROR\n> ERROR\n");
}

static void test_unknown(void **state) {
    (void)state;
    expect("\r\n\n  \r\nfoo\r\nGET a\r\nmx a v\r\nm\r\nfoo noreply\r\n",
           "> ERROR\n> ERROR\n> ERROR\n> ERROR\n> ERROR\n> ERROR\n> ERROR\n> ERROR\n");
}

static void test_line_too_long(void **state) {
    (void)state;
    struct buffer line;
    buffer_init(&line);
    assert_ok(buffer_printf(&line, "%02047d\r\n%02048d\nset a 0 0 1%2040s\r\n%0100000d\r\nversion\r\n", 0, 0, "", 0));
    expect_bytes(buffer_head(&line), buffer_length(&line),
                 "> ERROR\n> ERROR\n> CLIENT_ERROR line too long\n> CLIENT_ERROR line too long\nVERSION\n");
    buffer_free(&line);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_get_and_touch),
        cmocka_unit_test(test_retrieval_without_keys),
        cmocka_unit_test(test_key_lengths),
        cmocka_unit_test(test_long_multi_get),
        cmocka_unit_test(test_long_key_in_long_multi_get),
        cmocka_unit_test(test_endless_blanks),
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_store_noreply),
        cmocka_unit_test(test_bad_data_block),
        cmocka_unit_test(test_refused_block_is_dropped),
        cmocka_unit_test(test_refused_block_without_reply),
        cmocka_unit_test(test_length_nobody_can_know),
        cmocka_unit_test(test_store_key_too_long),
        cmocka_unit_test(test_delete),
        cmocka_unit_test(test_arith),
        cmocka_unit_test(test_touch),
        cmocka_unit_test(test_flush),
        cmocka_unit_test(test_administration),
        cmocka_unit_test(test_metadump),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_line_too_long),
    };
    return cmocka_run_group_tests_name("text_parse", tests, NULL, NULL);
}
