#!/usr/bin/env bash
# Installs what the targets of the Makefile need. Usage: setup.sh WORD..., where each WORD is one of
#   demo         .venv with the Python packages for `make demo`
#   dev          .venv with those and the developers' tools
#   docs         .venv with the Python packages for `make docs`
#   java         Java 17 or newer, for Spark
#   chromium     a browser, for the tests of web pages
#   dbus         D-Bus, for the Bluetooth tests
#   postgres     PostgreSQL's programs, for the tests of the serving database; starts no server
#   mosquitto    an MQTT broker, for the MQTT tests; starts none
#   codec2       the programs of Codec 2, for the tests of voice messages
#   gcc          a C compiler, for the torture tests
#   graphviz     Graphviz, for `make diagrams`
#   micropython  MicroPython for Node.js, for the firmware tests; does not install Node.js
#   pzp-db       the package pzp-db for Node.js, for the tests of PZP's files; does not install Node.js
# A step that is already done takes milliseconds and prints nothing. System packages are installed if that needs no
# password (as root, or with passwordless sudo). Otherwise the script prints the command to type, and goes on.
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=.venv
LOG=$VENV/setup.log

say() { printf '· %s\n' "$*"; }
error() { printf '✗ %s\n' "$*" >&2; }
fail() {
    error "$*"
    exit 1
}

# --- System packages -----------------------------------------------------------------------------------------------

# Seconds left to wait for other programs to release apt's locks, over all steps.
lock_wait_s=300
# "yes" as soon as the package lists were fetched, or fetching them failed.
lists_updated=
# Packages that a person has to install.
to_install=()

# Print the prefix that runs a command as root without a password. Fail if there is none.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        echo env
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        echo sudo -n env
    else
        return 1
    fi
}

# Print the first of the named packages that the system's package lists offer.
offered() {
    local package policy
    for package in "$@"; do
        # No pipe: grep -q exits at the first match, and pipefail would report apt-cache's SIGPIPE as a failure.
        policy=$(LC_ALL=C apt-cache policy "$package" 2>/dev/null) || continue
        if grep -q 'Candidate: [^(]' <<<"$policy"; then
            echo "$package"
            return
        fi
    done
    return 1
}

# apt LOG ARGUMENT...: run apt-get as root with its output in LOG. Wait while another program holds a lock.
# apt's DPkg::Lock::Timeout is not enough: it covers neither the lock of the package lists nor that of the downloads.
apt() {
    local log=$1 root waiting=
    shift
    root=$(as_root) || return 1
    until $root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >"$log" 2>&1; do
        grep -q '^E: Could not get lock' "$log" && [ "$lock_wait_s" -gt 0 ] || return 1
        [ -n "$waiting" ] || say "    another program is installing packages; waiting for at most $lock_wait_s s"
        waiting=yes
        sleep 5
        lock_wait_s=$((lock_wait_s - 5))
    done
}

# apt_install NAME PACKAGE...: install the first PACKAGE on offer. Fail if that is not possible; if it was tried, say why.
apt_install() {
    local name=$1 package log
    shift
    command -v apt-get >/dev/null && as_root >/dev/null || return 1
    say "Installing $name (this can take a few minutes)"
    log=$(mktemp)
    if [ -z "$lists_updated" ]; then
        # With the mirror down, the package may still be in the lists from last time.
        apt "$log" update || tail -n 5 "$log" >&2
        lists_updated=yes
    fi
    if ! package=$(offered "$@"); then
        error "This system's package lists offer no $1."
    elif apt "$log" -y install --no-install-recommends "$package"; then
        rm -f "$log"
        return
    else
        tail -n 5 "$log" >&2
    fi
    rm -f "$log"
    return 1
}

# missing NAME CONSEQUENCE PACKAGE...: say that NAME is missing, and add the packages to the command to type.
missing() {
    say "$1 is missing: $2."
    shift 2
    to_install+=("$@")
}

java_command() { if [ -n "${JAVA_HOME:-}" ]; then echo "$JAVA_HOME/bin/java"; else echo java; fi; }

# Print the major version of the Java that Spark would start; 0 if there is none.
java_version() {
    local version
    version=$("$(java_command)" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p') || true
    echo "${version:-0}"
}

setup_java() {
    [ "$(java_version)" -ge 17 ] && return
    if ! apt_install Java openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless; then
        missing "Java 17 or newer" "everything that needs Spark is left out" default-jre-headless
    elif [ "$(java_version)" -lt 17 ]; then
        say "Java is installed, but $(java_command) is an older version. Set JAVA_HOME to a folder in /usr/lib/jvm."
    fi
}

setup_chromium() {
    local name
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" >/dev/null && return
    done
    apt_install Chromium chromium || missing Chromium "the tests of web pages are left out" chromium
}

setup_dbus() {
    command -v dbus-daemon >/dev/null && return
    apt_install D-Bus dbus-daemon dbus || missing dbus-daemon "the Bluetooth tests are left out" dbus
}

# The tests start their own server. The setting keeps Debian's package from creating and starting one.
setup_postgres() {
    local root
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && return
    command -v initdb >/dev/null && return
    if root=$(as_root) && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        $root mkdir -p /etc/postgresql-common
        echo "create_main_cluster = false" | $root tee /etc/postgresql-common/createcluster.conf >/dev/null
    fi
    apt_install PostgreSQL postgresql ||
        missing PostgreSQL "the tests of the serving database are left out" postgresql
}

# The tests start their own broker. Debian's package starts one at once and at every boot, so that one is disabled.
setup_mosquitto() {
    local root
    command -v mosquitto >/dev/null || [ -x /usr/sbin/mosquitto ] && return
    if ! apt_install mosquitto mosquitto; then
        missing mosquitto "the MQTT tests are left out" mosquitto
    elif command -v systemctl >/dev/null && root=$(as_root); then
        $root systemctl disable --now mosquitto >/dev/null 2>&1 || true
    fi
}

setup_codec2() {
    command -v c2dec >/dev/null && return
    apt_install "Codec 2" codec2 || missing "Codec 2" "the tests of voice messages are left out" codec2
}

setup_gcc() {
    gcc -E -x c -include stdio.h /dev/null >/dev/null 2>&1 && return
    apt_install "a C compiler" gcc && apt_install "the C library's headers" libc6-dev && return
    missing gcc "the torture tests are left out" gcc libc6-dev
}

setup_graphviz() {
    command -v dot >/dev/null || apt_install Graphviz graphviz && return
    missing Graphviz "no diagram can be drawn" graphviz
    return 1
}

# npm is not installed here: on Debian it brings hundreds of packages, and these tests are optional.
# setup_node NAME PACKAGE FILE CONSEQUENCE: install a package for Node.js, unless its FILE is there. Run none of its scripts.
setup_node() {
    local name=$1 package=$2 folder=$VENV/node
    [ -f "$folder/node_modules/${package%@*}/$3" ] && return
    if ! command -v npm >/dev/null; then
        missing npm "$4" npm
        return
    fi
    say "Installing $name for Node.js"
    mkdir -p "$folder"
    npm install --loglevel=error --no-audit --no-fund --ignore-scripts --prefix "$folder" "$package" >/dev/null && return
    say "npm could not install $name: $4. With a network, run this again."
}

setup_micropython() {
    setup_node MicroPython @micropython/micropython-webassembly-pyscript@1.27.0 micropython.mjs \
        "the firmware tests on MicroPython are left out"
}

setup_pzp_db() {
    setup_node pzp-db pzp-db@1.0.4 lib/index.js "the tests with the package pzp-db are left out"
}

# --- Python --------------------------------------------------------------------------------------------------------

# Print the first Python of version 3.11 or newer. Each is run: a name on PATH may be a shim that starts nothing.
find_python() {
    local python
    for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}

# Make the virtual environment. Fail if a system package for that is missing.
make_venv() {
    local python version
    if ! python=$(find_python); then
        apt_install Python python3 || true
        if ! python=$(find_python); then
            missing "Python 3.11 or newer" "nothing can run (Debian 12, Ubuntu 24.04 and later have it)" \
                python3 python3-venv
            return 1
        fi
    fi
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        apt_install "Python's venv module" "python$version-venv" python3-venv || true
        if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
            missing "Python's venv module" "nothing can run" "python$version-venv"
            return 1
        fi
    fi
    say "Making a virtual environment in $VENV with Python $version"
    "$python" -m venv --clear "$VENV" || fail "Python could not make the virtual environment $VENV."
}

# Show only the steps of pip's output that take long.
pip_progress() {
    sed -un -e 's/^ *Downloading \([A-Za-z0-9_.]*\)-.*(\([0-9.]* MB\)).*/    downloading \1, \2/p' \
        -e 's/^Building wheels for collected packages: \(.*\)/    unpacking \1/p' \
        -e 's/^Installing collected packages: .*/    installing/p'
}

# Print what the environment was made from: if the folder or the packages change, it must be installed again.
fingerprint() { printf '%s\n' "$PWD" "$(cksum pyproject.toml spark_sink/pyproject.toml)"; }

# setup_python NAME EXTRAS SINK_EXTRAS: install those extras of pyproject.toml and spark_sink/pyproject.toml, and remember NAME as done.
# Fail if a system package for that is missing.
setup_python() {
    local done_file=$VENV/installed.$1 extras=$2 sink_extras=$3 seconds=$SECONDS file
    if ! "$VENV/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        { [ -f "$VENV/folder" ] && [ "$(cat "$VENV/folder")" != "$PWD" ]; }; then
        make_venv || return 1
        printf '%s\n' "$PWD" >"$VENV/folder"
    fi
    # The developers' set includes what the demo needs.
    for file in "$VENV/installed.dev" "$done_file"; do
        [ -f "$file" ] && [ "$(cat "$file")" = "$(fingerprint)" ] && return
    done
    case $sink_extras in
        *spark*) say "Installing the Python packages of pyproject.toml (the first time takes minutes: Spark alone is about 450 MB)" ;;
        *) say "Installing the Python packages of pyproject.toml" ;;
    esac
    : >"$LOG"
    "$VENV/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off \
        -e ".[$extras]" -e "./spark_sink${sink_extras:+[$sink_extras]}" 2>>"$LOG" | tee -a "$LOG" | pip_progress ||
        { tail -n 15 "$LOG" >&2; fail "pip failed (above; all of its output: $LOG). With a network, run this again."; }
    fingerprint >"$done_file"
    say "Python packages are ready ($((SECONDS - seconds)) s)"
}

status=0
for word in "$@"; do
    case $word in
        demo) setup_python demo plot "" || status=1 ;;
        docs) setup_python docs docs mqtt || status=1 ;;
        dev) setup_python dev dev spark,postgres,mqtt || status=1 ;;
        java) setup_java ;;
        chromium) setup_chromium ;;
        dbus) setup_dbus ;;
        postgres) setup_postgres ;;
        mosquitto) setup_mosquitto ;;
        codec2) setup_codec2 ;;
        gcc) setup_gcc ;;
        graphviz) setup_graphviz || status=1 ;;
        micropython) setup_micropython ;;
        pzp-db) setup_pzp_db ;;
        *) fail "setup.sh: unknown word '$word'" ;;
    esac
done
if [ ${#to_install[@]} -gt 0 ]; then
    say "To install what is missing, type:"
    say "    sudo apt-get install ${to_install[*]}"
fi
exit $status
