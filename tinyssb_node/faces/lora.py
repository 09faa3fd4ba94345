"""A face on a LoRa chip of this machine: frames as tinySSB boards send them, under the law of the region."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace

from firmware_bridge.boards import BoardProfile, load_board
from firmware_bridge.chips.modem import Frame, Modem
from firmware_bridge.drivers.errors import RadioError, UnfitError
from firmware_bridge.drivers.hardware import Hardware
from firmware_bridge.drivers.linux import open_linux
from firmware_bridge.drivers.spi import CHECK_S, SpiRadio
from firmware_bridge.lora import modem_of
from firmware_bridge.plans import RadioPlan
from tinyssb_node import limits
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.face import FaceSink
from tinyssb_node.faces.frames import FrameFault, parse_crc_frame, serialize_crc_frame
from tinyssb_node.faces.lora_spec import LoraSpec
from tinyssb_node.faces.radio import radio_profile
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import LinkProfile, Reception

Opener = Callable[[BoardProfile], Hardware]
"""Opens a board's bus and lines. Raises RadioError."""


def chip_power_dbm(profile: BoardProfile, plan: RadioPlan) -> int:
    """Return the power to set *profile*'s chip to: the law's limit holds behind its amplifier.

    Raises UnfitError if the board's filters are for another band, or its amplifier is too strong for the law.
    """
    if not profile.covers(plan.lora.frequency_hz):
        bands = ", ".join(f"{low / 1e6:g} to {high / 1e6:g}" for low, high in profile.radio.bands_hz)
        raise UnfitError(
            profile.name,
            f"it is made for {bands} MHz, not for {plan.lora.frequency_hz / 1e6:g} MHz",
            "Choose a plan in its band, or another board.",
        )
    power_dbm = min(plan.power_dbm - profile.radio.amplifier_db, profile.radio.power_max_dbm)
    if power_dbm < profile.power_min_dbm:
        raise UnfitError(
            profile.name,
            f"it sends with {profile.power_min_dbm + profile.radio.amplifier_db} dBm at least, and "
            f"{plan.power_dbm} dBm is the most that may be sent",
            "Choose a board with a weaker amplifier.",
        )
    return power_dbm


class LoraFace:
    """The radio, while it listens. To its driver it is the RadioSink."""

    def __init__(self, name: FaceName, profile: LinkProfile, modem: Modem, sink: FaceSink, spec: str) -> None:
        self.name = name
        self.profile = profile
        self.is_up = False
        """True while the daemon has it."""
        self.reason = "this node closed it"
        """The reason why it goes down, if it does."""
        self._modem = modem
        self._sink = sink
        self._spec = spec
        self._radio: SpiRadio | None = None

    def drive(self, radio: SpiRadio) -> None:
        """Send by *radio*."""
        self._radio = radio

    async def send(self, packets: list[bytes]) -> int:
        """See Face. Returns when the airtime of the last is over, or one may not be sent. Raises ConnectionError."""
        if self._radio is None:
            raise ConnectionResetError("the radio is down")
        for sent, packet in enumerate(packets):
            if not await self._radio.send(serialize_crc_frame(packet)):
                return sent
        return len(packets)

    def radio_up(self) -> None:
        """See RadioSink."""
        self.is_up = True
        self._sink.up(self, self._spec)

    def radio_heard(self, frame: Frame) -> None:
        """See RadioSink. Boards cut a frame at 127 bytes, so that its CRC fails; so do we."""
        length = len(frame.payload)
        packet = parse_crc_frame(frame.payload[: limits.LORA_FRAME_READ])
        if frame.damaged or isinstance(packet, FrameFault):
            self._sink.junk(
                self.name, packet if isinstance(packet, FrameFault) else FrameFault.WRONG_CRC, length
            )
            return
        self._sink.frame(
            self.name,
            packet,
            Reception(
                rssi_dbm=frame.rssi_dbm, snr_db=frame.snr_db, airtime_us=self._modem.airtime_us(length)
            ),
        )

    def radio_reset(self, reason: str) -> None:
        """See RadioSink. Reported in the log and in the event log: the face goes down and comes up."""
        self.go_down(f"the radio was reset: {reason}")
        self.radio_up()

    def go_down(self, reason: str) -> None:
        """Report to the daemon that the face is gone, if it was up."""
        if self.is_up:
            self.is_up = False
            self._sink.down(self.name, reason)


class LoraEndpoint:
    """An endpoint that keeps one face, ``lora``, up."""

    def __init__(
        self,
        text: str,
        spec: LoraSpec,
        *,
        entropy: Callable[[], float] = random.random,
        opener: Opener | None = None,
        time_scale: float = 1.0,
        check_s: float = CHECK_S,
    ) -> None:
        """*opener* opens another board than *spec* names; its time may run *time_scale* times as fast."""
        self.spec = text
        self.problem: str | None = None
        self._lora = spec
        self._backoff = Backoff(entropy)
        self._opener = opener
        self._time_scale = time_scale
        self._check_s = check_s

    async def run(self, sink: FaceSink) -> None:
        """Keep the radio listening until cancelled: one that hangs is reset, one that is lost is opened again.

        Raises FaceOpenError where that fails: the board is missing, is another one, or cannot do what is configured.
        """
        clock = asyncio.get_running_loop().time
        opener = self._opener or self._default_opener()
        while True:
            begun_s = clock()
            self.problem = None
            try:
                await self._serve(sink, opener)
            except RadioError as error:
                self.problem = str(error)
            self._backoff.link_was_up(clock() - begun_s)
            await asyncio.sleep(self._backoff.next_s())

    async def _serve(self, sink: FaceSink, opener: Opener) -> None:
        """Be up until the radio is lost: raises RadioError; FaceOpenError if it did not even come up."""
        face: LoraFace | None = None
        reason = "this node closed it"
        try:
            board, plan, modem = self._agreed()
            profile = radio_profile(
                plan.lora,
                lambda length: length + limits.CRC_SIZE,
                plan,
                time_scale=self._time_scale,
                pongs=self._lora.radio.pongs,
            )
            face = LoraFace(self._lora.face_name, profile, modem, sink, self.spec)
            radio = SpiRadio(
                board,
                modem,
                chip_power_dbm(board, plan),
                face,
                lambda: opener(board),
                check_s=self._check_s,
                time_scale=self._time_scale,
            )
            face.drive(radio)
            await radio.run()
        except RadioError as error:
            reason = error.found
            if face is None or not face.is_up:
                raise FaceOpenError(self.spec, error.found, error.remedy) from error
            raise
        finally:
            if face is not None:
                face.go_down(reason)

    def _agreed(self) -> tuple[BoardProfile, RadioPlan, Modem]:
        """Return the board, its legal plan, and its chip's settings. All were checked with the spec string."""
        wanted = self._lora.radio.wanted
        assert wanted is not None, "a spec without settings is refused"
        settings = replace(wanted, crc=self._lora.crc)
        return load_board(self._lora.board), self._lora.radio.resolve(settings), modem_of(settings)

    def _default_opener(self) -> Opener:
        if not self._lora.emulated:
            return open_linux
        # Modules that only emulations need are loaded only for them.
        from firmware_bridge.emulation.board import EmulatedBoard  # noqa: PLC0415 only the emulation needs them
        from firmware_bridge.emulation.loop import shared_ether  # noqa: PLC0415 only the emulation needs them

        emulated = EmulatedBoard(load_board(self._lora.board), shared_ether(), str(self._lora.face_name))
        return lambda _board: emulated.open()
