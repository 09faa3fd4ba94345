#!/bin/sh
# The first steps of a user, on a system where `tinyssb` is installed: make a node, publish, read, export and verify.
# With the word `sink`, also those of somebody who reads its logs with `tinyssb-sink`. Leaves nothing behind.
set -eu

work=$(mktemp -d)
daemon=
end() {
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
TINYSSB_HOME=$work/home
export TINYSSB_HOME

# wait_for COMMAND...: repeat it until it succeeds, for a minute at most.
wait_for() {
    tries=300
    until "$@" >"$work/out" 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || { cat "$work/out" "$work"/*.log >&2; echo "✗ gave up: $*" >&2; exit 1; }
        sleep 0.2
    done
}

tinyssb --version
tinyssb init >/dev/null
tinyssb run >"$work/daemon.log" 2>&1 &
daemon=$!
wait_for tinyssb status
tinyssb publish "Bridge is out, take the ridge" >/dev/null
tinyssb chat --last 1 | grep -q "take the ridge"
tinyssb show me 1 >/dev/null
tinyssb export "$work/backup.tssb" >/dev/null
tinyssb verify
tinyssb completion bash | grep -q publish
# Where the program is installed: /usr, or an environment that man(1) and shells may be pointed to.
prefix=$(dirname "$(dirname "$(readlink -f "$(command -v tinyssb)")")")
ls "$prefix"/share/man/man1/tinyssb.1* "$prefix/share/bash-completion/completions/tinyssb" >/dev/null

if [ "${1:-}" = sink ]; then
    tinyssb-sink --version
    tinyssb-sink run "$TINYSSB_HOME/events" --db "$work/mesh.sqlite" --engine local >"$work/sink.log" 2>&1 &
    sink=$!
    wait_for sh -c "tinyssb-sink report --db '$work/mesh.sqlite' | grep -q '[1-9]'"
    kill "$sink"
    wait "$sink" || true
fi

kill "$daemon"
wait "$daemon"
daemon=
echo "✓ first steps"
