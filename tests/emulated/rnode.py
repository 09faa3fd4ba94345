"""An emulated RNode. Pure. Written after the protocol of Reticulum's own driver."""

from dataclasses import replace

from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial.framing import KissFrameReader, serialize_frame
from firmware_bridge.serial.rnode import (
    DETECT_ANSWER,
    RESET_DONE,
    RSSI_OFFSET_DB,
    RnodeCommand,
    RnodeErrorCode,
    RnodeMessage,
    parse_message,
    rnode_settings,
    serialize_message,
)
from firmware_bridge.serial.session import Noise
from tests.emulated.serial_air import RSSI_DBM, SNR_DB, Air, Device

QUEUE_MAX = 24
"""Places of a small RNode's queue."""


class Rnode(Device):
    """One emulated RNode on an ESP32."""

    BACKOFF_US = 24_000

    def __init__(self, air: Air, *, version: tuple[int, int] = (1, 85), power_max_dbm: int = 17) -> None:
        super().__init__(air)
        self.version = version
        self.power_max_dbm = power_max_dbm
        self._forget()

    def _forget(self) -> None:
        self._reader = KissFrameReader()
        self.values = {
            RnodeCommand.FREQUENCY: bytes(4),
            RnodeCommand.BANDWIDTH: bytes(4),
            RnodeCommand.POWER: b"\xff",
            RnodeCommand.SPREADING_FACTOR: b"\x00",
            RnodeCommand.CODING_RATE: b"\x05",
            RnodeCommand.SHORT_LIMIT: bytes(2),
            RnodeCommand.LONG_LIMIT: bytes(2),
            RnodeCommand.RADIO_STATE: b"\x00",
        }
        self.lora = None

    def boot(self) -> None:
        """See Device."""
        super().boot()
        self._forget()
        self.write(b"rst:0x1 (POWERON_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\n")
        self._say(RnodeCommand.RESET, bytes([RESET_DONE]))

    def receive(self, data: bytes, now_us: int) -> None:
        """See Device."""
        for frame in self._reader.feed(data):
            message = frame if isinstance(frame, Noise) else parse_message(frame)
            if isinstance(message, RnodeMessage):
                self._handle(message, now_us)

    def _handle(self, message: RnodeMessage, now_us: int) -> None:
        command = message.command
        if command == RnodeCommand.DATA:
            self._take_packet(message.data, now_us)
        elif command == RnodeCommand.DETECT:
            self._say(RnodeCommand.DETECT, bytes([DETECT_ANSWER]))
        elif command == RnodeCommand.FIRMWARE:
            self._say(RnodeCommand.FIRMWARE, bytes(self.version))
        elif command == RnodeCommand.PLATFORM:
            self._say(RnodeCommand.PLATFORM, b"\x80")
        elif command == 0x49:
            self.write(serialize_frame(b"\x49\x81"))
        elif command == RnodeCommand.READY:
            self._say(RnodeCommand.READY, bytes([len(self.queue) < QUEUE_MAX]))
        elif command in self.values:
            self._set(RnodeCommand(command), message.data)

    def _set(self, command: RnodeCommand, data: bytes) -> None:
        asks = int.from_bytes(data) == 0 if len(data) == 4 else data == b"\xff"
        if not asks and len(data) == len(self.values[command]):
            self.values[command] = data
            if command is RnodeCommand.POWER:
                self.values[command] = bytes([min(data[0], self.power_max_dbm)])
            elif command is RnodeCommand.RADIO_STATE:
                self._switch()
        self._say(command, self.values[command])

    def _switch(self) -> None:
        if self.values[RnodeCommand.RADIO_STATE] == b"\x00":
            self.lora = None
            return
        value = {command: int.from_bytes(data) for command, data in self.values.items()}
        try:
            self.lora = rnode_settings(
                replace(
                    LoraSettings(),
                    frequency_hz=value[RnodeCommand.FREQUENCY],
                    bandwidth_hz=value[RnodeCommand.BANDWIDTH],
                    spreading_factor=value[RnodeCommand.SPREADING_FACTOR],
                    coding_rate=value[RnodeCommand.CODING_RATE],
                )
            )
        except ValueError:
            self.values[RnodeCommand.RADIO_STATE] = b"\x00"
            self._say(RnodeCommand.ERROR, bytes([RnodeErrorCode.RADIO]))

    def _take_packet(self, packet: bytes, now_us: int) -> None:
        if self.lora is None:
            self._say(RnodeCommand.ERROR, bytes([RnodeErrorCode.TRANSMIT]))
        elif len(self.queue) >= QUEUE_MAX:
            self._say(RnodeCommand.ERROR, bytes([RnodeErrorCode.QUEUE_FULL]))
        else:
            # The header: a random upper half, and no flag since the packet is not split.
            self.enqueue(bytes([0xA0]) + packet, now_us)

    def heard(self, frame: bytes) -> None:
        """See Device."""
        self._say(RnodeCommand.RSSI, bytes([RSSI_DBM + RSSI_OFFSET_DB]))
        self._say(RnodeCommand.SNR, round(4 * SNR_DB).to_bytes(1, signed=True))
        self._say(RnodeCommand.DATA, frame[1:])

    def _say(self, command: RnodeCommand, data: bytes) -> None:
        self.write(serialize_frame(serialize_message(RnodeMessage(command, data))))
