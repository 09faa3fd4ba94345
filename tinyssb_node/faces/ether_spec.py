"""Spec strings of ethers."""

from dataclasses import dataclass

from tinyssb_node.faces.radio import RadioChoice
from tinyssb_node.faces.radio_options import RADIO_OPTIONS, read_radio
from tinyssb_node.faces.spec_reader import NAME_RULE, SpecReader
from tinyssb_node.ids import FaceName


@dataclass(frozen=True, slots=True, kw_only=True)
class EtherSpec:
    """A node's connection to a modelled LoRa channel."""

    host: str
    """Host of the ether."""
    port: int
    """1 to 65535."""
    name: str
    """The node's name on the ether, by which links are cut."""
    radio: RadioChoice | None = None
    """The region whose law to keep, and the settings the ether must have; None: neither, since a modelled channel has
    no law."""

    @property
    def face_name(self) -> FaceName:
        """``ether:NAME``."""
        return FaceName(f"ether:{self.name}")


def parse_ether(reader: SpecReader) -> EtherSpec | None:
    """Parse a spec string of an ether; None if it is for another kind of face."""
    if not reader.skip("ether:"):
        return None
    host, port = reader.place(port_min=1)
    name = reader.name()
    if name is None:
        reader.fail("it gives no name", "?name= and " + NAME_RULE)
    radio = read_radio(reader)
    reader.end(f"name, {RADIO_OPTIONS}")
    return EtherSpec(host=host, port=port, name=name, radio=radio)
