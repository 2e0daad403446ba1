/* pgrepl-tap.h
 * The tap "pgrepl": what each CopyData message of a replication stream or a base backup adds to statistics.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef PGREPL_TAP_H
#define PGREPL_TAP_H

#include "../include/pgrepl.h"

/* Given to the listeners of find_tap_id("pgrepl") once for each message, in the order of the messages in a frame. All of
 * it lives until the end of the listener's call. */
struct pgrepl_tap {
    /* PGREPL_DIRECTION_... */
    uint32_t direction;
    /* PGREPL_CONTENT_... and PGREPL_PAYLOAD_...: what the message is, and what its XLogData holds. */
    uint32_t content;
    uint32_t payload;
    /* The connection, from 1 on. */
    uint32_t connection;
    /* Kind, sizes, transaction; see pgrepl.h. */
    struct pgrepl_tally tally;
    /* The names of the tally.tables tables: UTF-8. */
    const char *const *tables;
    /* How long each of the tally.acknowledgements commits has waited for this status update: nanoseconds, or
     * PGREPL_TIME_UNKNOWN. */
    const int64_t *acknowledgements;
    /* WAL records that end in the message, by the number of their resource manager (see pgrepl_rmgr_name()); NULL when
     * the stream is not physical. */
    const uint32_t *wal_records;
};

#endif
