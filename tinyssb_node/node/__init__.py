"""The pure core that composes replication, scheduling and gossip: nodes, networks, identities."""
