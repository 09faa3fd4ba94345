"""Accounts of airtime: charged durably, shared by faces, never richer after a restart than before."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scheduling.test_ledger import HOUR_US, Sent, most_in_a_window
from tinyssb_node import limits
from tinyssb_node.scheduling.budget import AirBudgets, AirUse, BootReference
from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import AirtimeCharge

SECOND_US = 1_000_000
BAND = Allowance(band="EU868 868.0-868.6", limit_us=36 * SECOND_US, window_us=HOUR_US)
FULL_US = 200_000


@dataclass
class Machine:
    """A computer with a store, switched on and off; its true time never stops."""

    store: MemoryStore = field(default_factory=MemoryStore)
    true_us: int = 0
    """The true time, which nobody but the law knows."""
    boots: int = 1
    booted_us: int = 0
    started_us: int = 0
    allowance: Allowance = BAND

    def __post_init__(self) -> None:
        self.start()

    @property
    def now_us(self) -> int:
        """The node's clock."""
        return self.true_us - self.started_us

    def start(self) -> None:
        """The program starts."""
        self.started_us = self.true_us
        boot = BootReference(f"boot-{self.boots}", self.true_us - self.booted_us)
        self.budgets = AirBudgets(self.store, boot)
        self.budget = self.budgets.open(self.allowance, FULL_US, self.now_us)

    def crash(self, down_us: int = 0, *, reboot: bool = False, idle_us: int = 0) -> None:
        """Lose what was not committed. After a reboot the system is up for *idle_us* before the program starts."""
        self.store.rollback()
        self.true_us += down_us
        if reboot:
            self.boots += 1
            self.booted_us = self.true_us
        self.true_us += idle_us
        self.start()

    def charge(self, airtime_us: int = FULL_US, *, use: AirUse = AirUse.OWN) -> int:
        number = self.budget.charge(airtime_us, self.now_us, use)
        self.store.commit(0)
        return number

    def send(self, airtime_us: int = FULL_US, *, use: AirUse = AirUse.OWN) -> None:
        """A packet goes out at once."""
        number = self.charge(airtime_us, use=use)
        self.true_us += airtime_us
        self.budget.settle(number, self.now_us)

    def spend(self, *, use: AirUse = AirUse.OWN) -> int:
        """All that may go now. Returns how many packets that was."""
        sent = 0
        while self.budget.may_send(self.now_us, use):
            self.send(use=use)
            sent += 1
        return sent

    def wait(self, span_us: int) -> None:
        self.true_us += span_us


def test_adverts_leave_half_of_the_air_to_news_and_news_a_tenth_to_adverts() -> None:
    machine = Machine()
    assert machine.spend(use=AirUse.ADVERT) == 90
    assert machine.spend() == 90
    other = Machine()
    assert other.spend() == 162
    assert other.spend(use=AirUse.ADVERT) == 18
    assert other.budget.status(other.now_us).left_us == 0


def test_replies_and_adverts_leave_airtime_for_new_entries_of_others_and_of_ours() -> None:
    machine = Machine()
    assert machine.spend(use=AirUse.REPLY) == 135
    assert machine.spend(use=AirUse.ADVERT) == 18
    assert machine.spend(use=AirUse.REPLY) == 0
    assert machine.spend(use=AirUse.RELAY) == 9
    assert machine.spend(use=AirUse.OWN) == 18
    other = Machine()
    assert other.spend(use=AirUse.ADVERT) == 90
    assert other.spend(use=AirUse.REPLY) == 63
    assert other.spend(use=AirUse.RELAY) == 9
    assert other.spend(use=AirUse.OWN) == 18


@pytest.mark.parametrize("asked", [AirUse.ADVERT, AirUse.REPLY])
def test_what_was_relayed_before_takes_nothing_from_what_is_left_for_new_entries(asked: AirUse) -> None:
    machine = Machine()
    for _ in range(30):
        machine.send(use=AirUse.RELAY)
    machine.spend(use=asked)
    machine.spend(use=AirUse.REPLY)
    machine.spend(use=AirUse.ADVERT)
    assert machine.spend(use=AirUse.RELAY) >= 9
    assert machine.spend(use=AirUse.OWN) >= 18


def test_replies_and_relayed_entries_together_leave_a_tenth_to_entries_of_ours() -> None:
    machine = Machine()
    assert machine.spend(use=AirUse.REPLY) == 135
    assert machine.spend(use=AirUse.RELAY) == 9
    assert machine.spend(use=AirUse.OWN) == 18
    other = Machine()
    assert other.spend(use=AirUse.RELAY) == 144
    assert other.spend(use=AirUse.REPLY) == 0
    assert other.spend(use=AirUse.OWN) == 18


def test_where_an_hour_has_room_for_four_packets_replies_leave_one_to_relayed_entries_and_these_one_to_ours() -> (
    None
):
    machine = Machine(allowance=Allowance(band="x", limit_us=4 * FULL_US, window_us=HOUR_US))
    assert machine.spend(use=AirUse.REPLY) == 1
    assert machine.spend(use=AirUse.RELAY) == 1
    assert machine.spend(use=AirUse.OWN) == 1


def test_what_was_charged_before_a_restart_counts_as_replies() -> None:
    machine = Machine()
    assert machine.spend(use=AirUse.REPLY) == 135
    machine.crash()
    assert machine.spend(use=AirUse.REPLY) == 0
    assert machine.spend(use=AirUse.OWN) == 27


def test_a_share_has_room_for_one_packet_where_the_whole_has() -> None:
    machine = Machine(allowance=Allowance(band="x", limit_us=FULL_US, window_us=HOUR_US))
    assert machine.spend(use=AirUse.ADVERT) == 1
    machine.wait(HOUR_US)
    assert machine.spend() == 1


def test_what_is_spent_is_told_of_the_share_of_entries() -> None:
    machine = Machine()
    assert machine.budget.spent(machine.now_us) == 0.0
    share_us = BAND.limit_us * limits.AIR_CONTENT_PERMILLE // 1_000
    for number in range(1, share_us // FULL_US + 1):
        machine.budget.settle(machine.charge(), machine.now_us)
        machine.true_us += FULL_US
        assert machine.budget.spent(machine.now_us) == pytest.approx(number * FULL_US / share_us)
    assert machine.budget.spent(machine.now_us) > 0.99
    machine.true_us += 2 * HOUR_US
    assert machine.budget.spent(machine.now_us) == 0.0


def test_what_is_spent_is_told_of_the_share_of_replies() -> None:
    machine = Machine()
    share_us = BAND.limit_us * limits.AIR_ASKED_PERMILLE // 1_000
    machine.charge()
    machine.send(use=AirUse.REPLY)
    assert machine.budget.asked_spent(machine.now_us) == pytest.approx(FULL_US / share_us)
    machine.true_us += 2 * HOUR_US
    assert machine.budget.asked_spent(machine.now_us) == 0.0


def test_faces_in_one_sub_band_have_one_account() -> None:
    budgets = AirBudgets(MemoryStore(), BootReference("a", 0))
    one, two = (budgets.open(BAND, FULL_US, 0) for _ in range(2))
    assert one is two
    other = budgets.open(Allowance(band="EU433", limit_us=1, window_us=2), 1, 0)
    assert other is not one
    assert [status.band for status in budgets.status(0)] == ["EU433", "EU868 868.0-868.6"]


def test_a_slower_face_widens_what_a_full_packet_is() -> None:
    budgets = AirBudgets(MemoryStore(), BootReference("a", 0))
    budget = budgets.open(BAND, FULL_US, 0)
    number = budget.charge(FULL_US, 0, use=AirUse.ADVERT)
    budgets.open(BAND, 20 * SECOND_US, 0)
    assert budget.status(0).full_us == 20 * SECOND_US
    assert budget.status(0).used_us == FULL_US
    # Half of the allowance would be 18 s.
    assert budget.status(0).advert_left_us == 20 * SECOND_US - FULL_US
    budget.settle(number, FULL_US)
    assert (
        budget.may_send_at(20 * SECOND_US, FULL_US, use=AirUse.ADVERT) == HOUR_US - 20 * SECOND_US + FULL_US
    )


def test_a_charge_is_in_the_store_before_the_packet_may_leave() -> None:
    machine = Machine()
    machine.charge()
    (charge,) = machine.store.charges()
    assert (charge.band, charge.airtime_us, charge.ended_us) == (BAND.band, FULL_US, None)


def test_a_charge_that_was_not_committed_never_was() -> None:
    machine = Machine()
    machine.budget.charge(FULL_US, machine.now_us, use=AirUse.OWN)
    machine.crash()
    assert machine.budget.status(machine.now_us).used_us == 0


def test_a_crash_between_charge_and_send_costs_the_packet_once() -> None:
    machine = Machine()
    machine.charge()
    for _ in range(3):
        machine.crash(SECOND_US)
        assert machine.budget.status(machine.now_us).used_us == FULL_US
    machine.wait(HOUR_US - 1)
    assert machine.budget.status(machine.now_us).used_us == FULL_US
    machine.wait(FULL_US + 1)
    assert machine.budget.status(machine.now_us).used_us == 0


def test_time_that_the_program_was_down_counts_within_one_boot() -> None:
    machine = Machine()
    machine.spend()
    machine.crash(HOUR_US)
    # What left last was not yet known to the store as having left.
    assert machine.budget.status(machine.now_us).used_us == FULL_US


def test_time_over_a_reboot_earns_nothing_and_is_not_lost_for_good() -> None:
    machine = Machine()
    spent = machine.spend()
    # Another boot's hours say nothing of how long ago the last one ended.
    machine.crash(10 * HOUR_US, reboot=True, idle_us=10 * HOUR_US)
    status = machine.budget.status(machine.now_us)
    assert status.used_us == spent * FULL_US
    machine.wait(HOUR_US + FULL_US)
    assert machine.budget.status(machine.now_us).used_us == 0
    assert machine.spend() == spent


def test_time_waited_before_a_reboot_is_kept_to_the_minute() -> None:
    machine = Machine()
    machine.spend()
    used_us = machine.budget.status(machine.now_us).used_us
    for _ in range(30):
        due_us = machine.budgets.next_us
        assert due_us is not None
        machine.wait(due_us - machine.now_us)
        machine.budgets.wake(machine.now_us)
        machine.store.commit(0)
    machine.crash(reboot=True)
    machine.wait(HOUR_US - 30 * limits.AIR_CLOCK_KEEP_US)
    assert machine.budget.status(machine.now_us).used_us < used_us


def test_the_clock_is_not_written_while_nothing_depends_on_it() -> None:
    assert Machine().budgets.next_us is None
    machine = Machine()
    machine.send()
    machine.wait(HOUR_US)
    due_us = machine.budgets.next_us
    assert due_us is not None
    machine.budgets.wake(due_us + HOUR_US)
    assert [machine.budgets.next_us] == [None]


def test_a_clock_the_store_has_lost_is_made_up_from_the_charges() -> None:
    machine = Machine()
    machine.store.put_charge(
        AirtimeCharge(band=BAND.band, number=1, advert=False, airtime_us=FULL_US, ended_us=HOUR_US)
    )
    machine.store.commit(0)
    machine.crash()
    assert machine.budget.status(machine.now_us).used_us == FULL_US
    machine.wait(HOUR_US)
    assert machine.budget.status(machine.now_us).used_us == 0


def test_a_packet_that_the_radio_gave_back_costs_nothing() -> None:
    machine = Machine()
    first, second = machine.charge(), machine.charge(use=AirUse.ADVERT)
    machine.budget.take_back(first, machine.now_us)
    assert machine.budget.status(machine.now_us).used_us == FULL_US
    machine.budget.settle(second, machine.now_us)
    machine.send()
    machine.crash()
    assert machine.budget.status(machine.now_us).used_us == 2 * FULL_US


def test_nothing_is_sent_while_nothing_can_be_charged() -> None:
    budgets = AirBudgets(MemoryStore(), BootReference("a", 0), read_only=True)
    budget = budgets.open(BAND, FULL_US, 0)
    assert not budget.may_send(0, use=AirUse.OWN)
    assert budget.next_us(use=AirUse.OWN) is None
    assert budget.status(0).wait_us is None
    assert budgets.next_us is None


def test_when_the_next_slot_opens() -> None:
    machine = Machine()
    machine.spend()
    status = machine.budget.status(machine.now_us)
    at_us = machine.budget.next_us(use=AirUse.OWN)
    assert at_us is not None
    assert status.wait_us == at_us - machine.now_us
    # The window that ends with the next packet begins where the first packet ended.
    assert at_us == HOUR_US
    machine.true_us = machine.started_us + at_us
    assert machine.budget.may_send(at_us, use=AirUse.OWN)


def test_old_charges_leave_the_store_with_later_ones() -> None:
    machine = Machine()
    machine.send()
    machine.send()
    machine.wait(HOUR_US)
    machine.send()
    assert [charge.number for charge in machine.store.charges()] == [3]


def test_the_store_holds_a_bounded_number_of_charges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LEDGER_RECORDS_MAX", 8)
    machine = Machine()
    spent_us = 0
    for number in range(60):
        machine.send(1_000, use=AirUse.ADVERT if number % 3 == 0 else AirUse.OWN)
        spent_us += 1_000
        machine.wait(SECOND_US)
        assert len(machine.store.charges()) <= 8 + 1
    assert sum(charge.airtime_us for charge in machine.store.charges()) == spent_us
    machine.crash()
    assert machine.budget.status(machine.now_us).used_us == spent_us


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_hour_exceeds_the_law_whatever_befalls_the_machine(data: st.DataObject) -> None:
    """Packets that leave late, crashes with and without a packet in flight, restarts, reboots, breaks."""
    machine, sent = Machine(allowance=Allowance(band="x", limit_us=1_000, window_us=20_000)), Sent()
    machine.budget = machine.budgets.open(machine.allowance, 100, 0)
    for _ in range(data.draw(st.integers(0, 60))):
        machine.wait(data.draw(st.integers(0, 400)))
        fate = data.draw(st.sampled_from(["send", "send", "send", "late", "lost", "crash", "reboot", "rest"]))
        if fate in {"crash", "reboot"}:
            reboot = fate == "reboot"
            idle_us = data.draw(st.integers(0, 60_000)) if reboot else 0
            machine.crash(data.draw(st.integers(0, 3_000)), reboot=reboot, idle_us=idle_us)
        elif fate == "rest":
            machine.wait(data.draw(st.integers(0, 5_000)))
            machine.budgets.wake(machine.now_us)
            machine.store.commit(0)
        else:
            airtime_us = data.draw(st.integers(10, 300))
            if machine.budget.may_send_at(airtime_us, machine.now_us, use=AirUse.OWN) != machine.now_us:
                continue
            number = machine.charge(airtime_us)
            machine.wait(data.draw(st.integers(0, 500)) if fate == "late" else 0)
            sent.append((machine.true_us, machine.true_us + airtime_us))
            machine.wait(airtime_us)
            if fate == "lost":
                machine.crash()
            else:
                machine.budget.settle(number, machine.now_us)
    assert most_in_a_window(sent, 20_000) <= 1_000
