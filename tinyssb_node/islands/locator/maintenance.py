"""Posts and adverts: what keeps the hash table (text, "Hash table maintenance")."""

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.locator.adverts import AdvertBuffers
from tinyssb_node.islands.locator.context import LocatorContext
from tinyssb_node.islands.locator.labels import Label, position
from tinyssb_node.islands.locator.lookups import QueryRelay
from tinyssb_node.islands.locator.packets import LocatorPost
from tinyssb_node.islands.locator.randomness import pick, quasi_period_us
from tinyssb_node.islands.locator.resources import LocalResources
from tinyssb_node.islands.locator.values import Advert, Location, ResourceParameters


class TableMaintenance:
    """Spreads adverts, ours and others', and tells who is behind."""

    def __init__(self, desk: LocatorContext, resources: LocalResources, lookups: QueryRelay) -> None:
        self._desk = desk
        self._resources = resources
        self._lookups = lookups
        self.buffers = AdvertBuffers(
            count_max=desk.settings.buffer_count_max, group_size=len(desk.settings.group)
        )

    # --- our own

    def offer(self, label: Label, parameters: ResourceParameters, now_us: int) -> None:
        """Advertise it soon; sooner if it is new than if it changed."""
        before = self._resources.get(label)
        self._resources.put(label, parameters)
        if before == parameters:
            return
        wait_us = limits.ADVERT_FIRST_US if before is None else limits.ADVERT_NEWS_US
        due_us = now_us + quasi_period_us(self._desk.chance, wait_us)
        known_us = self._desk.timers.due_us(label)
        self._desk.timers.set(label, due_us if known_us is None else min(due_us, known_us))

    def withdraw(self, label: Label) -> None:
        """Advertise it no more."""
        self._resources.remove(label)
        self._desk.timers.cancel(label)
        self._desk.map.remove(label, self._desk.me.peer)

    def advertise(self, label: Label, now_us: int) -> None:
        """Treat one of our resources as if it had come in a post, but for the buffer; then wait."""
        desk = self._desk
        parameters = self._resources.get(label)
        assert parameters is not None
        at = desk.confirmed.choose_set()
        if at is None or not desk.me.node:
            desk.timers.set(label, now_us + quasi_period_us(desk.chance, limits.ADVERT_ALONE_US))
        else:
            period_us = self._resources.next_period_us(label, desk.settings.advert_period_us)
            desk.timers.set(label, now_us + quasi_period_us(desk.chance, period_us))
        if desk.me.node:
            self._take(Advert(label, Location(desk.me, parameters)), at, None, now_us, proved=True)

    # --- others'

    def post_came(self, post: LocatorPost, source: Peer, size: int, now_us: int) -> None:
        """Keep what it says, and let it go on."""
        desk = self._desk
        proved = desk.is_proved(source, now_us)
        left = None if proved else limits.AMPLIFICATION * size
        for advert in post.adverts:
            place = advert.location.place
            at = position(desk.label, advert.label)
            if place.peer == desk.me.peer:
                self._buffer(at, advert, now_us)
            elif not desk.is_usable(place) or place.node == desk.me.node:
                desk.drop("address")
            elif desk.shunned.has(place, now_us):
                desk.drop("shunned")
            else:
                left = self._take(advert, at, left, now_us, proved=proved)

    def _take(
        self, advert: Advert, at: int | None, left: int | None, now_us: int, *, proved: bool
    ) -> int | None:
        """Into its buffer and the map. *left*: bytes of reports that it may bring; returns what is left of them."""
        desk = self._desk
        peer, told = advert.location.place.peer, advert.location.parameters
        others = desk.map.count(
            advert.label,
            lambda known: known.completeness >= told.completeness and known.timestamp >= told.timestamp,
            but=peer,
        )
        if others < desk.settings.enough:
            self._buffer(at, advert, now_us)
        change = desk.map.add(advert.label, advert.location, now_us, proved=proved)
        if change.newer:
            left = self._lookups.tell(peer, advert.label, change.newer, left, now_us)
        for flagged in change.flagged:
            if flagged.place.node != peer.node:
                to = flagged.place.peer
                left = self._lookups.tell(to, advert.label, (change.added,), left, now_us)
        return left

    def _buffer(self, at: int | None, advert: Advert, now_us: int) -> None:
        """Let it wait for others to go with. Nowhere if the label is our own: nobody is closer."""
        if at is None:
            return
        if not self.buffers.fits(at, advert):
            self.flush(at)
        if self.buffers.add(at, advert):
            self._desk.timers.set(at, now_us + self._desk.settings.buffer_age_us)
        if self.buffers.full(at):
            self.flush(at)

    def flush(self, at: int) -> None:
        """Send what waits for peers of the set *at* to one of them; if there is none, we are the closest."""
        desk = self._desk
        desk.timers.cancel(at)
        adverts = self.buffers.take(at)
        peers = desk.confirmed.peers(at)
        if adverts and peers:
            desk.send(pick(desk.chance, peers).peer, LocatorPost(adverts))
