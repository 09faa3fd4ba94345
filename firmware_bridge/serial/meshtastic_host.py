"""The host of a Meshtastic device: our packets on a channel of their own, over no hops, behind everybody else's."""

from collections.abc import Callable, Generator

from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial import limits
from firmware_bridge.serial.meshtastic import (
    PRIVATE_APP,
    ROUTING_APP,
    WAKE,
    Channel,
    ConfigComplete,
    FrameReader,
    FromRadio,
    Heartbeat,
    LoraConfig,
    Metadata,
    MyInfo,
    Packet,
    QueueStatus,
    Rebooted,
    Role,
    RoutingError,
    ToRadio,
    WantConfig,
    parse_from_radio,
    routing_error,
    serialize_frame,
    serialize_to_radio,
)
from firmware_bridge.serial.meshtastic_air import MeshSetupError, on_air
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
)

_NONCE = 1_558
_OVERHEAD = limits.MESHTASTIC_HEADER + 7
"""On the air: the header, and of the message Data the port number, the payload's tag and length, and a bit field."""
_HOLD_ERRORS = (RoutingError.DUTY_CYCLE_LIMIT, RoutingError.RATE_LIMIT_EXCEEDED)
_REMEDY = "Set it up with Meshtastic's app."


class MeshtasticSession(Session[FromRadio]):
    """One conversation with a Meshtastic device."""

    def __init__(self, channel: str, entropy: Callable[[], float]) -> None:
        """*channel*: the name of the channel to use. *entropy* returns numbers from 0 up to 1, which packets' numbers
        are made of: neighbours drop a packet whose number they know."""
        super().__init__()
        self._name = channel
        self._entropy = entropy
        self._reader = FrameReader()
        self._node = 0
        self._firmware = ""
        self._config: LoraConfig | None = None
        self._channels: dict[int, Channel] = {}
        self._index = 0
        self._lora = LoraSettings()

    def air_bytes(self, length: int) -> int:
        """A header and the wrapping of a message go with a packet."""
        return length + _OVERHEAD

    @property
    def packet_max(self) -> int:
        """What fits into a message."""
        return limits.MESHTASTIC_PAYLOAD_MAX

    def _decode(self, data: bytes) -> list[FromRadio | Noise]:
        return [parse_from_radio(frame) for frame in self._reader.feed(data)]

    def _greet(self) -> Dialogue[FromRadio]:
        for _ in range(limits.HELLO_TRIES):
            started = yield _ask(WantConfig(_NONCE), lambda message: isinstance(message, MyInfo), WAKE)
            if started is not None:
                break
        else:
            return Failed(what="nothing there answers as a Meshtastic device")
        assert isinstance(started, MyInfo)
        self._node = started.node
        ended = yield Ask(
            b"",
            lambda message: message == ConfigComplete(_NONCE),
            limits.MESHTASTIC_CONFIG_US,
        )
        if ended is None or self._config is None:
            return Failed(what="the radio did not tell its whole configuration")
        return self._judge(self._config)

    def _judge(self, config: LoraConfig) -> Ready | Failed:
        """See whether the device is set up for us."""
        channels = self._channels.values()
        ours = [channel for channel in channels if channel.name == self._name and channel.role]
        if not ours:
            return Failed(
                what=f"the device has no channel named {self._name}, and other channels are not for our packets",
                remedy=f"Type: meshtastic --ch-add {self._name}; and give all devices that shall hear it the same key.",
            )
        self._index = ours[0].index
        primary = next((channel.name for channel in channels if channel.role == Role.PRIMARY), "")
        try:
            lora, power_dbm = on_air(config, primary)
        except MeshSetupError as error:
            return Failed(what=f"the device cannot be used: {error}", remedy=_REMEDY)
        self._lora = lora
        return Ready(device=f"Meshtastic {self._firmware}".rstrip(), lora=lora, power_dbm=power_dbm)

    def _check(self) -> Steps[FromRadio]:
        answer = yield _ask(
            Heartbeat(), lambda message: isinstance(message, QueueStatus), tries=limits.ASK_TRIES
        )
        return None if answer is not None else Failed(what="the radio no longer answers")

    def _transmit(self, packet: bytes) -> Dialogue[FromRadio]:
        number = 1 + int(self._entropy() * 0xFFFF_FFFE)
        message = Packet(payload=packet, channel=self._index, id=number)
        air_us = self._air_us(self._lora, packet)
        told = yield _ask(message, lambda answer: self._is_about(answer, number))
        refused = told if told is not None and self._is_refusal(told, number) else None
        # One it says nothing of may be in its queue all the same.
        refused = refused or (yield from self._wait_until_left(number, air_us))
        if refused is None:
            return self._unreported() if told is None else self._sent()
        is_over = isinstance(refused, Packet) and routing_error(refused) in _HOLD_ERRORS
        yield Ask(b"", wait_us=limits.MESHTASTIC_HOLD_US if is_over else limits.GUEST_WAITS * air_us)
        return Done(Outcome.KEPT)

    def _wait_until_left(
        self, number: int, air_us: int
    ) -> Generator[Ask[FromRadio], FromRadio | None, FromRadio | None]:
        """Wait until the device's queue is empty, all that it tells of packets that have left. Returns a refusal."""
        for _ in range(limits.GUEST_POLLS_MAX):
            refused = yield Ask(b"", lambda answer: self._is_refusal(answer, number), air_us)
            if refused is not None:
                return refused
            status = yield _ask(Heartbeat(), lambda answer: isinstance(answer, QueueStatus))
            if not isinstance(status, QueueStatus) or status.free >= status.size:
                break
        return None

    def _is_about(self, message: FromRadio, number: int) -> bool:
        """Whether *message* tells what became of the packet of that number."""
        if isinstance(message, QueueStatus):
            return message.packet_id == number
        return self._is_refusal(message, number)

    def _is_refusal(self, message: FromRadio, number: int) -> bool:
        """Whether *message* says that the packet of that number was not sent. Only the device itself can know."""
        if isinstance(message, QueueStatus):
            return message.packet_id == number and message.error != 0
        return (
            isinstance(message, Packet)
            and message.port == ROUTING_APP
            and message.sender in (0, self._node)
            and message.request_id == number
            and routing_error(message) != RoutingError.NONE
        )

    def _take(self, message: FromRadio) -> list[Action]:
        match message:
            case Metadata(firmware):
                self._firmware = firmware
            case LoraConfig():
                self._config = message
            case Channel():
                if len(self._channels) < limits.MESHTASTIC_CHANNELS_MAX:
                    self._channels[message.index] = message
            case Rebooted():
                return self._restarted()
            case Packet():
                return self._take_packet(message)
        return []

    def _take_packet(self, packet: Packet) -> list[Action]:
        if packet.port != PRIVATE_APP or packet.channel != self._index:
            return []
        if packet.sender in (0, self._node):
            return [Noise("an echo of what was sent", len(packet.payload))]
        return [Heard(packet=packet.payload, rssi_dbm=packet.rssi_dbm or None, snr_db=packet.snr_db)]


def _ask(
    message: ToRadio, answers: Callable[[FromRadio], bool], before: bytes = b"", tries: int = 1
) -> Ask[FromRadio]:
    return Ask(before + serialize_frame(serialize_to_radio(message)), answers, tries=tries)
