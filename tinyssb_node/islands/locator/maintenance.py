"""Posts and adverts, which maintain the hash table (text, "Hash table maintenance")."""

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.context import LocatorContext
from tinyssb_node.islands.locator.lookups import QueryRelay
from tinyssb_node.islands.locator.packets import LocatorPost
from tinyssb_node.islands.locator.peers import pick, quasi_period_us
from tinyssb_node.islands.locator.table import AdvertBuffers, LocalResources
from tinyssb_node.islands.locator.values import Advert, Label, Location, ResourceParameters, position


class TableMaintenance:
    """Forwarding of adverts, ours and others', and reports to nodes with old versions."""

    def __init__(self, context: LocatorContext, resources: LocalResources, relay: QueryRelay) -> None:
        self._context = context
        self._resources = resources
        self._relay = relay
        self.buffers = AdvertBuffers(
            count_max=context.settings.buffer_count_max, group_size=len(context.settings.group)
        )

    # --- our own

    def offer(self, label: Label, parameters: ResourceParameters, now_us: int) -> None:
        """Advertise a resource soon; sooner if it is new than if it changed."""
        before = self._resources.get(label)
        self._resources.put(label, parameters)
        if before == parameters:
            return
        wait_us = limits.ADVERT_FIRST_US if before is None else limits.ADVERT_NEWS_US
        due_us = now_us + quasi_period_us(self._context.chance, wait_us)
        known_us = self._context.timers.due_us(label)
        self._context.timers.set(label, due_us if known_us is None else min(due_us, known_us))

    def withdraw(self, label: Label) -> None:
        """Stop advertising a resource."""
        self._resources.remove(label)
        self._context.timers.cancel(label)
        for place in self._context.places:
            self._context.map.remove(label, place.peer)

    def relayed(self, places: tuple[ContactAddress, ...], now_us: int) -> None:
        """Be advertised at *places*, which are at relays, instead of those before. New ones are posted soon."""
        context = self._context
        gone, new = set(context.relayed).difference(places), set(places).difference(context.relayed)
        for label in self._resources:
            for place in gone:
                context.map.remove(label, place.peer)
        context.be_relayed(places)
        for label in self._resources if new else ():
            self._resources.begin_again(label)
            context.timers.set(label, now_us + quasi_period_us(context.chance, limits.ADVERT_FIRST_US))

    def advertise(self, label: Label, now_us: int) -> None:
        """Handle one of our resources as if it had come in a post, except for the buffer; then wait."""
        context = self._context
        parameters = self._resources.get(label)
        assert parameters is not None
        places, at = context.places, context.confirmed.choose_set()
        if at is None or not places:
            context.timers.set(label, now_us + quasi_period_us(context.chance, limits.ADVERT_ALONE_US))
        else:
            period_us = self._resources.next_period_us(label, context.settings.advert_period_us)
            context.timers.set(label, now_us + quasi_period_us(context.chance, period_us))
        for place in places:
            self._take(Advert(label, Location(place, parameters)), at, now_us, proved=True)

    # --- others'

    def on_post(self, post: LocatorPost, source: Peer, now_us: int) -> None:
        """Store the adverts of a post, and forward them."""
        context = self._context
        proved = context.is_proved(source, now_us)
        for advert in post.adverts:
            place = advert.location.place
            at = position(context.label, advert.label)
            if context.is_ours(place):
                self._buffer(at, advert, now_us)
            elif not context.is_usable(place) or context.is_own(place.node):
                context.drop("address")
            elif context.shunned.has(place, now_us):
                context.drop("shunned")
            else:
                self._take(advert, at, now_us, proved=proved)

    def _take(self, advert: Advert, at: int | None, now_us: int, *, proved: bool) -> None:
        """Add an advert to its buffer and to the map, and report to nodes with older versions."""
        context = self._context
        peer, told = advert.location.place.peer, advert.location.parameters
        others = context.map.count(
            advert.label,
            lambda known: known.completeness >= told.completeness and known.timestamp >= told.timestamp,
            but=peer,
        )
        if others < context.settings.enough:
            self._buffer(at, advert, now_us)
        change = context.map.add(advert.label, advert.location, now_us, proved=proved)
        if change.newer:
            self._relay.report(peer, advert.label, change.newer, now_us)
        for flagged in change.flagged:
            if flagged.place.node != peer.node:
                self._relay.report(flagged.place.peer, advert.label, (change.added,), now_us)

    def _buffer(self, at: int | None, advert: Advert, now_us: int) -> None:
        """Buffer an advert until others can be sent with it. Not if the label is our own: no node is closer."""
        if at is None:
            return
        if not self.buffers.fits(at, advert):
            self.flush(at)
        if self.buffers.add(at, advert):
            self._context.timers.set(at, now_us + self._context.settings.buffer_age_us)
        if self.buffers.full(at):
            self.flush(at)

    def flush(self, at: int) -> None:
        """Send the buffer for the set *at* to one of its peers; if there is none, we are the closest node."""
        context = self._context
        context.timers.cancel(at)
        adverts = self.buffers.take(at)
        peers = context.confirmed.peers(at)
        if adverts and peers:
            context.send(pick(context.chance, peers).peer, LocatorPost(adverts))
