"""Contract for messages that are erased, deleted or collected, whatever the database is kept in."""

import pytest

from tests.pzp.database.messages import ALICE, BOB, Author, filled, keep, need, public, state, without
from tests.pzp.messages.broken import breaking
from tests.pzp.messages.checked import check, enter
from tinyssb_node.pzp.database.database import PzpAddOutcome, PzpDatabase
from tinyssb_node.pzp.database.errors import PzpDependencyError, PzpMissingError
from tinyssb_node.pzp.database.port import PayloadState
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.errors import PzpRule
from tinyssb_node.pzp.messages.goals import ALL
from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import V2


class TakingAwayContract:
    """Subclasses give a fixture ``database``: an empty one."""

    def test_what_is_erased_keeps_id_and_signature(self, database: PzpDatabase) -> None:
        author = Author()
        ids = author.says(3)
        filled(database, author)
        assert database.erase(ids[1])
        record = need(database.record(ids[1]))
        assert record.said is PayloadState.ERASED
        assert record.message() == without(author.by_id(ids[1]))
        assert message.message_id(V2.fields, record.message()) == ids[1]
        assert not database.erase(ids[1])
        assert not database.erase(author.feed)
        assert database.add(author.by_id(ids[1]), wall_us=9).outcome is PzpAddOutcome.GONE
        assert need(database.record(ids[1])).message()["data"] is None
        expected = sum(len(need(database.record(one.id)).text) for one in database.records())
        assert database.totals().bytes == expected
        with pytest.raises(PzpDependencyError):
            database.erase(author.group)
        with pytest.raises(PzpMissingError):
            database.erase("nothing")

    def test_what_came_empty_is_filled_if_it_is_right(self, database: PzpDatabase) -> None:
        author = Author()
        ids = author.says(3)
        author.written[3] = without(author.by_id(ids[1]))
        filled(database, author)
        full: dict[str, Json] = {**author.written[3], "data": {"text": "message 1"}}
        assert need(database.record(ids[1])).said is PayloadState.ABSENT
        with breaking(PzpRule.PAYLOAD_HASH):
            database.add(full | {"data": {"text": "another"}}, wall_us=1)
        assert (
            database.add(full | {"sig": author.written[0]["sig"]}, wall_us=1).outcome is PzpAddOutcome.FILLED
        )
        record = need(database.record(ids[1]))
        assert (record.said, record.message()) == (PayloadState.HERE, full)
        assert database.add(full, wall_us=1).outcome is PzpAddOutcome.KNOWN

    def test_what_is_deleted_does_not_come_back(self, database: PzpDatabase) -> None:
        author = Author()
        ids = author.says(9)
        filled(database, author)
        with pytest.raises(PzpDependencyError, match="certified"):
            database.delete(ids[2])  # depth 3, to which 7 links
        with pytest.raises(PzpDependencyError, match="root of other"):
            database.delete(author.feed)
        with pytest.raises(PzpDependencyError, match="names a key"):
            database.delete(author.group)
        database.delete(ids[8])
        assert database.record(ids[8]) is None
        assert database.tangle(author.feed).tips == {ids[7]}
        assert database.ghosts(author.feed) == {ids[8]: 9}
        assert database.add(author.by_id(ids[8]), wall_us=1).outcome is PzpAddOutcome.GONE
        database.delete(ids[7], ghost_span=0)
        assert database.add(author.by_id(ids[7]), wall_us=1).outcome is PzpAddOutcome.NEW
        with pytest.raises(PzpMissingError):
            database.delete(ids[8])
        assert database.tangle(author.feed).tips == PzpDatabase(database.rows).tangle(author.feed).tips

    def test_of_what_was_deleted_the_place_is_taken_again(self, database: PzpDatabase) -> None:
        author = Author()
        ids = author.says(3)
        filled(database, author)
        database.delete(ids[2])
        assert database.bare(author.feed) == {}
        assert database.add(without(author.by_id(ids[2])), wall_us=1).outcome is PzpAddOutcome.NEW
        assert database.bare(author.feed) == {ids[2]: False}
        assert database.ghosts(author.feed) == {}
        assert database.add(author.by_id(ids[2]), wall_us=1).outcome is PzpAddOutcome.GONE

    def test_what_came_empty_can_be_erased_before_more_of_it_comes(self, database: PzpDatabase) -> None:
        author = Author()
        ids = author.says(1)
        author.written[2] = without(full := author.written[2])
        filled(database, author)
        assert database.bare(author.feed) == {ids[0]: True}
        assert database.erase(ids[0])
        assert database.bare(author.feed) == {ids[0]: False}
        assert database.add(full, wall_us=1).outcome is PzpAddOutcome.GONE

    def test_ghosts_are_forgotten_after_a_while(self, database: PzpDatabase) -> None:
        author = Author()
        ids = author.says(3)
        filled(database, author)
        database.delete(ids[2], ghost_span=5)
        group = author.group
        for number in range(8):
            last = database.write(ALICE, {"other": number}, "post", group, wall_us=1)
        database.delete(last, ghost_span=5)
        assert list(database.ghosts(author.feed)) == [last]

    def test_all_in_a_batch_or_nothing(self, database: PzpDatabase) -> None:
        author = Author()
        author.says(5)
        filled(database, Author())
        before = state(database)

        class Stopped(Exception):  # noqa: N818 - no error
            pass

        def stop() -> None:
            raise Stopped

        def some() -> None:
            with database.batch():
                for one in author.written:
                    database.add(one, wall_us=1)
                database.erase(message.message_id(V2.fields, author.written[-1]))
                database.delete(message.message_id(V2.fields, author.written[-1]))
                database.set_goal(author.feed, ALL)
                stop()

        with pytest.raises(Stopped):
            some()
        assert state(database) == before
        filled(database, author)
        assert database.tangle(author.feed).tips == author.tangle.tips

    # --- collecting

    def test_nothing_goes_while_there_is_room(self, database: PzpDatabase) -> None:
        author = Author()
        author.says(20)
        filled(database, author)
        keep(database, author.feed, "newest-2")
        before = state(database)
        collected = database.collect(database.totals().bytes)
        assert (collected.deleted, collected.stripped) == (0, 0)
        assert state(database) == before

    def test_the_newest_are_kept_with_their_way_to_the_root(self, database: PzpDatabase) -> None:
        author = Author()
        ids = author.says(40)
        filled(database, author)
        keep(database, author.feed, "newest-3")
        collected = database.collect(0)
        kept = [record.id for record in database.slice(author.feed, 0, 99)]
        # Depths 38 to 40 are kept; 38 links to 25, and that to 12, 3, 0.
        assert kept == [
            author.feed,
            *(ids[depth - 1] for depth in (3, 12, 25, 37, 38, 39, 40) if depth != 37),
        ]
        assert [record.said is PayloadState.HERE for record in database.slice(author.feed, 1, 99)] == [
            False, False, False, True, True, True,
        ]  # fmt: skip
        assert (collected.deleted, collected.stripped) == (34, 3)
        for id_ in ids[37:]:
            assert database.certificate(id_, author.feed) is not None
        # Who writes next writes what everybody takes.
        complete = Author()
        complete.says(40)
        for number in range(60):
            id_ = database.write(ALICE, {"next": number}, "post", author.group, wall_us=1)
            said = need(database.record(id_)).message()
            assert check(V2, dict(said), author.tangle, [public(ALICE)]) == id_
            enter(V2.fields, said, author.tangle)

    def test_of_a_set_what_counts_is_kept(self, database: PzpDatabase) -> None:
        author = Author(kind="set_v1__follows")
        first = author.say({"add": ["bob"], "del": [], "supersedes": []})
        ids = author.says(3)
        both = author.say({"add": ["carol", "dan"], "del": [], "supersedes": []})
        ids += author.says(1)
        gone = author.say({"add": [], "del": ["bob"], "supersedes": [first]})
        one = author.say({"add": [], "del": ["dan"], "supersedes": [both]})
        filled(database, author)
        keep(database, author.feed, "set")
        database.collect(0)
        whole = [
            record.id for record in database.slice(author.feed, 1, 99) if record.said is PayloadState.HERE
        ]
        assert whole == [both, gone, one]
        assert database.certificate(one, author.feed) is not None
        # What followed the second one is gone: a tip, as far as is known here. The next message leaves it out.
        assert database.tangle(author.feed).tips == {both, one}
        assert database.tangle(author.feed).ends == {one}
        said = database.write(ALICE, {"add": ["eve"]}, author.kind, author.group, wall_us=1)
        full = dict(need(database.record(said)).message())
        assert check(V2, full, author.tangle, [public(ALICE)]) == said
        assert set(database.ghosts(author.feed)) == {
            id_ for id_ in [first, *ids] if database.record(id_) is None
        }

    def test_what_is_before_a_tip_that_goes_is_a_tip_again(self, database: PzpDatabase) -> None:
        author = Author()
        ids = author.says(8)
        filled(database, author)
        # Without 6, which 7 follows, 5 is a tip as far as is known, but surely none until 7 has gone, too.
        for gone, tips, end in ((6, {8, 5}, 8), (8, {7, 5}, 7), (7, {5}, 5)):
            database.delete(ids[gone - 1])
            for one in (database, PzpDatabase(database.rows)):
                assert one.tangle(author.feed).tips == {ids[tip - 1] for tip in tips}
                assert one.tangle(author.feed).ends == {ids[end - 1]}
        for id_ in reversed(ids[:5]):
            database.delete(id_)
        assert database.tangle(author.feed).tips == {author.feed}

    def test_what_nobody_asked_for_goes_first_the_longest_untouched_before(
        self, database: PzpDatabase
    ) -> None:
        authors = [Author(key, kind=kind) for key in (ALICE, BOB) for kind in ("first", "second", "third")]
        for author in authors:
            author.says(5)
            filled(database, author)
        keep(database, authors[0].feed, "all")
        total = database.totals().bytes
        collected = database.collect(total * 3 // 4)
        left = {one.root for one in database.tangles()}
        assert {author.feed for author in authors if author.feed in left} == {
            authors[number].feed for number in (0, 3, 4, 5)
        }
        assert collected.after.bytes <= total * 3 // 4
        database.collect(0)
        assert {one.root for one in database.tangles()} == {authors[0].feed, authors[0].group}

    def test_a_message_of_two_tangles_stays_for_either(self, database: PzpDatabase) -> None:
        one, other = Author(), Author(kind="chat")
        start = one.say({"text": "a thread"})
        one.says(3)
        thread = PzpTangle(start)
        enter(V2.fields, one.by_id(start), thread)
        reply = other.say({"text": "yes"}, thread)
        other.says(30)
        filled(database, one)
        filled(database, other)
        keep(database, one.feed, "newest-1")
        keep(database, other.feed, "newest-1")
        keep(database, start, "all")
        database.collect(0)
        for id_ in (start, reply):
            assert need(database.record(id_)).said is PayloadState.HERE
        keep(database, start, "none")
        database.collect(0)
        assert database.record(reply) is None
        assert database.record(start) is None or need(database.record(start)).said is PayloadState.ABSENT

    def test_a_group_goes_when_nothing_of_it_is_left(self, database: PzpDatabase) -> None:
        author = Author()
        author.add_key(BOB)
        author.says(3)
        filled(database, author)
        keep(database, author.feed, "all")
        keep(database, author.group, "newest-1")
        database.collect(0)
        assert len(database.tangle(author.group)) == 2
        keep(database, author.feed, "none")
        database.collect(0)
        assert len(database.tangle(author.group)) == 2
        keep(database, author.group, "none")
        database.collect(0)
        assert database.totals().messages == database.totals().bytes == 0

    def test_what_was_collected_comes_back_if_it_is_asked_for(self, database: PzpDatabase) -> None:
        author = Author()
        author.says(30)
        filled(database, author)
        full = state(database)
        keep(database, author.feed, "newest-2")
        database.collect(0)
        filled(database, author)
        again = state(database)
        for name in ("totals", "order", "tips", "keys", "ghosts"):
            assert again[name] == full[name]
