import threading
import time

from persistence.deliveries.outbox import count_deliveries, record_channel_event
from persistence.workspaces.writes import create_workspace
from testbed.patience import PATIENCE_SECONDS
from tests.channel_rows import add_channel


class Sender:
    """Records events of a channel, and reads their ledger."""

    def __init__(self, database, url):
        self.database = database
        with database.writing() as tx:
            self.workspace = create_workspace(tx, "Riverside Health")
        self.channel_id = add_channel(database, self.workspace, webhook_url=url)

    def send(self, count):
        made = []
        for number in range(count):
            with self.database.writing() as tx:
                fields = {"text": str(number)}
                made.append(record_channel_event(tx, self.workspace.id, self.channel_id, "mo_sms", fields))
        return made

    def ledger(self):
        with self.database.reading() as tx:
            return count_deliveries(tx, self.workspace.id)

    def wait_until_done(self):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.ledger().pending and time.monotonic() < deadline:
            threading.Event().wait(0.05)
        return self.ledger()
