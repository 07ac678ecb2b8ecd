"""What holds for files in a folder holds for files in a bucket: the same tests, in the place of `conftest.py`."""

from tests.handlers.test_stored_media import (  # noqa: F401
    TestQuotas,
    long_ago,
    store,
    test_a_failure_while_the_record_is_made_leaves_no_file,
    test_a_replayed_upload_leaves_one_file,
    test_what_a_killed_process_received_is_deleted_when_nobody_can_be_writing_it_any_more,
)
from tests.handlers.v2.test_archives import TestDownload  # noqa: F401
from tests.handlers.v2.test_media import TestUploadMedia  # noqa: F401
from tests.worker.conftest import runtime  # noqa: F401
from tests.worker.test_archiving import (  # noqa: F401
    add,
    archive_all,
    test_a_file_that_nobody_finished_counts_for_nothing,
    test_days_of_a_finished_month_become_one_file,
)
