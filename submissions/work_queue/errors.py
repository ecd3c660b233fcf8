"""What the queue of submissions raises.

QueueError                the queue cannot do what was asked                     exit 2
├── ClaimLost             the submission is another's now, or nobody's
├── IllegalTransition     a submission in this state cannot come into that one
├── NotAllowed            it is somebody else's
├── QuotaUsed             too many in the period
└── QueueBusy             others changed the store again and again
UnknownSubmission         a ConfigurationError                                   exit 2
DamagedState              an InputError                                          exit 1
"""

from datasets_build.errors import ConfigurationError, DivBenchError, InputError


class QueueError(DivBenchError):
    """The queue cannot do what was asked."""


class ClaimLost(QueueError):
    """The submission is no more this worker's: what it made must not be published."""


class IllegalTransition(QueueError):
    """A submission in this state cannot come into that one."""


class NotAllowed(QueueError):
    """Somebody else's submission."""


class QuotaUsed(QueueError):
    """The submitter has handed in as many as are taken in the period."""


class QueueBusy(QueueError):
    """Others changed the store again and again; nothing was changed here."""


class UnknownSubmission(ConfigurationError):
    """The store has no submission of that id."""


class DamagedState(InputError):
    """A state cannot be read, or is none that this queue writes."""
