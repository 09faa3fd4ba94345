#!/usr/bin/env bash
# Builds dist/tinyssb-node_VERSION+pyX.Y_ARCH.deb: the program and its dependencies, for one processor and one Python.
# `make deb` builds for this machine. On a PC, for a Pi with Debian 13: `make deb DEB_ARCH=arm64 DEB_PYTHON=3.13`.
# The reasons for this design: docs/decisions/0018-debian-package.md
set -euo pipefail
cd "$(dirname "$0")/../.."

PYTHON=${PYTHON:-python3}
ARCH=${DEB_ARCH:-$(dpkg --print-architecture)}
TARGET=${DEB_PYTHON:-$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')}
EXTRAS=ble,mqtt,pzp,serial,tls,tui,web
HERE=hw/deb
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}

case $ARCH in
    amd64) MACHINE=x86_64 ;;
    arm64) MACHINE=aarch64 ;;
    armhf) MACHINE=armv7l ;;
    *)
        echo "A package can be built for amd64, arm64 or armhf, not for $ARCH." >&2
        exit 64
        ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
lib=$root/opt/tinyssb/lib
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$lib"

echo "· The program"
"$PYTHON" -m venv "$work/venv" || {
    echo "This Python cannot make virtual environments. Type: sudo apt-get install python3-venv" >&2
    exit 69
}
pip=("$work/venv/bin/python" -m pip --disable-pip-version-check)
wheel=${WHEEL:-}
if [ -z "$wheel" ]; then
    "${pip[@]}" wheel --quiet --no-deps --wheel-dir "$work/wheel" .
    wheel=$(echo "$work"/wheel/*.whl)
fi
wheel=$(realpath "$wheel")
# Debian sorts `~` before the end of a version: 0.2~rc1 is older than 0.2. An upgrade of the system to a newer Python
# upgrades the package, too.
VERSION=$(basename "$wheel" | cut -d- -f2 | sed -E 's/\.?(dev|a|b|rc)([0-9]+)/~\1\2/')+py$TARGET

echo "· Its dependencies, for $ARCH and Python $TARGET"
platforms=()
for libc in manylinux2014 manylinux_2_17 manylinux_2_26 manylinux_2_28 manylinux_2_31 manylinux_2_34 manylinux_2_35 linux; do
    platforms+=(--platform "${libc}_$MACHINE")
done
"${pip[@]}" install --quiet --target "$lib" --only-binary=:all: --no-compile "${platforms[@]}" \
    --implementation cp --python-version "$TARGET" "$wheel[$EXTRAS]" "gpiod>=2.1" || {
    echo "Some dependencies have no wheels for $ARCH and Python $TARGET; docs/howto/debian-package.md says what to do." >&2
    exit 69
}
# The node does not need scripts of libraries, nor their man pages. Its own go where man(1) and shells look.
rm -rf "$lib/bin"
install -D -m 644 "$lib/share/man/man1/tinyssb.1" "$root/usr/share/man/man1/tinyssb.1"
gzip -9n "$root/usr/share/man/man1/tinyssb.1"
for file in bash-completion/completions/tinyssb fish/vendor_completions.d/tinyssb.fish; do
    install -D -m 644 "$lib/share/$file" "$root/usr/share/$file"
done
install -D -m 644 "$lib/share/zsh/site-functions/_tinyssb" "$root/usr/share/zsh/vendor-completions/_tinyssb"
rm -rf "$lib/share"
# pip's lists of files name the scripts, with checksums that depend on the folder of this build, and where the wheel was.
rm "$lib"/tinyssb_node-*.dist-info/direct_url.json
sed -i -e '/^\.\.\/\.\.\//d' -e '/direct_url\.json,/d' "$lib"/*.dist-info/RECORD

echo "· The package"
for file in systemd/tinyssb.service:systemd/system/tinyssb.service systemd/tinyssb.sysusers.conf:sysusers.d/tinyssb.conf \
    systemd/tinyssb.tmpfiles.conf:tmpfiles.d/tinyssb.conf udev/60-tinyssb.rules:udev/rules.d/60-tinyssb.rules; do
    install -D -m 644 "hw/${file%%:*}" "$root/usr/lib/${file##*:}"
done
install -D -m 644 LICENSE "$root/usr/share/doc/tinyssb-node/copyright"
sed "s/@PYTHON@/$TARGET/" $HERE/tinyssb.in >"$root/usr/bin/tinyssb"
for script in postinst prerm postrm; do
    sed "s/@PYTHON@/$TARGET/" "$HERE/$script" >"$root/DEBIAN/$script"
done
sed -e "s/@VERSION@/$VERSION/" -e "s/@ARCH@/$ARCH/" -e "s/@PYTHON@/$TARGET/" \
    -e "s/@SIZE@/$(du -sk --exclude=DEBIAN "$root" | cut -f1)/" $HERE/control.in >"$root/DEBIAN/control"
chmod -R u=rwX,go=rX "$root"
chmod 755 "$root/usr/bin/tinyssb" "$root/DEBIAN"/{postinst,prerm,postrm}
mkdir -p dist
deb=dist/tinyssb-node_${VERSION}_$ARCH.deb
# Files that pip wrote have the time of now; those of a release are the same whenever it is built.
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$deb" >/dev/null
echo "✓ $deb ($(du -h "$deb" | cut -f1))"
