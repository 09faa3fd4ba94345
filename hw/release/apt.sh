#!/usr/bin/env bash
# Makes dist/apt, an apt repository of the packages in dist/, ready to be served by any web server or from a stick.
# Usage: apt.sh "SUITE=PYTHON…" "ARCH…". RELEASE_GPG_KEY names the key that signs it.
set -euo pipefail
cd "$(dirname "$0")/../.."

mkdir -p dist/apt
for suite in $1; do
    name=${suite%%=*}
    pool=pool/$name
    index=dists/$name
    mkdir -p "dist/apt/$pool"
    for arch in $2; do
        cp dist/tinyssb-node_*+py"${suite#*=}_$arch.deb" "dist/apt/$pool/"
        mkdir -p "dist/apt/$index/main/binary-$arch"
        (
            cd dist/apt
            apt-ftparchive --arch "$arch" packages "$pool" >"$index/main/binary-$arch/Packages"
            gzip -9nk "$index/main/binary-$arch/Packages"
        )
    done
    apt-ftparchive -o APT::FTPArchive::Release::Origin=tinySSB -o APT::FTPArchive::Release::Label=tinySSB \
        -o APT::FTPArchive::Release::Suite="$name" -o APT::FTPArchive::Release::Codename="$name" \
        -o APT::FTPArchive::Release::Architectures="$2" -o APT::FTPArchive::Release::Components=main \
        release "dist/apt/$index" >"dist/apt/$index.Release"
    mv "dist/apt/$index.Release" "dist/apt/$index/Release"
    [ -n "${RELEASE_GPG_KEY:-}" ] || continue
    gpg --batch --yes --local-user "$RELEASE_GPG_KEY" --clearsign -o "dist/apt/$index/InRelease" "dist/apt/$index/Release"
    gpg --batch --yes --local-user "$RELEASE_GPG_KEY" -abs -o "dist/apt/$index/Release.gpg" "dist/apt/$index/Release"
done
if [ -n "${RELEASE_GPG_KEY:-}" ]; then
    gpg --armor --export "$RELEASE_GPG_KEY" >dist/apt/tinyssb.asc
else
    echo "  it is not signed: RELEASE_GPG_KEY names no key"
fi
