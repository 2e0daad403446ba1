/* packet-pgrepl.c
 * PostgreSQL replication for Wireshark and tshark.
 *
 * What the bytes mean is known by the core (../include/pgrepl.h); this file knows Wireshark: how to stand in front of the
 * built-in PostgreSQL dissector, where messages begin and end in TCP, how fields become tree items.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "wireshark-series.h"

#include <epan/conversation.h>
#include <epan/expert.h>
#include <epan/prefs.h>
#include <epan/proto_data.h>
#include <epan/stats_tree.h>
#include <epan/tap.h>
#include <epan/dissectors/packet-tcp.h>
#include <wsutil/utf8_entities.h>

#include "../include/pgrepl.h"
#include "pgrepl-tap.h"

#define POSTGRESQL_PORT 5432

/* Spans asked from the core at once, and room for the text that is made for them. */
#define SPANS 64
#define TEXT_ROOM (64 * 1024)

/* Subtrees do not go deeper than this. */
#define MAX_DEPTH 8

/* Groups of messages of the built-in dissector between messages of ours that are handed to it in one frame; each is one
 * more layer for Wireshark, which stops at 500. */
#define MAX_RUNS 100

/* Items that are left free in a frame's tree, at most; Wireshark gives up a frame at a limit of its own. */
#define MAX_ITEMS_LEFT 4096

/* Values, names and brackets in a frame that the JSON dissector may take apart, about; it makes up to four items of each, and
 * from 4.4 on Wireshark gives up a frame with 50,000 items in a row that do not lead on. */
#define MAX_JSON 8192

#define TIMES "\xc3\x97"

/* Key of what is remembered of a frame with a message whose end is not waited for; others are numbers of connections. */
#define DOUBTFUL 0

/* Times of packets that are further from 1970 are not known. */
#define MAX_SECONDS (INT64_MAX / 1000000000)

/* Length to which the Info column grows. */
#define MAX_INFO 200

/* Room for the name of a table: two names of 63 bytes may be four times as long in UTF-8, or escaped. */
#define MAX_TABLE 1024
#define MAX_NAME 256

static int proto_pgrepl = -1;
static int proto_pgsql = -1;
static int proto_front = -1;
static int proto_tcp = -1;
static int proto_tls = -1;

static dissector_handle_t front_handle;
static dissector_handle_t tls_front_handle;
static dissector_handle_t pgsql_handle;
static dissector_handle_t pgsql_layer_handle;
static dissector_handle_t pgrepl_layer_handle;
static dissector_handle_t json_handle;
static dissector_handle_t decode_as_handle;
static dissector_handle_t tls_handle;
static dissector_handle_t builtin_alpn_handle;

/* Holds the built-in dissector under each port, so that it can be called with that port as the matched one. */
static dissector_table_t builtin_table;

/* Fields of the built-in dissector, for the items of messages that are ours. */
static int hf_pgsql_type = -1;
static int hf_pgsql_length = -1;
static int hf_pgsql_frontend = -1;

/* The core's field list and what is registered for each entry: the field, for an LSN also its number, or the expert item. */
static const struct pgrepl_field_info *field_list;
static size_t field_count;
static int *hf_fields;
static int *hf_positions;
static expert_field *ei_notes;
static expert_field *ei_panic;
static int *hf_start_plugin;
static int *hf_start_frame;
static int *hf_data;
static expert_field ei_left_out = EI_INIT;

static int ett_pgsql = -1;
static int ett_pgrepl = -1;
static int ett_message = -1;
static int ett_group = -1;
static int ett_bits = -1;

static int expert_tap = -1;
static int pgrepl_tap = -1;

/* Ports of the built-in dissector on which the front stands. */
static GHashTable *taken_ports;

/* Preferences. */
static ws_bool take_over_ports = true;
static int unseen_payload = PGREPL_PAYLOAD_UNKNOWN;
static unsigned text_length = PGREPL_LABEL_LENGTH;
static ws_bool xid64 = false;

/* All of the core's memory of the open capture file. */
static struct pgrepl_capture *capture;
static uint32_t connections;

/* The messages of one frame in `records`, from `first` up to that of the next. */
struct frame_messages {
    uint32_t frame;
    uint32_t first;
};

/* A stream of a connection: it begins with the message `index` of the frame, and its START_REPLICATION was in `start`. */
struct stream {
    uint32_t frame;
    uint32_t index;
    uint32_t start;
};

/* One TCP connection. */
struct connection {
    struct pgrepl_session *session;
    uint32_t number;
    uint16_t server_port;
    address server;
    uint32_t first_frame;
    /* The client has asked for TLS, and the server has not answered yet. */
    bool asked_for_tls;
    /* From this frame on the messages are split here, before it whole segments go to the built-in dissector; 0: all do. */
    uint32_t split_from;
    /* Messages of that frame that went to the built-in dissector in calls before the one in which the stream began. */
    uint32_t split_after;
    /* Records of all messages from that frame on, in stream order, and where each frame's begin. */
    wmem_array_t *records;
    wmem_array_t *frames;
    wmem_array_t *streams;
    /* Records of the frame `scanned`, which is seen for the first time and may become the one to split from. */
    wmem_array_t *pending;
    uint32_t scanned;
    /* By direction: the sequence number that comes next, and whether one was seen at all. */
    uint32_t next_sequence[2];
    bool has_sequence[2];
};

/* The messages of one connection in one frame while that is dissected. */
struct frame_state {
    /* Index of the next message in the frame. */
    uint32_t next;
    /* Messages of ours so far, and runs handed to the built-in dissector. */
    unsigned shown;
    unsigned runs;
    /* Parts of JSON so far. */
    unsigned json;
    /* What TCP said about lost segments has been looked at. */
    bool has_sequence;
    /* Whether the pgsql layer is on the list of layers. */
    bool has_pgsql_layer;
    /* The heuristic has put it there, for the first part that is handed on. */
    bool has_given_layer;
    bool left_out;
    proto_item *pgsql_item;
    proto_item *pgrepl_item;
    proto_tree *pgsql_tree;
    proto_tree *pgrepl_tree;
    /* The items above are on these buffers, from here. */
    tvbuff_t *pgsql_tvb;
    tvbuff_t *pgrepl_tvb;
    int pgsql_start;
    int pgrepl_start;
    /* The Info column in words, what others had written there before, and the last of the words. */
    wmem_strbuf_t *info;
    const char *info_before;
    const char *last_info;
    unsigned repeated;
};

/* One message while it is shown. */
struct message {
    tvbuff_t *tvb;
    int offset;
    unsigned captured;
    unsigned reported;
    uint32_t direction;
};

static const unsigned header_length = 5;

/* Bytes by which the core judges whether a message begins. */
static const unsigned judged_length = 64;

/*
 * Connections
 */

static uint64_t
server_identity(const address *server, uint16_t port)
{
    uint64_t hash = 0xcbf29ce484222325;
    const uint8_t *bytes = (const uint8_t *)server->data;
    for (int i = 0; i < server->len; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3;
    hash = (hash ^ (port & 0xff)) * 0x100000001b3;
    return (hash ^ (port >> 8)) * 0x100000001b3;
}

/* The connection of the frame; on first sight the server is at the given end. */
static struct connection *
get_connection(packet_info *pinfo, bool server_is_source)
{
    conversation_t *conversation = find_or_create_conversation(pinfo);
    struct connection *conn = (struct connection *)conversation_get_proto_data(conversation, proto_pgrepl);
    if (conn == NULL) {
        conn = wmem_new0(wmem_file_scope(), struct connection);
        conn->number = ++connections;
        conn->first_frame = pinfo->num;
        conn->server_port = (uint16_t)(server_is_source ? pinfo->srcport : pinfo->destport);
        copy_address_wmem(wmem_file_scope(), &conn->server, server_is_source ? &pinfo->src : &pinfo->dst);
        struct pgrepl_options options = { sizeof options, (uint32_t)unseen_payload, xid64, 0, server_identity(&conn->server, conn->server_port) };
        conn->session = pgrepl_session_new(capture, &options);
        conn->records = wmem_array_new(wmem_file_scope(), sizeof(struct pgrepl_record));
        conn->frames = wmem_array_new(wmem_file_scope(), sizeof(struct frame_messages));
        conn->streams = wmem_array_new(wmem_file_scope(), sizeof(struct stream));
        conn->pending = wmem_array_new(wmem_file_scope(), sizeof(struct pgrepl_record));
        conversation_add_proto_data(conversation, proto_pgrepl, conn);
    }
    return conn;
}

static uint32_t
get_direction(const struct connection *conn, packet_info *pinfo)
{
    bool from_server = pinfo->srcport == conn->server_port && addresses_equal(&pinfo->src, &conn->server);
    return from_server ? PGREPL_DIRECTION_BACKEND : PGREPL_DIRECTION_FRONTEND;
}

/* Whether the data comes from TCP itself and not from TLS, so that what comes with it is struct tcpinfo. */
static bool
is_below_tcp(packet_info *pinfo)
{
    for (wmem_list_frame_t *layer = wmem_list_tail(pinfo->layers); layer != NULL; layer = wmem_list_frame_prev(layer)) {
        int proto = GPOINTER_TO_INT(wmem_list_frame_data(layer));
        if (proto == proto_tcp)
            return true;
        if (proto == proto_tls)
            return false;
    }
    return false;
}

/* Number of records of the frame; `first` is the index of its first. */
static uint32_t
frame_records(const struct connection *conn, uint32_t frame, uint32_t *first)
{
    const struct frame_messages *frames = (const struct frame_messages *)wmem_array_get_raw(conn->frames);
    unsigned low = 0, high = wmem_array_get_count(conn->frames);
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (frames[middle].frame < frame)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == wmem_array_get_count(conn->frames) || frames[low].frame != frame)
        return 0;
    *first = frames[low].first;
    bool is_last = low + 1 == wmem_array_get_count(conn->frames);
    return (is_last ? wmem_array_get_count(conn->records) : frames[low + 1].first) - *first;
}

/* The CopyBothResponse that begins a stream, which no built-in dissector knows. */
static bool
is_copy_both(const struct message *message)
{
    return message->captured > 0 && tvb_get_ptr(message->tvb, message->offset, 1)[0] == 'W' && message->direction == PGREPL_DIRECTION_BACKEND;
}

/* Tracks the frame's message number `index`. */
static struct pgrepl_record
track(const struct connection *conn, packet_info *pinfo, const struct message *message, uint32_t index)
{
    struct pgrepl_record record;
    memset(&record, 0, sizeof record);
    const uint8_t *bytes = message->captured > 0 ? tvb_get_ptr(message->tvb, message->offset, message->captured) : NULL;
    /* Nanoseconds fit for 292 years. */
    bool has_time = pinfo->fd->has_ts && pinfo->abs_ts.secs > -MAX_SECONDS && pinfo->abs_ts.secs < MAX_SECONDS;
    int64_t time = has_time ? (int64_t)pinfo->abs_ts.secs * 1000000000 + pinfo->abs_ts.nsecs : PGREPL_TIME_UNKNOWN;
    pgrepl_session_track(conn->session, message->direction, pinfo->num, time, bytes, message->captured, message->reported, &record);
    if (is_copy_both(message)) {
        struct stream stream = { pinfo->num, index, pgrepl_session_start(conn->session) };
        wmem_array_append_one(conn->streams, stream);
    }
    return record;
}

/* Where the START_REPLICATION of the frame's message number `index` was; 0: not seen. */
static uint32_t
start_frame(const struct connection *conn, uint32_t frame, uint32_t index)
{
    const struct stream *streams = (const struct stream *)wmem_array_get_raw(conn->streams);
    unsigned low = 0, high = wmem_array_get_count(conn->streams);
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (streams[middle].frame < frame || (streams[middle].frame == frame && streams[middle].index < index))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? streams[low - 1].start : 0;
}

/* Tells the session when TCP segments are missing before this frame, on its first pass. */
static void
notice_lost_segments(struct connection *conn, packet_info *pinfo, struct frame_state *state, const void *data)
{
    if (PINFO_FD_VISITED(pinfo) || state->has_sequence || data == NULL || !is_below_tcp(pinfo))
        return;
    state->has_sequence = true;
    const struct tcpinfo *tcp = (const struct tcpinfo *)data;
    uint32_t direction = get_direction(conn, pinfo);
    uint32_t *next = &conn->next_sequence[direction];
    /* The segments of what TCP has put together are all there. */
    if (conn->has_sequence[direction] && !tcp->is_reassembled && (int32_t)(tcp->seq - *next) > 0)
        pgrepl_session_lose(conn->session, direction);
    /* A segment that came late brings those that TCP has held back for it. */
    uint32_t end = tcp->nxtseq;
    const struct tcp_analysis *analysis = get_tcp_conversation_data(NULL, pinfo);
    if (analysis != NULL && analysis->fwd != NULL && analysis->fwd->maxnextseq != 0 && (int32_t)(analysis->fwd->maxnextseq - end) > 0)
        end = analysis->fwd->maxnextseq;
    if (!conn->has_sequence[direction] || (int32_t)(end - *next) > 0)
        *next = end;
    conn->has_sequence[direction] = true;
}

/* The record of the frame's message number `index`, when the frame has been seen before. */
static const struct pgrepl_record *
find_record(const struct connection *conn, packet_info *pinfo, uint32_t index)
{
    uint32_t first = 0, count = frame_records(conn, pinfo->num, &first);
    return index < count ? (const struct pgrepl_record *)wmem_array_index(conn->records, first + index) : NULL;
}

/* The record of the frame's message number `index`: found, or made when the frame is seen for the first time. */
static struct pgrepl_record
get_record(struct connection *conn, packet_info *pinfo, const struct message *message, uint32_t index, bool aligned)
{
    struct pgrepl_record record;
    uint32_t first = 0, count = frame_records(conn, pinfo->num, &first);
    if (index < count)
        return *(const struct pgrepl_record *)wmem_array_index(conn->records, first + index);
    memset(&record, 0, sizeof record);
    if (PINFO_FD_VISITED(pinfo))
        return record;
    if (count == 0) {
        struct frame_messages entry = { pinfo->num, wmem_array_get_count(conn->records) };
        wmem_array_append_one(conn->frames, entry);
    }
    if (aligned) {
        record = track(conn, pinfo, message, index);
    } else if (pgrepl_session_in_copy(conn->session)) {
        record.content = PGREPL_CONTENT_UNALIGNED;
        pgrepl_session_lose(conn->session, message->direction);
    }
    wmem_array_append_one(conn->records, record);
    return record;
}

static struct frame_state *
get_frame_state(packet_info *pinfo, const struct connection *conn)
{
    struct frame_state *state = (struct frame_state *)p_get_proto_data(pinfo->pool, pinfo, proto_pgrepl, conn->number);
    if (state == NULL) {
        state = wmem_new0(pinfo->pool, struct frame_state);
        state->info = wmem_strbuf_new(pinfo->pool, "");
        p_add_proto_data(pinfo->pool, pinfo, proto_pgrepl, conn->number, state);
    }
    return state;
}

/*
 * The built-in dissector
 */

/* Hands bytes to the built-in PostgreSQL dissector as TCP would have done. */
static int
call_builtin(const struct connection *conn, struct frame_state *state, bool add_layer, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
    void *data)
{
    uint16_t port = conn ? conn->server_port : (uint16_t)pinfo->match_uint;
    if (dissector_get_uint_handle(builtin_table, port) == NULL)
        dissector_add_uint("pgrepl.builtin", port, pgsql_handle);
    unsigned layers = wmem_list_count(pinfo->layers);
    int used = dissector_try_uint_with_data(builtin_table, port, tvb, pinfo, tree, add_layer, data);
    /* Where there was nothing to show yet, Wireshark has taken the layer away again. */
    if (state != NULL && wmem_list_count(pinfo->layers) > layers)
        state->has_pgsql_layer = true;
    return used;
}

static void show_commands(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const struct connection *conn, struct frame_state *state,
    int start, int end);

/* Hands a whole segment to it, with the right to ask TCP for more. */
static int
delegate(const struct connection *conn, struct frame_state *state, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    uint16_t can_desegment = pinfo->can_desegment;
    bool is_doubtful = p_get_proto_data(wmem_file_scope(), pinfo, proto_pgrepl, DOUBTFUL) != NULL;
    pinfo->can_desegment = is_doubtful ? 0 : pinfo->saved_can_desegment;
    /* It counts each part that TCP gives it, which is its own picture. */
    bool add_layer = state == NULL || !state->has_given_layer;
    int used = call_builtin(conn, state, add_layer, tvb, pinfo, tree, data);
    if (state != NULL)
        state->has_given_layer = false;
    pinfo->can_desegment = can_desegment;
    if (conn != NULL)
        show_commands(tvb, pinfo, tree, conn, state, 0, (int)tvb_reported_length(tvb));
    return used;
}

/*
 * The tree
 */

static void
add_lsn(proto_tree *tree, unsigned field, tvbuff_t *tvb, int offset, int length, uint64_t lsn, proto_item **item)
{
    char text[PGREPL_LSN_TEXT];
    pgrepl_lsn_text(lsn, text);
    *item = proto_tree_add_string(tree, hf_fields[field], tvb, offset, length, text);
    proto_item *position = proto_tree_add_uint64(tree, hf_positions[field], tvb, offset, length, lsn);
    proto_item_set_hidden(position);
}

static proto_item *
add_time(proto_tree *tree, unsigned field, tvbuff_t *tvb, int offset, int length, int64_t microseconds)
{
    int64_t seconds = 0;
    uint32_t nanoseconds = 0;
    enum pgrepl_status status = pgrepl_unix_time(microseconds, &seconds, &nanoseconds);
    nstime_t time = { (time_t)seconds, (int)nanoseconds };
    if (status == PGREPL_STATUS_OK)
        return proto_tree_add_time(tree, hf_fields[field], tvb, offset, length, &time);
    return proto_tree_add_time_format_value(tree, hf_fields[field], tvb, offset, length, &time, "%s", pgrepl_status_text(status));
}

static proto_item *
add_duration(proto_tree *tree, unsigned field, tvbuff_t *tvb, int offset, int length, int64_t nanoseconds)
{
    nstime_t time = { (time_t)(nanoseconds / 1000000000), (int)(nanoseconds % 1000000000) };
    return proto_tree_add_time(tree, hf_fields[field], tvb, offset, length, &time);
}

/* One span as an item of `tree`; `bytes` are those of the message. */
static proto_item *
add_span(proto_tree *tree, packet_info *pinfo, tvbuff_t *tvb, const uint8_t *bytes, const struct pgrepl_span *span, int offset)
{
    const struct pgrepl_field_info *info = &field_list[span->field];
    int hf = hf_fields[span->field];
    int length = (int)span->length;
    proto_item *item = NULL;

    switch (span->kind) {
    case PGREPL_KIND_GROUP:
        /* Reaches to the end of what is in it: set when it is known. */
        proto_tree_add_subtree_format(tree, tvb, offset, 0, ett_group, &item, "%.*s", (int)span->text_length, (const char *)span->text);
        break;
    case PGREPL_KIND_CHAR:
        item = proto_tree_add_uint(tree, hf, tvb, offset, length, (uint32_t)span->number);
        break;
    case PGREPL_KIND_BOOL:
        item = proto_tree_add_boolean(tree, hf, tvb, offset, length, (uint32_t)span->number * (info->mask ? info->mask : 1));
        break;
    case PGREPL_KIND_UINT:
        if (info->width == 8)
            item = proto_tree_add_uint64(tree, hf, tvb, offset, length, span->number);
        else
            item = proto_tree_add_uint(tree, hf, tvb, offset, length, (uint32_t)span->number);
        break;
    case PGREPL_KIND_INT:
        item = proto_tree_add_int(tree, hf, tvb, offset, length, (int32_t)span->number);
        break;
    case PGREPL_KIND_LSN:
        add_lsn(tree, span->field, tvb, offset, length, span->number, &item);
        break;
    case PGREPL_KIND_TIME:
        item = add_time(tree, span->field, tvb, offset, length, (int64_t)span->number);
        break;
    case PGREPL_KIND_DURATION:
        item = add_duration(tree, span->field, tvb, offset, length, (int64_t)span->number);
        break;
    case PGREPL_KIND_POSITION:
        item = proto_tree_add_uint(tree, hf, tvb, offset, length, (uint32_t)span->number);
        break;
    case PGREPL_KIND_TEXT:
    case PGREPL_KIND_STRING:
        /* Text that had to be converted, or that is not in the message at all, comes with the span. */
        if (span->text == bytes + span->offset)
            item = proto_tree_add_item(tree, hf, tvb, offset, length, ENC_UTF_8);
        else
            item = proto_tree_add_string(tree, hf, tvb, offset, length,
                wmem_strndup(pinfo->pool, (const char *)span->text, span->text_length));
        break;
    case PGREPL_KIND_BYTES:
        item = proto_tree_add_item(tree, hf, tvb, offset, length, ENC_NA);
        break;
    case PGREPL_KIND_NOTE:
        item = proto_tree_add_expert_format(tree, pinfo, &ei_notes[span->field], tvb, offset, length, "%s: %.*s", info->label,
            (int)span->text_length, (const char *)span->text);
        break;
    default:
        break;
    }
    if (info->generated)
        proto_item_set_generated(item);
    return item;
}

/* Gives the groups from `depth` inwards their length. */
static void
close_groups(proto_item **groups, const int *starts, int from, int depth, int end)
{
    for (int i = from; i >= depth; i--) {
        if (groups[i] != NULL)
            proto_item_set_len(groups[i], end - starts[i]);
        groups[i] = NULL;
    }
}

/* Whether Wireshark takes more items in this frame; says so once when it does not. */
static bool
has_room(proto_tree *tree, packet_info *pinfo, struct frame_state *state, const struct message *message)
{
    unsigned limit = prefs.gui_max_tree_items;
    if (tree == NULL || PTREE_DATA(tree)->count + MIN(MAX_ITEMS_LEFT, limit / 4) <= limit)
        return true;
    if (!state->left_out)
        proto_tree_add_expert_format(tree, pinfo, &ei_left_out, message->tvb, message->offset, message->captured,
            "More fields than Wireshark shows in one frame (%u items); the rest is left out", limit);
    state->left_out = true;
    return false;
}

/* What another output plugin wrote, when it is JSON. */
static void
show_json(proto_tree *tree, packet_info *pinfo, struct frame_state *state, tvbuff_t *tvb)
{
    if (tree == NULL || json_handle == NULL || tvb_get_ptr(tvb, 0, 1)[0] != '{')
        return;
    unsigned length = tvb_captured_length(tvb);
    const uint8_t *bytes = tvb_get_ptr(tvb, 0, length);
    unsigned most = MIN(MAX_JSON, prefs.gui_max_tree_items / 16);
    for (unsigned i = 0; i < length && state->json <= most; i++)
        state->json += bytes[i] == '{' || bytes[i] == '[' || bytes[i] == ',' || bytes[i] == ':';
    if (state->json > most) {
        proto_tree_add_expert_format(tree, pinfo, &ei_left_out, tvb, 0, (int)length, "More JSON than %u values, names and brackets in one"
            " frame is not taken apart", most);
        return;
    }
    ws_bool is_writable = col_get_writable(pinfo->cinfo, -1);
    col_set_writable(pinfo->cinfo, -1, false);
    call_dissector(json_handle, tvb, pinfo, tree);
    col_set_writable(pinfo->cinfo, -1, is_writable);
}

/* All fields of one message. */
static void
add_fields(proto_tree *tree, packet_info *pinfo, const struct connection *conn, struct frame_state *state,
    const struct pgrepl_record *record, const struct message *payload)
{
    struct pgrepl_walk walk;
    struct pgrepl_span spans[SPANS];
    static char text[TEXT_ROOM];
    proto_tree *trees[MAX_DEPTH + 1] = { tree };
    proto_item *groups[MAX_DEPTH + 1] = { NULL };
    int starts[MAX_DEPTH + 1];
    proto_item *last = NULL;
    int last_depth = 0, end = payload->offset;
    size_t count = 0;
    int data = 0, data_length = 0;

    const uint8_t *bytes = payload->captured > 0 ? tvb_get_ptr(payload->tvb, payload->offset, payload->captured) : NULL;
    enum pgrepl_status status = pgrepl_walk_start(&walk, conn->session, record, bytes, payload->captured, payload->reported,
        PGREPL_WALK_LABELS);
    pgrepl_walk_limit_labels(&walk, text_length);
    while (status == PGREPL_STATUS_OK) {
        status = pgrepl_walk_next(&walk, spans, SPANS, text, sizeof text, &count);
        if (status != PGREPL_STATUS_OK || count == 0)
            break;
        if (!has_room(tree, pinfo, state, payload))
            break;
        for (size_t i = 0; i < count; i++) {
            int depth = MIN(spans[i].depth, MAX_DEPTH);
            int offset = payload->offset + (int)spans[i].offset;
            close_groups(groups, starts, last_depth, depth, end);
            if (depth > last_depth && groups[last_depth] == NULL)
                trees[depth] = proto_item_add_subtree(last, ett_bits);
            last = add_span(trees[depth], pinfo, payload->tvb, bytes, &spans[i], offset);
            if (spans[i].kind == PGREPL_KIND_GROUP && depth < MAX_DEPTH) {
                groups[depth] = last;
                starts[depth] = offset;
                trees[depth + 1] = proto_item_get_subtree(last);
            }
            end = MAX(end, offset + (int)spans[i].length);
            last_depth = depth;
            if (&hf_fields[spans[i].field] == hf_data) {
                data = offset;
                data_length = (int)spans[i].length;
            }
        }
    }
    close_groups(groups, starts, MAX_DEPTH, 0, end);
    if (record->payload == PGREPL_PAYLOAD_OTHER_PLUGIN && data_length > 0)
        show_json(tree, pinfo, state, tvb_new_subset_length(payload->tvb, data, data_length));
    if (status != PGREPL_STATUS_OK)
        proto_tree_add_expert_format(tree, pinfo, ei_panic, payload->tvb, payload->offset, payload->captured, "pgrepl: %s",
            pgrepl_status_text(status));
}

/* The items of the two protocols stand once in a frame, and so count once in the protocol hierarchy. The first message of
 * the frame is in them, further ones have items of their own inside. */
static int
add_pgrepl_layer(tvbuff_t *tvb, packet_info *pinfo _U_, proto_tree *tree, void *data)
{
    struct frame_state *state = (struct frame_state *)data;
    state->pgrepl_item = proto_tree_add_item(tree, proto_pgrepl, tvb, state->pgrepl_start, 0, ENC_NA);
    state->pgrepl_tree = proto_item_add_subtree(state->pgrepl_item, ett_pgrepl);
    return tvb_reported_length(tvb);
}

static int
add_pgsql_layer(tvbuff_t *tvb, packet_info *pinfo _U_, proto_tree *tree, void *data)
{
    struct frame_state *state = (struct frame_state *)data;
    state->pgsql_item = proto_tree_add_item(tree, proto_pgsql, tvb, state->pgsql_start, 0, ENC_NA);
    state->pgsql_tree = proto_item_add_subtree(state->pgsql_item, ett_pgsql);
    return tvb_reported_length(tvb);
}

/* Type and length of a message that the built-in dissector does not get to see, under its names. */
static void
add_pgsql_header(proto_tree *tree, packet_info *pinfo, struct frame_state *state, const struct message *message, const char *type)
{
    if (state->pgsql_tvb == NULL) {
        state->pgsql_tvb = message->tvb;
        state->pgsql_start = message->offset;
        if (state->has_pgsql_layer)
            add_pgsql_layer(message->tvb, pinfo, tree, state);
        else
            call_dissector_with_data(pgsql_layer_handle, message->tvb, pinfo, tree, state);
        state->has_pgsql_layer = true;
    }
    if (message->tvb == state->pgsql_tvb)
        proto_item_set_len(state->pgsql_item, message->offset + (int)message->captured - state->pgsql_start);
    if (message->captured < header_length || !has_room(state->pgsql_tree, pinfo, state, message))
        return;
    if (hf_pgsql_type > 0)
        proto_tree_add_string(state->pgsql_tree, hf_pgsql_type, message->tvb, message->offset, 1, type);
    if (hf_pgsql_length > 0)
        proto_tree_add_item(state->pgsql_tree, hf_pgsql_length, message->tvb, message->offset + 1, 4, ENC_BIG_ENDIAN);
    if (hf_pgsql_frontend > 0) {
        proto_item *item = proto_tree_add_boolean(state->pgsql_tree, hf_pgsql_frontend, message->tvb, 0, 0,
            message->direction == PGREPL_DIRECTION_FRONTEND);
        proto_item_set_hidden(item);
    }
}

/* Says how often the last words came. */
static void
end_info(struct frame_state *state)
{
    if (state->repeated > 1 && wmem_strbuf_get_len(state->info) < MAX_INFO)
        wmem_strbuf_append_printf(state->info, " " TIMES "%u", state->repeated);
    state->repeated = 0;
    state->last_info = NULL;
}

/* Adds a few words to the Info column; the same again is counted. */
static void
add_info(packet_info *pinfo, struct frame_state *state, const char *words)
{
    if (state->last_info != NULL && strcmp(state->last_info, words) == 0) {
        state->repeated++;
        return;
    }
    end_info(state);
    state->repeated = 1;
    state->last_info = wmem_strdup(pinfo->pool, words);
    if (wmem_strbuf_get_len(state->info) > MAX_INFO)
        return;
    if (wmem_strbuf_get_len(state->info) > 0)
        wmem_strbuf_append(state->info, ", ");
    wmem_strbuf_append(state->info, wmem_strbuf_get_len(state->info) < MAX_INFO ? words : UTF8_HORIZONTAL_ELLIPSIS);
}

/* Gives one CopyData message to the listeners of the tap. */
static void
tap_message(packet_info *pinfo, const struct connection *conn, const struct pgrepl_record *record, const struct message *payload)
{
    char name[MAX_TABLE];
    struct pgrepl_tap *tap = wmem_new0(pinfo->pool, struct pgrepl_tap);
    const uint8_t *bytes = payload->captured > 0 ? tvb_get_ptr(payload->tvb, payload->offset, payload->captured) : NULL;
    if (pgrepl_tally(conn->session, record, bytes, payload->captured, payload->reported, &tap->tally) != PGREPL_STATUS_OK)
        return;
    tap->direction = payload->direction;
    tap->content = record->content;
    tap->payload = record->payload;
    tap->connection = conn->number;
    const char **tables = wmem_alloc_array(pinfo->pool, const char *, tap->tally.tables);
    for (uint32_t i = 0; i < tap->tally.tables; i++) {
        if (pgrepl_tally_table(conn->session, record, bytes, payload->captured, i, name, sizeof name) != PGREPL_STATUS_OK)
            name[0] = '\0';
        tables[i] = wmem_strdup(pinfo->pool, name);
    }
    tap->tables = tables;
    int64_t *acknowledgements = wmem_alloc_array(pinfo->pool, int64_t, tap->tally.acknowledgements);
    for (uint32_t i = 0; i < tap->tally.acknowledgements; i++)
        pgrepl_tally_acknowledgement(conn->session, record, i, &acknowledgements[i]);
    tap->acknowledgements = acknowledgements;
    if (record->payload == PGREPL_PAYLOAD_PHYSICAL) {
        uint32_t *counts = wmem_alloc0_array(pinfo->pool, uint32_t, 256);
        if (pgrepl_tally_wal(conn->session, record, bytes, payload->captured, counts) == PGREPL_STATUS_OK)
            tap->wal_records = counts;
    }
    tap_queue_packet(pgrepl_tap, pinfo, tap);
}

/* Where an item stands before the one around it, as those of other buffers may, PDML would tell another place for it. */
static void
reach_back(proto_item *around, const proto_item *item)
{
    field_info *outer = around != NULL ? PITEM_FINFO(around) : NULL;
    const field_info *inner = item != NULL ? PITEM_FINFO(item) : NULL;
    if (outer == NULL || inner == NULL || inner->start >= outer->start)
        return;
    outer->length += outer->start - inner->start;
    outer->start = inner->start;
}

/* Puts the words on the column, those of earlier parts of the frame too: the last of them may be counted further. */
static void
write_info(packet_info *pinfo, struct frame_state *state)
{
    col_clear(pinfo->cinfo, COL_INFO);
    if (state->info_before == NULL) {
        const char *before = col_get_text(pinfo->cinfo, COL_INFO);
        state->info_before = wmem_strdup(pinfo->pool, before != NULL ? before : "");
    }
    char count[16] = "";
    if (state->repeated > 1 && wmem_strbuf_get_len(state->info) < MAX_INFO)
        snprintf(count, sizeof count, " " TIMES "%u", state->repeated);
    const char *words = wmem_strbuf_get_str(state->info);
    col_clear_fence(pinfo->cinfo, COL_INFO);
    col_add_fstr(pinfo->cinfo, COL_INFO, "%s%s%s%s", state->info_before, state->info_before[0] != '\0' ? ", " : "", words, count);
    col_set_fence(pinfo->cinfo, COL_INFO);
    proto_item_set_text(state->pgrepl_item, "PostgreSQL Replication: %s%s", words, count);
}

/* Shows one CopyData message of ours. */
static void
show_message(proto_tree *tree, packet_info *pinfo, const struct connection *conn, struct frame_state *state,
    const struct pgrepl_record *record, const struct message *message)
{
    char words[MAX_INFO];
    struct message payload = *message;
    /* A message is only taken for one when its header is there. */
    unsigned header = record->content == PGREPL_CONTENT_UNALIGNED ? 0 : MIN(header_length, message->captured);
    payload.offset += header;
    payload.captured -= header;
    payload.reported -= header;

    const uint8_t *bytes = payload.captured > 0 ? tvb_get_ptr(payload.tvb, payload.offset, payload.captured) : NULL;
    if (pgrepl_summary(conn->session, record, bytes, payload.captured, payload.reported, words, sizeof words) != PGREPL_STATUS_OK)
        words[0] = '\0';
    add_info(pinfo, state, words);
    add_pgsql_header(tree, pinfo, state, message, "Copy data");
    bool first = state->shown++ == 0;
    if (first) {
        state->pgrepl_tvb = payload.tvb;
        state->pgrepl_start = payload.offset;
        call_dissector_with_data(pgrepl_layer_handle, payload.tvb, pinfo, tree, state);
    }
    if (have_tap_listener(pgrepl_tap))
        tap_message(pinfo, conn, record, &payload);
    if ((tree == NULL && !have_tap_listener(expert_tap)) || !has_room(tree, pinfo, state, message))
        return;

    proto_tree *message_tree;
    if (first) {
        message_tree = proto_tree_add_subtree(state->pgrepl_tree, payload.tvb, payload.offset, payload.captured, ett_message, NULL, words);
    } else {
        proto_item *item = proto_tree_add_protocol_format(state->pgrepl_tree, proto_pgrepl, payload.tvb, payload.offset,
            payload.captured, "%s", words);
        if (payload.tvb != state->pgrepl_tvb)
            reach_back(state->pgrepl_item, item);
        message_tree = proto_item_add_subtree(item, ett_message);
    }
    if (payload.tvb == state->pgrepl_tvb)
        proto_item_set_len(state->pgrepl_item, payload.offset + (int)payload.captured - state->pgrepl_start);
    add_fields(message_tree, pinfo, conn, state, record, &payload);
    uint32_t start = start_frame(conn, pinfo->num, state->next - 1);
    if (start != 0) {
        proto_item *item = proto_tree_add_uint(message_tree, *hf_start_frame, payload.tvb, payload.offset, 0, start);
        proto_item_set_generated(item);
    }
}

/* Hands the messages from `start` to `end`, none of them ours, to the built-in dissector. */
static void
show_run(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const struct connection *conn, struct frame_state *state, int start, int end)
{
    if (start >= end || state->left_out)
        return;
    if (state->runs >= MAX_RUNS) {
        proto_tree_add_expert_format(tree, pinfo, &ei_left_out, tvb, start, MAX(0, MIN(end, (int)tvb_captured_length(tvb)) - start),
            "Messages of other kinds between more than %d replication messages are left out from here on", MAX_RUNS);
        state->left_out = true;
        return;
    }
    state->runs++;
    uint16_t can_desegment = pinfo->can_desegment;
    pinfo->can_desegment = 0;
    call_builtin(conn, state, !state->has_pgsql_layer, tvb_new_subset_length(tvb, start, end - start), pinfo, tree, NULL);
    pinfo->can_desegment = can_desegment;
    show_commands(tvb, pinfo, tree, conn, state, start, end);
}

/* Where more about the messages that the built-in dissector has just shown belongs: in its item, where it made one. */
static proto_tree *
builtin_tree(proto_tree *tree)
{
    proto_node *last = tree != NULL ? tree->last_child : NULL;
    if (last == NULL || PNODE_FINFO(last) == NULL || PNODE_FINFO(last)->hfinfo->id != proto_pgsql)
        return tree;
    return proto_item_add_subtree(last, ett_pgsql);
}

/* Adds the parts of replication commands to what the built-in dissector shows of the messages from `start` to `end`, and
 * the commands to its words in the Info column. */
static void
show_commands(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const struct connection *conn, struct frame_state *state, int start, int end)
{
    char plugin[MAX_NAME], words[MAX_INFO];
    struct message message = { tvb, start, 0, 0, get_direction(conn, pinfo) };
    if (message.direction != PGREPL_DIRECTION_FRONTEND)
        return;
    end = MIN(end, (int)tvb_captured_length(tvb));
    for (size_t size; message.offset + (int)header_length < end; message.offset += (int)size) {
        unsigned left = (unsigned)(end - message.offset);
        const uint8_t *bytes = tvb_get_ptr(tvb, message.offset, left);
        struct pgrepl_record record;
        if (pgrepl_message_size(message.direction, bytes, left, &size) != PGREPL_STATUS_OK || size > left)
            return;
        struct message text = message;
        text.offset += header_length;
        text.captured = text.reported = (unsigned)size - header_length;
        if (bytes[0] != 'Q' || pgrepl_command_record(bytes + header_length, text.captured, &record) != PGREPL_STATUS_OK)
            continue;
        if (pgrepl_summary(NULL, &record, bytes + header_length, text.captured, text.captured, words, sizeof words) == PGREPL_STATUS_OK)
            col_append_fstr(pinfo->cinfo, COL_INFO, " %s", words);
        if (tree == NULL)
            continue;
        proto_tree *subtree = proto_tree_add_subtree(builtin_tree(tree), tvb, text.offset, (int)text.captured, ett_message, NULL, "Replication command");
        const char *outer_proto = pinfo->current_proto;
        pinfo->current_proto = "PGREPL";
        add_fields(subtree, pinfo, conn, state, &record, &text);
        pinfo->current_proto = outer_proto;
        if (bytes[header_length] == 'S' && pgrepl_session_plugin(conn->session, pinfo->num, plugin, sizeof plugin) == PGREPL_STATUS_OK
            && plugin[0] != '\0') {
            proto_item *generated = proto_tree_add_string(subtree, *hf_start_plugin, tvb, text.offset, 0, plugin);
            proto_item_set_generated(generated);
        }
    }
}

/*
 * Messages in TCP
 */

/* The next message, or what stands in its place. False: nothing more without further segments, or nothing more captured.
 * On later passes the record tells whether a message was found there. */
static bool
next_message(tvbuff_t *tvb, packet_info *pinfo, const struct connection *conn, const struct pgrepl_record *known, int offset,
    bool may_desegment, struct message *message, bool *aligned)
{
    uint32_t direction = get_direction(conn, pinfo);
    unsigned left = tvb_reported_length(tvb) - (unsigned)offset;
    unsigned captured = tvb_captured_length(tvb) > (unsigned)offset ? tvb_captured_length(tvb) - (unsigned)offset : 0;
    /* Where the next one begins is not known without its header: it is lost, and so are those behind it. */
    if (captured < MIN(left, header_length)) {
        if (!PINFO_FD_VISITED(pinfo))
            pgrepl_session_lose(conn->session, direction);
        return false;
    }

    size_t size = 0;
    unsigned available = MIN(captured, judged_length);
    const uint8_t *bytes = tvb_get_ptr(tvb, offset, available);
    enum pgrepl_status status;
    if (known != NULL && known->content == PGREPL_CONTENT_UNALIGNED)
        status = PGREPL_STATUS_NOT_A_MESSAGE;
    else if (known != NULL || PINFO_FD_VISITED(pinfo))
        status = pgrepl_message_size(direction, bytes, available, &size);
    else
        status = pgrepl_session_message_size(conn->session, direction, bytes, available, left, &size);

    *aligned = status == PGREPL_STATUS_OK;
    if (may_desegment && captured == left && status == PGREPL_STATUS_NEEDS_MORE) {
        pinfo->desegment_offset = offset;
        pinfo->desegment_len = DESEGMENT_ONE_MORE_SEGMENT;
        return false;
    }
    if (status != PGREPL_STATUS_OK)
        size = 1 + pgrepl_find_message(direction, tvb_get_ptr(tvb, offset + 1, captured - 1), captured - 1, left - 1);
    if (size > left) {
        if (may_desegment) {
            pinfo->desegment_offset = offset;
            pinfo->desegment_len = (uint32_t)(size - left);
            return false;
        }
        /* TCP finds the end of it by itself. */
        pinfo->want_pdu_tracking = 2;
        pinfo->bytes_until_next_pdu = (uint32_t)(size - left);
    }
    message->tvb = tvb;
    message->offset = offset;
    message->reported = (unsigned)size;
    message->captured = MIN(captured, (unsigned)size);
    message->direction = direction;
    return true;
}

/* Splits a segment into messages, shows ours, hands the others on. */
static int
dissect_messages(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, struct connection *conn, struct frame_state *state)
{
    int offset = 0, run = 0, end = (int)tvb_reported_length(tvb);
    struct message message;
    bool aligned;
    /* Whose the expert items are; with the front, which is not a protocol of its own, they would be TCP's. */
    const char *outer_proto = pinfo->current_proto;
    pinfo->current_proto = "PGREPL";

    while (offset < end
        && next_message(tvb, pinfo, conn, find_record(conn, pinfo, state->next), offset, pinfo->can_desegment > 0, &message, &aligned)) {
        int next = offset + (int)MIN(message.reported, (unsigned)(end - offset));
        struct pgrepl_record record = get_record(conn, pinfo, &message, state->next++, aligned);
        if (record.content == PGREPL_CONTENT_OTHER || record.content == PGREPL_CONTENT_COMMAND) {
            char words[MAX_INFO];
            const uint8_t *bytes = message.captured > 0 ? tvb_get_ptr(tvb, offset, message.captured) : NULL;
            bool is_command = record.content == PGREPL_CONTENT_COMMAND && message.captured > header_length
                && pgrepl_summary(conn->session, &record, bytes + header_length, message.captured - header_length,
                       message.reported - header_length, words, sizeof words) == PGREPL_STATUS_OK;
            if (bytes != NULL)
                add_info(pinfo, state, is_command ? words : pgrepl_message_name(message.direction, bytes[0]));
            if (is_copy_both(&message)) {
                show_run(tvb, pinfo, tree, conn, state, run, offset);
                add_pgsql_header(tree, pinfo, state, &message, "Copy both response");
                run = next;
            }
        } else {
            show_run(tvb, pinfo, tree, conn, state, run, offset);
            show_message(tree, pinfo, conn, state, &record, &message);
            run = next;
        }
        offset = next;
    }
    show_run(tvb, pinfo, tree, conn, state, run, MIN(offset, end));

    /* Where nothing is ours the built-in dissector has filled the columns. */
    if (state->pgsql_tvb != NULL) {
        /* With several TLS records in the frame the last one would win, or TLS. */
        if (state->shown > 0)
            col_set_writable(pinfo->cinfo, COL_PROTOCOL, true);
        col_set_str(pinfo->cinfo, COL_PROTOCOL, state->shown > 0 ? "PGREPL" : "PGSQL");
        if (state->shown > 0)
            col_set_writable(pinfo->cinfo, COL_PROTOCOL, false);
        write_info(pinfo, state);
    }
    pinfo->current_proto = outer_proto;
    return end;
}

/* Whether a connection whose beginning was not captured shows here, or, when it may begin `anywhere` in what is left of the
 * segment, further on, that it is in a replication stream. */
static bool
find_replication(tvbuff_t *tvb, packet_info *pinfo, const struct connection *conn, int offset, bool anywhere)
{
    size_t at = 0;
    unsigned left = tvb_reported_length(tvb) - (unsigned)offset;
    unsigned captured = tvb_captured_length(tvb) > (unsigned)offset ? tvb_captured_length(tvb) - (unsigned)offset : 0;
    unsigned searched = anywhere ? captured : MIN(captured, judged_length);
    if (searched == 0
        || pgrepl_session_find_replication(conn->session, get_direction(conn, pinfo), tvb_get_ptr(tvb, offset, searched), searched, left, &at)
            != PGREPL_STATUS_OK
        || (at > 0 && !anywhere))
        return false;
    pgrepl_session_assume_replication(conn->session);
    return true;
}

static bool
is_doubtful(tvbuff_t *tvb, packet_info *pinfo, const struct connection *conn, int offset)
{
    unsigned left = tvb_reported_length(tvb) - (unsigned)offset;
    unsigned captured = tvb_captured_length(tvb) > (unsigned)offset ? tvb_captured_length(tvb) - (unsigned)offset : 0;
    unsigned judged = MIN(captured, judged_length);
    return judged > 0 && pgrepl_session_doubts(conn->session, get_direction(conn, pinfo), tvb_get_ptr(tvb, offset, judged), judged, left);
}

/* Looks at the complete messages of a segment: tracks them when it is seen for the first time, else only counts them. True
 * when a stream begins in it. */
static bool
scan_messages(tvbuff_t *tvb, packet_info *pinfo, struct connection *conn, struct frame_state *state)
{
    int offset = 0, end = (int)tvb_reported_length(tvb);
    uint32_t before = state->next;
    bool visited = PINFO_FD_VISITED(pinfo);
    struct message message;
    bool aligned;

    if (!visited && conn->scanned != pinfo->num) {
        conn->scanned = pinfo->num;
        conn->pending = wmem_array_new(pinfo->pool, sizeof(struct pgrepl_record));
    }
    uint32_t desegment_len = pinfo->desegment_len;
    int desegment_offset = pinfo->desegment_offset;
    while (offset < end) {
        bool complete = next_message(tvb, pinfo, conn, NULL, offset, true, &message, &aligned);
        bool is_found = !visited && find_replication(tvb, pinfo, conn, offset, !complete || !aligned);
        if (!complete && !visited && !is_found && is_doubtful(tvb, pinfo, conn, offset))
            p_add_proto_data(wmem_file_scope(), pinfo, proto_pgrepl, DOUBTFUL, conn);
        if (!complete || !aligned || is_found)
            break;
        offset += (int)message.reported;
        state->next++;
        if (visited)
            continue;
        struct pgrepl_record record = track(conn, pinfo, &message, state->next - 1);
        wmem_array_append_one(conn->pending, record);
        if (pgrepl_session_in_copy(conn->session))
            break;
    }
    /* Asking TCP for more is up to whoever dissects the segment. */
    pinfo->desegment_len = desegment_len;
    pinfo->desegment_offset = desegment_offset;
    if (visited || !pgrepl_session_in_copy(conn->session))
        return false;
    state->next = before;
    struct frame_messages entry = { pinfo->num, wmem_array_get_count(conn->records) };
    if (wmem_array_get_count(conn->pending) > 0)
        wmem_array_append_one(conn->frames, entry);
    for (unsigned i = 0; i < wmem_array_get_count(conn->pending); i++)
        wmem_array_append(conn->records, wmem_array_index(conn->pending, i), 1);
    conn->split_from = pinfo->num;
    conn->split_after = before;
    return true;
}

static int
dissect_connection(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data, struct connection *conn)
{
    struct frame_state *state = get_frame_state(pinfo, conn);
    /* A packet quoted in an error message is not part of the stream. */
    if (pinfo->flags.in_error_pkt)
        return delegate(conn, state, tvb, pinfo, tree, data);
    notice_lost_segments(conn, pinfo, state, data);
    bool in_first_frame = pinfo->num == conn->split_from;
    if (conn->split_from != 0 && pinfo->num >= conn->split_from && !(in_first_frame && state->next < conn->split_after))
        return dissect_messages(tvb, pinfo, tree, conn, state);
    if ((!PINFO_FD_VISITED(pinfo) || in_first_frame) && scan_messages(tvb, pinfo, conn, state))
        return dissect_messages(tvb, pinfo, tree, conn, state);
    return delegate(conn, state, tvb, pinfo, tree, data);
}

/*
 * TLS
 */

/* Declared in packet-tls-utils.h, which needs the headers of libgcrypt. */
WS_DLL_PUBLIC uint32_t ssl_starttls_ack(dissector_handle_t tls, packet_info *pinfo, dissector_handle_t application);
WS_DLL_PUBLIC void tls_set_appdata_dissector(dissector_handle_t tls, packet_info *pinfo, dissector_handle_t application);

static const uint8_t ssl_request[] = { 0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f };

static bool
can_use_tls(void)
{
    return tls_handle != NULL && proto_is_protocol_enabled(find_protocol_by_id(dissector_handle_get_protocol_index(tls_handle)));
}

/* A TLS record with a handshake message in it, or as much of its beginning as is there. */
static bool
begins_handshake(tvbuff_t *tvb)
{
    static const uint8_t start[] = { 22, 3 };
    unsigned captured = tvb_captured_length(tvb);
    return captured > 0 && tvb_memeql(tvb, 0, start, MIN(captured, sizeof start)) == 0
        && (captured < 6 || (tvb_get_ptr(tvb, 2, 1)[0] <= 4 && tvb_get_ptr(tvb, 5, 1)[0] == 1));
}

/* Whether nothing was said on the connection before this frame. */
static bool
is_unknown(packet_info *pinfo)
{
    const conversation_t *conversation = find_conversation_pinfo(pinfo, 0);
    const struct connection *conn = conversation == NULL ? NULL
        : (const struct connection *)conversation_get_proto_data(conversation, proto_pgrepl);
    return conn == NULL || conn->first_frame > pinfo->num;
}

/* TLS from the first byte on: from here on the connection belongs to the TLS dissector, which gives us what it decrypts. */
static int
dissect_direct_tls(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    if (tvb_captured_length(tvb) < 6) {
        pinfo->desegment_offset = 0;
        pinfo->desegment_len = DESEGMENT_ONE_MORE_SEGMENT;
        return (int)tvb_reported_length(tvb);
    }
    conversation_set_dissector_from_frame_number(find_or_create_conversation(pinfo), pinfo->num, tls_handle);
    tls_set_appdata_dissector(tls_handle, pinfo, tls_front_handle);
    uint16_t can_desegment = pinfo->can_desegment;
    pinfo->can_desegment = pinfo->saved_can_desegment;
    int used = call_dissector(tls_handle, tvb, pinfo, tree);
    pinfo->can_desegment = can_desegment;
    return used;
}

/* Has the TLS dissector take over behind an SSLRequest that the server accepts, and give us what it decrypts. */
static void
follow_starttls(tvbuff_t *tvb, packet_info *pinfo, struct connection *conn)
{
    unsigned captured = tvb_captured_length(tvb);
    if (PINFO_FD_VISITED(pinfo) || captured == 0 || !can_use_tls())
        return;
    if (get_direction(conn, pinfo) == PGREPL_DIRECTION_FRONTEND) {
        conn->asked_for_tls = captured == sizeof ssl_request && tvb_memeql(tvb, 0, ssl_request, sizeof ssl_request) == 0;
        return;
    }
    if (conn->asked_for_tls && tvb_reported_length(tvb) == 1 && tvb_get_ptr(tvb, 0, 1)[0] == 'S') {
        /* Before the built-in dissector does it for itself: the first one stays. */
        ssl_starttls_ack(tls_handle, pinfo, tls_front_handle);
        /* Of two dissectors set for a conversation the one set for the later frame counts, and on other ports ours is set. */
        conversation_set_dissector_from_frame_number(find_or_create_conversation(pinfo), pinfo->num + 1, tls_handle);
    }
    conn->asked_for_tls = false;
}

/*
 * Entry points
 */

/* Stands on the PostgreSQL ports in place of the built-in dissector, and on TLS. */
static int
dissect_front(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (!proto_is_protocol_enabled(find_protocol_by_id(proto_pgrepl)))
        return delegate(NULL, NULL, tvb, pinfo, tree, data);
    bool server_is_source = pinfo->match_uint == pinfo->srcport && pinfo->srcport != pinfo->destport;
    if (!server_is_source && begins_handshake(tvb) && can_use_tls() && is_unknown(pinfo))
        return dissect_direct_tls(tvb, pinfo, tree);
    struct connection *conn = get_connection(pinfo, server_is_source);
    follow_starttls(tvb, pinfo, conn);
    return dissect_connection(tvb, pinfo, tree, data, conn);
}

/* Finds PostgreSQL connections on other ports: by their start, or by replication messages. */
static ws_bool
dissect_heuristic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    unsigned captured = tvb_captured_length(tvb);
    if (captured == 0 || pinfo->flags.in_error_pkt || !proto_is_protocol_enabled(find_protocol_by_id(proto_pgrepl)))
        return false;
    uint32_t guess = pgrepl_guess(tvb_get_ptr(tvb, 0, captured), captured, tvb_reported_length(tvb));
    if (guess == PGREPL_GUESSED_NO)
        return false;
    struct connection *conn = get_connection(pinfo, guess == PGREPL_GUESSED_BACKEND);
    if (guess != PGREPL_GUESSED_STARTUP && conn->split_from == 0) {
        pgrepl_session_assume_replication(conn->session);
        conn->split_from = pinfo->num;
    }
    /* From this frame on only: the frames before it stay what they were on the first pass. */
    conversation_set_dissector_from_frame_number(find_or_create_conversation(pinfo), pinfo->num, front_handle);
    /* Wireshark has put the heuristic's protocol on the list of layers. */
    get_frame_state(pinfo, conn)->has_pgsql_layer = get_frame_state(pinfo, conn)->has_given_layer = true;
    follow_starttls(tvb, pinfo, conn);
    dissect_connection(tvb, pinfo, tree, data, conn);
    return true;
}

/* Finds them in TLS that began in no known way, by their start alone: what comes before it nobody has shown. */
static ws_bool
dissect_tls_heuristic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    unsigned captured = tvb_captured_length(tvb);
    if (captured == 0 || !proto_is_protocol_enabled(find_protocol_by_id(proto_pgrepl))
        || pgrepl_guess(tvb_get_ptr(tvb, 0, captured), captured, tvb_reported_length(tvb)) != PGREPL_GUESSED_STARTUP)
        return false;
    struct connection *conn = get_connection(pinfo, false);
    tls_set_appdata_dissector(tls_handle, pinfo, tls_front_handle);
    get_frame_state(pinfo, conn)->has_pgsql_layer = get_frame_state(pinfo, conn)->has_given_layer = true;
    dissect_connection(tvb, pinfo, tree, NULL, conn);
    return true;
}

/*
 * Statistics
 */

static int st_messages, st_from_server, st_from_client, st_changes, st_bytes, st_wal, st_transactions;

static void
init_statistics(stats_tree *st)
{
    st_messages = stats_tree_create_node(st, "Messages", 0, STAT_DT_INT, TRUE);
    st_from_server = stats_tree_create_node(st, "From the server", st_messages, STAT_DT_INT, TRUE);
    st_from_client = stats_tree_create_node(st, "From the client", st_messages, STAT_DT_INT, TRUE);
    st_changes = stats_tree_create_node(st, "Changes by table", 0, STAT_DT_INT, TRUE);
    st_bytes = stats_tree_create_node(st, "Bytes of changes by table", 0, STAT_DT_INT, TRUE);
    st_wal = stats_tree_create_node(st, "WAL records by resource manager", 0, STAT_DT_INT, TRUE);
    st_transactions = stats_tree_create_node(st, "Transactions", 0, STAT_DT_INT, TRUE);
    stats_tree_create_range_node(st, "Changes in a transaction", 0, "0", "1", "2-9", "10-99", "100-999", "1000-9999",
        "10000-99999", "100000-", NULL);
    stats_tree_create_range_node(st, "Milliseconds until a commit is acknowledged", 0, "0", "1-9", "10-99",
        "100-999", "1000-9999", "10000-", NULL);
}

static const char *
outcome_name(uint32_t outcome)
{
    switch (outcome) {
    case PGREPL_OUTCOME_COMMITTED: return "Committed";
    case PGREPL_OUTCOME_ROLLED_BACK: return "Rolled back";
    case PGREPL_OUTCOME_PREPARED: return "Prepared";
    default: return NULL;
    }
}

static tap_packet_status
count_message(stats_tree *st, packet_info *pinfo _U_, epan_dissect_t *edt _U_, const void *data, tap_flags_t flags _U_)
{
    const struct pgrepl_tap *tap = (const struct pgrepl_tap *)data;
    const struct pgrepl_tally *tally = &tap->tally;
    bool from_server = tap->direction == PGREPL_DIRECTION_BACKEND;

    tick_stat_node(st, "Messages", 0, TRUE);
    tick_stat_node(st, from_server ? "From the server" : "From the client", st_messages, TRUE);
    int kind = tick_stat_node(st, tally->message != NULL ? tally->message : "Other", from_server ? st_from_server : st_from_client, TRUE);
    if (tally->logical != NULL)
        tick_stat_node(st, tally->logical, kind, FALSE);

    for (uint32_t i = 0; i < tally->tables; i++) {
        tick_stat_node(st, "Changes by table", 0, TRUE);
        int table = tick_stat_node(st, tap->tables[i], st_changes, TRUE);
        tick_stat_node(st, tally->logical, table, FALSE);
    }
    /* A Truncate of several tables has no bytes of one of them. */
    if (tally->tables == 1) {
        increase_stat_node(st, "Bytes of changes by table", 0, TRUE, (int)tally->bytes);
        increase_stat_node(st, tap->tables[0], st_bytes, FALSE, (int)tally->bytes);
    }

    for (unsigned rmgr = 0; tap->wal_records != NULL && rmgr < 256; rmgr++) {
        char name[MAX_NAME];
        if (tap->wal_records[rmgr] == 0 || pgrepl_rmgr_name((uint8_t)rmgr, name, sizeof name) != PGREPL_STATUS_OK)
            continue;
        increase_stat_node(st, "WAL records by resource manager", 0, TRUE, (int)tap->wal_records[rmgr]);
        increase_stat_node(st, name, st_wal, FALSE, (int)tap->wal_records[rmgr]);
    }

    const char *outcome = outcome_name(tally->outcome);
    if (outcome != NULL) {
        tick_stat_node(st, "Transactions", 0, TRUE);
        tick_stat_node(st, outcome, st_transactions, FALSE);
    }
    if (tally->transaction_counted) {
        tick_stat_node(st, "Changes in a transaction", 0, FALSE);
        stats_tree_tick_range(st, "Changes in a transaction", 0, (int)MIN(tally->transaction_changes, INT_MAX));
    }
    for (uint32_t i = 0; i < tally->acknowledgements; i++) {
        if (tap->acknowledgements[i] == PGREPL_TIME_UNKNOWN)
            continue;
        tick_stat_node(st, "Milliseconds until a commit is acknowledged", 0, FALSE);
        stats_tree_tick_range(st, "Milliseconds until a commit is acknowledged", 0,
            (int)CLAMP(tap->acknowledgements[i] / 1000000, 0, INT_MAX));
    }
    return TAP_PACKET_REDRAW;
}

static void
register_statistics(void)
{
    stats_tree_register_plugin("pgrepl", "pgrepl", "PostgreSQL Replication", 0, count_message, init_statistics, NULL);
}

/*
 * Registration
 */

static range_t *
builtin_ports(void)
{
    return pgsql_handle ? prefs_get_range_value("pgsql", "tcp.port") : NULL;
}

/* Gives a port back to the built-in dissector, or to nobody when that no longer has it. */
static gboolean
give_back(void *key, void *value _U_, void *keep)
{
    uint32_t port = GPOINTER_TO_UINT(key);
    range_t *ports = builtin_ports();
    bool is_builtin = ports != NULL && value_is_in_range(ports, port);
    if (is_builtin && keep != NULL)
        return FALSE;
    if (dissector_get_uint_handle(find_dissector_table("tcp.port"), port) == front_handle) {
        if (is_builtin)
            dissector_add_uint("tcp.port", port, pgsql_handle);
        else
            dissector_delete_uint("tcp.port", port, front_handle);
    }
    return TRUE;
}

/* Stands in front of the built-in dissector on the ports that the user gave to it, where nobody else was chosen. */
static void
follow_ports(bool take_over)
{
    dissector_table_t tcp_ports = find_dissector_table("tcp.port");
    g_hash_table_foreach_remove(taken_ports, give_back, take_over ? taken_ports : NULL);
    range_t *ports = take_over ? builtin_ports() : NULL;
    for (unsigned i = 0; ports != NULL && i < ports->nranges; i++) {
        for (uint32_t port = ports->ranges[i].low; port <= ports->ranges[i].high; port++) {
            if (dissector_get_uint_handle(tcp_ports, port) == pgsql_handle) {
                dissector_add_uint("tcp.port", port, front_handle);
                g_hash_table_add(taken_ports, GUINT_TO_POINTER(port));
            }
            if (port == UINT16_MAX)
                break;
        }
    }
}

/* The same for TLS that names PostgreSQL as its application. */
static void
follow_alpn(bool take_over)
{
    dissector_table_t names = tls_handle ? find_dissector_table("tls.alpn") : NULL;
    if (names == NULL)
        return;
    dissector_handle_t present = dissector_get_string_handle(names, "postgresql");
    if (take_over && present == builtin_alpn_handle)
        dissector_add_string("tls.alpn", "postgresql", tls_front_handle);
    else if (!take_over && present == tls_front_handle && builtin_alpn_handle != NULL)
        dissector_add_string("tls.alpn", "postgresql", builtin_alpn_handle);
    else if (!take_over && present == tls_front_handle)
        dissector_delete_string("tls.alpn", "postgresql", tls_front_handle);
}

static void
find_chosen_port(const char *table _U_, ftenum_t type _U_, void *key, void *entry, void *ports)
{
    if (dtbl_entry_get_handle((dtbl_entry_t *)entry) == decode_as_handle)
        g_array_append_vals((GArray *)ports, &key, 1);
}

/* Where the user chose pgrepl, the front does the work: it adds no layer to frames without replication. */
static void
follow_decode_as(void)
{
    GArray *ports = g_array_new(FALSE, FALSE, sizeof(void *));
    dissector_table_foreach("tcp.port", find_chosen_port, ports);
    for (unsigned i = 0; i < ports->len; i++)
        dissector_change_uint("tcp.port", GPOINTER_TO_UINT(g_array_index(ports, void *, i)), front_handle);
    g_array_free(ports, TRUE);
}

/* Runs when a file is opened and after preferences, chosen dissectors or enabled protocols have changed. */
static void
init_pgrepl(void)
{
    if (capture == NULL)
        capture = pgrepl_capture_new();
    /* Registered by Wireshark after all plugins. */
    expert_tap = find_tap_id("expert");
    if (pgsql_handle == NULL)
        return;
    bool enabled = proto_is_protocol_enabled(find_protocol_by_id(proto_pgrepl));
    follow_decode_as();
    follow_ports(enabled && take_over_ports);
    follow_alpn(enabled && take_over_ports);
}

static void
cleanup_pgrepl(void)
{
    pgrepl_capture_free(capture);
    capture = NULL;
}

static const value_string *
value_names(const struct pgrepl_field_info *info)
{
    value_string *names = g_new0(value_string, info->value_count + 1);
    for (uint32_t i = 0; i < info->value_count; i++) {
        names[i].value = info->values[i].value;
        names[i].strptr = info->values[i].name;
    }
    return names;
}

/* Fills in how Wireshark is to show a field. */
static void
describe_field(const struct pgrepl_field_info *info, header_field_info *hf)
{
    hf->name = info->label;
    hf->abbrev = info->name;
    hf->blurb = info->blurb;
    hf->display = BASE_NONE;
    if (info->values != NULL)
        hf->strings = VALS(value_names(info));
    switch (info->kind) {
    case PGREPL_KIND_CHAR:
        hf->type = FT_CHAR;
        hf->display = BASE_HEX;
        break;
    case PGREPL_KIND_BOOL:
        hf->type = FT_BOOLEAN;
        hf->bitmask = info->mask;
        hf->display = info->mask != 0 ? 8 : BASE_NONE;
        break;
    case PGREPL_KIND_UINT:
        hf->type = info->width == 8 ? FT_UINT64 : info->width == 4 ? FT_UINT32 : info->width == 2 ? FT_UINT16 : FT_UINT8;
        hf->display = info->width == 1 ? BASE_HEX : BASE_DEC;
        break;
    case PGREPL_KIND_INT:
        hf->type = FT_INT32;
        hf->display = BASE_DEC;
        break;
    case PGREPL_KIND_LSN:
    case PGREPL_KIND_TEXT:
        hf->type = FT_STRING;
        break;
    case PGREPL_KIND_STRING:
        hf->type = FT_STRINGZ;
        break;
    case PGREPL_KIND_POSITION:
        hf->type = FT_FRAMENUM;
        break;
    case PGREPL_KIND_DURATION:
        hf->type = FT_RELATIVE_TIME;
        break;
    case PGREPL_KIND_TIME:
        hf->type = FT_ABSOLUTE_TIME;
        hf->display = ABSOLUTE_TIME_UTC;
        break;
    default:
        hf->type = FT_BYTES;
        break;
    }
}

static int
expert_severity(uint8_t severity)
{
    switch (severity) {
    case PGREPL_SEVERITY_CHAT: return PI_CHAT;
    case PGREPL_SEVERITY_NOTE: return PI_NOTE;
    case PGREPL_SEVERITY_WARN: return PI_WARN;
    default: return PI_ERROR;
    }
}

/* Registers the core's field list. What Wireshark keeps pointers to is allocated here for the life of the process. */
static void
register_fields(void)
{
    field_list = pgrepl_fields(&field_count);
    hf_fields = g_new(int, field_count);
    hf_positions = g_new(int, field_count);
    ei_notes = g_new(expert_field, field_count);
    hf_register_info *fields = g_new0(hf_register_info, 2 * field_count);
    ei_register_info *notes = g_new0(ei_register_info, field_count + 1);
    int hf_count = 0, ei_count = 0;
    const expert_field no_expert_field = EI_INIT;

    for (size_t i = 0; i < field_count; i++) {
        const struct pgrepl_field_info *info = &field_list[i];
        hf_fields[i] = hf_positions[i] = -1;
        ei_notes[i] = no_expert_field;
        const hf_register_info empty = { &hf_fields[i], { NULL, NULL, FT_NONE, BASE_NONE, NULL, 0x0, NULL, HFILL } };
        if (info->kind == PGREPL_KIND_NOTE) {
            expert_field_info description = { info->name, PI_PROTOCOL, expert_severity(info->severity), info->label, EXPFILL };
            if (info->severity == PGREPL_SEVERITY_ERROR)
                description.group = PI_MALFORMED;
            notes[ei_count].ids = &ei_notes[i];
            notes[ei_count++].eiinfo = description;
            if (strcmp(info->name, "pgrepl.expert.decoder_panic") == 0)
                ei_panic = &ei_notes[i];
        } else if (info->kind != PGREPL_KIND_GROUP) {
            if (strcmp(info->name, "pgrepl.start.plugin") == 0)
                hf_start_plugin = &hf_fields[i];
            if (strcmp(info->name, "pgrepl.data") == 0)
                hf_data = &hf_fields[i];
            if (strcmp(info->name, "pgrepl.start.frame") == 0)
                hf_start_frame = &hf_fields[i];
            fields[hf_count] = empty;
            describe_field(info, &fields[hf_count++].hfinfo);
            if (info->kind == PGREPL_KIND_LSN) {
                /* The same as a number, to compare and to plot. */
                fields[hf_count] = empty;
                fields[hf_count].p_id = &hf_positions[i];
                describe_field(info, &fields[hf_count].hfinfo);
                fields[hf_count].hfinfo.abbrev = g_strconcat(info->name, ".pos", NULL);
                fields[hf_count].hfinfo.type = FT_UINT64;
                fields[hf_count++].hfinfo.display = BASE_DEC;
            }
        }
    }
    proto_register_field_array(proto_pgrepl, fields, hf_count);
    notes[ei_count].ids = &ei_left_out;
    const expert_field_info left_out = { "pgrepl.expert.left_out", PI_UNDECODED, PI_NOTE, "Left out", EXPFILL };
    notes[ei_count++].eiinfo = left_out;
    expert_register_field_array(expert_register_protocol(proto_pgrepl), notes, ei_count);
}

static void
register_preferences(void)
{
    static const enum_val_t payloads[] = {
        { "guess", "Guess from the messages", PGREPL_PAYLOAD_UNKNOWN },
        { "pgoutput", "pgoutput", PGREPL_PAYLOAD_PGOUTPUT },
        { "physical", "Physical WAL", PGREPL_PAYLOAD_PHYSICAL },
        { "other", "Another output plugin", PGREPL_PAYLOAD_OTHER_PLUGIN },
        { NULL, NULL, 0 }
    };
    module_t *module = prefs_register_protocol(proto_pgrepl, NULL);

    prefs_register_bool_preference(module, "take_over_ports", "Stand in front of the PostgreSQL dissector",
        "Read the connections on the ports of the PostgreSQL dissector and in TLS that names PostgreSQL, and hand on what is not"
        " replication. Otherwise only those that Decode As gives to PGREPL and those on other ports that are recognised.",
        &take_over_ports);
    prefs_register_enum_preference(module, "payload", "Streams without a beginning hold",
        "How to read the data of a stream whose START_REPLICATION command was not captured", &unseen_payload, payloads, false);
    prefs_register_bool_preference(module, "xid64", "Transaction ids of 64 bits",
        "Postgres Pro Enterprise sends transaction ids of 8 bytes in the messages of pgoutput; PostgreSQL sends 4.", &xid64);
    prefs_register_uint_preference(module, "text_length", "Longest value in a label",
        "Bytes of a value that the label of its column shows; that of a row shows half of it. Wireshark cuts every label at 240"
        " bytes. The fields themselves are not cut.", 10, &text_length);
}

static void
proto_register_pgrepl(void)
{
    static int *ett[] = { &ett_pgsql, &ett_pgrepl, &ett_message, &ett_group, &ett_bits };

    if (pgrepl_abi_version() != PGREPL_ABI_VERSION) {
        ws_warning("pgrepl: the library has ABI version %u, the plugin %u; nothing is registered", pgrepl_abi_version(), PGREPL_ABI_VERSION);
        return;
    }
    proto_pgrepl = proto_register_protocol("PostgreSQL Replication", "PGREPL", "pgrepl");
    register_fields();
    register_preferences();
    proto_register_subtree_array(ett, array_length(ett));

    proto_pgsql = proto_get_id_by_filter_name("pgsql");
    if (proto_pgsql > 0) {
        /* Lives and dies with the built-in dissector, and adds no layer of its own. */
        proto_front = proto_register_protocol_in_name_only("PostgreSQL with replication", "PGSQL+R", "pgsqlr", proto_pgsql, FT_PROTOCOL);
        /* TLS shows the name of what is in it: it stays as it is. */
        protocol_t *pgsql = find_protocol_by_id(proto_pgsql);
        int proto_tls_front = proto_register_protocol_in_name_only(proto_get_protocol_long_name(pgsql),
            proto_get_protocol_short_name(pgsql), "pgsqlr.tls", proto_pgsql, FT_PROTOCOL);
        tls_front_handle = create_dissector_handle(dissect_front, proto_tls_front);
        builtin_table = register_dissector_table("pgrepl.builtin", "PostgreSQL below pgrepl", proto_pgrepl, FT_UINT16, BASE_DEC);
        front_handle = create_dissector_handle(dissect_front, proto_front);
        decode_as_handle = create_dissector_handle(dissect_front, proto_pgrepl);
        pgsql_layer_handle = create_dissector_handle(add_pgsql_layer, proto_pgsql);
        pgrepl_layer_handle = create_dissector_handle(add_pgrepl_layer, proto_pgrepl);
    }
    pgrepl_tap = register_tap("pgrepl");
    taken_ports = g_hash_table_new(NULL, NULL);
    register_init_routine(init_pgrepl);
    register_cleanup_routine(cleanup_pgrepl);
}

static void
proto_reg_handoff_pgrepl(void)
{
    if (front_handle == NULL)
        return;
    pgsql_handle = find_dissector("pgsql");
    if (pgsql_handle == NULL)
        pgsql_handle = dissector_get_uint_handle(find_dissector_table("tcp.port"), POSTGRESQL_PORT);
    if (pgsql_handle == NULL) {
        ws_warning("pgrepl: this Wireshark has no PostgreSQL dissector to stand in front of");
        return;
    }
    hf_pgsql_type = proto_registrar_get_id_byname("pgsql.type");
    hf_pgsql_length = proto_registrar_get_id_byname("pgsql.length");
    hf_pgsql_frontend = proto_registrar_get_id_byname("pgsql.frontend");
    proto_tcp = proto_get_id_by_filter_name("tcp");
    proto_tls = proto_get_id_by_filter_name("tls");
    json_handle = find_dissector("json");

    dissector_add_for_decode_as("tcp.port", decode_as_handle);
    /* What is saved of such a choice carries the name of this one. */
    dissector_add_for_decode_as("tcp.port", front_handle);
    /* Under the built-in protocol, for that is the layer which every frame of such a connection has. */
    heur_dissector_add("tcp", dissect_heuristic, "PostgreSQL replication over TCP", "pgrepl_tcp", proto_pgsql, HEURISTIC_ENABLE);

    tls_handle = find_dissector_add_dependency("tls", proto_pgrepl);
    if (tls_handle != NULL) {
        builtin_alpn_handle = dissector_get_string_handle(find_dissector_table("tls.alpn"), "postgresql");
        heur_dissector_add("tls", dissect_tls_heuristic, "PostgreSQL replication over TLS", "pgrepl_tls", proto_pgsql, HEURISTIC_ENABLE);
    }
}

/*
 * What Wireshark looks for in a plugin
 */

extern const char plugin_version[];
extern const int plugin_want_major;
extern const int plugin_want_minor;
void plugin_register(void);
uint32_t plugin_describe(void);

WS_DLL_PUBLIC_DEF const char plugin_version[] = PGREPL_PLUGIN_VERSION;
WS_DLL_PUBLIC_DEF const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
WS_DLL_PUBLIC_DEF const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

WS_DLL_PUBLIC_DEF void
plugin_register(void)
{
    static proto_plugin pgrepl;
    pgrepl.register_protoinfo = proto_register_pgrepl;
    pgrepl.register_handoff = proto_reg_handoff_pgrepl;
    proto_register_plugin(&pgrepl);
    static tap_plugin statistics;
    statistics.register_tap_listener = register_statistics;
    tap_register_plugin(&statistics);
}

/* Asked from 4.4 on: this plugin is a dissector and a tap listener. */
WS_DLL_PUBLIC_DEF uint32_t
plugin_describe(void)
{
    return 1u << 0 | 1u << 4;
}
