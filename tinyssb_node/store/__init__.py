"""The store: entries, chunks, proofs of forks, receipts, airtime charges; and the node's secret."""
