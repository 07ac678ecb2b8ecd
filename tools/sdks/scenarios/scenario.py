"""Writes three contacts, lists them page by page, and looks at what a program is given: the client in Python."""

import importlib
import os
import sys
from datetime import datetime
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

generation = sys.argv[1]
package = f"relayboard_{generation}"
client_module = importlib.import_module(package)
models = importlib.import_module(f"{package}.models")
write_contact = importlib.import_module(f"{package}.api.contacts.write_contact")
list_contacts = importlib.import_module(f"{package}.api.contacts.list_contacts")

client = client_module.AuthenticatedClient(
    base_url=f"{os.environ['RELAYBOARD_URL']}/api/{generation}", token=os.environ["RELAYBOARD_TOKEN"], prefix="Token"
)
written = []
for number in range(3):
    body = models.ContactWrite(name=f"Python {generation} {number}", urns=[f"tel:+25078810{generation[1]}00{number}"])
    contact = write_contact.sync(client=client, body=body)
    assert isinstance(contact, models.Contact), contact
    assert isinstance(contact.uuid, UUID)
    assert isinstance(contact.modified_on, datetime)
    assert contact.modified_on.tzinfo is not None
    if generation == "v2":
        assert contact.status == models.ContactStatus.ACTIVE
    written.append(contact.uuid)

pages = 0
found: list[UUID] = []
cursor: dict[str, str] = {}
while True:
    page = list_contacts.sync(client=client, **cursor)
    assert isinstance(page, models.ContactPage), page
    pages += 1
    found += [each.uuid for each in page.results]
    if page.next_ is None:
        break
    cursor = {name: values[0] for name, values in parse_qs(urlsplit(page.next_).query).items()}
    cursor = {"cursor": cursor["cursor"]} if generation == "v2" else {"page": cursor["page"]}
assert set(written) <= set(found)
assert pages > 1
sys.stdout.write(f"python {generation}: {len(found)} contacts on {pages} pages\n")
