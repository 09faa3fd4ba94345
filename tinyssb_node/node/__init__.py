"""The pure core that composes the machines: nodes, networks, dispatch of packets, identities."""
