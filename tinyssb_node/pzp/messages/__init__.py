"""PZP messages (docs/formats/pzp.md): what is hashed and signed, which are taken, their tangles.

Needs the extra ``pzp``.
"""
