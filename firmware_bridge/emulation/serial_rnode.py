"""An RNode that is not there. Pure. Written after the protocol that Reticulum's own driver speaks."""

from dataclasses import replace

from firmware_bridge.emulation.serial_air import RSSI_DBM, SNR_DB, Air, Device
from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial.framing import FrameReader, serialize_frame
from firmware_bridge.serial.rnode import (
    DETECT_ANSWER,
    RESET_DONE,
    RSSI_OFFSET_DB,
    Command,
    ErrorCode,
    Message,
    parse_message,
    serialize_message,
)
from firmware_bridge.serial.rnode_host import rnode_settings
from firmware_bridge.serial.session import Noise

QUEUE_MAX = 24
"""Packets a small one keeps."""


class Rnode(Device):
    """An RNode on an ESP32."""

    def __init__(self, air: Air, *, version: tuple[int, int] = (1, 85), power_max_dbm: int = 17) -> None:
        super().__init__(air)
        self.version = version
        self.power_max_dbm = power_max_dbm
        self._queue: list[bytes] = []
        self._forget()

    def _forget(self) -> None:
        self._reader = FrameReader()
        self._values = {
            Command.FREQUENCY: bytes(4),
            Command.BANDWIDTH: bytes(4),
            Command.POWER: b"\xff",
            Command.SPREADING_FACTOR: b"\x00",
            Command.CODING_RATE: b"\x05",
            Command.SHORT_LIMIT: bytes(2),
            Command.LONG_LIMIT: bytes(2),
            Command.RADIO_STATE: b"\x00",
        }
        self.lora = None

    def boot(self) -> None:
        """See Device."""
        if "sending" in self._timers:
            self.air.end(self)
        self.forget_timers()
        self._queue.clear()
        self._forget()
        self.write(b"rst:0x1 (POWERON_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\n")
        self._say(Command.RESET, bytes([RESET_DONE]))

    def receive(self, data: bytes, now_us: int) -> None:
        """See Device."""
        for frame in self._reader.feed(data):
            message = frame if isinstance(frame, Noise) else parse_message(frame)
            if isinstance(message, Message):
                self._obey(message, now_us)

    def _obey(self, message: Message, now_us: int) -> None:
        command = message.command
        if command == Command.DATA:
            self._take_packet(message.data, now_us)
        elif command == Command.DETECT:
            self._say(Command.DETECT, bytes([DETECT_ANSWER]))
        elif command == Command.FIRMWARE:
            self._say(Command.FIRMWARE, bytes(self.version))
        elif command == Command.PLATFORM:
            self._say(Command.PLATFORM, b"\x80")
        elif command == 0x49:
            self.write(serialize_frame(b"\x49\x81"))
        elif command == Command.READY:
            self._say(Command.READY, bytes([len(self._queue) < QUEUE_MAX]))
        elif command in self._values:
            self._set(Command(command), message.data)

    def _set(self, command: Command, data: bytes) -> None:
        asks = int.from_bytes(data) == 0 if len(data) == 4 else data == b"\xff"
        if not asks and len(data) == len(self._values[command]):
            self._values[command] = data
            if command is Command.POWER:
                self._values[command] = bytes([min(data[0], self.power_max_dbm)])
            elif command is Command.RADIO_STATE:
                self._switch()
        self._say(command, self._values[command])

    def _switch(self) -> None:
        if self._values[Command.RADIO_STATE] == b"\x00":
            self.lora = None
            return
        value = {command: int.from_bytes(data) for command, data in self._values.items()}
        try:
            self.lora = rnode_settings(
                replace(
                    LoraSettings(),
                    frequency_hz=value[Command.FREQUENCY],
                    bandwidth_hz=value[Command.BANDWIDTH],
                    spreading_factor=value[Command.SPREADING_FACTOR],
                    coding_rate=value[Command.CODING_RATE],
                )
            )
        except ValueError:
            self._values[Command.RADIO_STATE] = b"\x00"
            self._say(Command.ERROR, bytes([ErrorCode.RADIO]))

    def _take_packet(self, packet: bytes, now_us: int) -> None:
        if self.lora is None:
            self._say(Command.ERROR, bytes([ErrorCode.TRANSMIT]))
        elif len(self._queue) >= QUEUE_MAX:
            self._say(Command.ERROR, bytes([ErrorCode.QUEUE_FULL]))
        else:
            self._queue.append(packet)
            if not self._timers:
                self.set_timer("decide", now_us)

    def ring(self, timer: str, now_us: int) -> None:
        """See Device."""
        if timer == "sending":
            self.air.end(self)
        if not self._queue:
            return
        if self.air.is_busy(self):
            self.set_timer("decide", now_us + 24_000)
            return
        packet = self._queue.pop(0)
        # Its header: a random upper half, and no flag since it is not split.
        self.set_timer("sending", self.air.begin(self, bytes([0xA0]) + packet, now_us))

    def heard(self, frame: bytes) -> None:
        """See Device."""
        self._say(Command.RSSI, bytes([RSSI_DBM + RSSI_OFFSET_DB]))
        self._say(Command.SNR, round(4 * SNR_DB).to_bytes(1, signed=True))
        self._say(Command.DATA, frame[1:])

    def _say(self, command: Command, data: bytes) -> None:
        self.write(serialize_frame(serialize_message(Message(command, data))))
