#!/usr/bin/env bash
# Builds a release in dist/: source, wheels, Debian packages, an apt repository, lists of parts (SBOM), checksums. The
# version is the Git tag's; docs/howto/release.md says how to make a release, docs/decisions/0111-releases.md why so.
#   RELEASE_GPG_KEY  key that signs the apt repository (none: it is not signed)
#   MINISIGN_KEY     file of the key that signs SHA256SUMS (none: it is not signed)
#   DEB_ARCHES       processors to build for (amd64 arm64)
#   APT_SUITES       suites of the repository, with their Python (all that are known)
set -euo pipefail
cd "$(dirname "$0")/../.."

PYTHON=${PYTHON:-python3}
DEB_ARCHES=${DEB_ARCHES:-amd64 arm64}
APT_SUITES=${APT_SUITES:-bookworm=3.11 noble=3.12 trixie=3.13 resolute=3.14}
# Extras of the Debian package, which the list of its parts should name.
EXTRAS=$(sed -n 's/^EXTRAS=//p' hw/deb/build.sh)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

for tool in git dpkg-deb apt-ftparchive gpg; do
    command -v "$tool" >/dev/null || {
        echo "✗ $tool is missing. Type: sudo apt-get install git dpkg apt-utils gnupg python3-venv" >&2
        exit 69
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$PYTHON" -m venv "$work/tools"
tools=$work/tools/bin/python
"$tools" -m pip --disable-pip-version-check install --quiet 'build>=1.2' 'cyclonedx-bom>=7'

[ -z "$(git status --porcelain)" ] || echo "· Files differ from the last commit, so the version has a date in it"
rm -rf dist
mkdir dist

echo "· Source and wheels"
"$tools" -m build --outdir dist . >dist/build.log 2>&1 &&
    "$tools" -m build --wheel --outdir dist spark_sink >>dist/build.log 2>&1 || {
    tail -n 20 dist/build.log >&2
    exit 1
}
rm dist/build.log
node_wheel=$(echo dist/tinyssb_node-*.whl)
sink_wheel=$(echo dist/tinyssb_sink-*.whl)
VERSION=$(basename "$node_wheel" | cut -d- -f2)

# A version without a tag behind it has a `dev` in it, and needs no words of its own.
heading=$VERSION
[[ $VERSION != *dev* ]] || heading=Unreleased
awk -v heading="## $heading" '/^## /{ on = index($0 " ", heading " ") == 1; next } on' CHANGELOG.md >"dist/changes-$VERSION.md"
grep -q . "dist/changes-$VERSION.md" || {
    echo "✗ CHANGELOG.md has no section '## $heading'. Name it so, commit, and move the tag there." >&2
    exit 65
}

for suite in $APT_SUITES; do
    for arch in $DEB_ARCHES; do
        DEB_ARCH=$arch DEB_PYTHON=${suite#*=} WHEEL=$node_wheel hw/deb/build.sh
    done
done

echo "· The apt repository"
hw/release/apt.sh "$APT_SUITES" "$DEB_ARCHES"

echo "· Lists of parts"
for parts in "tinyssb-node $node_wheel[$EXTRAS]" "tinyssb-sink $node_wheel $sink_wheel[spark,postgres,mqtt]"; do
    name=${parts%% *}
    read -ra files <<<"${parts#* }"
    "$PYTHON" -m venv "$work/$name"
    "$work/$name/bin/python" -m pip --disable-pip-version-check install --quiet "${files[@]/#/.\/}"
    "$work/$name/bin/python" -m pip --disable-pip-version-check uninstall --quiet --yes setuptools pip
    # It would put the folder of this build into the list.
    rm "$work/$name"/lib/python*/site-packages/tinyssb_*.dist-info/direct_url.json
    "$tools" -m cyclonedx_py environment --output-reproducible --of JSON -o "dist/$name-$VERSION.cdx.json" "$work/$name"
done

echo "· Checksums"
(cd dist && find . -type f ! -name 'SHA256SUMS*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
if [ -n "${MINISIGN_KEY:-}" ]; then
    minisign -S -s "$MINISIGN_KEY" -m dist/SHA256SUMS -t "tinySSB node $VERSION"
else
    echo "  SHA256SUMS is not signed: MINISIGN_KEY names no key"
fi
echo "✓ $VERSION is in dist/ ($(du -sh dist | cut -f1))"
