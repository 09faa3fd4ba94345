"""The session that all screens use: the receivers of a text, its predecessors, messages found by digits."""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.catalog.mesh import Author, Home, id_of, seed_of
from tests.catalog.mesh import post as words
from tests.cli.talkers import ANA, BOB, CYD, EVE, Talkers, make_talkers
from tests.daemon.processes import make_home
from tinyssb_node.catalog import limits as catalog_limits
from tinyssb_node.catalog.catalog import Catalog
from tinyssb_node.catalog.rows import PUBLIC
from tinyssb_node.content import chat, private
from tinyssb_node.content.board import Operation, create_step
from tinyssb_node.content.pair_box import open_text
from tinyssb_node.content.short_text import ShortText, brief_tie
from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError
from tinyssb_node.errors import ExitCode, ProblemError, RecipientCountError
from tinyssb_node.ids import Dialect, FeedId, MessageId
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.store.home import Home as NodeHome


class FakeClient:
    """A daemon that keeps what is published."""

    def __init__(self) -> None:
        self.published: list[chat.Message] = []
        self.asked: list[tuple[str, str]] = []

    def publish(self, content: bytes, identity: str | None = None) -> dict[str, object]:
        assert identity is None
        self.published.append(chat.parse(content))
        return {"seq": len(self.published)}

    def follow(self, feed: str) -> None:
        self.asked.append(("follow", feed))

    def unfollow(self, feed: str) -> None:
        self.asked.append(("unfollow", feed))


class SessionAlone(NodeSession):
    """A session with a fake daemon."""

    def __init__(self, home: NodeHome, network: str | None, catalog: Catalog) -> None:
        super().__init__(home, network, catalog)
        self.fake = FakeClient()

    @property
    def client(self) -> DaemonClient:
        """The fake daemon."""
        return cast("DaemonClient", self.fake)


@pytest.fixture
def talkers(tmp_path: Path) -> Talkers:
    return make_talkers(tmp_path / "home")


@pytest.fixture
def talk(talkers: Talkers) -> Iterator[NodeSession]:
    with SessionAlone.at_home(str(talkers.folder)) as talk:
        talk.catch_up()
        yield talk


def daemon_of(talk: NodeSession) -> FakeClient:
    assert isinstance(talk, SessionAlone)
    return talk.fake


def sent(talk: NodeSession) -> list[chat.Message]:
    return daemon_of(talk).published


def post(talk: NodeSession) -> ShortText:
    message = sent(talk)[-1]
    assert isinstance(message, ShortText)
    return message


def opened(content: chat.Message, name: str) -> chat.ChatPost | None:
    """A private message of Ana in the form of the app."""
    assert isinstance(content, chat.SealedMessage)
    message = private.unsealed_message(content, private.SealKey(seed_of(name)))
    return message if isinstance(message, chat.ChatPost) else None


def opened_short(content: chat.Message, name: str) -> ShortText | None:
    """A private text of Ana for one person."""
    assert isinstance(content, chat.SealedMessage)
    return open_text(content.box, private.SealKey(seed_of(name)), Author(ANA).feed)


def test_a_text_follows_the_latest_and_an_answer_what_it_answers(talk: NodeSession, talkers: Talkers) -> None:
    talk.say("hello")
    assert (post(talk).text, post(talk).ties) == ("hello", (talkers.ids["evil"],))
    talk.say("yes", reply_to=talkers.ids["first"])
    both = (talkers.ids["first"], talkers.ids["evil"])
    assert post(talk).ties == both, "the answered one, and all tips"
    talk.say("yes, that", reply_to=talkers.ids["first"])
    assert post(talk).ties == tuple(map(brief_tie, both)), "in one packet, too"
    talk.say("yes", reply_to=talkers.ids["evil"])
    assert post(talk).ties == (talkers.ids["evil"],)
    assert (post(talk).said_s or 0) > 1_770_000_000, "by our clock and not by the test's"
    assert post(talk).low_minutes is None, "the last time in our feed is long ago"


def test_a_time_near_the_last_one_of_our_feed_takes_two_bytes(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", Author(ANA))
    home.keep([home.owner.say(words("hi", said_s=int(time.time()) - 86_400))])
    home.close()
    with SessionAlone.at_home(str(home.folder)) as talk:
        talk.catch_up()
        talk.say("Is anybody up there? It is getting cold.")
        assert (post(talk).said_s, post(talk).brief) == (None, True)
        assert len(talk.draft("Is anybody up there? It is getting cold.")) == 47


def test_what_a_phone_reads_is_written_as_it_reads_it(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", Author(ANA, Dialect.DEPLOYED))
    home.keep([home.owner.say(words("hi"))])
    home.close()
    with SessionAlone.at_home(str(home.folder)) as talk:
        talk.catch_up()
        talk.say("hello")
        assert isinstance(sent(talk)[-1], chat.ChatPost)


def test_nothing_is_not_said(talk: NodeSession) -> None:
    for text in ("", " \n"):
        with pytest.raises(ProblemError, match="The message is empty") as caught:
            talk.say(text)
        assert caught.value.exit_code is ExitCode.DATA
    with pytest.raises(ProblemError, match="There is no conversation") as caught:
        talk.say("x", "0123456789abcdef")
    assert caught.value.exit_code is ExitCode.MISSING
    assert "tinyssb chat list" in caught.value.hint
    assert sent(talk) == []


def test_an_answer_stays_in_its_conversation(talk: NodeSession, talkers: Talkers) -> None:
    bob = talkers.people[BOB].feed
    for where in ("secret", "board", "alias-bob"):
        with pytest.raises(ProblemError, match="is in another conversation") as caught:
            talk.say("x", reply_to=talkers.ids[where])
        assert caught.value.exit_code is ExitCode.USAGE
    with pytest.raises(ProblemError, match="is in another conversation") as caught:
        talk.say_private("x", [bob], talkers.ids["first"])
    assert caught.value.exit_code is ExitCode.USAGE
    with pytest.raises(ProblemError, match="is in another conversation") as caught:
        talk.say_private("x", [talkers.people[CYD].feed], talkers.ids["secret"])
    assert caught.value.exit_code is ExitCode.USAGE
    assert sent(talk) == []
    talk.say_private("x", [bob], talkers.ids["secret"])
    talk.say("x", reply_to=talkers.ids["late"])
    assert post(talk).ties[0] == talkers.ids["late"]


def test_a_private_text_is_read_by_its_circle_only(talk: NodeSession, talkers: Talkers) -> None:
    bob, cyd = talkers.people[BOB].feed, talkers.people[CYD].feed
    talk.say_private("for two", [bob])
    said = opened_short(sent(talk)[-1], BOB)
    assert said is not None
    assert (said.text, said.ties) == ("for two", (talkers.ids["secret"],))
    mine = opened_short(sent(talk)[-1], ANA)
    assert mine is not None
    assert (mine.text, mine.other) == ("for two", bob)
    assert opened_short(sent(talk)[-1], EVE) is None
    where = talk.conversation_with([bob])
    assert where is not None
    assert talk.members(where) == tuple(sorted((bob, talk.own)))
    talk.say("in it", where)
    assert opened_short(sent(talk)[-1], BOB) is not None
    talk.say_private("for three", [bob, cyd, talk.own, bob])
    several = opened(sent(talk)[-1], CYD)
    assert several is not None
    assert (several.tips, set(several.recipients or ())) == ((), {bob, cyd, talk.own})
    with pytest.raises(RecipientCountError):
        talk.say_private("for all", [Author(str(number)).feed for number in range(7)])


def test_people_who_may_read_on_a_phone_get_the_form_of_the_app(tmp_path: Path) -> None:
    home, bob, cyd = Home(tmp_path / "home", Author(ANA)), Author(BOB, Dialect.DEPLOYED), Author(CYD)
    home.keep([home.owner.say(words("hi")), bob.say(words("hi"))])
    home.close()
    with SessionAlone.at_home(str(home.folder)) as talk:
        talk.catch_up()
        for reader in (bob, cyd):  # of Cyd nothing is here: it may be a phone
            talk.say_private("x", [reader.feed])
            assert opened(sent(talk)[-1], reader.name) is not None
        talk.say_private("to remember", [])
        note = opened_short(sent(talk)[-1], ANA)
        assert note is not None
        assert (note.text, note.other) == ("to remember", talk.own)
        talk.say_private("zero\0byte", [])
        assert opened(sent(talk)[-1], ANA) is not None


def test_recorded_voice_has_the_form_of_the_app(talk: NodeSession, talkers: Talkers) -> None:
    voice = bytes.fromhex("c0dec201000400") + bytes(70)
    talk.say("", voice=voice)
    said = sent(talk)[-1]
    assert isinstance(said, chat.ChatPost)
    assert (said.text, said.voice) == (None, voice)
    talk.say_private("listen", [talkers.people[BOB].feed], voice=voice)
    heard = opened(sent(talk)[-1], BOB)
    assert heard is not None
    assert (heard.text, heard.voice) == ("listen", voice)
    assert len(talk.draft("", voice=voice)) > len(voice)
    with pytest.raises(ProblemError, match="no recorded voice"):
        talk.say("", "ab" * 20, voice=voice)


def test_a_draft_is_what_would_be_said(talk: NodeSession, talkers: Talkers) -> None:
    assert chat.parse(talk.draft("hello", PUBLIC)) == chat.parse(talk.draft("hello"))
    assert len(talk.draft_private("x", [talkers.people[BOB].feed])) == 127
    assert sent(talk) == []


def test_messages_are_found_by_digits_and_by_place(talk: NodeSession, talkers: Talkers) -> None:
    first = talkers.ids["first"]
    assert talk.find_message(first.hex()[:9].upper()).id == first
    assert talk.find_message(f"{talkers.feed(ANA)[:8]}.1").id == first
    for nothing in ("", "zz", "\x1b[2J", "ff" * 20, f"{talkers.feed(ANA)[:8]}.99"):
        with pytest.raises(ProblemError, match="has no message") as caught:
            talk.find_message(nothing)
        assert caught.value.exit_code is ExitCode.MISSING
        assert "\x1b" not in caught.value.message
    with pytest.raises(ProblemError, match="The ids of several messages") as caught:
        talk.find_message(next(c for c in "0123456789abcdef" if len(talk.catalog.find(c)) > 1))
    assert caught.value.exit_code is ExitCode.USAGE


def test_boards_are_found_changed_and_begun(talk: NodeSession, talkers: Talkers) -> None:
    board = talk.find_board("hut [1mWORK")
    assert talk.find_board(talkers.digits("board")) == board
    assert [column.name for column in board.columns] == ["To do", "Done"]
    talk.change_board(board.id, Operation.ITEM_CREATE, board.columns[0].id, "Fire")
    step = sent(talk)[-1]
    assert isinstance(step, chat.BoardStep)
    assert (step.board, step.previous, step.args[1]) == (board.id, board.tips, "Fire")
    talk.new_board("Second")
    step = sent(talk)[-1]
    assert isinstance(step, chat.BoardStep)
    assert (step.board, step.args) == (None, ("Second",))
    (row,) = talk.catalog.boards()
    with pytest.raises(ProblemError, match="There is no board 'no such'") as caught:
        talk.find_board("no such")
    assert caught.value.exit_code is ExitCode.MISSING
    with pytest.raises(ProblemError, match="has no board with the id") as caught:
        talk.board(MessageId(bytes(20)))
    assert caught.value.exit_code is ExitCode.MISSING
    with pytest.raises(ProblemError, match="no invitation to this board") as caught:
        talk.answer_invitation(board.id, accept=True)
    assert caught.value.exit_code is ExitCode.MISSING
    assert row.ours


def test_nobody_takes_the_name_or_the_id_of_a_board_of_ours(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", Author(ANA))
    mine, eve, bob = home.owner.say(create_step("Hut")), Author(EVE), Author(BOB)
    whole = id_of(mine).hex()
    theirs = [eve.say(create_step(name)) for name in ("Hut", "hut", whole, whole[:8], "Well")]
    home.keep([mine, *theirs, bob.say(create_step("well"))])
    home.close()
    with NodeSession.at_home(str(home.folder)) as talk:
        talk.catch_up()
        assert talk.find_board("hut").id == talk.find_board(f"{whole.upper()} ").id == id_of(mine)
        assert talk.find_board(whole[:9]).id == id_of(mine)
        for either in (whole[:8], "well"):
            with pytest.raises(ProblemError, match="Several boards match") as caught:
                talk.find_board(either)
            assert caught.value.exit_code is ExitCode.USAGE
        talk.block(eve.feed)
        assert talk.find_board(whole[:8]).id == id_of(mine)
        assert talk.find_board("well").name == "well"


def test_one_stranger_makes_nothing_of_ours_unreachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_limits, "CATALOG_BOARDS_MAX", 2)
    monkeypatch.setattr(catalog_limits, "CATALOG_CONVERSATIONS_MAX", 2)
    home, bob, eve = Home(tmp_path / "home", Author(ANA)), Author(BOB), Author(EVE)
    ana = home.owner.feed
    home.keep(
        [home.owner.say(create_step("Hut")), bob.whisper(words("hi", recipients=[ana, bob.feed]), [ana])]
    )
    home.keep(eve.say(create_step(f"{number}")) for number in range(3))
    circles = [[ana, eve.feed, FeedId(bytes([number]) * 32)] for number in range(1, 4)]
    home.keep(eve.whisper(words("spam", recipients=feeds), [ana]) for feeds in circles)
    home.close()
    with NodeSession.at_home(str(home.folder)) as talk:
        talk.catch_up()
        assert talk.find_board("hut").name == "Hut"
        for feeds in ([ana, bob.feed], *circles):
            where = talk.conversation_with(feeds)
            assert where is not None
            assert talk.members(where) == tuple(sorted(feeds))


def test_people_are_blocked_here_and_followed_again(talk: NodeSession, talkers: Talkers) -> None:
    eve = talkers.people[EVE].feed
    talk.block(eve)
    assert daemon_of(talk).asked == [], "the daemon sees it by itself"
    assert talk.find_person(eve.hex()).blocked
    talk.unblock(eve)
    assert daemon_of(talk).asked[-1] == ("follow", eve.hex())
    talk.petname(eve, "Eve")
    assert talk.names().of(eve) == f"Eve {eve.hex()[:8]}"
    talk.petname(eve, None)
    assert talk.find_person(eve.hex()).alias == "bob"


def test_without_a_daemon_everything_can_be_read(talkers: Talkers) -> None:
    with NodeSession.at_home(str(talkers.folder)) as talk:
        talk.catch_up()
        rows = talk.catalog.messages(PUBLIC)
        assert talk.receipts(rows) == {}
        assert talk.own == talkers.people[ANA].feed
        talk.block(talkers.people[EVE].feed)
        talk.unblock(talkers.people[EVE].feed)
        with pytest.raises(DaemonUnreachableError):
            talk.say("x")
        with pytest.raises(DaemonUnreachableError):
            talk.client  # noqa: B018 - reading it connects


def test_news_are_noticed_whoever_reads_them(talkers: Talkers) -> None:
    with NodeSession.at_home(str(talkers.folder)) as talk, NodeSession.at_home(str(talkers.folder)) as other:
        assert talk.changed()
        assert not talk.changed()
        with sqlite3.connect(talkers.folder / "content.sqlite") as raw:
            raw.execute("UPDATE people SET said = said || 'x'")
        assert talk.changed()
        assert other.changed()
        assert not talk.changed()


def test_a_node_that_has_never_run_has_nothing_to_read(tmp_path: Path) -> None:
    feed = make_home(tmp_path / "new")
    with NodeSession.at_home(str(tmp_path / "new")) as talk:
        talk.catch_up()
        assert talk.own == feed
        assert [row.name for row in talk.catalog.conversations()] == [PUBLIC]
        assert talk.conversation_with([FeedId(b"\x07" * 32)]) is None
        assert talk.home.root == tmp_path / "new"
