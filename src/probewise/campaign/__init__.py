"""Campaigns: measurements that take days, kept in a journal that survives the life of a laboratory."""

from probewise.campaign.campaign import Campaign
from probewise.campaign.exchange.rows import Rows
from probewise.campaign.exchange.told import Told
from probewise.campaign.findings.confirmation import Confirmation
from probewise.campaign.findings.effects import Effect
from probewise.campaign.findings.guesses import Guess, Predicted
from probewise.campaign.findings.status import ItemStatus, Status
from probewise.campaign.journal.backup import backup
from probewise.campaign.journal.places import storage_at
from probewise.campaign.journal.records import KINDS, Record, Request
from probewise.campaign.journal.storage import Memory, Storage
from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.replay import Trail, replay
from probewise.campaign.state.sheet import Sheet
from probewise.campaign.verify import Verification, verify

__all__ = [
    "KINDS",
    "Campaign",
    "Confirmation",
    "Effect",
    "Guess",
    "ItemStatus",
    "Ledger",
    "Memory",
    "Predicted",
    "Record",
    "Request",
    "Rows",
    "Sheet",
    "Status",
    "Storage",
    "Told",
    "Trail",
    "Verification",
    "backup",
    "replay",
    "storage_at",
    "verify",
]
