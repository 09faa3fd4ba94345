#!/usr/bin/env bash
# Makes this folder ready: `setup.sh WORD...`, each WORD one of
#   demo      .venv with what `make demo` needs
#   dev       .venv with that and the developers' tools
#   java      Java 17 or newer, for Spark
#   chromium  a browser, for the page's tests
#   dbus      a message bus, for the Bluetooth tests
#   postgres  PostgreSQL's programs, for the serving database's tests; no server is started
#   mosquitto an MQTT broker, for the tests of what speaks to one; none is started
#   gcc       a C compiler, for the torture tests
#   micropython  MicroPython for Node.js, for the firmware's tests; Node.js itself is not installed
# A step already done costs milliseconds and prints nothing. System packages are installed where that needs no
# password (root, or sudo without one); elsewhere the line to type is printed and the set-up goes on.
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=.venv
LOG=$VENV/setup.log

say() { printf '· %s\n' "$*"; }
fail() {
    printf '✗ %s\n' "$*" >&2
    exit 1
}

# --- System packages -----------------------------------------------------------------------------------------------

# The words that make a command run as root without asking; fails where there are none.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        echo env
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        echo sudo -n env
    else
        return 1
    fi
}

# The first of the packages named that this system's archive offers.
offered() {
    local package policy
    for package in "$@"; do
        # Not a pipe: grep -q leaves at the first match, and apt-cache, still writing, would die of SIGPIPE (pipefail).
        policy=$(LC_ALL=C apt-cache policy "$package" 2>/dev/null) || continue
        if grep -q 'Candidate: [^(]' <<<"$policy"; then
            echo "$package"
            return
        fi
    done
    return 1
}

# apt_install WHAT PACKAGE...: installs the first PACKAGE on offer. Fails, saying why, where that is not possible.
apt_install() {
    local what=$1 root package log
    shift
    command -v apt-get >/dev/null && root=$(as_root) || return 1
    say "Installing $what (asking the package archive first; this can take a few minutes)"
    log=$(mktemp)
    # A mirror that is down is no reason to stop: the package may be known already.
    $root DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 update >"$log" 2>&1 || true
    if package=$(offered "$@") &&
        $root DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 \
            install --no-install-recommends "$package" >>"$log" 2>&1; then
        rm -f "$log"
        return
    fi
    tail -n 5 "$log" >&2
    rm -f "$log"
    return 1
}

java_command() { if [ -n "${JAVA_HOME:-}" ]; then echo "$JAVA_HOME/bin/java"; else echo java; fi; }

# The major version of the Java that Spark would start, 0 for none.
java_version() {
    local version
    version=$("$(java_command)" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p') || true
    echo "${version:-0}"
}

setup_java() {
    [ "$(java_version)" -ge 17 ] && return
    if apt_install "Java, for Spark" openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless; then
        [ "$(java_version)" -ge 17 ] && return
        say "Java is installed, but $(java_command) is still an old one: set JAVA_HOME to a folder in /usr/lib/jvm"
        return
    fi
    say "Java 17 or newer is missing; what needs Spark is left out. To add it, type:"
    say "    sudo apt-get install openjdk-17-jre-headless"
}

setup_chromium() {
    local name
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" >/dev/null && return
    done
    apt_install "Chromium, for the page's tests" chromium && return
    say "Chromium is missing; the page's tests are left out. To add it, type:"
    say "    sudo apt-get install chromium"
}

setup_dbus() {
    command -v dbus-daemon >/dev/null && return
    apt_install "D-Bus, for the Bluetooth tests" dbus-daemon dbus && return
    say "dbus-daemon is missing; the Bluetooth tests are left out. To add it, type:"
    say "    sudo apt-get install dbus"
}

# Debian's package makes and starts a server of its own, unless it is told not to: the tests start theirs.
setup_postgres() {
    local root
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && return
    command -v initdb >/dev/null && return
    if root=$(as_root) && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        $root mkdir -p /etc/postgresql-common
        echo "create_main_cluster = false" | $root tee /etc/postgresql-common/createcluster.conf >/dev/null
    fi
    apt_install "PostgreSQL, for the serving database's tests" postgresql && return
    say "PostgreSQL is missing; the tests of the serving database in it are left out. To add it, type:"
    say "    sudo apt-get install postgresql"
}

# Debian's package starts a broker at once and at every boot: nobody asked for that one, and the tests start theirs.
setup_mosquitto() {
    local root
    command -v mosquitto >/dev/null || [ -x /usr/sbin/mosquitto ] && return
    if apt_install "an MQTT broker, for the tests of what speaks to one" mosquitto; then
        if command -v systemctl >/dev/null && root=$(as_root); then
            $root systemctl disable --now mosquitto >/dev/null 2>&1 || true
        fi
        return
    fi
    say "mosquitto is missing; the tests of MQTT are left out. To add it, type:"
    say "    sudo apt-get install mosquitto"
}

setup_gcc() {
    command -v gcc >/dev/null && return
    apt_install "a C compiler, for the torture tests" gcc && apt_install "the C library's headers" libc6-dev && return
    say "gcc is missing; the torture tests are left out. To add it, type:"
    say "    sudo apt-get install gcc libc6-dev"
}

# Only where there is npm already: on Debian it comes with hundreds of packages, and these tests are optional.
setup_micropython() {
    local package=@micropython/micropython-webassembly-pyscript@1.27.0 folder=$VENV/node
    [ -f "$folder/node_modules/${package%@*}/micropython.mjs" ] && return
    if ! command -v npm >/dev/null; then
        say "npm is missing; the firmware's tests on MicroPython are left out. To add it, type:"
        say "    sudo apt-get install npm"
        return
    fi
    say "Installing MicroPython for Node.js, for the firmware's tests"
    mkdir -p "$folder"
    npm install --silent --no-audit --no-fund --prefix "$folder" "$package" >/dev/null 2>&1 && return
    say "npm could not install it; the firmware's tests on MicroPython are left out. With a network, run this again."
}

# --- Python --------------------------------------------------------------------------------------------------------

# The first Python of 3.11 or newer. Each is tried by running it: a name on PATH may be a shim that leads nowhere.
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

make_venv() {
    local python version
    if ! python=$(find_python); then
        apt_install "Python" python3 || true
        python=$(find_python) ||
            fail "Python 3.11 or newer is needed. On Debian 12 or Ubuntu 24.04 type: sudo apt-get install python3 python3-venv"
    fi
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        apt_install "Python's venv module" "python$version-venv" python3-venv || true
        "$python" -c 'import venv, ensurepip' 2>/dev/null ||
            fail "This Python cannot make virtual environments. Type: sudo apt-get install python$version-venv"
    fi
    say "Making a virtual environment in $VENV with Python $version"
    "$python" -m venv --clear "$VENV"
}

# What pip says, cut down to what takes long.
pip_progress() {
    sed -un -e 's/^ *Downloading \([A-Za-z0-9_.]*\)-.*(\([0-9.]* MB\)).*/    downloading \1, \2/p' \
        -e 's/^Building wheels for collected packages: \(.*\)/    unpacking \1/p' \
        -e 's/^Installing collected packages: .*/    installing/p'
}

# What the environment was made from. It moves with neither folder nor Python, so those count.
fingerprint() { printf '%s\n' "$PWD" "$(cksum <pyproject.toml)"; }

# setup_python NAME EXTRAS: an environment with those extras of pyproject.toml; NAME is remembered as done.
setup_python() {
    local done_file=$VENV/installed.$1 extras=$2 seconds=$SECONDS file
    if ! "$VENV/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        { [ -f "$VENV/folder" ] && [ "$(cat "$VENV/folder")" != "$PWD" ]; }; then
        make_venv
        printf '%s\n' "$PWD" >"$VENV/folder"
    fi
    # The developers' set holds all that the demo needs.
    for file in "$VENV/installed.dev" "$done_file"; do
        [ -f "$file" ] && [ "$(cat "$file")" = "$(fingerprint)" ] && return
    done
    say "Installing the Python packages named in pyproject.toml (Spark is about 450 MB: the first time takes minutes)"
    "$VENV/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off \
        -e ".[$extras]" 2>"$LOG" | tee -a "$LOG" | pip_progress ||
        { tail -n 15 "$LOG" >&2; fail "pip could not install them (above; all of it: $LOG). With a network, run this again."; }
    fingerprint >"$done_file"
    say "Python packages are ready ($((SECONDS - seconds)) s)"
}

for word in "$@"; do
    case $word in
        demo) setup_python demo spark,dashboard,completion ;;
        dev) setup_python dev dev ;;
        java) setup_java ;;
        chromium) setup_chromium ;;
        dbus) setup_dbus ;;
        postgres) setup_postgres ;;
        mosquitto) setup_mosquitto ;;
        gcc) setup_gcc ;;
        micropython) setup_micropython ;;
        *) fail "setup.sh does not know '$word'" ;;
    esac
done
