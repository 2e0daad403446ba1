#!/bin/sh
# demo.sh [CAPTURE]: build and install pgrepl, then print the replication messages of a capture, field by field.
#
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
capture=${1:-$root/tests/captures/pg15_proto1_orders.pcapng.gz}
[ -r "$capture" ] || { printf '%s\n' "demo.sh: cannot read $capture" >&2; exit 1; }

sh "$root/plugin/install.sh"
if [ -z "$(tshark -r "$capture" -Y pgrepl -T fields -e frame.number)" ]; then
    printf '%s\n' "demo.sh: no replication messages found in $capture; README.md, \"Making a capture\", says what has to be in it" >&2
    exit 1
fi
# Two passes: the first messages of a transaction can tell how it ends.
tshark -2 -r "$capture" -Y pgrepl -O pgsql,pgrepl
