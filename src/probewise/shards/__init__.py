"""Shards: items past memory, and past one machine; functions travel to them, and only what is small comes back."""

from probewise.shards.items import Shards, items_in_shards, shards_of
from probewise.shards.parquet import items_from_parquet
from probewise.shards.pieces import Piece

__all__ = ["Piece", "Shards", "items_from_parquet", "items_in_shards", "shards_of"]
