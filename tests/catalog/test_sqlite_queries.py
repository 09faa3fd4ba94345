"""Every question is answered, whatever it is asked with."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.catalog.mesh import (
    ANA,
    ANSWER,
    BOB,
    EVE,
    EVIL,
    PUBLIC_TEXTS,
    SAID_S,
    SECRET,
    SOUP,
    Author,
    Home,
    id_of,
    post,
    texts,
)
from tinyssb_node.catalog import limits
from tinyssb_node.catalog.queries import CatalogQueries
from tinyssb_node.catalog.rows import PUBLIC, MessageKind
from tinyssb_node.codec import bipf
from tinyssb_node.content import chat
from tinyssb_node.content.blocklist import BlockStep, serialize_block_step
from tinyssb_node.content.board import Operation, create_step, fold
from tinyssb_node.content.contacts import ContactsError, follow_list, set_blocked, set_petname
from tinyssb_node.content.files import File, serialize_file
from tinyssb_node.content.minutes import to_seconds
from tinyssb_node.content.references import message_text
from tinyssb_node.content.telemetry import PositionRecord, SensorRecord, serialize_telemetry, withdrawal
from tinyssb_node.feeds.children import ChildOf, EntryType, serialize_child_of
from tinyssb_node.ids import FeedId, MessageId, blocked_short
from tinyssb_node.store.port import FeedRecord


def test_it_answers_the_questions(catalog):
    questions: CatalogQueries = catalog
    assert texts(questions) == PUBLIC_TEXTS


def test_pages_follow_each_other(home, catalog):
    home.keep(EVE_PAGES.say(post(f"{number}")) for number in range(10))
    catalog.catch_up()
    every = catalog.messages(PUBLIC, limit=100)
    assert catalog.messages(PUBLIC, limit=4) == every[-4:]
    assert catalog.messages(PUBLIC, before=every[-4].order, limit=4) == every[-8:-4]
    assert catalog.messages(PUBLIC, after=every[3].order, limit=2) == every[4:6]
    assert catalog.messages("nothing such", limit=4) == []
    assert catalog.messages("\ud800", limit=4) == []


def test_readings_of_a_sensor_are_found(home, catalog):
    sensor = Author("sensor")
    home.keep([sensor.write(bipf.encode(["temp", "hut roof", 21.5]).ljust(48, b"\0"), 0)])
    catalog.catch_up()
    (row,) = catalog.search("hut roof")
    assert (row.kind, row.text, row.conversation) == (MessageKind.DATA, '["temp", "hut roof", 21.5]', None)


def test_of_each_person_the_latest_position_and_the_latest_sensors_are_found(home, catalog, monkeypatch):
    one, other = Author("walker"), Author("hut")
    places = [PositionRecord(latitude=at, longitude=at, said_s=to_seconds(7)) for at in range(3)]
    sensors = [SensorRecord(battery_percent=at) for at in (90, 80)]
    home.keep([one.write(serialize_telemetry(place), 0) for place in places])
    home.keep([other.write(serialize_telemetry(record), 0) for record in sensors])
    home.keep([other.write(serialize_telemetry(withdrawal()), 0)])
    catalog.catch_up()
    found = catalog.telemetry()
    assert [(row.feed, row.record) for row in found] == [
        (one.feed, places[-1]),
        (other.feed, withdrawal()),
        (other.feed, sensors[-1]),
    ]
    assert [row.record for row in catalog.telemetry_of(one.feed, 0)] == places
    latest_us = found[0].committed_us
    assert [row.record for row in catalog.telemetry_of(one.feed, latest_us)] == places[-1:]
    monkeypatch.setattr(limits, "CATALOG_TELEMETRY_MAX", 1)
    assert [row.feed for row in catalog.telemetry()] == [other.feed, other.feed]
    set_blocked(home.folder, other.feed, blocked=True)
    assert [row.feed for row in catalog.telemetry()] == [one.feed]


def test_telemetry_is_no_text_to_search_and_in_no_conversation(home, catalog):
    hut = Author("hut")
    home.keep([hut.write(serialize_telemetry(SensorRecord(battery_percent=90, status="iced up")), 0)])
    catalog.catch_up()
    assert catalog.search("iced") == []
    (row,) = catalog.find(f"{hut.feed.hex()}.1")
    text = '{"battery_percent": 90, "status": "iced up"}'
    assert (row.kind, row.conversation, row.text) == (MessageKind.TLM, None, text)


def test_public_data_is_given_the_latest_of_each_author(home, catalog, monkeypatch):
    monkeypatch.setattr(limits, "CATALOG_DATA_EACH", 2)
    one, other = Author("sensor"), Author("other sensor")
    home.keep([one.write(bipf.encode(["temp", number])) for number in range(4)])
    contents: list[bipf.Value] = [["rain", 1], "text", ["x" * 600]]
    home.keep([other.write(bipf.encode(value)) for value in contents])
    catalog.catch_up()
    assert [(row.feed, row.text) for row in catalog.data()] == [
        (one.feed, '["temp", 2]'),
        (one.feed, '["temp", 3]'),
        (other.feed, '["rain", 1]'),
    ]
    monkeypatch.setattr(limits, "CATALOG_DATA_MAX", 1)
    assert [row.text for row in catalog.data()] == ['["rain", 1]']
    set_blocked(home.folder, other.feed, blocked=True)
    assert [row.text for row in catalog.data()] == ['["temp", 3]']


def test_each_message_is_given_with_the_one_that_it_names_first(home, catalog):
    hut, cook = Author("hut"), Author("cook")
    first, second, other = (hut.say(post(text)) for text in ("Soup?", "Bread?", "Snow"))
    answer = cook.say(post("Leek", id_of(first), id_of(other)))
    file = hut.write(serialize_file(File("map", "image/webp", b"x")))
    home.keep([first, second, other, answer, file])
    catalog.catch_up()
    set_blocked(home.folder, cook.feed, blocked=True)
    ties = catalog.first_ties(PUBLIC, "", 100)
    assert [tie.id for tie in ties] == [row.id for row in catalog.thread(chat.PUBLIC_ROOT)]
    found = {tie.id: tie for tie in ties}
    assert (found[id_of(answer)].named, found[id_of(answer)].listed) == (id_of(first), False)
    assert (found[id_of(second)].named, found[id_of(second)].listed) == (None, True)
    assert not found[id_of(file)].listed
    assert [catalog.first_ties(PUBLIC, tie.order, 1) for tie in ties[:2]] == [[ties[1]], [ties[2]]]
    assert catalog.first_ties("nothing such", "", 100) == []


EVE_PAGES = Author("pages")


def test_blocked_people_are_left_out_and_come_back(home, catalog):
    set_petname(home.folder, EVE.feed, "Mallory")
    set_blocked(home.folder, EVE.feed, blocked=True)
    assert texts(catalog) == PUBLIC_TEXTS[:2]
    assert catalog.search("poison") == []
    (public,) = (row for row in catalog.conversations() if row.name == PUBLIC)
    assert (public.messages, public.last and public.last.text) == (2, PUBLIC_TEXTS[1])
    assert catalog.message(id_of(EVIL)) in catalog.thread(chat.PUBLIC_ROOT)
    person = catalog.person(EVE.feed)
    assert person is not None
    assert (person.alias, person.said, person.blocked) == ("Mallory", None, True)
    set_blocked(home.folder, EVE.feed, blocked=False)
    assert texts(catalog) == PUBLIC_TEXTS


def test_lists_of_blocks_hide_whom_they_name_until_our_user_says_otherwise(home, catalog):
    shorts = tuple(sorted(blocked_short(feed) for feed in (EVE.feed, ANA.feed, FeedId(b"?" * 32))))
    home.keep([BOB.write(serialize_block_step(BlockStep(shorts)))])
    catalog.catch_up()
    assert catalog.blocklist(BOB.feed) == set(shorts)
    assert catalog.blocklist(EVE.feed) == set()
    assert texts(catalog) == PUBLIC_TEXTS, "nobody follows it"
    follow_list(home.folder, BOB.feed, followed=True)
    assert texts(catalog) == PUBLIC_TEXTS[:2], "it does not hide us"
    assert catalog.search("poison") == []
    people = {row.feed: (row.blocked, row.blocked_by, row.list_followed) for row in catalog.people()}
    assert people[EVE.feed] == (True, (BOB.feed,), False)
    assert people[BOB.feed] == (False, (), True)
    assert people[ANA.feed] == (False, (), False)
    set_blocked(home.folder, EVE.feed, blocked=False)
    assert texts(catalog) == PUBLIC_TEXTS, "our user's word goes before"
    set_blocked(home.folder, EVE.feed, blocked=True)
    person = catalog.person(EVE.feed)
    assert person is not None
    assert (person.blocked, person.blocked_by) == (True, ()), "and it is our user's"
    assert catalog.search("added") == [], "a list is nothing that people said"
    home.keep([BOB.write(serialize_block_step(BlockStep((), shorts)))])
    catalog.catch_up()
    assert catalog.blocklist(BOB.feed) == set()


def test_a_broken_file_of_contacts_is_said_and_hides_nobody_by_chance(home, catalog):
    (home.folder / "contacts.json").write_text("{")
    with pytest.raises(ContactsError):
        catalog.messages(PUBLIC)


def test_people_are_those_of_the_set_and_those_with_a_name(home, catalog):
    lurker, friend = FeedId(b"l" * 32), FeedId(b"f" * 32)
    record = FeedRecord(feed=lurker, dialect=None, seq=0, tip=None, own=False, wanted=True, forked_at=None)
    home.store.put_feed(record)
    home.keep([])
    set_petname(home.folder, friend, "Friend")
    people = {person.feed: person for person in catalog.people()}
    assert list(people) == sorted({ANA.feed, BOB.feed, EVE.feed, lurker, friend})
    assert (people[ANA.feed].own, people[ANA.feed].entries, people[BOB.feed].entries) == (True, 1, 3)
    assert (people[lurker].entries, people[lurker].last_us, people[friend].alias) == (0, None, "Friend")
    assert (people[lurker].wanted, people[friend].wanted) == (True, False), (
        "the node knows no feed of the latter"
    )
    assert (people[BOB.feed].last_us, people[BOB.feed].alias) == (home.wall_us - 1_000_000, "bob")
    assert catalog.person(FeedId(b"x" * 32)) is None
    home.store.put_feed(replace(record, wanted=False))
    home.keep([])
    assert not catalog.person(lurker).wanted


def test_further_feeds_of_people_are_nobody(home, catalog):
    additions, epoch, shy = Author("additions"), Author("epoch"), Author("shy")
    parent = ChildOf(BOB.feed, 1, bytes(MessageId.SIZE))
    home.keep(
        [additions.write(serialize_child_of(parent), EntryType.CHILD_OF), epoch.write(bytes(range(100)))]
    )
    home.keep([shy.write(b"\xff"), shy.write(bytes(range(100)))])
    catalog.catch_up()
    people = {person.feed for person in catalog.people()}
    assert people.isdisjoint({additions.feed, epoch.feed})
    assert shy.feed in people
    set_petname(home.folder, epoch.feed, "Sensor")
    assert catalog.person(epoch.feed).alias == "Sensor"


def test_messages_are_found_by_the_beginning_of_an_id_or_by_feed_and_number(catalog):
    id_, feed = id_of(ANSWER).hex(), BOB.feed.hex()
    for wanted in (id_, id_[:7], id_[:8].upper(), f" {id_[:9]}", f"{feed[:9]}.1", f"{feed}.1"):
        assert [row.id for row in catalog.find(wanted)] == [id_of(ANSWER)], wanted
    for wanted in (
        "",
        "xyz",
        id_ + "0",
        f"{feed[:9]}.9",
        f"{feed[:9]}.",
        ".",
        f"{feed[:9]}.x",
        "1.99999999999",
    ):
        assert catalog.find(wanted) == [], wanted
    assert len(catalog.find(".1", limit=2)) == 2


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("soup", 2),
        ("SOUP cafe", 1),
        ("pois", 1),
        ("\N{STEAMING BOWL}", 1),
        ("come \N{STEAMING BOWL}", 1),
        ("soup \N{STEAMING BOWL}", 0),
        ("stone", 1),
        ("soup OR stone", 0),
        ("", 0),
        (" \n ", 0),
        ('"', 0),
        ("soup NOT", 0),
        ("nothing", 0),
        ("\ud800soup", 2),
    ],
)
def test_search_finds_words_and_what_begins_so(catalog, words, found):
    assert len(catalog.search(words)) == found


@settings(max_examples=100, deadline=None)
@given(words=st.text() | st.text('"*:^-+(){}\0 .aNOTANDORNEAR', max_size=40))
def test_any_text_may_be_searched_for(shared, words):
    shared.search(words)
    shared.find(words)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("shared") / "home", Author("ana"))
    home.keep([SOUP, ANSWER])
    with home.catalog() as catalog:
        catalog.catch_up()
        yield catalog
    home.close()


def test_a_board_is_listed_with_its_cards(home, catalog):
    dan = Author("dan")
    board = dan.say(create_step("Hut"))
    column = dan.say(
        chat.BoardStep(
            board=id_of(board), previous=(id_of(board),), operation=Operation.COLUMN_CREATE, args=("do",)
        )
    )
    item = dan.say(
        chat.BoardStep(
            board=id_of(board),
            previous=(id_of(column),),
            operation=Operation.ITEM_CREATE,
            args=(message_text(id_of(column)), "wood"),
        )
    )
    home.keep([item.__class__(item.packet, item.chunks, item.extended) for item in (board, column, item)])
    catalog.catch_up()
    (row,) = catalog.boards()
    assert (row.id, row.name, row.items, row.operations) == (id_of(board), "Hut", 1, 3)
    operations = catalog.operations(row.id)
    assert [one.id for one in operations] == [id_of(board), id_of(column), id_of(item)]
    assert operations[1].text == '["column/create", "do"]'
    assert fold(row.id, catalog.steps(row.id)).columns[0].items[0].name == "wood"


def test_the_whole_content_is_given_opened_if_it_was_for_us(home, catalog):
    long = Author("long").say(post("long " * 9_000))
    home.keep([long], chunks=5)
    catalog.catch_up()
    assert catalog.content(id_of(long)) is None
    home.keep_chunks(long, 5, len(long.chunks))
    home.keep([])
    catalog.catch_up()
    row = catalog.message(id_of(long))
    assert row is not None
    assert (row.cut, len(row.text)) == (True, limits.CATALOG_TEXT_MAX)
    whole, secret = (chat.parse(catalog.content(id_of(one)) or b"") for one in (long, SECRET))
    assert isinstance(whole, chat.ChatPost)
    assert isinstance(secret, chat.ChatPost)
    assert (whole.text, secret.text) == ("long " * 9_000, "under the stone")
    assert catalog.content(MessageId(bytes(20))) is None


def test_a_file_is_shown_to_all_and_followed_by_nobody(home, catalog):
    author = Author("files")
    file = author.write(serialize_file(File("map.webp", "image/webp", bytes(300), said_s=SAID_S + 60)))
    home.keep([file])
    catalog.catch_up()
    (row,) = catalog.messages(PUBLIC, limit=1)
    assert (row.id, row.kind) == (id_of(file), MessageKind.FILE)
    assert row.text == '{"name": "map.webp", "type": "image/webp", "size": 300}'
    assert row.id not in catalog.tips(PUBLIC)
    assert catalog.search("map.webp") == [row]


def test_a_thread_is_read_as_somebody_goes_through_it(home, catalog, monkeypatch):
    monkeypatch.setattr(limits, "CATALOG_PAGE", 3)
    author = Author("pages of threads")
    home.keep([author.say(post(f"{number}", id_of(EVIL))) for number in range(8)])  # its own sequence
    catalog.catch_up()
    thread = catalog.thread(chat.PUBLIC_ROOT)
    rows = list(thread)
    assert [row.id for row in rows[:3]] == [id_of(SOUP), id_of(ANSWER), id_of(EVIL)]
    assert [row.text for row in rows[3:]] == [str(number) for number in range(8)]
    assert (len(thread), thread[4], list(thread[-2:]), rows[7] in thread) == (11, rows[4], rows[-2:], True)
    assert [thread.index(row) for row in rows] == list(range(11))
    for other in (rows[3], None):
        with pytest.raises(ValueError, match="not in list"):
            thread[5:].index(other)
    with pytest.raises(IndexError):
        thread[11]
    assert list(catalog.thread(MessageId(bytes(20)))) == []


def test_so_many_conversations_are_listed_and_one_of_many_hides_no_others(home, catalog, monkeypatch):
    monkeypatch.setattr(limits, "CATALOG_CONVERSATIONS_MAX", 4)
    dan = Author("dan")
    home.owner.tip = SOUP.extended.tip
    ours = home.owner.whisper(post("ours", recipients=[ANA.feed, dan.feed]), [ANA.feed, dan.feed])
    home.keep([ours])
    crowd = [[ANA.feed, FeedId(bytes([number]) * 32)] for number in range(5)]
    secrets = [EVE_CIRCLES.whisper(post(f"{feeds[1][0]}", recipients=feeds), [ANA.feed]) for feeds in crowd]
    home.keep(secrets)
    catalog.catch_up()

    def last() -> list[str | None]:
        return [row.last and row.last.text for row in catalog.conversations()]

    assert last() == ["ours", "soup is poison", "4", "under the stone"]
    hidden = catalog.message(id_of(secrets[0])).conversation
    found = catalog.conversation(hidden)
    assert (found.name, found.members, found.messages) == (
        hidden,
        tuple(sorted(crowd[0] + [EVE_CIRCLES.feed])),
        1,
    )
    assert found.last.text == "0"
    assert catalog.conversation("nothing such") is None
    set_blocked(home.folder, EVE_CIRCLES.feed, blocked=True)
    assert last()[:3] == ["ours", "soup is poison", "under the stone"]
    assert catalog.conversation(hidden).messages == 0


def test_a_stranger_of_many_boards_hides_no_others(home, catalog, monkeypatch):
    monkeypatch.setattr(limits, "CATALOG_BOARDS_MAX", 4)
    dan, cyd = Author("dan"), Author("cyd")
    home.owner.tip = SOUP.extended.tip
    mine, old, helped = (
        home.owner.say(create_step("Hut")),
        dan.say(create_step("Old")),
        cyd.say(create_step("Cyd")),
    )
    do = chat.BoardStep(
        board=id_of(helped), previous=(id_of(helped),), operation=Operation.COLUMN_CREATE, args=("do",)
    )
    wood = home.owner.say(do)
    many = [EVE_BOARDS.say(create_step(f"{number}")) for number in range(9)]
    home.keep([mine, old, helped, wood, *many])
    catalog.catch_up()

    def listed() -> list[tuple[str, bool]]:
        return [(row.name, row.ours) for row in catalog.boards()]

    assert listed() == [("Cyd", True), ("Hut", True), ("8", False), ("Old", False)]
    hidden = id_of(many[0])
    assert (
        catalog.find_boards(hidden.hex()) == catalog.find_boards(f" {hidden.hex()[:9].upper()}") == [hidden]
    )
    for nothing in ("", "zz", "ff" * 21, id_of(SOUP).hex(), id_of(wood).hex()):
        assert catalog.find_boards(nothing) == []
    set_blocked(home.folder, EVE_BOARDS.feed, blocked=True)
    set_blocked(home.folder, cyd.feed, blocked=True)
    assert listed() == [("Cyd", True), ("Hut", True), ("Old", False)], "what we work on stays"
    assert catalog.find_boards(hidden.hex()) == [hidden]


EVE_CIRCLES = Author("circles")
EVE_BOARDS = Author("boards")
