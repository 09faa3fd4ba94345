"""The database says the same things on both sorts of rows, and those that a new one would say."""

import random
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.pzp.database.memory import MemoryPzpRows
from tests.pzp.database.messages import ALICE, BOB, Author, keep, state, without
from tests.pzp.messages.checked import enter
from tinyssb_node.errors import LocalError
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.sqlite import SqlitePzpRows
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.errors import MessageError
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import V2


def world() -> list[Author]:
    """Two feeds of forks, of one group with two keys, some of whose messages are in a thread as well."""
    chance = random.Random(1)
    one, other = Author(), Author(kind="chat")
    one.add_key(BOB)
    ids = one.says(3)
    thread = PzpTangle(ids[0])
    enter(V2.fields, one.by_id(ids[0]), thread)
    for number in range(20):
        if number % 4 == 0:
            other.say({"n": number}, thread, key=ALICE)
        elif number % 3 == 0:
            ids.append(one.say({"n": number}, *([thread] if number % 2 else []), key=BOB))
        else:
            ids.append(one.say_beside({"n": number}, *chance.sample(ids, 2)))
    return [one, other]


WORLD = world()
MESSAGES = [said for author in WORLD for said in author.written]
IDS = [message.message_id(V2.fields, said) for said in MESSAGES]
ROOTS = [WORLD[0].group, WORLD[0].feed, WORLD[1].feed, IDS[3]]
numbers = st.integers(0, len(MESSAGES) - 1)


class Twins(RuleBasedStateMachine):
    """Drives both; what both refuse is refused in the same way."""

    @initialize()
    def open_both(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "pzp.sqlite"
        self.rows = MemoryPzpRows()
        self.memory, self.sqlite = PzpDatabase(self.rows), PzpDatabase(SqlitePzpRows.open(self.path))
        self.clock = 0

    def both(self, operation):
        results = []
        for database in (self.memory, self.sqlite):
            try:
                results.append(operation(database))
            except (MessageError, LocalError) as error:
                results.append((type(error), str(error)))
        assert results[0] == results[1]

    @rule(first=numbers, count=st.integers(1, 12), strict=st.booleans(), empty=st.booleans())
    def add(self, first, count, strict, empty):
        self.clock += 1
        for said in MESSAGES[first : first + count]:
            one = without(said) if empty else said
            self.both(lambda database, one=one: database.add(one, wall_us=self.clock, strict=strict))

    @rule()
    def add_all(self):
        with self.memory.batch(), self.sqlite.batch():
            for said in MESSAGES:
                self.both(lambda database, said=said: database.add(said, wall_us=self.clock))

    @rule(number=numbers)
    def add_for_itself(self, number):
        self.both(lambda database: database.add(MESSAGES[number], IDS[number], wall_us=9))

    @rule(kind=st.sampled_from(["post", "chat", "more"]), key=st.sampled_from([ALICE, BOB]))
    def publish(self, kind, key):
        said, group = {"n": self.clock}, WORLD[0].group
        self.both(lambda database: database.write(key, said, kind, group, wall_us=self.clock))

    @rule(number=numbers)
    def erase(self, number):
        self.both(lambda database: database.erase(IDS[number]))

    @rule(number=numbers, span=st.sampled_from([0, 4, 100]))
    def delete(self, number, span):
        self.both(lambda database: database.delete(IDS[number], ghost_span=span))

    @rule(root=st.sampled_from(ROOTS), goal=st.sampled_from(["all", "newest-2", "newest-7", "set", "none"]))
    def set_goal(self, root, goal):
        self.both(lambda database: keep(database, root, goal))

    @rule(budget=st.integers(0, 12_000))
    def collect(self, budget):
        self.both(lambda database: database.collect(budget))

    @rule()
    def restart(self):
        self.sqlite.close()
        self.sqlite = PzpDatabase(SqlitePzpRows.open(self.path))

    @invariant()
    def they_agree_with_each_other_and_with_what_is_kept(self):
        if hasattr(self, "sqlite"):
            before = state(self.memory)
            assert state(self.sqlite) == before
            assert state(PzpDatabase(self.rows)) == before

    @invariant()
    def what_is_held_is_sound(self):
        if not hasattr(self, "memory"):
            return
        held = self.memory.records(0, 10_000)
        assert self.memory.totals().bytes == sum(len(record.text) for record in held)
        assert len({record.id for record in held}) == len(held) == self.memory.totals().messages
        for summary in self.memory.tangles():
            tangle = self.memory.tangle(summary.root)
            ids = set(tangle.topological())
            assert summary.root in ids
            assert ids <= {record.id for record in held}
            followed = {one for id_ in ids for one in tangle.prev(id_)}
            assert tangle.ends
            assert tangle.ends <= tangle.tips
            assert not tangle.tips & (followed - {summary.root})

    def teardown(self):
        if hasattr(self, "sqlite"):
            self.sqlite.close()
            self.folder.cleanup()


TestTwins = Twins.TestCase
TestTwins.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
