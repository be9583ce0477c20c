/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/meta_parse.h"

#include "net/text_parse.h"
#include "src/base/buffer.h"
#include "tests/unit/support_feed.h"

#define LINE(text) "> CLIENT_ERROR " text "\n"
#define FORMAT LINE("bad command line format")
#define TOKEN LINE("bad token in command line format")

struct row {
    const char *input, *expected;
};

static void expect(const char *input, const char *expected) {
    feed_expect(protocol_choose('g'), TEXT_LINE_MAX, input, strlen(input), expected);
}

static void expect_rows(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect(rows[i].input, rows[i].expected);
    }
}

#define EXPECT_ROWS(rows) expect_rows(rows, sizeof(rows) / sizeof *(rows))

static void test_get(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"mg a\r\n", "GET a mg\n"},
        {"mg a\n", "GET a mg\n"},
        {"  mg   a   v  \r\n", "GET a mg v\n"},
        {"mg a v q\r\n", "GET a mg v quiet\n"},
        {"mg a s v t c f l h k u\r\n", "GET a no-bump mg s t c f l h k v\n"},
        {"mg a T30\r\nmg a N60\r\nmg a R10\r\n",
         "GET a touch=30 mg\nGET a vivify=60 mg\nGET a recache=10 mg\n"},
        {"mg a T-1\r\nmg a T0\r\n", "GET a touch=-1 mg\nGET a touch=0 mg\n"},
        {"mg a T90 E555 c t\r\n", "GET a touch=90 new-cas=555 mg c t\n"},
        {"mg a C7 v\r\n", "GET a cas=7 mg v\n"},
        {"mg noreply v\r\n", "GET noreply mg v\n"},
        {"mg a\tv\r\n", "GET a\\09v mg\n"},
        {"mg a P1 Lx v\r\n", "GET a mg v\n"},
    };
    EXPECT_ROWS(rows);
}

static void test_store(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"ms a 3\r\nabc\r\n", "STORE a set flags=0 exp=0 ms [abc]\n"},
        {"ms a 0 T0\r\n\r\n", "STORE a set flags=0 exp=0 ms []\n"},
        {"ms a 2 F7 T100 c k s q\r\nhi\r\n", "STORE a set flags=7 exp=100 ms c k s quiet [hi]\n"},
        {"ms a 1 C5 I\r\nx\r\n", "STORE a set flags=0 exp=0 cas=5 uncounted invalidate ms [x]\n"},
        {"ms a 1 E18446744073709551615\r\nx\r\n",
         "STORE a set flags=0 exp=0 new-cas=18446744073709551615 ms [x]\n"},
        {"ms a 1 ME\r\nx\r\nms a 1 Me\r\nx\r\n",
         "STORE a add flags=0 exp=0 ms [x]\nSTORE a add flags=0 exp=0 ms [x]\n"},
        {"ms a 1 MA N60\r\nx\r\n", "STORE a append flags=0 exp=0 vivify=60 ms [x]\n"},
        {"ms a 1 MP\r\nx\r\n", "STORE a prepend flags=0 exp=0 ms [x]\n"},
        {"ms a 1 MR\r\nx\r\n", "STORE a replace flags=0 exp=0 ms [x]\n"},
        {"ms a 1 MS\r\nx\r\n", "STORE a set flags=0 exp=0 ms [x]\n"},
        {"ms a 3\r\nabcdemn\r\n", "STORE a set flags=0 exp=0 ms [abc] bad\nNOOP mn\n"},
    };
    EXPECT_ROWS(rows);
}

static void test_delete(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"md a\r\n", "DELETE a md\n"},
        {"md a q k O1\r\n", "DELETE a md k O=1 quiet\n"},
        {"md a I T30 C9\r\n", "DELETE a cas=9 touch=30 invalidate md\n"},
        {"md a x F4 E3\r\n", "DELETE a new-cas=3 flags=4 drop-value md\n"},
    };
    EXPECT_ROWS(rows);
}

static void test_arithmetic(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"ma a\r\n", "ARITH a +1 ma\n"},
        {"ma a D5 v t c k\r\n", "ARITH a +5 ma t c k v\n"},
        {"ma a MD\r\nma a M-\r\nma a Md\r\n", "ARITH a -1 ma\nARITH a -1 ma\nARITH a -1 ma\n"},
        {"ma a MI\r\nma a M+\r\nma a Mi\r\n", "ARITH a +1 ma\nARITH a +1 ma\nARITH a +1 ma\n"},
        {"ma a N60 J13 q\r\n", "ARITH a +1 create=13 exp=60 ma quiet\n"},
        {"ma a N0\r\n", "ARITH a +1 create=0 exp=0 ma\n"},
        {"ma a T30 C2 E3\r\n", "ARITH a +1 cas=2 touch=30 new-cas=3 ma\n"},
        {"ma a D0\r\n", "ARITH a +0 ma\n"},
    };
    EXPECT_ROWS(rows);
}

static void test_noop_and_debug(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"mn\r\nmn x y\r\n", "NOOP mn\nNOOP mn\n"},
        {"me a\r\nme a T30 N1\r\n", "GET a no-bump me\nGET a no-bump me\n"},
        {"me Zm9v b\r\n", "GET foo no-bump me b\n"},
        {"mx a\r\nm a\r\nmgg a\r\nMG a\r\n", "> ERROR\n> ERROR\n> ERROR\n> ERROR\n"},
    };
    EXPECT_ROWS(rows);
}

static void test_shown_flags_are_those_of_the_command(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"mg a k O1 s t c f l h\r\n", "GET a mg k O=1 s t c f l h\n"},
        {"ms a 1 k O1 s t c f l h\r\nx\r\n", "STORE a set flags=0 exp=0 ms k O=1 s c [x]\n"},
        {"md a k O1 s t c f l h\r\n", "DELETE a md k O=1\n"},
        {"ma a k O1 s t c f l h\r\n", "ARITH a +1 ma k O=1 t c\n"},
    };
    EXPECT_ROWS(rows);
}

static void test_opaque(void **state) {
    (void)state;
    expect("mg a O\r\nmg a O~!@#%^\r\n", "GET a mg O=\nGET a mg O=~!@#%^\n");
    expect("mg a O12345678901234567890123456789012 v\r\nmg a O123456789012345678901234567890123 v\r\nmn\r\n",
           "GET a mg O=12345678901234567890123456789012 v\n" LINE("opaque token too long") "NOOP mn\n");
}

static void test_base64_keys(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"mg Zm9v b k v\r\nmg Zm9v k v b\r\n", "GET foo mg k v b\nGET foo mg k v b\n"},
        {"ms DQogAA== 1 b\r\nx\r\n", "STORE \\0d\\0a\\20\\00 set flags=0 exp=0 ms b [x]\n"},
        {"mg Zm9 b v\r\nmg Zm9* b\r\nmn\r\n", LINE("error decoding key") LINE("error decoding key") "NOOP mn\n"},
        {"ms Zm9 3 b\r\nabc\r\nmn\r\n", LINE("error decoding key") "NOOP mn\n"},
    };
    EXPECT_ROWS(rows);
}

/* A text line with n times Z between two pieces. */
static char *line_of(struct buffer *line, const char *before, size_t n, const char *after) {
    buffer_init(line);
    assert_ok(buffer_printf(line, "%s", before));
    for (size_t i = 0; i < n; i++) {
        assert_ok(buffer_append(line, "Z", 1));
    }
    assert_ok(buffer_printf(line, "%s%c", after, 0));
    return buffer_head(line);
}

static void test_key_lengths(void **state) {
    (void)state;
    struct buffer line;
    expect(line_of(&line, "mg ", 250, "\r\n"), "GET 250xZ mg\n");
    buffer_free(&line);
    expect(line_of(&line, "mg ", 251, " v\r\nmn\r\n"), FORMAT "NOOP mn\n");
    buffer_free(&line);
    expect(line_of(&line, "ms ", 251, " 5\r\nhello\r\nmn\r\n"), FORMAT "NOOP mn\n");
    buffer_free(&line);
    /* 332 characters and the padding stand for 250 bytes. */
    expect(line_of(&line, "mg ", 334, "== b\r\n"), "GET 250xe mg b\n");
    buffer_free(&line);
    expect(line_of(&line, "mg ", 336, " b\r\n"), LINE("error decoding key"));
    buffer_free(&line);
}

static void test_refused_flags(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"mg a v v\r\n", LINE("duplicate flag")},
        {"mg a T1 t T2\r\n", LINE("duplicate flag")},
        {"mg a !\r\nmg a \xe4\r\nmg a \x01\r\nmg a 5\r\n",
         LINE("invalid flag") LINE("invalid flag") LINE("invalid flag") LINE("invalid flag")},
        {"mg a S5\r\nmg a z\r\nmg a A\r\nmg a [\r\n",
         LINE("invalid flag") LINE("invalid flag") LINE("invalid flag") LINE("invalid flag")},
        {"mg a T\r\nmg a Tx\r\nmg a T1.5\r\nmg a N\r\nmg a R1x\r\n", TOKEN TOKEN TOKEN TOKEN TOKEN},
        {"mg a C\r\nmg a C-1\r\nmg a E18446744073709551616\r\n", TOKEN TOKEN TOKEN},
        {"ma a D\r\nma a D-1\r\n", LINE("invalid numeric delta argument") LINE("invalid numeric delta argument")},
        {"ma a Jx\r\n", LINE("invalid numeric initial value")},
        {"ma a M\r\nma a MII\r\nma a MX\r\n", LINE("incorrect length for M token")
                                              LINE("incorrect length for M token") LINE("invalid mode for ma M token")},
        {"mg a q T\r\nmn\r\n", TOKEN "NOOP mn\n"},
    };
    EXPECT_ROWS(rows);
}

static void test_refused_store_takes_its_block_along(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"ms a 5 S5\r\nhello\r\nmn\r\n", LINE("invalid flag") "NOOP mn\n"},
        {"ms a 5 Tx\r\nhello\r\nmn\r\n", TOKEN "NOOP mn\n"},
        {"ms a 5 F-1\r\nhello\r\nmn\r\n", FORMAT "NOOP mn\n"},
        {"ms a 5 F4294967296\r\nhello\r\nmn\r\n", FORMAT "NOOP mn\n"},
        {"ms a 5 MX\r\nhello\r\nmn\r\n", LINE("invalid mode for ms M token") "NOOP mn\n"},
        {"ms a 5 M5\r\nhello\r\nmn\r\n", LINE("invalid mode for ms M token") "NOOP mn\n"},
        {"ms a 5 q q\r\nhello\r\nmn\r\n", LINE("duplicate flag") "NOOP mn\n"},
    };
    EXPECT_ROWS(rows);
}

/* What stands in the place of the length decides whether anybody can know where the next command begins. */
static void test_store_without_a_length(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"ms a\r\nmn\r\n", FORMAT "NOOP mn\n"},
        {"ms a abc\r\nmn\r\n", FORMAT "NOOP mn\n"},
        {"ms a -1\r\nmn\r\n", FORMAT "NOOP mn\n"},
        {"ms a 1.5\r\nmn\r\n", FORMAT "NOOP mn\n"},
        {"ms a 2147483646\r\nmn\r\n", FORMAT "NOOP mn\n"},
        {"ms a 99999999999999999999999\r\nmn\r\n", FORMAT "NOOP mn\n"},
        {"ms a S5\r\nhello\r\nmn\r\n", FORMAT "NOOP mn\n"},
        {"ms a T0 S5 q\r\nhello\r\nmn\r\n", FORMAT "NOOP mn\n"},
        {"ms a Sx S\r\nmn\r\n", FORMAT "NOOP mn\n"},
    };
    EXPECT_ROWS(rows);
}

static void test_commands_without_a_key(void **state) {
    (void)state;
    expect("mg\r\nms\r\nmd \r\nma\r\nme  \r\n", FORMAT FORMAT FORMAT FORMAT FORMAT);
}

static void test_long_line(void **state) {
    (void)state;
    struct buffer line;
    expect(line_of(&line, "mg a O", 2100, " v\r\nmn\r\n"), LINE("line too long") "NOOP mn\n");
    buffer_free(&line);
}

static void test_dump(void **state) {
    (void)state;
    expect("lru_crawler mgdump all\r\nlru_crawler mgdump 2\r\n", "DUMP m*\n> BADCLASS invalid class id\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_delete),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_noop_and_debug),
        cmocka_unit_test(test_shown_flags_are_those_of_the_command),
        cmocka_unit_test(test_opaque),
        cmocka_unit_test(test_base64_keys),
        cmocka_unit_test(test_key_lengths),
        cmocka_unit_test(test_refused_flags),
        cmocka_unit_test(test_refused_store_takes_its_block_along),
        cmocka_unit_test(test_store_without_a_length),
        cmocka_unit_test(test_commands_without_a_key),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_dump),
    };
    return cmocka_run_group_tests_name("meta_parse", tests, NULL, NULL);
}
