"""Answers what the control protocol asks about private groups (docs/formats/control.md): the desk's other half."""

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, Final

from tinyssb_node import limits
from tinyssb_node.codec.events import Effect
from tinyssb_node.content.files import File, serialize_file
from tinyssb_node.content.telemetry import parse_telemetry
from tinyssb_node.content.time_order import Position, order_key, read_order_key
from tinyssb_node.control import group_rows, requests, rows
from tinyssb_node.control.requests import NetworkRequest, bad_argument
from tinyssb_node.control.server import ControlConnection
from tinyssb_node.daemon.clock import Clock
from tinyssb_node.daemon.feedrows import published_row
from tinyssb_node.daemon.group_timeline import ListedMessages, Timeline, listed_early
from tinyssb_node.daemon.groupviews import (
    audit_row,
    broken_row,
    early_group_row,
    early_last,
    early_row,
    early_shown_row,
    epoch_rows,
    fork_rows,
    invitation_row,
    name_of_group,
    review_rows,
    said_row,
    step_row,
)
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.errors import BadRequestError, GroupRefusedError, LocalError, ProblemError, phrase
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.consent import GroupConsentError
from tinyssb_node.groups.epochs import NOBODY
from tinyssb_node.groups.faults import GroupFaultError
from tinyssb_node.groups.manager import GroupLeftError, GroupManager, GroupWriteResult
from tinyssb_node.groups.messages import (
    FeedRole,
    GroupContent,
    GroupMessageError,
    OpenedGroupMessage,
    attach,
    file_of,
    post,
    record_in,
    rename,
    share,
)
from tinyssb_node.groups.plan import GroupRefusalError, RefusalReason, is_out
from tinyssb_node.groups.waits import GroupConsent
from tinyssb_node.groups.writer import (
    GroupWriteCost,
    GroupWriterPort,
    InvalidRecipientError,
    PhoneDialectError,
)
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.node.node import Node

_ID_TOLD: Final = 8
"""Digits of an id that is told."""
_NAMED_MAX: Final = 5
"""Most people or groups named in a sentence."""
_REFUSALS: Final = {
    RefusalReason.SELF: (
        phrase("You cannot exclude yourself."),
        phrase("`tinyssb group leave` leaves a group; others may exclude you then."),
    ),
    RefusalReason.STRANGER: (
        phrase("Not in the epoch that you write in: {people}."),
        phrase("`tinyssb group show` shows who is in it."),
    ),
    RefusalReason.NOBODY: (phrase("Nobody is named."), phrase("Name somebody.")),
    RefusalReason.EXCLUDED: (
        phrase("You were excluded from this group; what you write there would count for nobody."),
        phrase("A member can add you again."),
    ),
    RefusalReason.OUTSIDE: (phrase("You are in no epoch of this group."), phrase("A member can add you.")),
    RefusalReason.OTHER_EPOCH: (
        phrase("Another epoch of the group is preferred by now."),
        phrase("See `tinyssb group show`, and try it again."),
    ),
    RefusalReason.DISPUTED: (
        phrase(
            "A member excluded {people}, who would still read it, and your node cannot begin an epoch without them."
        ),
        phrase(
            "Other members do so within two hours; try it again then. `tinyssb group show` shows what is due."
        ),
    ),
    RefusalReason.NAMED: (
        phrase("It excludes you as well, so it is not for you to decide."),
        phrase("Any other member can: `tinyssb group review`."),
    ),
    RefusalReason.NOT_HELD: (
        phrase("No such fork waits for a decision any more."),
        phrase("`tinyssb group review` lists those that do."),
    ),
    RefusalReason.MEMBER: (
        phrase("In the group already: {people}."),
        phrase("Name only those who are not; `tinyssb group show` shows who is."),
    ),
    RefusalReason.EPOCHS: (
        phrase("You have begun as many epochs of this group as count for its members."),
        phrase("Another member can exclude them; or create a new group."),
    ),
}
"""Message and next step for each reason to refuse."""


_GroupRows = tuple[
    ListedMessages, Callable[[Position], group_rows.GroupSaidRow], Iterable[group_rows.GroupSaidRow]
]
"""Messages of a group, the row of a position among them, and the messages that wait."""

_COME_BACK: Final = phrase("`tinyssb group return` takes part in it again, unless you were excluded since.")


class GroupHandler:
    """Reads a node's groups, and lets the runtime change them."""

    def __init__(
        self,
        *,
        own: FeedId,
        runtime: Runtime,
        place: Callable[[NetworkRequest[Any]], NetworkStorage],
        clock: Clock,
    ) -> None:
        """*place*: finds the network that a request names."""
        self._own = own
        self._runtime = runtime
        self._place = place
        self._clock = clock
        self._timelines: dict[tuple[str, MessageId], Timeline] = {}
        self._answers: Mapping[
            type[NetworkRequest[Any]], Callable[[Any, ControlConnection], Awaitable[object]]
        ] = {
            requests.GroupCreate: self._create,
            requests.GroupAdd: self._add,
            requests.GroupExclude: self._exclude,
            requests.GroupLeave: self._leave,
            requests.GroupReturn: self._return,
            requests.GroupAnswer: self._consent,
            requests.GroupDecide: self._decide,
            requests.GroupPost: self._post,
            requests.GroupShare: self._share,
            requests.ListGroupTelemetry: self._telemetry,
            requests.GroupRename: self._rename,
            requests.GroupMute: self._mute,
            requests.GroupHistory: self._history,
            requests.GroupAttach: self._attach,
            requests.GroupFile: self._file,
            requests.ReviewGroup: self._review,
            requests.ListGroups: self._list,
            requests.ShowGroup: self._show,
            requests.AuditGroup: self._audit,
            requests.ReadGroup: self._read,
        }

    async def answer(self, request: NetworkRequest[Any], client: ControlConnection) -> object:
        """Return the result of *request*; items go to *client* before. Raises LocalError."""
        try:
            return await self._answers[type(request)](request, client)
        except LocalError:
            raise
        except Exception as error:
            fault = GroupFaultError(error)
            raise ProblemError(fault.message, fault.hint, code="group_failed") from error

    # --- Writing

    async def _create(
        self, request: requests.GroupCreate, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow | group_rows.GroupCostRow:
        place = self._place(request)
        name = request.name
        if name is not None:
            _check_name(name)

        others = [person for person in _people(request.people or ()) if person != self._own]

        if request.dry_run:
            with refusals():
                groups = self._groups(self._node(place))
                return _cost_row(None, groups.cost_of_creating(name, others, request.erase_days))

        def create(groups: GroupManager, pen: GroupWriterPort, now_us: int) -> list[GroupWriteResult]:
            created = groups.create(pen, name, now_us, request.erase_days)
            return [created, *([groups.add(pen, created.root, others, None, now_us)] if others else [])]

        return self._write(place, create)

    async def _add(
        self, request: requests.GroupAdd, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow | group_rows.GroupCostRow:
        place, root = await self._find(request)
        people, text = _people(request.people), request.text
        groups = self._writable(place, root)
        if request.dry_run:
            with refusals():
                return _cost_row(root, groups.cost_of_adding(root, people, text))
        return self._write(place, lambda groups, pen, now_us: [groups.add(pen, root, people, text, now_us)])

    async def _exclude(
        self, request: requests.GroupExclude, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow | group_rows.GroupCostRow:
        place, root = await self._find(request)
        people = _people(request.people)
        groups = self._writable(place, root)
        if request.dry_run:
            with refusals():
                return _cost_row(root, groups.cost_of_excluding(root, people))
        return self._write(place, lambda groups, pen, now_us: [groups.exclude(pen, root, people, now_us)])

    async def _leave(
        self, request: requests.GroupLeave, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow:
        place, root = await self._find(request)
        self._writable(place, root)
        return self._write(place, lambda groups, pen, now_us: [groups.leave(pen, root, now_us)])

    async def _return(
        self, request: requests.GroupReturn, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow:
        place, root = await self._find(request)

        def come_back(groups: GroupManager, _pen: GroupWriterPort, now_us: int) -> list[GroupWriteResult]:
            groups.come_back(root, now_us)
            return [GroupWriteResult(root, ())]

        return self._write(place, come_back)

    async def _consent(
        self, request: requests.GroupAnswer, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow:
        place, root = await self._find(request)

        def decide(groups: GroupManager, _pen: GroupWriterPort, now_us: int) -> list[GroupWriteResult]:
            if request.accept:
                groups.accept_group(root, now_us)
            else:
                groups.decline_group(root, now_us)
            return [GroupWriteResult(root, ())]

        return self._write(place, decide)

    async def _decide(
        self, request: requests.GroupDecide, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow | group_rows.GroupCostRow:
        place, root = await self._find(request)
        groups = self._writable(place, root)
        held = [one.fork.tip for one in groups.reviews(root)]
        found = [tip for tip in held if request.fork and tip.hex().startswith(request.fork.lower())]
        if len(found) != 1:
            raise ProblemError(
                f"{len(found) or 'No'} forks that wait for a decision begin with "
                f"'{request.fork[: limits.CONTROL_ID_MAX]}'. Nothing was written.",
                "`tinyssb group review` lists them.",
            )
        (fork,) = found
        if request.dry_run and request.accept:
            with refusals():
                return _cost_row(root, groups.cost_of_accepting(root, fork))

        def decide(groups: GroupManager, pen: GroupWriterPort, now_us: int) -> list[GroupWriteResult]:
            if request.accept:
                return [groups.accept(pen, root, fork, now_us)]
            groups.reject(root, fork, now_us)
            return [GroupWriteResult(root, ())]

        return self._write(place, decide)

    async def _post(
        self, request: requests.GroupPost, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow | group_rows.GroupCostRow:
        place, root = await self._find(request)
        readable = self._writable(place, root)
        with refusals():
            answered = self._answered(place, readable, root, request.reply_to)
            content = post(request.text, answered, self._clock.wall_us() // 1_000_000)
        return self._say(place, root, content, dry_run=request.dry_run)

    async def _share(
        self, request: requests.GroupShare, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow | group_rows.GroupCostRow:
        place, root = await self._find(request)
        self._writable(place, root)
        record = bytes.fromhex(request.record)
        if parse_telemetry(record) is None:
            raise bad_argument(requests.GroupShare, "record", "takes a position, or values of sensors")
        return self._say(place, root, share(record), dry_run=request.dry_run)

    async def _rename(
        self, request: requests.GroupRename, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow | group_rows.GroupCostRow:
        _check_name(request.name)
        place, root = await self._find(request)
        self._writable(place, root)
        return self._say(place, root, rename(request.name), dry_run=request.dry_run)

    async def _mute(
        self, request: requests.GroupMute, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow:
        place, root = await self._find(request)

        def mute(groups: GroupManager, _pen: GroupWriterPort, now_us: int) -> list[GroupWriteResult]:
            groups.mute(root, now_us, muted=request.muted)
            return [GroupWriteResult(root, ())]

        return self._write(place, mute)

    async def _history(
        self, request: requests.GroupHistory, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow:
        place, root = await self._find_any(request)
        if not self._groups(self._node(place)).early.arriving(root):
            raise GroupRefusedError(
                "The older messages of this group are here, or are requested already. Nothing was changed.",
                f"To read them: tinyssb group read {root.hex()[:_ID_TOLD]}",
            )

        def request_history(
            groups: GroupManager, _pen: GroupWriterPort, now_us: int
        ) -> list[GroupWriteResult]:
            groups.fetch_history(root, now_us)
            return [GroupWriteResult(root, ())]

        return self._write(place, request_history)

    async def _attach(
        self, request: requests.GroupAttach, _client: ControlConnection
    ) -> group_rows.GroupWrittenRow | group_rows.GroupCostRow:
        place, root = await self._find(request)
        readable = self._writable(place, root)
        file = File(request.name, request.type, bytes.fromhex(request.data))
        serialize_file(file)  # checks name and type
        with refusals():
            answered = self._answered(place, readable, root, request.reply_to)
            content = attach(file, answered, self._clock.wall_us() // 1_000_000)
        return self._say(place, root, content, dry_run=request.dry_run)

    def _say(
        self, place: NetworkStorage, root: MessageId, content: tuple[str, bytes], *, dry_run: bool
    ) -> group_rows.GroupWrittenRow | group_rows.GroupCostRow:
        """Write a message of a kind and a body, or return what that costs."""
        if dry_run:
            with refusals():
                return _cost_row(root, self._writable(place, root).cost_of_posting(root, *content))
        return self._write(place, lambda groups, pen, now_us: [groups.post(pen, root, *content, now_us)])

    async def _file(self, request: requests.GroupFile, _client: ControlConnection) -> group_rows.GroupFileRow:
        place, root = await self._find(request)
        groups = self._groups(self._node(place))
        timeline = self._timeline(place, groups, root)
        ids = [*timeline.group.tangle, *timeline.group.tangle.waiting]
        id_ = _message(ids, request.message, phrase("Nothing was read."))
        said = timeline.group.said(id_)
        opened = timeline.opened(said)
        file = file_of(opened) if isinstance(opened, GroupContent) and timeline.counts(said) else None
        if file is None:
            raise ProblemError(
                f"The message {id_.hex()[:_ID_TOLD]} has no file that can be read here.",
                "`tinyssb group read` shows which messages have files.",
                code="unknown_entry",
            )
        return group_rows.GroupFileRow(
            group=root.hex(),
            id=id_.hex(),
            feed=said.author.hex(),
            name=file.name,
            type=file.type,
            data=file.data.hex(),
        )

    def _answered(
        self, place: NetworkStorage, groups: GroupManager, root: MessageId, digits: str | None
    ) -> MessageId | None:
        """Find the message of a group whose id begins with *digits*. Raises ProblemError."""
        if digits is None:
            return None
        return _message(
            self._timeline(place, groups, root).group.tangle, digits, phrase("Nothing was written.")
        )

    def _write(
        self,
        place: NetworkStorage,
        write: Callable[[GroupManager, GroupWriterPort, int], list[GroupWriteResult]],
    ) -> group_rows.GroupWrittenRow:
        def perform(node: Node, now_us: int) -> tuple[list[GroupWriteResult], list[Effect]]:
            return node.in_groups(lambda groups, pen: write(groups, pen, now_us), now_us)

        with refusals():
            return _written(self._runtime.do(perform, place.name))

    # --- Reading

    async def _list(self, request: requests.ListGroups, client: ControlConnection) -> rows.CountRow:
        place = self._place(request)
        groups = await self._read_groups(place)
        early = groups.early.roots()
        for root in early:
            await client.send(early_group_row(groups, root, self._own, self._came_us(place, groups)))
        count = len(early)
        for root in [root for root in groups.reader.groups if root not in early]:
            if root in groups.reader.groups:  # what is found out meanwhile may make the book begin anew
                await client.send(self._row_or_failed(place, groups, root))
                await asyncio.sleep(0)  # a group of many messages takes its time when it is first looked at
                count += 1
        return rows.CountRow(count=count)

    async def _telemetry(
        self, request: requests.ListGroupTelemetry, client: ControlConnection
    ) -> rows.CountRow:
        place = self._place(request)
        groups = await self._read_groups(place)
        came_us, count = self._came_us(place, groups), 0
        for root in [root for root in groups.reader.groups if self._state(groups, root) == "member"]:
            timeline = self._timeline(place, groups, root)
            for (author, _), id_ in sorted(timeline.telemetry.items(), key=lambda one: one[1]):
                said = timeline.group.said(id_)
                record, committed_us = record_in(timeline.opened(said)), came_us(said)
                if record is not None and committed_us is not None:
                    row = group_rows.GroupTelemetryRow(root.hex(), author.hex(), committed_us, record.hex())
                    await client.send(row)
                    count += 1
            await asyncio.sleep(0)  # a group of many messages takes its time when it is first looked at
        return rows.CountRow(count=count)

    async def _show(self, request: requests.ShowGroup, client: ControlConnection) -> group_rows.GroupShownRow:
        place, root = await self._find_any(request)
        groups = self._groups(self._node(place))
        if groups.early.arriving(root):
            return early_shown_row(groups, root)
        timeline, held = self._timeline(place, groups, root), groups.reader.groups[root]
        for epoch in epoch_rows(timeline, self._own, self._came_us(place, groups)):
            await client.send(epoch)
        group, problem = held.group, groups.problems.get(root)
        preference = group.view.preference(self._own)
        return group_rows.GroupShownRow(
            group=root.hex(),
            group_id=group.group.hex(),
            name=held.name,
            state=self._state(groups, root),
            creator=group.said(root).author.hex() if root in group else None,
            epoch=None if preference.epoch is None else preference.epoch.hex(),
            rules=[rule.value for rule in preference.rules],
            interim=preference.interim,
            posts=timeline.posts,
            messages=len(group),
            waiting=len(group.tangle.waiting),
            forks=fork_rows(group.view, [one.tip for one in group.late_forks]),
            tasks=self._tasks(groups, root),
            problem=None if problem is None else problem.message,
            erased=_erased_row(groups, root),
            budget=group_rows.GroupBudgetRow(
                used=groups.spent(root, self._clock.now_us()), of=group_limits.UNASKED_PACKETS_A_DAY
            ),
            reviews=review_rows(group.view, groups.reviews(root)),
            invitation=invitation_row(groups, root),
            muted=groups.muted(root),
            lacking=len(group.tangle.missing),
        )

    async def _review(self, request: requests.ReviewGroup, client: ControlConnection) -> rows.CountRow:
        place, root = await self._find(request)
        groups = self._groups(self._node(place))
        found = review_rows(groups.reader.groups[root].group.view, groups.reviews(root))
        for row in found:
            await client.send(row)
        return rows.CountRow(count=len(found))

    def _tasks(self, groups: GroupManager, root: MessageId) -> list[group_rows.GroupTaskRow]:
        """Return the tasks that the node is going to do by itself: none in a group that its user left."""
        now_us = self._clock.now_us()
        return [
            group_rows.GroupTaskRow(
                purpose=due.task.purpose.value,
                epoch=due.task.epoch.hex(),
                due_in_us=max(0, due.due_us - now_us),
                steps=[step_row(step) for step in due.task.steps],
            )
            for due in (groups.due(root, now_us) if self._takes_part(groups, root) else [])
        ]

    def _takes_part(self, groups: GroupManager, root: MessageId) -> bool:
        return not groups.left(root) and groups.consents.of(root) is GroupConsent.ACCEPTED

    async def _audit(self, request: requests.AuditGroup, client: ControlConnection) -> rows.CountRow:
        place, root = await self._find(request)
        groups = self._groups(self._node(place))
        timeline, came_us = self._timeline(place, groups, root), self._came_us(place, groups)
        lines = timeline.group.audit()
        broken = sorted(groups.reader.groups[root].broken.values(), key=lambda one: one.id)
        for number, line in enumerate(lines, 1):
            await client.send(audit_row(timeline, line, self._own, came_us))
            if number % limits.CONTROL_PAGE == 0:
                await asyncio.sleep(0)  # the node gets its turn between pages
        for one in broken:
            entry = place.store.entry(one.feed, one.seq)
            came = None if entry is None else entry.committed_us
            await client.send(broken_row(one, self._own, groups.reader.role_of(one.feed), came))
        return rows.CountRow(count=len(lines) + len(broken))

    async def _read(self, request: requests.ReadGroup, client: ControlConnection) -> group_rows.GroupReadRow:
        before, after = _position(request.before_order), _position(request.after_order)
        place, root = await self._find_any(request)
        groups = self._groups(self._node(place))
        early = groups.early.shows(root)
        listed, row_of, waiting = (self._early_rows if early else self._rows)(place, groups, root)
        rows, seen = waiting, None
        if request.arrived or request.after is not None:
            found = listed.arrived(request.after, request.limit)
            rows = map(row_of, found)
            seen = listed.seen(request.after or 0) if found else None
        elif not request.waiting:
            rows = map(row_of, listed.page(before=before, after=after, limit=request.limit))
        count = 0
        for row in islice(rows, request.limit if request.waiting else None):
            await client.send(row)
            count += 1
            if count % limits.CONTROL_PAGE == 0:
                await asyncio.sleep(0)  # the node gets its turn between pages
        return group_rows.GroupReadRow(count, "" if seen is None else order_key(*seen))

    def _early_rows(self, place: NetworkStorage, groups: GroupManager, root: MessageId) -> _GroupRows:
        posts = {said.id: said for said in groups.early.group(root).posts}
        came_us = self._came_us(place, groups)
        return (
            listed_early(posts.values()),
            lambda one: early_row(root, posts[MessageId(one[1])], one, self._own, came_us),
            (),
        )

    def _rows(self, place: NetworkStorage, groups: GroupManager, root: MessageId) -> _GroupRows:
        timeline, came_us = self._timeline(place, groups, root), self._came_us(place, groups)
        return (
            timeline.listed(),
            lambda one: said_row(timeline, timeline.group.said(MessageId(one[1])), self._own, came_us),
            (said_row(timeline, said, self._own, came_us) for said in timeline.waiting()),
        )

    def _row_or_failed(
        self, place: NetworkStorage, groups: GroupManager, root: MessageId
    ) -> group_rows.GroupRow:
        """Return the row of a group; a short one if this program fails on it, so that the others are shown."""
        try:
            return self._row(place, groups, root)
        except Exception:  # noqa: BLE001 - `group show` says which error it is
            id_ = groups.reader.groups[root].group.group.hex()
            return group_rows.GroupRow(root.hex(), id_, None, "failed", [], 0, 0, None, stopped=True)

    def _row(self, place: NetworkStorage, groups: GroupManager, root: MessageId) -> group_rows.GroupRow:
        timeline, held = self._timeline(place, groups, root), groups.reader.groups[root]
        view = held.group.view
        preferred = view.preference(self._own).epoch
        members = NOBODY if preferred is None else view[preferred].members - view[preferred].excluded
        early = None
        if groups.early.shows(root):
            early = early_last(groups, root, self._own, self._came_us(place, groups))
        listed, row_of, _ = self._rows(place, groups, root)
        latest = next(map(row_of, listed.arrived(None, 1)), None)
        return group_rows.GroupRow(
            group=root.hex(),
            group_id=held.group.group.hex(),
            name=held.name,
            state=self._state(groups, root),
            members=[person.hex() for person in sorted(members)],
            epochs=len(view.epochs),
            posts=timeline.posts,
            last=early or latest,
            stopped=root in groups.problems,
            reviews=sum(not one.rejected for one in groups.reviews(root)),
            invitation=invitation_row(groups, root),
            muted=groups.muted(root),
            lacking=len(held.group.tangle.missing),
        )

    # --- What all of them need

    def _timeline(self, place: NetworkStorage, groups: GroupManager, root: MessageId) -> Timeline:
        group = groups.reader.groups[root].group
        timeline = self._timelines.get((place.name, root))
        if timeline is None or timeline.group is not group:
            timeline = self._timelines[place.name, root] = Timeline(
                group, opened=partial(groups.secrecy.opened, root), stored_by=groups.stored_by
            )
        timeline.refresh()
        return timeline

    def _came_us(
        self, place: NetworkStorage, groups: GroupManager
    ) -> Callable[[OpenedGroupMessage], int | None]:
        def came_us(said: OpenedGroupMessage) -> int | None:
            feed = groups.reader.feed_of(said.author, None if said.role is FeedRole.ADDITIONS else said.key)
            entry = None if feed is None else place.store.entry(feed, said.seq)
            return None if entry is None else entry.committed_us

        return came_us

    def _state(self, groups: GroupManager, root: MessageId) -> str:
        if groups.left(root):
            return "left"
        consent = groups.consents.of(root)
        if consent is not GroupConsent.ACCEPTED:
            return consent.value
        group = groups.reader.groups[root].group
        if group.view.preference(self._own).epoch is None:
            return "outside"
        return "excluded" if is_out(group, self._own) else "member"

    def _node(self, place: NetworkStorage) -> Node:
        return self._runtime.networks.node(place.name)

    def _groups(self, node: Node) -> GroupManager:
        """Raises ProblemError."""
        groups = node.groups
        if groups is None:
            raise ProblemError("This node keeps no groups: it has no key to read them with.")
        return groups

    async def _read_groups(self, place: NetworkStorage) -> GroupManager:
        """The groups of a network, once all that is here of them was read, after a start. Raises ProblemError."""
        groups = self._groups(self._node(place))
        # Reading 10,000 messages after a start takes 2 s. After 10 s the reply has what has been read so far.
        for _ in range(500):
            if groups.read_all:
                break
            await asyncio.sleep(0.02)
        return groups

    async def _find(self, request: requests.GroupRequest) -> tuple[NetworkStorage, MessageId]:
        """Find the group that *request* names, if its history is here. Raises ProblemError, GroupRefusedError."""
        place, root = await self._find_any(request)
        if self._groups(self._node(place)).early.arriving(root):
            raise _not_here(root)
        return place, root

    async def _find_any(
        self, request: requests.GroupRequest | requests.GroupHistory
    ) -> tuple[NetworkStorage, MessageId]:
        """Find the group that *request* names. Raises ProblemError."""
        place, text = self._place(request), request.group
        groups = await self._read_groups(place)
        held = groups.reader.groups
        word, digits = alike(text), text.lower()
        found = [
            root
            for root, one in held.items()
            if (word and alike(name_of_group(one) or "") == word)
            or (digits and root.hex().startswith(digits))
        ]
        early = [root for root in groups.early.roots() if root not in held]
        found += [root for root in early if digits and root.hex().startswith(digits)]
        told = text[: limits.CONTROL_ID_MAX]
        if not found:
            raise ProblemError(
                f"This node knows of no group '{told}'.",
                "`tinyssb group list` lists them: those that you were added to, once the addition has arrived.",
                code="unknown_group",
            )
        if len(found) > 1:
            ids = ", ".join(root.hex()[:_ID_TOLD] for root in found[:_NAMED_MAX])
            raise ProblemError(
                f"'{told}' may be {len(found)} groups: {ids}.",
                "Type digits of one's id instead.",
                code="ambiguous_group",
            )
        return place, found[0]

    def _writable(self, place: NetworkStorage, root: MessageId) -> GroupManager:
        """Raises GroupRefusedError where nothing may be written."""
        groups = self._groups(self._node(place))
        if groups.left(root):
            raise _left()
        consent = groups.consents.of(root)
        if consent is not GroupConsent.ACCEPTED:
            raise _not_accepted(consent, root)
        return groups


def _erased_row(groups: GroupManager, root: MessageId) -> group_rows.GroupErasedRow | None:
    exposure = groups.secrecy.exposure(root)
    if exposure is None:
        return None
    return group_rows.GroupErasedRow(
        after_days=exposure.erase_days, open_days=exposure.open_days, lacking=exposure.lacking
    )


def alike(name: str) -> str:
    """Return a form of *name* that is equal for two names that people take for the same."""
    return " ".join(unicodedata.normalize("NFKC", name[: limits.GROUP_TEXT_MAX]).casefold().split())


@contextmanager
def refusals() -> Iterator[None]:
    """Tell in words what the rules of groups refuse. Raises GroupRefusedError."""
    try:
        yield
    except GroupLeftError as error:
        raise _left() from error
    except GroupConsentError as error:
        raise _not_accepted(error.consent, error.root) from error
    except PhoneDialectError as error:
        raise GroupRefusedError(
            "This node's feed is written for phones, and phones stop at the entries that groups need in it. "
            "Nothing was written.",
            "Make another node for groups, with `tinyssb init --dialect spec`.",
        ) from error
    except InvalidRecipientError as error:
        raise GroupRefusedError(
            f"Nobody can have the key of the feed {error.person.hex()}. Nothing was written.",
            "Check who is meant.",
        ) from error
    except GroupMessageError as error:
        raise GroupRefusedError(
            f"There can be no such message: {error}. Nothing was written.", "Say less at a time."
        ) from error
    except GroupRefusalError as error:
        what, hint = _REFUSALS[error.refusal]
        people = ", ".join(person.hex()[:_ID_TOLD] for person in error.people[:_NAMED_MAX])
        if len(error.people) > _NAMED_MAX:
            people += f", … (+{len(error.people) - _NAMED_MAX})"
        raise GroupRefusedError(f"{what.format(people=people)} Nothing was written.", hint) from error


def _check_name(name: str) -> None:
    """Check the name of a group. Raises BadRequestError."""
    if not 1 <= len(name.encode()) <= limits.GROUP_TEXT_MAX:
        raise BadRequestError(
            f"A group's name has 1 to {limits.GROUP_TEXT_MAX} bytes. Nothing was written.",
            "Choose a shorter one.",
        )


def _message(ids: Iterable[MessageId], digits: str, done: str) -> MessageId:
    """Find the one of *ids* that begins with *digits*; *done*: what was done if there is none. Raises ProblemError."""
    found = [id_ for id_ in ids if digits and id_.hex().startswith(digits.lower())]
    if len(found) == 1:
        return found[0]
    told = digits[: limits.CONTROL_ID_MAX]
    raise ProblemError(
        f"{len(found) or 'No'} messages of this group have an id that begins with '{told}'. {done}",
        "`tinyssb group read` shows the first digits of each id.",
        code="unknown_entry",
    )


def _position(text: str | None) -> Position | None:
    """Return a position among the messages of a group. Raises BadRequestError."""
    if text is None:
        return None
    position = read_order_key(text)
    if position is None:
        raise BadRequestError(
            "This is not a position of a message.",
            "Take it from a message's `order` (docs/formats/control.md).",
        )
    return position


def _people(given: Iterable[str]) -> tuple[FeedId, ...]:
    return tuple(FeedId.from_hex(feed) for feed in dict.fromkeys(given))


def _not_here(root: MessageId) -> GroupRefusedError:
    group = root.hex()[:_ID_TOLD]
    return GroupRefusedError(
        "The older messages of this group are not here yet, so it is not known who its members are. "
        "Nothing was written.",
        f"They come when the air is idle. To request them now: tinyssb group history {group}",
    )


def _left() -> GroupRefusedError:
    return GroupRefusedError("You left this group. Nothing was written.", _COME_BACK)


def _not_accepted(consent: GroupConsent, root: MessageId) -> GroupRefusedError:
    group = root.hex()[:_ID_TOLD]
    if consent is GroupConsent.ACCEPTED:
        return GroupRefusedError(
            "You take part in this group. Nothing was changed.", f"To leave it: tinyssb group leave {group}"
        )
    declined = consent is GroupConsent.DECLINED
    return GroupRefusedError(
        "You declined this group. Nothing was written."
        if declined
        else "You have not accepted this group. Nothing was written.",
        f"To take part: tinyssb group accept {group}",
    )


def _written(written: list[GroupWriteResult]) -> group_rows.GroupWrittenRow:
    entries = [event for one in written for event in one.entries]
    return group_rows.GroupWrittenRow(
        group=written[0].root.hex(),
        entries=[published_row(event) for event in entries],
        packets=sum(1 + event.chunks for event in entries),
    )


def _cost_row(root: MessageId | None, cost: GroupWriteCost) -> group_rows.GroupCostRow:
    return group_rows.GroupCostRow(
        group="" if root is None else root.hex(),
        messages=cost.messages,
        packets=cost.packets,
        content_bytes=cost.content_bytes,
        steps=list(cost.steps),
    )
