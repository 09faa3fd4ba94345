"""Access of the page to a node."""

from pathlib import Path

from tinyssb_node.control.client import DaemonClient
from tinyssb_node.daemon.config import read_config
from tinyssb_node.daemon.setup import node_name, read_node_identity
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.screens.checkup import problems
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.store.home import Home
from tinyssb_node.web import limits


class NodeOpener:
    """The node in *home*, in one of its networks."""

    def __init__(self, home: Home, network: str | None) -> None:
        """Read the configuration. Raises ConfigError, ProblemError."""
        self._home = home
        self._network = network
        config = read_config(home)
        self._socket = config.control.socket
        self._map_file = config.web.map
        self._name, found = config.find_network(network or DEFAULT_NETWORK)
        self._prefix = found.prefix

    @property
    def folder(self) -> Path:
        """The node's folder."""
        return self._home.root

    @property
    def map_file(self) -> Path | None:
        """The file with tiles for the map; None if there is none."""
        return self._map_file

    def network_prefix(self) -> bytes:
        """Return the first bytes of all that is signed in the network."""
        return self._prefix

    def event_log(self) -> Path:
        """Return the folder of the network's event log. Raises IdentityError."""
        return self._home.of(self._name).events / node_name(read_node_identity(self._home).feed)

    def problems(self) -> list[CheckResult]:
        """Return what is wrong with the node."""
        return problems(self._home)

    def node(self) -> NodeSession:
        """Open a session, once for each thread; needs no running daemon. Raises LocalError."""
        return NodeSession.at_home(str(self._home.root), self._network)

    def daemon(self) -> DaemonClient:
        """Connect to the daemon, once for each request. Raises DaemonUnreachableError."""
        return DaemonClient(self._socket, timeout_s=limits.CALL_S)
