/* What differs between the Wireshark series that the plugin is built for, 4.0 to 4.6 and later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef PGREPL_WIRESHARK_SERIES_H
#define PGREPL_WIRESHARK_SERIES_H

#include <wireshark.h>
#include <ws_version.h>
#include <epan/packet.h>

#define WIRESHARK_SERIES (WIRESHARK_VERSION_MAJOR * 100 + WIRESHARK_VERSION_MINOR)

#if WIRESHARK_SERIES < 400
#error "pgrepl needs Wireshark 4.0 or later"
#endif

/* 4.4 turned gboolean (an int) into bool in the signatures of callbacks. */
#if WIRESHARK_SERIES < 404
typedef gboolean ws_bool;
#else
typedef bool ws_bool;
#endif

/* The call took its present name in 4.6, which has dropped the old one. */
#if WIRESHARK_SERIES < 406
#define dissector_try_uint_with_data dissector_try_uint_new
#endif

#endif
