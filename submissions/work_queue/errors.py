"""What the queue of submissions raises.

QueueError                the queue cannot do what was asked                     exit 2
├── ClaimLost             another worker, or nobody, has the submission
├── IllegalTransition     no transition leads from the present state to that one
├── NotAllowed            the submission belongs to another submitter
├── QuotaUsed             too many submissions in the period
└── QueueBusy             others changed the store at every attempt
UnknownSubmission         a ConfigurationError                                   exit 2
DamagedState              an InputError                                          exit 1
"""

from divbench.core.errors import ConfigurationError, DivBenchError, InputError


class QueueError(DivBenchError):
    """The queue cannot do what was asked."""


class ClaimLost(QueueError):
    """The claim is no longer this worker's: its results must not be published."""


class IllegalTransition(QueueError):
    """No transition leads from the submission's state to the requested one."""


class NotAllowed(QueueError):
    """The submission belongs to another submitter."""


class QuotaUsed(QueueError):
    """The submitter has reached the number of submissions allowed in the period."""


class QueueBusy(QueueError):
    """Others changed the store at every attempt; nothing was changed."""


class UnknownSubmission(ConfigurationError):
    """The store has no submission with that id."""


class DamagedState(InputError):
    """A state file cannot be read, or is not one that this queue writes."""
