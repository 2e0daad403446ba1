#!/bin/sh
# install.sh: build pgrepl for the Wireshark of this system and install it.
#
# As root it installs what is missing (Debian packages) and puts the plugin where every user's Wireshark finds it. As an
# ordinary user it puts it into that user's own plugin folder: Wireshark run by root ignores those. To remove the plugin,
# delete the file that is named at the end; after a change of Wireshark's series (4.0 to 4.4) run this again.
#
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
say() { printf '%s\n' "pgrepl: $*" >&2; }
fail() { say "$@"; exit 1; }

# What is missing, as Debian packages.
missing() {
    command -v cc >/dev/null || echo gcc libc6-dev
    command -v make >/dev/null || echo make
    command -v pkg-config >/dev/null || echo pkg-config
    command -v tshark >/dev/null || echo tshark
    pkg-config --cflags wireshark >/dev/null 2>&1 || echo libwireshark-dev libwiretap-dev libwsutil-dev libglib2.0-dev
}

command -v cargo >/dev/null ||
    fail "a Rust toolchain of version 1.85 or later is needed (cargo is not in PATH; sudo resets PATH); see https://rustup.rs"
packages=$(missing)
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086 # the list is meant to be split
    set -- $packages
    if ! command -v apt-get >/dev/null; then
        fail "needs a C compiler, make, pkg-config, tshark and Wireshark's development files"
    elif [ "$(id -u)" = 0 ]; then
        say "installing: $*"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -q >&2
        apt-get install -q -y --no-install-recommends "$@" >&2
    else
        fail "missing; ask an administrator, or as root: apt-get install $*"
    fi
fi

# A plugin fits one series only, such as 4.0: that of the headers has to be that of the program.
series=$(make -s -C "$root/plugin" VERSION)
program=$(tshark --version 2>/dev/null | sed -n '1s/^[^0-9]*\([0-9]*\.[0-9]*\).*/\1/p')
[ "$series" = "$program" ] ||
    fail "tshark is of series $program, the development files (pkg-config wireshark) are of series $series: install those of $program"

say "building for Wireshark $series"
make -s -C "$root/plugin" >&2
built=${CARGO_TARGET_DIR:-$root/target}/plugin/$series/epan/pgrepl.so

if [ "$(id -u)" = 0 ]; then
    folder=$(pkg-config --variable=plugindir wireshark)/epan
else
    folder=${HOME:?}/.local/lib/wireshark/plugins/$series/epan
fi
mkdir -p "$folder"
# Replaced in one step: a Wireshark that is open keeps the old file.
cp "$built" "$folder/.pgrepl.so.new"
mv -f "$folder/.pgrepl.so.new" "$folder/pgrepl.so"

# Another copy, such as that of the administrator, may be in the way.
loaded=$(tshark -G plugins 2>/dev/null | sed -n 's/^pgrepl\.so.*[[:space:]]//p')
case $loaded in
    "$folder/pgrepl.so") say "installed as $folder/pgrepl.so" ;;
    '') fail "installed as $folder/pgrepl.so, but tshark does not load it" ;;
    *) fail "installed as $folder/pgrepl.so, but tshark loads $loaded instead: remove or renew that one" ;;
esac
