"""What workers tell of a test. pytest-xdist sends six messages for each, whose making and reading takes longer than
many tests do. Left out here: that setting up and taking down passed, quickly and without a word, and that a test begins
and ends.
"""

import pytest
from _pytest.runner import runtestprotocol


class FewReports:
    """Runs the tests of a worker."""

    def __init__(self, config: pytest.Config) -> None:
        given = config.getoption("durations_min")
        self._shown_from = 0.005 if given is None else given
        """From how many seconds on `--durations` shows something, as in pytest itself."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            if not self._is_dull(report):
                item.ihook.pytest_runtest_logreport(report=report)
        return True

    def _is_dull(self, report: pytest.TestReport) -> bool:
        has_said = bool(report.sections or report.user_properties)
        return report.when != "call" and report.passed and not has_said and report.duration < self._shown_from


def tell_less(config: pytest.Config) -> None:
    """Let a worker of pytest-xdist tell less, unless somebody wants to read everything."""
    is_worker = hasattr(config, "workerinput")
    if is_worker and config.get_verbosity() <= 0 and not config.getoption("xmlpath"):
        config.pluginmanager.register(FewReports(config), "few-reports")
