"""A MeshCore companion that is not there. Pure. Written after MeshCore's examples/companion_radio."""

from firmware_bridge.emulation.serial_air import SNR_DB, Air, Device
from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial.kiss_host import meshcore_settings
from firmware_bridge.serial.meshcore import (
    FROM_COMPANION,
    TO_COMPANION,
    Ask,
    ChannelData,
    ChannelInfo,
    CoreStats,
    DeviceInfo,
    Error,
    ErrorCode,
    FrameReader,
    Message,
    MessagesWaiting,
    NoMore,
    Ok,
    Request,
    SelfInfo,
    parse_ask,
    serialize_frame,
    serialize_message,
)

POOL_MAX = 16
"""Packets it can have in hand to be sent."""
WAITING_MAX = 16
"""Packets that wait for the host; the oldest makes room."""
NARROW_EU868 = LoraSettings(frequency_hz=869_525_000, bandwidth_hz=250_000, spreading_factor=7, coding_rate=5)
"""A companion set up for a quick mesh in Europe."""


class MeshcoreCompanion(Device):
    """A companion with some channels."""

    def __init__(
        self,
        air: Air,
        *,
        lora: LoraSettings = NARROW_EU868,
        channels: tuple[str, ...] = ("Public", "tinySSB"),
        version: int = 14,
    ) -> None:
        super().__init__(air)
        self.lora: LoraSettings = meshcore_settings(lora)
        self.channels = channels
        self.version = version
        self._to_send: list[bytes] = []
        self._waiting: list[ChannelData] = []
        self._reader = FrameReader(TO_COMPANION)

    def boot(self) -> None:
        """See Device."""
        if "sending" in self._timers:
            self.air.end(self)
        self.forget_timers()
        self._to_send.clear()
        self._waiting.clear()
        self._reader.reset()
        self.write(b"ESP-ROM:esp32s3-20210327\r\n")

    def receive(self, data: bytes, now_us: int) -> None:
        """See Device."""
        for frame in self._reader.feed(data):
            self._obey(parse_ask(frame), now_us)

    def _obey(self, ask: Ask, now_us: int) -> None:
        match ask.request:
            case Request.DEVICE_QUERY:
                self._say(
                    DeviceInfo(version=self.version, channels=8, model="emulated board", firmware="v1.17.1")
                )
            case Request.APP_START:
                self._say(
                    SelfInfo(
                        power_dbm=14,
                        frequency_hz=self.lora.frequency_hz,
                        bandwidth_hz=self.lora.bandwidth_hz,
                        spreading_factor=self.lora.spreading_factor,
                        coding_rate=self.lora.coding_rate,
                        name="ana",
                    )
                )
            case Request.GET_CHANNEL if ask.body and ask.body[0] < 8:
                index = ask.body[0]
                self._say(ChannelInfo(index=index, name=dict(enumerate(self.channels)).get(index, "")))
            case Request.GET_CHANNEL:
                self._say(Error(ErrorCode.NOT_FOUND))
            case Request.SYNC_NEXT:
                self._say(self._waiting.pop(0) if self._waiting else NoMore())
            case Request.GET_STATS:
                self._say(CoreStats(uptime_s=now_us // 1_000_000, queued=len(self._to_send)))
            case Request.SEND_CHANNEL_DATA if len(ask.body) >= 4:
                self._take_packet(ask.body, now_us)
            case _:
                self._say(Error(ErrorCode.UNSUPPORTED))

    def _take_packet(self, body: bytes, now_us: int) -> None:
        if body[0] >= len(self.channels):
            self._say(Error(ErrorCode.NOT_FOUND))
        elif len(self._to_send) >= POOL_MAX:
            self._say(Error(ErrorCode.TABLE_FULL))
        else:
            # The channel's name stands for what its key makes of it.
            name = self.channels[body[0]].encode()
            length = 5 + -(-(len(body) - 1) // 16) * 16
            frame = bytes([len(name)]) + name + bytes([len(body) - 4]) + body[2:]
            self._to_send.append(frame.ljust(length, b"\x00"))
            self._say(Ok())
            if not self._timers:
                self.set_timer("decide", now_us)

    def ring(self, timer: str, now_us: int) -> None:
        """See Device."""
        if timer == "sending":
            self.air.end(self)
        if not self._to_send:
            return
        if self.air.is_busy(self):
            self.set_timer("decide", now_us + 10_000)
            return
        self.set_timer("sending", self.air.begin(self, self._to_send.pop(0), now_us))

    def heard(self, frame: bytes) -> None:
        """See Device."""
        at = 1 + frame[0]
        name = frame[1:at].decode()
        if name not in self.channels:
            return
        length = frame[at]
        packet = ChannelData(
            channel=self.channels.index(name),
            data_type=int.from_bytes(frame[at + 1 : at + 3], "little"),
            payload=frame[at + 3 : at + 3 + length],
            snr_db=SNR_DB,
        )
        self._waiting = [*self._waiting[-WAITING_MAX + 1 :], packet]
        self._say(MessagesWaiting())

    def _say(self, message: Message) -> None:
        self.write(serialize_frame(FROM_COMPANION, serialize_message(message)))
