#!/bin/bash -e
# Installs the node's package from dist/, and switches SPI on for LoRa boards on the header. The package makes no key:
# each card gets its own by `tinyssb init`, or all nodes from one image would write one feed.
deb=$(echo ../../../../dist/tinyssb-node_*+py3.13_arm64.deb)
install -m 644 "${deb}" "${ROOTFS_DIR}/tinyssb-node.deb"
on_chroot <<EOF
apt-get -o Acquire::Retries=3 install -y /tinyssb-node.deb
EOF
rm "${ROOTFS_DIR}/tinyssb-node.deb"

config=${ROOTFS_DIR}/boot/firmware/config.txt
sed -i 's/^#dtparam=spi=on$/dtparam=spi=on/' "${config}"
grep -qx dtparam=spi=on "${config}" || {
    echo "✗ the base's config.txt has no line for SPI" >&2
    exit 1
}
