"""An emulated Meshtastic device. Pure. Written after the firmware's StreamAPI, PhoneAPI and Router."""

from firmware_bridge.serial import protobuf
from firmware_bridge.serial.meshtastic import (
    PRIMARY,
    ROUTING_APP,
    Channel,
    ConfigComplete,
    FromRadio,
    Heartbeat,
    Metadata,
    MyInfo,
    Packet,
    QueueStatus,
    Rebooted,
    RoutingError,
    WantConfig,
    frame_reader,
    serialize_frame,
)
from firmware_bridge.serial.meshtastic_air import LoraConfig, on_air
from tests.emulated.meshtastic_wire import parse_to_radio, serialize_from_radio, serialize_routing
from tests.emulated.serial_air import RSSI_DBM, SNR_DB, Air, Device

NO_CHANNEL = 6
QUEUE_MAX = 16
"""Places of its queue."""
SHORT_FAST_EU868 = LoraConfig(
    use_preset=True,
    preset=6,
    bandwidth_code=0,
    spreading_factor=0,
    coding_rate=0,
    region=3,
    transmits=True,
    power_dbm=14,
    slot=0,
    override_mhz=0.0,
)
"""Settings for a fast mesh in Europe."""
_HEADER = 16


class MeshtasticDevice(Device):
    """One emulated device with two channels."""

    def __init__(
        self,
        air: Air,
        node: int,
        *,
        config: LoraConfig = SHORT_FAST_EU868,
        channels: tuple[str, ...] = ("", "tinySSB"),
    ) -> None:
        super().__init__(air)
        self.node = node
        self.config = config
        self.channels = channels
        self.over_duty = False
        """True if the duty cycle is used up."""
        self._reader = frame_reader()
        self.lora, _ = on_air(config, channels[0])

    def boot(self) -> None:
        """See Device."""
        super().boot()
        self._reader.reset()
        self.write(b"INFO  | ??:??:?? 0 Booting\r\n")
        self._say(Rebooted())

    def receive(self, data: bytes, now_us: int) -> None:
        """See Device."""
        for frame in self._reader.feed(data):
            message = parse_to_radio(frame)
            match message:
                case WantConfig(nonce):
                    self._tell_all(nonce)
                case Heartbeat():
                    self._tell_queue(0)
                case Packet():
                    self._take_packet(message, now_us)

    def _tell_all(self, nonce: int) -> None:
        self._say(MyInfo(self.node))
        self._say(Metadata("2.7.11.emulated"))
        self._tell_neighbour()
        for index in range(8):
            is_used = index < len(self.channels)
            role = PRIMARY if index == 0 else 2 if is_used else 0
            self._say(Channel(index=index, name=self.channels[index] if is_used else "", role=role))
        self._say(self.config)
        self._say(ConfigComplete(nonce))

    def _tell_neighbour(self) -> None:
        """Send the only known node, itself. Our host does not need it; Meshtastic's own library does."""
        user: list[tuple[int, protobuf.Value]] = [
            (1, f"!{self.node:08x}".encode()),
            (2, b"emulated device"),
            (3, b"emu"),
        ]
        info: list[tuple[int, protobuf.Value]] = [(1, self.node), (2, protobuf.serialize_fields(user))]
        self.write(serialize_frame(protobuf.serialize_fields([(4, protobuf.serialize_fields(info))])))

    def _take_packet(self, packet: Packet, now_us: int) -> None:
        if self.over_duty:
            self._tell_queue(packet.id, RoutingError.DUTY_CYCLE_LIMIT)
            self._refuse(packet, RoutingError.DUTY_CYCLE_LIMIT)
            return
        if len(self.queue) >= QUEUE_MAX:
            self._tell_queue(packet.id, 32)
            return
        if packet.channel >= len(self.channels):
            self._refuse(packet, NO_CHANNEL)
            return
        self.enqueue(self._wrap(packet), now_us)
        self._tell_queue(packet.id)

    def _wrap(self, packet: Packet) -> bytes:
        """Return the frame on the air: a header, and the part to encrypt. The channel's name stands for its key."""
        header = self.node.to_bytes(4, "little") + packet.id.to_bytes(4, "little")
        inner = protobuf.serialize_fields([(1, packet.port), (2, packet.payload), (9, 0)])
        key = self.channels[packet.channel].encode()[:7]
        return header + bytes([len(key)]) + key.ljust(7, b"\x00") + inner

    def _refuse(self, packet: Packet, error: int) -> None:
        self._say(
            Packet(
                payload=serialize_routing(error),
                port=ROUTING_APP,
                channel=packet.channel,
                id=packet.id ^ 1,
                sender=self.node,
                request_id=packet.id,
            )
        )

    def heard(self, frame: bytes) -> None:
        """See Device."""
        name = frame[9 : 9 + frame[8]].decode()
        if name not in self.channels:
            return
        inner = protobuf.parse_fields(frame[_HEADER:])
        self._say(
            Packet(
                payload=protobuf.blob(inner, 2),
                port=protobuf.number(inner, 1),
                channel=self.channels.index(name),
                id=int.from_bytes(frame[4:8], "little"),
                sender=int.from_bytes(frame[:4], "little"),
                rssi_dbm=RSSI_DBM,
                snr_db=SNR_DB,
            )
        )

    def _tell_queue(self, packet_id: int, error: int = 0) -> None:
        self._say(
            QueueStatus(error=error, free=QUEUE_MAX - len(self.queue), size=QUEUE_MAX, packet_id=packet_id)
        )

    def _say(self, message: FromRadio) -> None:
        self.write(serialize_frame(serialize_from_radio(message)))
