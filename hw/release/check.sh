#!/usr/bin/env bash
# Installs what `make release` built in empty environments, and takes a user's first steps there. Words choose some:
#   wheels            the wheels, by pip in an empty virtual environment
#   bookworm, trixie  in a new Debian 12 or 13, which mmdebstrap makes: the Debian package by apt from the repository,
#                     then the node's wheel by pipx and by uv
#   noble, resolute   the same in Ubuntu 24.04 or 26.04
#   trixie-arm64, …   the Debian package alone, on another processor, which qemu-user-static emulates
#   images            the images of the node and the sink, built and run by podman; BASE names their base image
# Systems need root, or a user who may make namespaces. Without words: all for this processor whose program is installed.
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
chmod 755 "$work" # apt reads keys as a user of its own
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

# ubuntu_keyring: print the file with the keys of Ubuntu's archive. Debian 12 has no package of them, so there it comes
# from Ubuntu's package, whose checksum is compared.
ubuntu_keyring() {
    local file=/usr/share/keyrings/ubuntu-archive-keyring.gpg
    [ -f "$file" ] || {
        /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file \
            http://archive.ubuntu.com/ubuntu/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb \
            "$work/keyring.deb" SHA256:36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8 >/dev/null
        dpkg-deb -x "$work/keyring.deb" "$work/keyring"
        file=$work/keyring$file
    }
    echo "$file"
}

# check_system SUITE ARCH: make a new system and install in it, with the key checked if the index is signed.
check_system() {
    local suite=$1 arch=$2 trust='[trusted=yes]' options=() mirror=()
    command -v mmdebstrap >/dev/null || return 75
    [ ! -f dist/apt/tinyssb.asc ] || trust='[signed-by=/etc/apt/keyrings/tinyssb.asc]'
    case $suite in
        noble | resolute)
            options=("--keyring=$(ubuntu_keyring)")
            mirror=("deb http://archive.ubuntu.com/ubuntu $suite main universe")
            ;;
    esac
    cat >"$work/inside" <<INSIDE
set -e
export DEBIAN_FRONTEND=noninteractive HOME=\$(mktemp -d)
install() { apt-get -q -y install --no-install-recommends "\$@"; }
echo "deb $trust file:/srv/dist/apt $suite main" >/etc/apt/sources.list.d/tinyssb.list
apt-get -q update
install tinyssb-node
sh /srv/first_steps.sh
apt-get -q -y purge tinyssb-node
[ ! -e /usr/bin/tinyssb ]
[ "$arch" = "$(dpkg --print-architecture)" ] || exit 0
install pipx ca-certificates
PATH=\$HOME/.local/bin:\$PATH
wheel="\$(echo /srv/dist/tinyssb_node-*.whl)[tui,web]"
pipx install "\$wheel"
sh /srv/first_steps.sh
pipx uninstall tinyssb-node
pipx install uv
uv tool install "\$wheel"
sh /srv/first_steps.sh
INSIDE
    mmdebstrap --quiet --variant=apt --architectures="$arch" "${options[@]}" \
        --customize-hook='mkdir -p "$1/srv/dist" "$1/etc/apt/keyrings"' \
        --customize-hook="tar -C dist -c apt '${node_wheel#dist/}' | tar -C \"\$1/srv/dist\" -x" \
        --customize-hook="[ ! -f dist/apt/tinyssb.asc ] || cp dist/apt/tinyssb.asc \"\$1/etc/apt/keyrings\"" \
        --customize-hook="cp hw/release/first_steps.sh '$work/inside' \"\$1/srv\"" \
        --customize-hook='chroot "$1" sh /srv/inside' \
        "$suite" /dev/null "${mirror[@]}" >"$work/log" 2>&1 || {
        tail -n 30 "$work/log" >&2
        return 1
    }
    grep '^✓\|^tinyssb ' "$work/log"
}

check_images() {
    local name image
    command -v podman >/dev/null || return 75
    for name in node sink; do
        image=$(podman build --quiet ${BASE:+--build-arg "BASE=$BASE"} -f "hw/containers/Containerfile.$name" . 2>"$work/log") || {
            tail -n 30 "$work/log" >&2
            return 1
        }
        podman run --rm --volume "$here/hw/release/first_steps.sh:/first_steps.sh:ro" "$image" sh /first_steps.sh "${name#node}"
    done
}

for word in ${*:-wheels bookworm trixie noble resolute images}; do
    echo "· $word"
    seconds=$SECONDS
    # In a condition, `set -e` would not end the function at its first failure.
    set +e
    case $word in
        wheels | images) (set -e; "check_$word") ;;
        *-*) (set -e; check_system "${word%-*}" "${word#*-}") ;;
        *) (set -e; check_system "$word" "$(dpkg --print-architecture)") ;;
    esac
    status=$?
    set -e
    case $status in
        0) checked=$((checked + 1)) && echo "  $((SECONDS - seconds)) s" ;;
        75) echo "  left out: its program is not installed" && left_out=$((left_out + 1)) ;;
        *) echo "✗ $word failed" >&2 && exit 1 ;;
    esac
done
echo "✓ $checked checked, $left_out left out"
