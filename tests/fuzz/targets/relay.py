"""A relay: its messages, and strangers who register, call, accept and send, while time passes."""

from collections.abc import Iterable
from contextlib import suppress

from tests.fuzz.script import Script
from tests.fuzz.seeds import in_vectors
from tinyssb_node.errors import PeerError
from tinyssb_node.islands.relay import limits
from tinyssb_node.islands.relay.messages import (
    RelayAccept,
    RelayCall,
    RelayCalled,
    RelayRegister,
    RelayRequest,
    handle_of,
    parse_relay_reply,
    parse_relay_request,
    serialize_relay,
)
from tinyssb_node.islands.relay.service import RelayEffect, RelayService, SendRelayed

STEPS_MAX = 80
QUOTA = 2_000
GROUP = b"village!"
SECRETS = [bytes([number]) * limits.SECRET_SIZE for number in range(4)]
ADDRESSES = ["192.0.2.1", "192.0.2.2", "2001:db8::"]


class Story:
    """Bytes read as what happens to a relay, and what must hold whatever that is."""

    def __init__(self, data: bytes) -> None:
        self.script = Script(data)
        self.now_us = 0
        self.tickets: list[bytes] = [bytes(limits.TICKET_SIZE)]
        self.relay = RelayService([GROUP], self.entropy, QUOTA, 0)
        self.open: list[int] = []
        self.opened = 0

    def entropy(self, size: int) -> bytes:
        self.tickets.append(len(self.tickets).to_bytes(size, "big"))
        return self.tickets[-1]

    def run(self) -> None:
        for _ in range(STEPS_MAX):
            if self.script.over:
                break
            self.script.pick([self.connect, self.say, self.noise, self.leave, self.wait])()
            assert self.relay.registered <= min(len(self.open), limits.REGISTERED_MAX)
            assert self.relay.pairs <= limits.PAIRS_MAX
            assert self.relay.quota.used <= QUOTA
        while self.open:
            self.close(self.open[0])
        assert (self.relay.registered, self.relay.pairs) == (0, 0)

    def connect(self) -> None:
        self.opened += 1
        self.open.append(self.opened)
        self.relay.opened(self.opened, self.script.pick(ADDRESSES), self.now_us)
        self.say()

    def say(self) -> None:
        script = self.script
        secret = script.pick(SECRETS)
        group = script.pick([GROUP, GROUP, GROUP, b"another!"])
        requests: list[RelayRequest] = [
            RelayRegister(group, secret), RelayCall(group, handle_of(secret)), RelayAccept(script.pick(self.tickets)),
            RelayAccept(self.tickets[-1]),
        ]  # fmt: skip
        self.send(serialize_relay(script.pick(requests)))

    def noise(self) -> None:
        self.send(self.script.piece())

    def send(self, data: bytes) -> None:
        if not self.open:
            return
        # The last one that connected as often as all others.
        connection = self.script.pick([self.open[-1], self.script.pick(self.open)])
        self.take(self.relay.receive(connection, data, self.now_us), data)

    def leave(self) -> None:
        if self.open:
            self.close(self.script.pick(self.open))

    def wait(self) -> None:
        self.now_us += self.script.pick([1, 1_000_000, limits.CALL_WAIT_US, limits.IDLE_US, limits.HOUR_US])
        self.take(self.relay.look(self.now_us), None)

    def close(self, connection: int) -> None:
        self.open.remove(connection)
        self.take(self.relay.closed(connection), None)

    def take(self, effects: list[RelayEffect], cause: bytes | None) -> None:
        passed_on = 0
        for effect in effects:
            if isinstance(effect, SendRelayed):
                assert effect.to in self.open, "nothing is sent to one that is gone"
                passed_on += effect.data is cause
                if effect.data is not cause:
                    reply = parse_relay_reply(effect.data)
                    assert not isinstance(reply, RelayCalled) or reply.ticket == self.tickets[-1]
            elif effect.connection in self.open:
                self.close(effect.connection)
        assert passed_on <= 1, "what one sends goes to one other"


def run(data: bytes) -> None:
    for parse in (parse_relay_request, parse_relay_reply):
        with suppress(PeerError):
            assert data.startswith(serialize_relay(parse(data)))
    Story(data).run()


def seeds() -> Iterable[bytes]:
    return [*in_vectors("relay/messages_v1.json"), *(bytes([step] * 60) for step in range(12))]
