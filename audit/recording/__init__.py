"""Record one's own training loop, without TRL and without torch: :class:`Study`.

Writing only. What reads the record files back is :mod:`audit.run_record`.
"""

from audit.recording.recorded_run import RecordedRun
from audit.recording.recorded_study import RecordedStudy as Study

__all__ = ["RecordedRun", "Study"]
