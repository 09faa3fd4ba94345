"""The host of a MeshCore companion: our packets as datagrams on a channel of their own, which nobody repeats."""

from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial import limits, meshcore
from firmware_bridge.serial.kiss_host import meshcore_settings
from firmware_bridge.serial.meshcore import (
    APP_NAME,
    APP_VERSION,
    DATA_TYPE,
    FROM_COMPANION,
    MESSAGE_CODES,
    TO_COMPANION,
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
    Other,
    Request,
    SelfInfo,
    channel_data_body,
    parse_message,
    serialize_ask,
    serialize_frame,
)
from firmware_bridge.serial.session import (
    Action,
    Ask,
    Dialogue,
    Done,
    Failed,
    Heard,
    Noise,
    Outcome,
    Ready,
    Session,
    Steps,
    Write,
)

_HEADER = 2
"""On the air: kind of packet, and length of its path."""
_WRAPPING = 3
"""The channel's hash and a MAC, around the encrypted part."""
_BLOCK = 16
"""The encrypted part is filled up to blocks of AES."""
_INNER = 3
"""In it: kind of datagram and its length, before the packet."""


class MeshcoreSession(Session[Message]):
    """One conversation with a MeshCore companion."""

    def __init__(self, channel: str) -> None:
        """*channel*: the name of the channel to use."""
        super().__init__()
        self._name = channel
        self._reader = FrameReader(FROM_COMPANION)
        self._index = 0
        self._lora = LoraSettings()
        self._fetching = False

    def air_bytes(self, length: int) -> int:
        """A packet is wrapped, encrypted and filled up."""
        return _HEADER + _WRAPPING + -(-(_INNER + length) // _BLOCK) * _BLOCK

    @property
    def packet_max(self) -> int:
        """What a channel datagram holds."""
        return limits.COMPANION_DATA_MAX

    def _decode(self, data: bytes) -> list[Message | Noise]:
        return [parse_message(frame) for frame in self._reader.feed(data)]

    def _greet(self) -> Dialogue[Message]:
        device = None
        for _ in range(limits.HELLO_TRIES):
            device = yield _ask(Request.DEVICE_QUERY, bytes([APP_VERSION]), DeviceInfo, tries=1)
            if device is not None:
                break
            # A half frame from before would swallow the answer.
            self._reader.reset()
        if not isinstance(device, DeviceInfo):
            return Failed(what="nothing there answers as a MeshCore companion")
        name = f"MeshCore {device.firmware} on {device.model}"
        if device.version < limits.COMPANION_VERSION_MIN:
            return Failed(
                what=f"the firmware of the companion is too old: {name} knows no channel datagrams",
                remedy="Flash companion firmware 1.15 or later.",
            )
        info = yield _ask(Request.APP_START, bytes(7) + APP_NAME, SelfInfo)
        if not isinstance(info, SelfInfo):
            return Failed(what="the radio stopped answering while it was set up")
        failed = yield from self._find_channel(min(device.channels, limits.COMPANION_CHANNELS_MAX))
        return failed or self._judge(name, info)

    def _find_channel(self, count: int) -> Steps[Message]:
        for index in range(count):
            found = yield _ask(Request.GET_CHANNEL, bytes([index]), ChannelInfo)
            if isinstance(found, ChannelInfo) and found.name == self._name:
                self._index = found.index
                return None
        return Failed(
            what=f"the companion has no channel named {self._name}, and other channels are not for our packets",
            remedy="Add one in MeshCore's app, with the same key on all devices that shall hear it.",
        )

    def _judge(self, name: str, info: SelfInfo) -> Ready | Failed:
        try:
            settings = LoraSettings(
                frequency_hz=info.frequency_hz,
                bandwidth_hz=info.bandwidth_hz,
                spreading_factor=info.spreading_factor,
                coding_rate=info.coding_rate,
            )
        except ValueError as error:
            return Failed(
                what=f"the companion's modem is set up in an unknown way: {error}",
                remedy="Set it up with MeshCore's app.",
            )
        self._lora = meshcore_settings(settings)
        self._timer_us = self._now_us
        return Ready(device=name, lora=self._lora, power_dbm=info.power_dbm)

    def _check(self) -> Steps[Message]:
        answer = yield _ask(Request.APP_START, bytes(7) + APP_NAME, SelfInfo)
        if not isinstance(answer, SelfInfo):
            return Failed(what="the radio no longer answers")
        if (answer.frequency_hz, answer.bandwidth_hz, answer.spreading_factor) != (
            self._lora.frequency_hz,
            self._lora.bandwidth_hz,
            self._lora.spreading_factor,
        ):
            return Failed(what="the radio was set up anew")
        return None

    def _transmit(self, packet: bytes) -> Dialogue[Message]:
        body = channel_data_body(self._index, packet)
        answer = yield _ask(Request.SEND_CHANNEL_DATA, body, Ok, tries=1)
        if isinstance(answer, Error):
            if answer.code != ErrorCode.TABLE_FULL:
                return Failed(what=f"the companion does not take packets (error {answer.code})")
            yield Ask(b"", wait_us=limits.GUEST_WAITS * self._air_us(self._lora, packet))
            return Done(Outcome.KEPT)
        # It does not tell when a packet has left, but how many have not. One it says nothing of may be among them.
        for _ in range(limits.GUEST_POLLS_MAX):
            yield Ask(b"", wait_us=self._air_us(self._lora, packet))
            stats = yield _ask(Request.GET_STATS, b"\x00", CoreStats)
            if not isinstance(stats, CoreStats) or stats.queued == 0:
                break
        return self._unreported() if answer is None else self._sent()

    def _take(self, message: Message) -> list[Action]:
        match message:
            case MessagesWaiting():
                return [] if self._fetching else self._fetch()
            case NoMore():
                self._fetching = False
                self._timer_us = None
                return []
            case ChannelData():
                return [*self._take_data(message), *self._fetch()]
            case Other(code) if code in MESSAGE_CODES:
                return self._fetch()
        return []

    def _take_data(self, data: ChannelData) -> list[Action]:
        if data.channel != self._index or data.data_type != DATA_TYPE:
            return []
        return [Heard(packet=data.payload, snr_db=data.snr_db)]

    def _ring(self) -> list[Action]:
        # What was waiting when we came, or an answer that was lost.
        return self._fetch()

    def _fetch(self) -> list[Action]:
        """Ask for the next packet that waits."""
        self._fetching = True
        self._timer_us = self._now_us + limits.COMPANION_FETCH_US
        return [Write(serialize_frame(TO_COMPANION, serialize_ask(meshcore.Ask(Request.SYNC_NEXT))))]


def _ask(request: Request, body: bytes, answer: type[Message], tries: int = limits.ASK_TRIES) -> Ask[Message]:
    return Ask(
        serialize_frame(TO_COMPANION, serialize_ask(meshcore.Ask(request, body))),
        lambda message: isinstance(message, answer | Error),
        tries=tries,
    )
