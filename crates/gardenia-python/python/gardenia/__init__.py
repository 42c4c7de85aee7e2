"""Bloom filters and their relatives, with one file format.

A filter stores a set of keys in about ten bits per key. Asked for a key that was added, it always answers yes. Asked for
any other key, it answers yes for a share of them that you choose, the false-positive rate.

>>> import gardenia
>>> seen = gardenia.BlockedBloom(items=1_000_000, fpp=0.01)
>>> seen.add("rose")
True
>>> "rose" in seen, "thistle" in seen
(True, False)
>>> seen.add_many(["rose", "tulip", "daisy"])
array([False,  True,  True])
>>> seen
<gardenia.BlockedBloom: about 3 keys, planned for 1,000,000, at 1%, 1.24 MB>

`save` writes a file that the command `gardenia`, the Redis module and every other front read; `gardenia.open` reads theirs.
"""

from . import _gardenia
from ._gardenia import *  # noqa: F403 - the classes come from the table of kinds
from ._gardenia import __version__

__all__ = [name for name in dir(_gardenia) if not name.startswith("_")] + ["__version__"]
