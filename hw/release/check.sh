#!/usr/bin/env bash
# Installs what `make release` built in empty environments, and takes a user's first steps there. Words choose some:
#   wheels            the wheels, by pip in an empty virtual environment
#   pipx, uv          the node's wheel by pipx and by uv, if they are installed
#   bookworm, trixie  the Debian package by apt from the repository, in a system of that name that mmdebstrap makes
# Systems need root, or a user who may make namespaces. Without words: all, with those left out that cannot be had here.
set -euo pipefail
cd "$(dirname "$0")/../.."

here=$PWD
node_wheel=$(echo dist/tinyssb_node-*.whl)
sink_wheel=$(echo dist/tinyssb_sink-*.whl)
[ -f "$node_wheel" ] || {
    echo "✗ dist/ has no release. Type: make release" >&2
    exit 66
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checked=0 left_out=0

check_wheels() {
    "${PYTHON:-python3}" -m venv "$work/wheels"
    local bin=$work/wheels/bin
    "$bin/python" -m pip --disable-pip-version-check install --quiet "./$node_wheel"
    if "$bin/python" -I -c 'import spark_sink' 2>/dev/null || [ -e "$bin/tinyssb-sink" ]; then
        echo "✗ the node's wheel contains the sink" >&2
        return 1
    fi
    (cd / && PATH=$bin:$PATH "$here/hw/release/first_steps.sh")
    "$bin/python" -m pip --disable-pip-version-check install --quiet "./$node_wheel" "./$sink_wheel"
    (cd / && PATH=$bin:$PATH "$here/hw/release/first_steps.sh" sink)
}

check_pipx() {
    command -v pipx >/dev/null || return 75
    PIPX_HOME=$work/pipx PIPX_BIN_DIR=$work/pipx-bin PIPX_MAN_DIR=$work/pipx-man pipx install "./$node_wheel[tui]" >/dev/null 2>&1
    (cd / && PATH=$work/pipx-bin:$PATH "$here/hw/release/first_steps.sh")
}

check_uv() {
    command -v uv >/dev/null || return 75
    UV_TOOL_DIR=$work/uv UV_TOOL_BIN_DIR=$work/uv-bin uv tool install --quiet "./$node_wheel[tui]"
    (cd / && PATH=$work/uv-bin:$PATH "$here/hw/release/first_steps.sh")
}

# check_system SUITE: apt install from the repository in a new system, with the key checked if the index is signed.
check_system() {
    local suite=$1 arch trust='[trusted=yes]'
    command -v mmdebstrap >/dev/null || return 75
    arch=$(dpkg --print-architecture)
    [ ! -f dist/apt/tinyssb.asc ] || trust='[signed-by=/etc/apt/keyrings/tinyssb.asc]'
    cat >"$work/inside-$suite" <<INSIDE
set -e
echo "deb $trust file:/srv/apt $suite main" >/etc/apt/sources.list.d/tinyssb.list
apt-get -q update
DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends tinyssb-node
sh /srv/first_steps.sh
command -v tinyssb
DEBIAN_FRONTEND=noninteractive apt-get -q -y purge tinyssb-node
[ ! -e /usr/bin/tinyssb ]
INSIDE
    mmdebstrap --quiet --variant=apt --architectures="$arch" \
        --customize-hook='mkdir -p "$1/srv/apt" "$1/etc/apt/keyrings"' \
        --customize-hook="tar -C dist/apt -c . | tar -C \"\$1/srv/apt\" -x" \
        --customize-hook="[ ! -f dist/apt/tinyssb.asc ] || cp dist/apt/tinyssb.asc \"\$1/etc/apt/keyrings\"" \
        --customize-hook="cp hw/release/first_steps.sh \"\$1/srv\"" \
        --customize-hook="cp '$work/inside-$suite' \"\$1/srv/inside\"" \
        --customize-hook='chroot "$1" sh /srv/inside' \
        "$suite" /dev/null ${MIRROR:+"$MIRROR"} >"$work/$suite.log" 2>&1 || {
        tail -n 30 "$work/$suite.log" >&2
        return 1
    }
    grep '^✓\|^tinyssb ' "$work/$suite.log"
}

for word in ${*:-wheels pipx uv bookworm trixie}; do
    echo "· $word"
    # In a condition, `set -e` would not end the function at its first failure.
    set +e
    case $word in
        wheels | pipx | uv) (set -e; "check_$word") ;;
        *) (set -e; check_system "$word") ;;
    esac
    status=$?
    set -e
    case $status in
        0) checked=$((checked + 1)) ;;
        75) echo "  left out: its program is not installed" && left_out=$((left_out + 1)) ;;
        *) echo "✗ $word failed" >&2 && exit 1 ;;
    esac
done
echo "✓ $checked checked, $left_out left out"
