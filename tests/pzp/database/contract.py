"""Contract of the database, whatever it is kept in. ``test_memory`` and ``test_sqlite`` run it against theirs."""

import random

import pytest

from tests.pzp.database.messages import (
    ALICE,
    BOB,
    CAROL,
    NONCE,
    Author,
    changed,
    filled,
    need,
    public,
    state,
    without,
)
from tests.pzp.messages.broken import breaking
from tests.pzp.messages.checked import check, enter
from tests.pzp.messages.vectors import load
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.errors import ExitCode, LocalError
from tinyssb_node.pzp.database import limits
from tinyssb_node.pzp.database.database import PzpAddOutcome, PzpAddResult, PzpDatabase
from tinyssb_node.pzp.database.errors import PzpMissingError
from tinyssb_node.pzp.database.port import PayloadState
from tinyssb_node.pzp.messages import base58, message
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule
from tinyssb_node.pzp.messages.goals import ALL
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import V1, V2, write, write_feed_root


class DatabaseContract:
    """Subclasses give a fixture ``database``: an empty one."""

    # --- adding

    def test_what_is_added_can_be_asked_for(self, database: PzpDatabase) -> None:
        author = Author()
        author.says(5)
        for one in author.written:
            added = database.add(one, wall_us=7)
            record = need(database.record(added.id))
            assert added.outcome is PzpAddOutcome.NEW
            assert record.message() == one
            assert (record.version, record.added_us, record.said, record.strict) == (
                2,
                7,
                PayloadState.HERE,
                True,
            )
        assert database.tangle(author.feed).topological() == author.tangle.topological()
        assert database.tangle(author.feed).tips == author.tangle.tips
        assert [one.root for one in database.tangles()] == sorted([author.group, author.feed])
        totals = database.totals()
        assert (totals.messages, totals.bytes) == (7, sum(len(canonical(one)) for one in author.written))

    def test_what_is_known_is_not_added_again(self, database: PzpDatabase) -> None:
        author = filled(database, Author())
        before = state(database)
        found = database.add(author.written[1], wall_us=8)
        assert found == PzpAddResult(author.feed, author.feed, PzpAddOutcome.KNOWN)
        assert state(database) == before

    @pytest.mark.parametrize("name", ["v1-feed-forks", "v2-feed-forks", "v2-feed-wide"])
    def test_feeds_of_the_original_are_taken(self, database: PzpDatabase, name: str) -> None:
        vectors = load(name)
        for record in [*load("v2-identity")["tangle"], *vectors["msgs"]]:
            database.add(record["msg"], wall_us=1)
        tangle = database.tangle(vectors["msgs"][0]["hash"])
        assert tangle.topological() == vectors["topoSort"]
        assert sorted(tangle.tips) == sorted(vectors.get("tips", tangle.tips))

    def test_a_thread_of_the_original_without_the_feed_it_began_in(self, database: PzpDatabase) -> None:
        vectors = load("v2-multi-tangle")
        for record in load("v2-identity")["tangle"]:
            database.add(record["msg"], wall_us=1)
        thread = vectors["threadRoot"]
        database.add(vectors["threadRootMsg"]["msg"], thread, wall_us=1)
        for record in [vectors["feedRootMsg"], *vectors["msgs"]]:
            database.add(record["msg"], wall_us=1)
        ids = [record["hash"] for record in vectors["msgs"]]
        assert database.tangle(thread).topological() == [thread, *ids]
        assert database.tangle(vectors["feedRoot"]).topological() == [vectors["feedRoot"], *ids]
        feed = load("v2-feed-linear")
        for record in feed["msgs"]:
            database.add(record["msg"], wall_us=1)
        assert database.tangle(feed["rootHash"]).topological() == feed["topoSort"]

    def test_a_message_of_two_tangles_is_in_both_whichever_came_first(self, database: PzpDatabase) -> None:
        one, other = Author(), Author(kind="chat")
        start = one.say({"text": "a thread"})
        thread = PzpTangle(start)
        enter(V2.fields, one.by_id(start), thread)
        reply = other.say({"text": "yes"}, thread)
        second = other.say({"text": "no"}, thread)
        for said in [*other.written, *one.written]:
            database.add(said, wall_us=1)
        assert database.tangle(start).topological() == [start, reply, second]
        assert database.tangle(start).tips == {second}
        assert database.tangle(other.feed).tips == {second}
        assert {one.root: one.messages for one in database.tangles()}[start] == 3

    def test_what_does_not_fit_into_another_tangle_stays_out_of_it(self, database: PzpDatabase) -> None:
        one, other = filled(database, Author()), Author(BOB)
        # Bob names Alice's feed, of which he is no author.
        said = other.say({"text": "intrusion"}, one.tangle)
        filled(database, other)
        assert said in database.tangle(other.feed)
        assert said not in database.tangle(one.feed)
        with breaking(PzpRule.FEED_OWNER):
            database.add(other.by_id(said), one.feed, wall_us=1)
        assert PzpDatabase(database.rows).tangle(one.feed).topological() == [one.feed]

    def test_it_may_be_added_for_a_tangle_that_is_no_feed(self, database: PzpDatabase) -> None:
        one, other = Author(), Author(kind="chat")
        start = one.say({"text": "a thread"})
        filled(database, one)
        thread = PzpTangle(start)
        enter(V2.fields, one.by_id(start), thread)
        reply = other.say({"text": "yes"}, thread)
        with breaking(PzpRule.ROOT):
            database.add(other.by_id(reply), wall_us=1)  # its feed is not here
        assert database.add(other.by_id(reply), start, wall_us=1).outcome is PzpAddOutcome.NEW
        assert database.tangle(start).tips == {reply}
        assert reply not in database.tangle(other.feed)
        database.add(other.by_id(other.feed), wall_us=1)
        assert database.tangle(other.feed).tips == {reply}

    def test_without_its_group_or_tangle_a_message_is_refused(self, database: PzpDatabase) -> None:
        author = Author()
        author.say({})
        with breaking(PzpRule.GROUP_UNKNOWN):
            database.add(author.written[1], wall_us=1)
        with breaking(PzpRule.GROUP_UNKNOWN):
            database.add(author.written[2], wall_us=1)
        database.add(author.written[0], wall_us=1)
        with breaking(PzpRule.ROOT):
            database.add(author.written[2], wall_us=1)
        weave = changed(author.written[2])
        weave["metadata"]["tangles"] = {author.identity.root[::-1]: {"depth": 1, "prev": [author.group]}}
        with breaking(PzpRule.TANGLE_UNKNOWN):
            database.add(weave, wall_us=1)
        assert database.totals().messages == 1

    def test_what_is_wrong_is_refused_and_changes_nothing(self, database: PzpDatabase) -> None:
        author = Author()
        author.says(3)
        bad = changed(author.written.pop())
        bad["sig"] = author.written[0]["sig"]
        filled(database, author)
        before = state(database)
        values: list[Json] = [bad, 5, None, {"metadata": {"v": 3}}, {"metadata": {"v": 2}}, []]
        for value in values:
            with pytest.raises(MessageError):
                database.add(value, wall_us=1)
        assert state(database) == before

    def test_compat_takes_more(self, database: PzpDatabase) -> None:
        author = filled(database, Author())
        more = changed(author.written[1])
        said = write(V2, ALICE, "sealed.box", "post", [author.tangle], author.group, [author.group])
        with breaking(PzpRule.PAYLOAD_KIND):
            database.add(said, wall_us=1)
        added = database.add(said, wall_us=1, strict=False)
        assert not need(database.record(added.id)).strict
        assert more["data"] is None

    def test_places_that_only_compat_takes_are_passed_over(self, database: PzpDatabase) -> None:
        author = filled(database, Author())
        author.say({})
        said = changed(author.written[-1])
        said["metadata"]["tangles"].update(
            {"x": 5, "y": {"depth": 1, "prev": "z"}, author.group: {"depth": 9, "prev": ["u", "u"]}}
        )
        said["sig"] = base58.encode(ALICE.sign(canonical(said["metadata"])))
        with pytest.raises(MessageError):
            database.add(said, wall_us=1)
        added = database.add(said, wall_us=1, strict=False)
        assert database.tangle(author.feed).tips == {added.id}
        assert database.tangle(author.group).tips == {author.group}
        database.delete(added.id)
        assert database.record(added.id) is None

    def test_numbers_that_grow_are_bounded(
        self, database: PzpDatabase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        author = filled(database, Author())
        author.say({"numbers": [1e20] * 100})
        monkeypatch.setattr("tinyssb_node.pzp.messages.limits.TEXT_MAX", 2_000)
        with breaking(PzpRule.TEXT_SIZE):
            database.add(author.written[-1], wall_us=1)

    def test_a_feed_of_v1_needs_no_group(self, database: PzpDatabase) -> None:
        root = write_feed_root(V1, ALICE, public(ALICE), "post")
        tangle = PzpTangle(message.message_id(V2.fields, root))
        enter(V1.fields, root, tangle)
        database.add(root, wall_us=1)
        database.add(write(V1, ALICE, {"n": 1}, "post", [tangle]), wall_us=1)
        assert len(database.tangle(tangle.root)) == 2
        (feed,) = [one for one in database.records() if one.id == tangle.root]
        assert (feed.owner, feed.version) == (public(ALICE), 1)

    # --- identities

    def test_members_write_and_strangers_do_not(self, database: PzpDatabase) -> None:
        author = Author()
        filled(database, author)
        early = author.say_beside({"by": "bob, too early"}, author.feed, key=BOB)
        added = author.add_key(BOB)
        said = author.say_beside({"by": "bob"}, author.feed, key=BOB)
        for rule, one in ((PzpRule.NOT_MEMBER, early), (PzpRule.TIPS_UNKNOWN, said)):
            with breaking(rule):
                database.add(author.by_id(one), wall_us=1)
        database.add(author.by_id(added), wall_us=1)
        assert database.add(author.by_id(said), wall_us=1).outcome is PzpAddOutcome.NEW
        with breaking(PzpRule.NOT_MEMBER):  # whatever is known by now, its author knew of no such key
            database.add(author.by_id(early), wall_us=1)
        assert database.tangle(author.group).keys == {public(ALICE), public(BOB)}

    def test_who_was_no_member_adds_no_key(self, database: PzpDatabase) -> None:
        author = filled(database, Author())
        added = author.add_key(CAROL, key=CAROL)
        with breaking(PzpRule.NOT_MEMBER):
            database.add(author.by_id(added), wall_us=1)
        database.add(author.by_id(added), wall_us=1, strict=False)  # the original lets anybody in
        assert public(CAROL) in database.tangle(author.group).keys

    def test_a_key_that_came_empty_counts_once_it_is_known(self, database: PzpDatabase) -> None:
        author = Author()
        added = author.add_key(BOB)
        author.say({"by": "bob"}, key=BOB)
        first, root, second, said = author.written
        database.add(without(first), wall_us=1)
        with breaking(PzpRule.GROUP_UNKNOWN):
            database.add(root, wall_us=1)
        assert database.add(first, wall_us=1).outcome is PzpAddOutcome.FILLED
        database.add(root, wall_us=1)
        database.add(without(second), wall_us=1)
        with breaking(PzpRule.NOT_MEMBER):
            database.add(said, wall_us=1)
        assert database.add(second, wall_us=1) == PzpAddResult(added, author.group, PzpAddOutcome.FILLED)
        assert database.add(said, wall_us=1).outcome is PzpAddOutcome.NEW

    @pytest.mark.parametrize(("empty", "key"), [(0, ALICE), (2, BOB)])
    def test_what_waited_for_a_key_that_came_empty_has_its_place_with_it(
        self, database: PzpDatabase, empty: int, key: SigningKey
    ) -> None:
        one, other = Author(), Author(nonce="another")
        for author in (one, other):
            author.add_key(BOB)
        both = write(V2, key, {"add": public(CAROL)}, message.IDENTITY_TYPE, (one.identity, other.identity))
        filled(database, other)
        for number in (0, 2):
            said = one.written[number]
            database.add(without(said) if number == empty else said, one.group, wall_us=1, strict=False)
        assert database.add(both, other.group, wall_us=1).outcome is PzpAddOutcome.NEW
        assert public(CAROL) not in database.tangle(one.group).keys
        assert database.add(one.written[empty], wall_us=1).outcome is PzpAddOutcome.FILLED
        assert public(CAROL) in database.tangle(one.group).keys

    # --- in any order

    @pytest.mark.parametrize("seed", range(4))
    def test_tips_do_not_depend_on_the_order_of_arrival(self, database: PzpDatabase, seed: int) -> None:
        author, chance = Author(), random.Random(seed)
        ids = author.says(2)
        for number in range(25):
            if chance.random() < 0.6:
                ids.append(author.say({"n": number}))
            else:
                behind = chance.sample(ids, chance.randint(1, 2))
                ids.append(author.say_beside({"n": number}, *behind))
        left = author.written[2:]
        filled(database, Author())
        chance.shuffle(left)
        while left:
            taken = []
            for one in left:
                try:
                    taken.append(database.add(one, wall_us=1, strict=False).id)
                except MessageError as error:
                    if error.rule is not PzpRule.PREV_UNKNOWN:
                        raise
            assert taken, "nothing of the rest is taken"
            left = [one for one in left if message.message_id(V2.fields, one) not in taken]
        for tangle in (database.tangle(author.feed), PzpDatabase(database.rows).tangle(author.feed)):
            assert tangle.tips == author.tangle.tips
            assert tangle.topological() == author.tangle.topological()
            assert tangle.place_of_next() == author.tangle.place_of_next()

    # --- publishing

    def test_what_is_published_is_what_the_original_writes(self, database: PzpDatabase) -> None:
        vectors = load("v2-feed-linear")
        group = database.create_identity(ALICE, NONCE, wall_us=1, version=V2)
        records = [record["msg"] for record in vectors["msgs"]]
        for expected in records[1:]:
            kind = expected["metadata"]["type"]
            id_ = database.write(ALICE, expected["data"], kind, group, wall_us=2)
            got = need(database.record(id_)).message()
            assert message.metadata_of(got)["tangles"] == expected["metadata"]["tangles"]
            assert got["data"] == expected["data"]
        assert need(database.record(vectors["rootHash"])).message() == records[0]

    def test_what_is_published_is_taken_elsewhere(self, database: PzpDatabase) -> None:
        group = database.create_identity(ALICE, "x", wall_us=1, version=V2)
        database.add_key(ALICE, group, public(BOB), wall_us=1)
        first = database.write(BOB, {"n": 1}, "post", group, wall_us=1)
        database.write(ALICE, {"n": 2}, "chat", group, tangles=[first], wall_us=1)
        database.write(BOB, {"n": 3}, "post", group, tangles=[first], wall_us=1)
        database.write(CAROL, {"n": 4}, "post", wall_us=1)  # Feed V1
        assert set(database.goals().values()) == {ALL}
        assert len(database.tangle(first)) == 3
        tangles: dict[str, PzpTangle] = {}
        for record in database.records():
            said, version = record.message(), V1 if record.version == 1 else V2
            places = message.metadata_of(said)["tangles"]
            assert isinstance(places, dict)
            for root in places or [record.id]:
                tangle = tangles.setdefault(root, PzpTangle(root))
                if not len(tangle) and root != record.id:
                    enter(version.fields, need(database.record(root)).message(), tangle)
                keys = (public(ALICE), public(BOB))
                assert check(version, dict(said), tangle, keys) == record.id
                enter(version.fields, said, tangle)

    def test_nothing_is_published_that_nobody_takes(self, database: PzpDatabase) -> None:
        group = database.create_identity(ALICE, "x", wall_us=1, version=V2)
        before = state(database)
        with pytest.raises(
            LocalError, match=r"Nothing was published, because no node would accept it: .*a key of the group"
        ) as caught:
            database.write(BOB, {}, "post", group, wall_us=1)
        assert caught.value.exit_code is ExitCode.DATA
        with pytest.raises(
            LocalError, match=r"Nothing was published, because no node would accept it: .*at least 3"
        ):
            database.write(ALICE, {}, "po", group, wall_us=1)
        with pytest.raises(
            LocalError, match=r"Nothing was published, because no node would accept it: .*an object or null"
        ):
            database.write(ALICE, "text", "post", group, wall_us=1)
        with pytest.raises(
            LocalError, match=r"Nothing was published, because no node would accept it: .*surrogates"
        ):
            database.write(ALICE, {"a": "\ud800"}, "post", group, wall_us=1)
        with pytest.raises(PzpMissingError):
            database.write(ALICE, {}, "post", group[::-1], wall_us=1)
        with pytest.raises(PzpMissingError):
            database.write(ALICE, {}, "post", group, tangles=[group[::-1]], wall_us=1)
        with pytest.raises(LocalError, match="Nothing was published, because no node would accept it"):
            database.add_key(BOB, group, public(CAROL), wall_us=1)
        with pytest.raises(PzpMissingError):
            database.add_key(ALICE, group[::-1], public(CAROL), wall_us=1)
        assert state(database) == before

    # --- asking

    def test_by_owner_kind_and_depth(self, database: PzpDatabase) -> None:
        one, other = Author(), Author(BOB, kind="chat")
        ids, _ = one.says(12), other.says(3)
        filled(database, one)
        filled(database, other)
        assert [record.id for record in database.records(owner=one.group)] == [one.feed, *ids]
        assert len(database.records(kind="chat")) == 4
        assert len(database.records(owner=one.group, kind="chat")) == 0
        assert len(database.records(kind="group", limit=1)) == 1
        first, second, *_ = database.records()
        assert first.number < second.number == database.records(first.number, 1)[0].number
        assert [record.id for record in database.slice(one.feed, 3, 5)] == ids[2:5]
        assert list(database.slice("nowhere", 0, 9)) == []

    def test_a_certificate_leads_to_the_root(self, database: PzpDatabase) -> None:
        author = Author()
        ids = author.says(40)
        filled(database, author)
        certificate = database.certificate(ids[38], author.feed)
        assert certificate is not None
        assert [message.message_id(V2.fields, one) for one in certificate] == author.tangle.certificate(
            ids[38]
        )
        assert certificate[0]["data"] == {"text": "message 38"}
        assert all(one["data"] is None for one in certificate[1:])
        assert len(certificate) == 4  # depths 39, 12, 3, 0
        assert database.certificate(ids[38], author.group) is None
        assert database.certificate("nothing", author.feed) is None

    # --- bounds

    def test_few_tangles_are_in_memory(self, database: PzpDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "TANGLES_HELD_MAX", 2)
        authors = [Author(kind=f"kind{number}") for number in range(4)]
        for author in authors:
            author.says(3)
        for said in zip(*(author.written for author in authors), strict=True):
            for one in said:
                database.add(one, wall_us=1)
        for author in authors:
            assert database.tangle(author.feed).tips == author.tangle.tips
            assert len(database.cache) <= 2

    def test_only_so_many_tangles_are_looked_at(
        self, database: PzpDatabase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "PLACES_MAX", 2)
        monkeypatch.setattr(limits, "WAITING_MAX", 1)
        author, other = Author(), Author(kind="chat")
        threads = []
        for number in range(3):
            start = other.say({"n": number})
            threads.append(PzpTangle(start))
            enter(V2.fields, other.by_id(start), threads[-1])
        author.say({}, *threads)
        author.say({}, *threads)
        filled(database, author)
        filled(database, other)
        named = sorted(thread.root for thread in threads)
        sizes = [len(database.tangle(root)) for root in named]
        assert sizes[1:] == [1, 1]
        assert sizes[0] in (2, 3)
