/* Prints the fields of pgoutput messages given in hexadecimal, as psql shows what pg_logical_slot_get_binary_changes()
 * gives, with or without the \x before it:
 *
 *     print_fields 4200000000016b37480002b0d5d4e94000000002bc '\x4900004001...'
 *
 * All messages belong to one stream, in the order given. C99.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include "pgrepl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct pgrepl_field_info *fields;

/* Bytes of the hexadecimal digits; the result is for free(). NULL: they are none. */
static uint8_t *
from_hex(const char *digits, size_t *length)
{
    size_t i;
    uint8_t *bytes;
    if (strncmp(digits, "\\x", 2) == 0)
        digits += 2;
    if (strlen(digits) % 2 != 0)
        return NULL;
    bytes = (uint8_t *)malloc(strlen(digits) / 2 + 1);
    *length = strlen(digits) / 2;
    for (i = 0; bytes != NULL && i < *length; i++) {
        unsigned byte;
        int used = 0;
        if (sscanf(digits + 2 * i, "%2x%n", &byte, &used) != 1 || used != 2) {
            free(bytes);
            return NULL;
        }
        bytes[i] = (uint8_t)byte;
    }
    return bytes;
}

/* UTC to the microsecond, where the C library has a calendar for it. */
static void
print_time(int64_t microseconds)
{
    int64_t seconds = 0;
    uint32_t nanoseconds = 0;
    enum pgrepl_status status = pgrepl_unix_time(microseconds, &seconds, &nanoseconds);
    time_t unix_time = (time_t)seconds;
    struct tm *utc = status == PGREPL_STATUS_OK ? gmtime(&unix_time) : NULL;
    char text[32];
    if (utc != NULL && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", utc) > 0)
        printf("%s.%06u UTC", text, (unsigned)(nanoseconds / 1000));
    else if (status == PGREPL_STATUS_OK)
        printf("%" PRId64 " microseconds from 2000", microseconds);
    else
        printf("%s", pgrepl_status_text(status));
}

static void
print_value(const struct pgrepl_span *span)
{
    char lsn[PGREPL_LSN_TEXT];
    uint32_t i;
    switch (span->kind) {
    case PGREPL_KIND_GROUP:
        printf("%.*s", (int)span->text_length, (const char *)span->text);
        if (span->number > 0)
            printf(" %" PRIu64, span->number);
        break;
    case PGREPL_KIND_CHAR:
        printf("'%c'", (int)span->number);
        break;
    case PGREPL_KIND_INT:
    case PGREPL_KIND_DURATION:
        printf("%" PRId64, (int64_t)span->number);
        break;
    case PGREPL_KIND_TIME:
        print_time((int64_t)span->number);
        break;
    case PGREPL_KIND_LSN:
        pgrepl_lsn_text(span->number, lsn);
        printf("%s", lsn);
        break;
    case PGREPL_KIND_TEXT:
    case PGREPL_KIND_STRING:
    case PGREPL_KIND_NOTE:
        printf("%.*s", (int)span->text_length, (const char *)span->text);
        break;
    case PGREPL_KIND_BYTES:
        for (i = 0; i < span->text_length; i++)
            printf("%02x", span->text[i]);
        break;
    default:
        printf("%" PRIu64, span->number);
        break;
    }
}

static void
print_span(const struct pgrepl_span *span)
{
    const struct pgrepl_field_info *field = &fields[span->field];
    printf("%*s", 2 * span->depth, "");
    if (span->kind != PGREPL_KIND_GROUP)
        printf("%" PRIu32 "+%" PRIu32 " %s = ", span->offset, span->length, field->name);
    print_value(span);
    putchar('\n');
}

static int
print_message(struct pgrepl_session *session, uint32_t number, const uint8_t *bytes, size_t length)
{
    struct pgrepl_record record;
    struct pgrepl_walk walk;
    struct pgrepl_span spans[32];
    char text[4096];
    size_t i, count = 0;

    enum pgrepl_status status = pgrepl_session_track_pgoutput(session, number, PGREPL_TIME_UNKNOWN, bytes, length, length, &record);
    if (status == PGREPL_STATUS_OK)
        status = pgrepl_walk_start(&walk, session, &record, bytes, length, length, 0);
    while (status == PGREPL_STATUS_OK) {
        status = pgrepl_walk_next(&walk, spans, 32, text, sizeof text, &count);
        if (status != PGREPL_STATUS_OK || count == 0)
            break;
        for (i = 0; i < count; i++)
            print_span(&spans[i]);
    }
    if (status == PGREPL_STATUS_OK)
        return 0;
    fprintf(stderr, "pgrepl: %s\n", pgrepl_status_text(status));
    return 1;
}

int
main(int argc, char **argv)
{
    struct pgrepl_capture *capture;
    struct pgrepl_session *session;
    int i, failed = 0;

    if (pgrepl_abi_version() != PGREPL_ABI_VERSION) {
        fprintf(stderr, "the library has another interface than the header: version %u, not %u\n", (unsigned)pgrepl_abi_version(),
            (unsigned)PGREPL_ABI_VERSION);
        return 2;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: print_fields HEX...\n");
        return 2;
    }
    fields = pgrepl_fields(NULL);
    capture = pgrepl_capture_new();
    session = pgrepl_session_new(capture, NULL);
    for (i = 1; i < argc; i++) {
        size_t length;
        uint8_t *bytes = from_hex(argv[i], &length);
        if (bytes == NULL) {
            fprintf(stderr, "not an even number of hexadecimal digits: %s\n", argv[i]);
            failed = 1;
            break;
        }
        failed |= print_message(session, (uint64_t)i, bytes, length);
        free(bytes);
    }
    pgrepl_capture_free(capture);
    return failed;
}
