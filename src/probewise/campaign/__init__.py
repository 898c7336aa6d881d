"""Campaigns: measurements that take days, kept in a journal that survives the life of a laboratory."""

from probewise.campaign.backup import backup
from probewise.campaign.campaign import Campaign
from probewise.campaign.ledger import Ledger
from probewise.campaign.records import KINDS, Record
from probewise.campaign.replay import Trail, replay
from probewise.campaign.rows import Rows
from probewise.campaign.sheet import Sheet
from probewise.campaign.status import ItemStatus, Status
from probewise.campaign.storage import Memory, Storage, storage_at
from probewise.campaign.told import Told
from probewise.campaign.verify import Verdict, verify

__all__ = [
    "KINDS",
    "Campaign",
    "ItemStatus",
    "Ledger",
    "Memory",
    "Record",
    "Rows",
    "Sheet",
    "Status",
    "Storage",
    "Told",
    "Trail",
    "Verdict",
    "backup",
    "replay",
    "storage_at",
    "verify",
]
