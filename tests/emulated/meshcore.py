"""An emulated MeshCore companion. Pure. Written after MeshCore's examples/companion_radio."""

from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial.kiss import meshcore_settings
from firmware_bridge.serial.meshcore import (
    FROM_COMPANION,
    TABLE_FULL,
    TO_COMPANION,
    ChannelData,
    ChannelInfo,
    CompanionMessage,
    CoreStats,
    DeviceInfo,
    MessagesWaiting,
    NoMore,
    Ok,
    Refusal,
    Request,
    SelfInfo,
    frame_reader,
    serialize_frame,
)
from tests.emulated.meshcore_wire import CompanionRequest, parse_request, serialize_message
from tests.emulated.serial_air import SNR_DB, Air, Device

UNSUPPORTED = 1
NOT_FOUND = 2
POOL_MAX = 16
"""Places of its send queue."""
WAITING_MAX = 16
"""Places of its receive queue; the oldest packet is dropped."""
NARROW_EU868 = LoraSettings(frequency_hz=869_525_000, bandwidth_hz=250_000, spreading_factor=7, coding_rate=5)
"""Settings for a fast mesh in Europe."""


class MeshcoreCompanion(Device):
    """One emulated companion with some channels."""

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
        self.waiting: list[ChannelData] = []
        """Received packets that wait for the host."""
        self._reader = frame_reader(TO_COMPANION)

    def boot(self) -> None:
        """See Device."""
        super().boot()
        self.waiting.clear()
        self._reader.reset()
        self.write(b"ESP-ROM:esp32s3-20210327\r\n")

    def receive(self, data: bytes, now_us: int) -> None:
        """See Device."""
        for frame in self._reader.feed(data):
            self._handle(parse_request(frame), now_us)

    def _handle(self, request: CompanionRequest, now_us: int) -> None:
        match request.code:
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
            case Request.GET_CHANNEL if request.body and request.body[0] < 8:
                index = request.body[0]
                self._say(ChannelInfo(index=index, name=dict(enumerate(self.channels)).get(index, "")))
            case Request.GET_CHANNEL:
                self._say(Refusal(NOT_FOUND))
            case Request.SYNC_NEXT:
                self._say(self.waiting.pop(0) if self.waiting else NoMore())
            case Request.GET_STATS:
                self._say(CoreStats(uptime_s=now_us // 1_000_000, queued=len(self.queue)))
            case Request.SEND_CHANNEL_DATA if len(request.body) >= 4:
                self._take_packet(request.body, now_us)
            case _:
                self._say(Refusal(UNSUPPORTED))

    def _take_packet(self, body: bytes, now_us: int) -> None:
        if body[0] >= len(self.channels):
            self._say(Refusal(NOT_FOUND))
        elif len(self.queue) >= POOL_MAX:
            self._say(Refusal(TABLE_FULL))
        else:
            # The channel's name stands for the encryption with its key.
            name = self.channels[body[0]].encode()
            length = 5 + -(-(len(body) - 1) // 16) * 16
            frame = bytes([len(name)]) + name + bytes([len(body) - 4]) + body[2:]
            self.enqueue(frame.ljust(length, b"\x00"), now_us)
            self._say(Ok())

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
        self.waiting = [*self.waiting[-WAITING_MAX + 1 :], packet]
        self._say(MessagesWaiting())

    def _say(self, message: CompanionMessage) -> None:
        self.write(serialize_frame(FROM_COMPANION, serialize_message(message)))
