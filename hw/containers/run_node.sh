#!/bin/sh
# Runs the node of a container. At the first start it makes the key and the settings, in the volume: without it the key is
# lost with the container. Further arguments are for `tinyssb init`; the file TINYSSB_SETTINGS is added to the settings.
set -eu
if [ ! -e "$TINYSSB_HOME/identity" ]; then
    tinyssb init "$@"
    [ -z "${TINYSSB_SETTINGS:-}" ] || cat "$TINYSSB_SETTINGS" >>"$TINYSSB_HOME/config.toml"
fi
exec tinyssb run
