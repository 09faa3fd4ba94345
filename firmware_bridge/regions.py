"""The law of each region for LoRa radios, as tables. Pure.

These are the rules that a program can keep by itself: position and width of the channel, power, dwell time, duty cycle.
They are not legal advice: a country may add its own rules, and the owner has to state the antenna's gain.

Sources, by the short names used below:

- **ETSI**: EN 300 220-2 V3.2.1 (2018), annex B, table B.1, in line with **CEPT** ERC/REC 70-03 annex 1 and Commission
  Decision 2006/771/EC as last amended. Rows are named by their edges.
- **FCC**: 47 CFR 15.247, for 902 to 928 MHz: (a)(1)(i) hopping, (a)(2) digital modulation, (b)(3) and (b)(4) power, (e)
  power density. Canada has the same rules (RSS-247).
- **LIPD**: the Australian Radiocommunications (Low Interference Potential Devices) Class Licence 2015, schedule 1,
  digital modulation transmitters, 915 to 928 MHz. (Frequency hopping transmitters there need 20 channels or more.)
- **RP002**: LoRaWAN Regional Parameters RP002-1.0.5 (LoRa Alliance), which collects the rules of countries.
- **GSR**: the Indian rules G.S.R. 853(E) of 10 December 2021, for 865 to 868 MHz, which supersede those of 2005.
  Table I (25 mW) is for hopping transmitters only; table II applies to a radio with a fixed frequency.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

WINDOW_US: Final = 3_600 * 1_000_000
"""The duty cycle is counted over any hour (EN 300 220-1 V3.1.1, clause 5.4.2)."""
FRAME_SIZE: Final = 124
"""Bytes of the longest tinySSB frame on LoRa: a packet of 120 and its CRC-32."""
DIPOLE_GAIN_CDBI: Final = 215
"""Gain of a half-wave dipole over an isotropic antenna, in hundredths of a decibel: the difference of EIRP and ERP."""
FREE_GAIN_CDBI: Final = 600
"""Antenna gain that costs no conducted power in the United States, in hundredths of dBi (FCC 15.247(b)(4))."""
DWELL_US: Final = 400_000
"""Longest transmission where dwell time is limited (RP002, AS923 and AU915: UplinkDwellTime)."""


class Region(StrEnum):
    """A set of rules, by its LoRaWAN name."""

    EU868 = "EU868"
    """Europe and other countries that follow CEPT, 863 to 870 MHz."""
    EU433 = "EU433"
    """The same countries, 433 MHz."""
    US915 = "US915"
    """United States and Canada."""
    AU915 = "AU915"
    """Australia, New Zealand and much of South America."""
    AS923 = "AS923"
    """Japan and much of South-East Asia. A country may open less than the whole; 923.0 to 923.5 MHz is open in all.
    Japan also requires listen before talk."""
    IN865 = "IN865"
    """India."""


class PowerBasis(StrEnum):
    """The quantity that a limit of power refers to."""

    ERP = "erp"
    """Radiated, against a half-wave dipole."""
    EIRP = "eirp"
    """Radiated, against an isotropic antenna."""
    CONDUCTED = "conducted"
    """At the antenna's socket, for antennas up to 6 dBi; further gain is subtracted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Antenna:
    """An antenna with its cable."""

    gain_cdbi: int = DIPOLE_GAIN_CDBI
    """Gain over an isotropic antenna, in hundredths of a decibel."""
    loss_cdb: int = 0
    """Loss of the cable, in hundredths of a decibel."""

    @property
    def net_cdbi(self) -> int:
        """Radiated power over the radio's own, in hundredths of dBi."""
        return self.gain_cdbi - self.loss_cdb


@dataclass(frozen=True, slots=True, kw_only=True)
class SubBand:
    """A range of spectrum under one rule."""

    name: str
    """Region and edges in MHz; names the account that airtime is charged to."""
    low_hz: int
    """Lower edge, which a channel's lower edge may touch."""
    high_hz: int
    """Upper edge, likewise."""
    power_cdbm: int
    """Greatest power, in hundredths of dBm. 25 mW, which is 13.98 dBm, counts as 14 by convention."""
    power_basis: PowerBasis
    """The quantity that the power refers to."""
    duty_permille: int | None = None
    """Greatest duty cycle in any hour; None: no limit."""
    dwell_us: int | None = None
    """Longest transmission; None: no limit."""
    bandwidth_min_hz: int = 0
    """Narrowest channel that needs no hopping."""
    bandwidth_max_hz: int = 500_000
    """Widest channel; that of LoRa chips unless the law says less."""
    source: str
    """Source of the rule."""

    @property
    def airtime_limit_us(self) -> int | None:
        """Greatest airtime in any ``WINDOW_US``; None: no limit."""
        return None if self.duty_permille is None else WINDOW_US * self.duty_permille // 1_000

    def conducted_cdbm(self, antenna: Antenna) -> int:
        """Return the greatest power of a radio with that antenna, in hundredths of dBm.

        ERP is power + gain − cable loss − 2.15, EIRP is power + gain − cable loss. Cable loss never raises the
        conducted power above the limit at the radio's socket.
        """
        if self.power_basis is PowerBasis.ERP:
            return self.power_cdbm + DIPOLE_GAIN_CDBI - antenna.net_cdbi
        if self.power_basis is PowerBasis.EIRP:
            return self.power_cdbm - antenna.net_cdbi
        return self.power_cdbm - max(0, antenna.net_cdbi - FREE_GAIN_CDBI)


def _europe(name: str, low_hz: int, high_hz: int, duty_permille: int, power_cdbm: int) -> SubBand:
    return SubBand(
        name=name,
        low_hz=low_hz,
        high_hz=high_hz,
        duty_permille=duty_permille,
        power_cdbm=power_cdbm,
        power_basis=PowerBasis.ERP,
        source=f"EN 300 220-2 V3.2.1 table B.1, {name.partition(' ')[2]} MHz; ERC/REC 70-03 annex 1",
    )


SUB_BANDS: Final[Mapping[Region, tuple[SubBand, ...]]] = {
    Region.EU868: (
        _europe("EU868 863-865", 863_000_000, 865_000_000, 1, 1_400),
        _europe("EU868 865-868", 865_000_000, 868_000_000, 10, 1_400),
        _europe("EU868 868.0-868.6", 868_000_000, 868_600_000, 10, 1_400),
        _europe("EU868 868.7-869.2", 868_700_000, 869_200_000, 1, 1_400),
        _europe("EU868 869.4-869.65", 869_400_000, 869_650_000, 100, 2_700),
        _europe("EU868 869.7-870", 869_700_000, 870_000_000, 10, 1_400),
    ),
    Region.EU433: (_europe("EU433 433.05-434.79", 433_050_000, 434_790_000, 100, 1_000),),
    Region.US915: (
        SubBand(
            name="US915 902-928",
            low_hz=902_000_000,
            high_hz=928_000_000,
            power_cdbm=3_000,
            power_basis=PowerBasis.CONDUCTED,
            # 30 dBm over 500 kHz is 7.8 dBm in 3 kHz: within the 8 dBm of 15.247(e).
            bandwidth_min_hz=500_000,
            source="47 CFR 15.247(a)(2), (b)(3), (b)(4), (e)",
        ),
    ),
    Region.AU915: (
        SubBand(
            name="AU915 915-928",
            low_hz=915_000_000,
            high_hz=928_000_000,
            power_cdbm=3_000,
            power_basis=PowerBasis.EIRP,
            # 1 W over 500 kHz is 6 mW in 3 kHz: within the 25 mW of the class licence. Australia does not limit dwell
            # time; other countries of this plan do, and a node may be carried there.
            dwell_us=DWELL_US,
            bandwidth_min_hz=500_000,
            source="LIPD Class Licence 2015 schedule 1, digital modulation transmitters; dwell time: RP002, AU915",
        ),
    ),
    Region.AS923: (
        SubBand(
            name="AS923 920-925",
            low_hz=920_000_000,
            high_hz=925_000_000,
            power_cdbm=1_600,
            power_basis=PowerBasis.EIRP,
            duty_permille=10,
            dwell_us=DWELL_US,
            source="RP002, AS923: 16 dBm EIRP, 400 ms, duty below 1 %",
        ),
    ),
    Region.IN865: (
        SubBand(
            name="IN865 865-868",
            low_hz=865_000_000,
            high_hz=868_000_000,
            power_cdbm=2_700,
            power_basis=PowerBasis.ERP,
            # 10 % is for network access points only.
            duty_permille=25,
            bandwidth_max_hz=200_000,
            source="G.S.R. 853(E) of 2021, table II: 500 mW ERP, 2.5 %, 200 kHz; RP002, IN865: 29.2 dBm EIRP",
        ),
    ),
}
"""Every sub-band, by region, from the lowest up."""
