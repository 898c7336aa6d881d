"""Every exception of the package; each message is one sentence: what was wrong, what was got, what to do."""


class ProbewiseError(Exception):
    """Base of every error that the package raises on purpose."""


class InvalidProblem(ProbewiseError, ValueError):
    """The probes, items, noise or costs do not make a problem that can be solved."""


class InvalidGoal(ProbewiseError, ValueError):
    """The confidence or the tolerance asked for is not meaningful."""


class InvalidDesign(ProbewiseError, ValueError):
    """Weights, directions or settings handed to a design function do not fit together."""


class InvalidMeasurements(ProbewiseError, ValueError):
    """Outcomes or counts do not fit the probes."""


class NotIdentifiable(ProbewiseError, ValueError):
    """A direction lies outside what the given measurements can determine."""


class OutOfStock(ProbewiseError, ValueError):
    """What is left of the probes can no longer tell the remaining items apart."""


class MissingExtra(ProbewiseError, ImportError):
    """An optional part of the package was called without its dependency installed."""


class InvalidAlgorithm(ProbewiseError, ValueError):
    """Settings of an algorithm that cannot work, alone or with this problem."""


class InvalidExtension(ProbewiseError, ImportError):
    """What another package adds to this one cannot be loaded, or is not what it must be."""


class InvalidTable(ProbewiseError, ValueError):
    """A file or table cannot be read as what was asked for."""


class DataUnavailable(ProbewiseError, OSError):
    """A published table cannot be had here and now."""


class InvalidCampaign(ProbewiseError, ValueError):
    """A campaign cannot be created, opened or changed in that way."""


class RepeatedRequest(InvalidCampaign):
    """A request with this key was done before; nothing was written a second time."""

    def __init__(self, sentence: str, seq: int) -> None:
        InvalidCampaign.__init__(self, sentence)
        self.seq = seq
        """The number of its record."""


class RoundTooLarge(ProbewiseError, ValueError):
    """The next round has more rows than are allowed; nothing was asked for."""


class InvalidRows(ProbewiseError, ValueError):
    """Rows that a campaign was told are not what it asked for; none of them was recorded."""


class WorkerLost(ProbewiseError, RuntimeError):
    """A process that simulated runs was ended from outside."""


class InvalidServer(ProbewiseError, ValueError):
    """A server cannot be run, or an account cannot be changed, in that way."""


class StorageConflict(ProbewiseError, RuntimeError):
    """Somebody else wrote to a journal first; a campaign reads what they wrote and tries again."""


class StorageUnavailable(ProbewiseError, OSError):
    """A file stayed locked, or a server does not answer."""


class TornJournal(UserWarning):
    """The end of a journal is no record: a write that a crash cut short, or a file that was cut."""
