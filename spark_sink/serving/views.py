"""Views for whoever reads the database with SQL; the same in SQLite and PostgreSQL (docs/formats/serving.md)."""

from typing import Final

VIEWS: Final = {
    "behind": """
        SELECT n.node_no, m.feed_no, coalesce(f.seq, 0) AS seq, m.newest, m.newest - coalesce(f.seq, 0) AS behind
        FROM (SELECT DISTINCT node_no FROM boots) n
        CROSS JOIN (SELECT feed_no, max(seq) AS newest FROM frontiers GROUP BY feed_no) m
        LEFT JOIN frontiers f ON f.node_no = n.node_no AND f.feed_no = m.feed_no
    """,
    "node_names": """
        SELECT n.node_no, n.node, s.name, s.feed_no, s.version, l.boot,
               CASE WHEN l.started_us IS NOT NULL AND l.stopped_us IS NULL THEN 1 ELSE 0 END AS running, l.last_us
        FROM (
            SELECT node_no, max(boot) AS newest, max(CASE WHEN started_us IS NOT NULL THEN boot END) AS started
            FROM boots GROUP BY node_no
        ) m
        JOIN nodes n ON n.node_no = m.node_no
        JOIN boots l ON l.node_no = m.node_no AND l.boot = m.newest
        LEFT JOIN boots s ON s.node_no = m.node_no AND s.boot = m.started
    """,
}
"""What each view selects, by its name."""
