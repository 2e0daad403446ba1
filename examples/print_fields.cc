// The filter names of the fields of one CopyData payload, from C++: what a client gets from PQgetCopyData().
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#include "pgrepl.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

struct FreeCapture {
    void operator()(pgrepl_capture *capture) const { pgrepl_capture_free(capture); }
};

int main()
{
    static const unsigned char keepalive[] = { 'k', 0, 0, 0, 0xb, 0x03, 0xf4, 0x2b, 0x70, 0, 2, 0xb0, 0xd5, 0xd4, 0xe9, 0x40, 0, 1 };
    const std::string command = "START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '4', publication_names 'p')";

    std::unique_ptr<pgrepl_capture, FreeCapture> capture(pgrepl_capture_new());
    pgrepl_session *session = pgrepl_session_new(capture.get(), nullptr);
    if (pgrepl_session_command(session, command.data(), command.size()) != PGREPL_STATUS_OK)
        return 1;

    pgrepl_record record;
    pgrepl_walk walk;
    if (pgrepl_session_track_copy_data(session, PGREPL_DIRECTION_BACKEND, 1, PGREPL_TIME_UNKNOWN, keepalive, sizeof keepalive, sizeof keepalive, &record)
            != PGREPL_STATUS_OK
        || pgrepl_walk_start(&walk, session, &record, keepalive, sizeof keepalive, sizeof keepalive, 0) != PGREPL_STATUS_OK)
        return 1;

    std::size_t field_count = 0;
    const pgrepl_field_info *fields = pgrepl_fields(&field_count);
    std::vector<pgrepl_span> spans(PGREPL_MIN_SPANS);
    std::size_t count = 0;
    while (pgrepl_walk_next(&walk, spans.data(), spans.size(), nullptr, 0, &count) == PGREPL_STATUS_OK && count > 0)
        for (std::size_t i = 0; i < count; i++)
            std::printf("%s %u+%u\n", fields[spans[i].field].name, spans[i].offset, spans[i].length);
    return 0;
}
