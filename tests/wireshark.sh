#!/bin/sh
# wireshark.sh SUITE DIR: unpack the Wireshark of a Debian suite (bookworm, trixie, sid) into DIR,
# with the headers that a plugin needs, and print its series (4.0, 4.4, 4.6) on standard output.
#
#   tests/wireshark.sh trixie /some/where/trixie
#   /some/where/trixie/bin/tshark -v                         also sharkd, editcap, mergecap, capinfos, randpkt
#   gcc --sysroot=/some/where/trixie ...                     builds a plugin for it
#
# Needs a Debian machine (apt-get, dpkg-deb, the archive keyring) but neither root nor chroot, and installs
# nothing: the packages of the suite are fetched through an apt of their own and only unpacked. The programs
# run through the dynamic linker and the libraries of the tree. A finished tree is left as it is, an
# unfinished or outdated one is made again. A finished tree can be moved.
#
# The archive is the one this machine itself uses; PGREPL_DEBIAN_MIRROR=URL names another.
set -eu

packages='tshark wireshark-common libwireshark-dev libwiretap-dev libwsutil-dev
          libglib2.0-dev libgcrypt20-dev libc6-dev'
programs='tshark sharkd editcap mergecap capinfos randpkt'
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

say() { echo "wireshark.sh: $*" >&2; }
die() { say "$*"; exit 1; }

[ $# = 2 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
suite=$1
case $suite in *[!a-z0-9.-]*|'') die "no suite: $suite" ;; esac

# What a tree is made by: it is out of date when this changes.
recipe="$suite $(cksum <"$0")"
stamp=.pgrepl-tree                   # in the tree: the recipe when finished, empty before

mkdir -p -- "$2"
dir=$(cd -- "$2" && pwd)
if [ -f "$dir/$stamp" ]; then
    if [ "$(cat "$dir/$stamp")" = "$recipe" ]; then cat "$dir/series"; exit 0; fi
elif [ -n "$(ls -A "$dir")" ]; then
    die "$dir is neither empty nor a tree that this script made"
fi
for tool in apt-get dpkg-deb tar; do
    command -v $tool >/dev/null || die "$tool is missing"
done
[ -r $keyring ] || die "$keyring is missing (package debian-archive-keyring)"

# Everything goes, the stamp last, so that the tree stays recognisable as ours.
find "$dir" -mindepth 1 -maxdepth 1 ! -name $stamp -exec rm -rf -- {} +
: >"$dir/$stamp"

# --- fetch ------------------------------------------------------------------------------------------------

# Archives of Debian proper known to this machine, whole ones before those of a single suite's updates.
sites() {
    if [ -n "${PGREPL_DEBIAN_MIRROR:-}" ]; then echo "$PGREPL_DEBIAN_MIRROR"; return; fi
    apt-get indextargets --format '$(LABEL)|$(ORIGIN)|$(SITE)' 'Created-By: Packages' | sort -u |
        sed -n 's/^Debian|Debian|//p'
    apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | sort -u | grep '/debian/*$' || :
}

apt=$dir/apt
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" \
    "$apt/etc/apt.conf.d" "$apt/etc/preferences.d" "$apt/etc/sources.list.d"
: >"$apt/state/status"

private_apt() {
    apt-get -q -y -o Dir::State="$apt/state" -o Dir::State::status="$apt/state/status" \
        -o Dir::Cache="$apt/cache" -o Dir::Etc="$apt/etc" \
        -o APT::Sandbox::User= -o Debug::NoLocking=1 \
        -o APT::Install-Recommends=false -o Acquire::Languages=none -o Acquire::Retries=3 \
        -o Acquire::Check-Valid-Until="$check_valid" \
        -o APT::Update::Error-Mode=any "$@"
}
# The Release file of sid expires after a week, and a mirror may lag behind.
check_valid=true
[ "$suite" != sid ] || check_valid=false

found=
for site in $(sites | awk '!seen[$0]++'); do
    echo "deb [signed-by=$keyring] $site $suite main" >"$apt/etc/sources.list"
    if private_apt update >"$apt/log" 2>&1; then found=$site; break; fi
    say "no suite $suite at $site:"; tail -n 3 "$apt/log" >&2
done
[ -n "$found" ] || die "no archive of this machine has $suite; PGREPL_DEBIAN_MIRROR=URL names one"

say "fetching the Wireshark of $suite"
# shellcheck disable=SC2086
private_apt -d install $packages >"$apt/log" 2>&1 || { cat "$apt/log" >&2; die "could not fetch $suite"; }

# --- unpack -----------------------------------------------------------------------------------------------

# The links of a merged /usr: linker scripts and old packages still say /lib.
mkdir -p "$dir/usr"
for d in bin sbin lib lib32 lib64 libx32; do
    mkdir -p "$dir/usr/$d"
    ln -s usr/$d "$dir/$d"
done
for deb in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir" --keep-directory-symlink --no-same-owner \
        --no-same-permissions --exclude='./usr/share/doc' --exclude='./usr/share/man' \
        --exclude='./usr/share/locale' || die "could not unpack $deb"
done
rm -rf "$apt"
chmod -R a+rX "$dir"

# --- launchers --------------------------------------------------------------------------------------------

libs=$(cd "$dir" && dirname usr/lib/*/libwireshark.so.*.*.* | head -n 1)
linker=$(cd "$dir" && ls $libs/ld-linux*.so.* $libs/ld64.so.* 2>/dev/null | head -n 1)
[ -n "$linker" ] || die "no dynamic linker in $dir/$libs"

# Nothing in the tree asks for its /bin: the name serves for the launchers.
rm "$dir/bin"
mkdir "$dir/bin"
for p in $programs; do
    [ -x "$dir/usr/bin/$p" ] || die "$suite has no $p"
    cat >"$dir/bin/$p" <<LAUNCHER
#!/bin/sh
t=\${0%/*}/..
export WIRESHARK_DATA_DIR="\$t/usr/share/wireshark" GCONV_PATH="\$t/$libs/gconv"
export WIRESHARK_PLUGIN_DIR="\${WIRESHARK_PLUGIN_DIR-\$t/$libs/wireshark/plugins}"
exec "\$t/$linker" --inhibit-cache --library-path "\$t/$libs" --argv0 $p "\$t/usr/bin/$p" "\$@"
LAUNCHER
    chmod 755 "$dir/bin/$p"
done

series=$(sed -n 's/^Version: *\([0-9]*\.[0-9]*\).*/\1/p' "$dir/$libs/pkgconfig/wireshark.pc")
[ -n "$series" ] || die "no version in wireshark.pc"
"$dir/bin/tshark" -v >/dev/null 2>"$dir/log" || { cat "$dir/log" >&2; die "the tshark of $suite does not run"; }
rm "$dir/log"
echo "$series" >"$dir/series"
echo "$recipe" >"$dir/$stamp"
echo "$series"
