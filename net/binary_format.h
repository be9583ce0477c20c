/* SPDX-License-Identifier: BSD-3-Clause */
/* binary_format: the binary protocol's packets: numbers and layout.
 *
 * A packet is a header, extras, key, value; numbers are big-endian.  Only the binary parser and composer, and tests,
 * include it. */
#ifndef COFFER_NET_BINARY_FORMAT_H
#define COFFER_NET_BINARY_FORMAT_H

#include <stdint.h>

enum { BINARY_REQUEST = 0x80, BINARY_RESPONSE = 0x81, BINARY_HEADER = 24 };

/* Where a header's fields are. */
enum {
    BINARY_AT_MAGIC = 0,    /* 1 byte */
    BINARY_AT_OPCODE = 1,   /* 1 */
    BINARY_AT_KEY = 2,      /* 2: length */
    BINARY_AT_EXTRAS = 4,   /* 1: length */
    BINARY_AT_TYPE = 5,     /* 1: not used */
    BINARY_AT_STATUS = 6,   /* 2: response; not used in requests */
    BINARY_AT_BODY = 8,     /* 4: length of extras, key and value */
    BINARY_AT_OPAQUE = 12,  /* 4: comes back as it was sent */
    BINARY_AT_CAS = 16,     /* 8: 0 = none */
};

enum binary_opcode {
    BINARY_GET = 0x00,
    BINARY_SET = 0x01,
    BINARY_ADD = 0x02,
    BINARY_REPLACE = 0x03,
    BINARY_DELETE = 0x04,
    BINARY_INCREMENT = 0x05,
    BINARY_DECREMENT = 0x06,
    BINARY_QUIT = 0x07,
    BINARY_FLUSH = 0x08,
    BINARY_GETQ = 0x09,
    BINARY_NOOP = 0x0a,
    BINARY_VERSION = 0x0b,
    BINARY_GETK = 0x0c,
    BINARY_GETKQ = 0x0d,
    BINARY_APPEND = 0x0e,
    BINARY_PREPEND = 0x0f,
    BINARY_STAT = 0x10,
    BINARY_SETQ = 0x11,
    BINARY_ADDQ = 0x12,
    BINARY_REPLACEQ = 0x13,
    BINARY_DELETEQ = 0x14,
    BINARY_INCREMENTQ = 0x15,
    BINARY_DECREMENTQ = 0x16,
    BINARY_QUITQ = 0x17,
    BINARY_FLUSHQ = 0x18,
    BINARY_APPENDQ = 0x19,
    BINARY_PREPENDQ = 0x1a,
    BINARY_VERBOSITY = 0x1b,
    BINARY_TOUCH = 0x1c,
    BINARY_GAT = 0x1d,
    BINARY_GATQ = 0x1e,
    BINARY_SASL_LIST = 0x20,
    BINARY_SASL_AUTH = 0x21,
    BINARY_SASL_STEP = 0x22,
    BINARY_GATK = 0x23,
    BINARY_GATKQ = 0x24,
};

enum binary_status {
    BINARY_OK = 0x00,
    BINARY_NOT_FOUND = 0x01,
    BINARY_EXISTS = 0x02,
    BINARY_TOO_LARGE = 0x03,
    BINARY_INVALID = 0x04,
    BINARY_NOT_STORED = 0x05,
    BINARY_NOT_NUMERIC = 0x06,
    BINARY_UNKNOWN = 0x81,
    BINARY_NO_MEMORY = 0x82,
    BINARY_INTERNAL = 0x84,
};

/* reply_form.tag: what a reply repeats of its request, and the status if the parser refuses it. */
static inline uint64_t binary_tag(uint8_t opcode, uint32_t opaque, enum binary_status refusal) {
    return (uint64_t)opcode << 56 | (uint64_t)refusal << 32 | opaque;
}
static inline uint8_t binary_tag_opcode(uint64_t tag) {
    return (uint8_t)(tag >> 56);
}
static inline enum binary_status binary_tag_refusal(uint64_t tag) {
    return (enum binary_status)(tag >> 32 & 0xffff);
}
static inline uint32_t binary_tag_opaque(uint64_t tag) {
    return (uint32_t)tag;
}

/* `bytes` bytes, most significant first. */
static inline uint64_t binary_read(const char *from, unsigned bytes) {
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++) {
        number = number << 8 | (unsigned char)from[i];
    }
    return number;
}
static inline void binary_write(char *to, uint64_t number, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0; number >>= 8) {
        to[i] = (char)(number & 0xff);
    }
}

#endif
