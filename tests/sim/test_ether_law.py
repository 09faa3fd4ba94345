"""An ether face that is told a region keeps its law, or stays shut and says why."""

from dataclasses import replace

import pytest

from firmware_bridge.plans import FirmwareRelease, named_plan
from firmware_bridge.regions import Region
from tests.faces.recording_sink import RecordingSink, running
from tests.sim.test_ether_server import QUICK, an_ether, up
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.ether import EtherEndpoint
from tinyssb_node.faces.ether_spec import EtherSpec
from tinyssb_node.faces.radio import RadioChoice
from tinyssb_node.scheduling.link import Allowance


def endpoint(
    port: int, region: Region, plan: str | None = None, firmware: FirmwareRelease = FirmwareRelease.FW2025
) -> EtherEndpoint:
    choice = RadioChoice(region=region, plan=plan, firmware=firmware)
    spec = EtherSpec(host="127.0.0.1", port=port, name="ana", radio=choice)
    return EtherEndpoint("ether:…", spec)


@pytest.mark.parametrize("plan", [None, "EU868.a"])
async def test_its_profile_carries_the_allowance_of_the_region(plan: str | None) -> None:
    async with (
        an_ether(replace(QUICK, time_scale=100.0)) as port,
        running(endpoint(port, Region.EU868, plan)) as ana,
    ):
        await up(ana)
        assert ana.face().profile.allowance == Allowance(
            band="EU868 868.0-868.6 ×100", limit_us=360_000, window_us=36_000_000
        )


async def test_where_the_law_sets_no_share_there_is_none() -> None:
    medium = replace(QUICK.medium, lora=named_plan("US915.c"))
    async with an_ether(replace(QUICK, medium=medium)) as port, running(endpoint(port, Region.US915)) as ana:
        await up(ana)
        assert ana.face().profile.allowance is None


@pytest.mark.parametrize("pongs", [True, False])
async def test_who_asks_for_it_answers_pings(pongs: bool) -> None:
    choice = RadioChoice(region=Region.EU868, pongs=pongs)
    async with an_ether(QUICK) as port:
        spec = EtherSpec(host="127.0.0.1", port=port, name="ana", radio=choice)
        async with running(EtherEndpoint("ether:…", spec)) as ana:
            await up(ana)
            assert ana.face().profile.answers_pings == pongs


@pytest.mark.parametrize(
    ("region", "plan", "firmware", "told"),
    [
        (Region.US915, None, FirmwareRelease.FW2025, "lies in none of the sub-bands, which are 902-928 MHz"),
        (Region.EU868, "EU868.a", FirmwareRelease.FW2023, "not to what EU868.a of fw2023 is"),
    ],
)
async def test_a_channel_that_does_not_fit_is_not_used(
    region: Region, plan: str | None, firmware: FirmwareRelease, told: str
) -> None:
    async with an_ether() as port:
        ana = endpoint(port, region, plan, firmware)
        sink = RecordingSink()
        with pytest.raises(FaceOpenError, match=told):
            await ana.run(sink)
        assert sink.ups == []
        assert ana.problem is not None
        assert told in ana.problem
