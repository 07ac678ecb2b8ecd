"""People import, export and merge contacts in a real browser."""

import csv
import re
from datetime import date

from playwright.sync_api import FilePayload, expect

from flows.urns import parse
from persistence.contacts.urns import ensure_owners
from testbed.running import wait_until
from tests.console.pages import NARROW, WIDE, findings, open_page, sign_in, sign_in_at
from tests.handlers.v2.test_archives import add as add_archive

MANY = 60_000
DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
PEOPLE = "Phone,Name,Village\n+250788000801,Amina,Gasharu\n+250788000802,Bosco,Huye\nnonsense,Carine,Huye\n"
CONTACTS = "/api/v2/contacts.json"


def test_two_contacts_become_one_with_the_messages_of_both(somebody, clinic):
    numbers = ("+250788000661", "+250788000662")
    for number in numbers:
        clinic.phone.receive_sms(number, f"I write from {number[-1]}")
    clinic.sync()
    wait_until(lambda: clinic.service.get(CONTACTS, urn=f"tel:{numbers[1]}")["results"], "both to be known")
    first, second = (clinic.service.get(CONTACTS, urn=f"tel:{number}")["results"][0] for number in numbers)
    page = sign_in_at(somebody, clinic, "editor", "contacts", first["uuid"])
    page.get_by_role("button", name="Merge").click()
    page.get_by_label("The other contact").fill(numbers[1])
    page.get_by_role("radio").click()
    assert findings(page, "merge") == []
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()

    expect(page.locator(".notice")).to_have_text("The two contacts are one now.")
    expect(page.locator(".facts", has_text=numbers[1])).to_be_visible()
    open_page(page, clinic, "inbox", first["uuid"])
    expect(page.locator(".message.in")).to_have_count(2)
    open_page(page, clinic, "contacts", second["uuid"])
    expect(page.get_by_role("heading", name="This contact does not exist")).to_be_visible()


def test_a_file_of_people_is_looked_at_imported_and_exported(somebody, clinic):
    page = sign_in(somebody, clinic, "editor", place="contacts")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Import contacts").click()
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Choose a file").click()
    chosen.value.set_files({"name": "people.csv", "mimeType": "text/csv", "buffer": PEOPLE.encode()})
    expect(page.get_by_label("What Phone means")).to_have_value("urn:tel")
    expect(page.get_by_label("What Village means")).to_have_value("ignore")
    page.get_by_label("What Phone means").select_option("ignore")
    expect(page.get_by_role("button", name="Import 3 rows")).to_be_disabled()
    page.get_by_label("What Phone means").select_option("urn:tel")
    page.get_by_label("What Village means").select_option("new:Village:text")
    page.get_by_label("Put everybody of this file into a group").select_option("A new group…")
    page.get_by_label("Name of the new group").fill("From Huye")
    assert findings(page, "columns") == []
    page.set_viewport_size(NARROW)
    assert findings(page, "columns on a phone", is_again=True) == []
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="Import 3 rows").click()

    expect(page.locator(".badge")).to_have_text("imported")
    expect(page.locator(".facts dd")).to_have_text(["2", "0", "1"])
    with page.expect_download() as rejected:
        page.get_by_role("link", name="Download the rejected rows").click()
    assert re.fullmatch(rf"rejected-{DAY}\.csv", rejected.value.suggested_filename)
    assert "nonsense,Carine" in rejected.value.path().read_text(encoding="utf-8-sig")
    (amina,) = clinic.service.get(CONTACTS, urn="tel:+250788000801")["results"]
    assert (amina["fields"]["village"], [group["name"] for group in amina["groups"]]) == (
        "Gasharu",
        ["From Huye"],
    )

    page.get_by_role("link", name="See the contacts").click()
    page.get_by_label("Name, number or query").fill('village = "Huye"')
    expect(page.locator(".who")).to_have_count(1)
    page.get_by_label("Choose Bosco", exact=True).check()
    page.get_by_role("button", name="Write to many").click()
    expect(page.locator(".files")).to_contain_text("Bosco")
    page.go_back()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Exports").click()
    expect(page.get_by_label("Query")).to_have_value('village = "Huye"')
    page.get_by_label("As", exact=True).select_option("csv")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download").click()
    assert re.fullmatch(rf"contacts-{DAY}\.csv", saved.value.suggested_filename)
    (bosco,) = csv.DictReader(saved.value.path().read_text(encoding="utf-8-sig").splitlines())
    assert bosco["Name"] == "Bosco"
    add_archive(clinic.service.database, clinic.service.workspace, date(2025, 2, 1), period="monthly")
    page.reload()
    old = page.locator("li", has_text="February 2025 · Records: 1")
    expect(old.get_by_role("link", name="Download")).to_have_attribute("download", "messages-2025-02-01.jsonl.gz")


def test_an_import_is_stopped_and_a_file_in_an_old_encoding_is_read_again_and_taken_back(somebody, clinic):
    rows = "".join(f"+25078{number:07},Somebody {number}\n" for number in range(MANY))
    file: FilePayload = {"name": "many.csv", "mimeType": "text/csv", "buffer": f"Phone,Name\n{rows}".encode()}
    page = sign_in(somebody, clinic, "editor", place="contact_imports")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Choose a file").click()
    chosen.value.set_files(file)
    means = page.get_by_label("What Name means")
    expect(means).to_have_value("name")
    means.select_option("ignore")
    page.reload()
    expect(means).to_have_value("ignore")
    page.get_by_role("button", name="Import 60,000 rows").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Stop the import").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop the import").click()

    expect(page.locator(".badge")).to_have_text("cancelled")
    expect(page.get_by_role("button", name="Stop the import")).to_have_count(0)
    (stopped,) = clinic.service.get("/api/v2/contact_imports.json", uuid=page.url.rpartition("/")[2])["results"]
    assert stopped["done"] < MANY
    expect(page.locator(".facts dd").first).to_have_text(f"{stopped['created']:,}")
    an_old_encoding_is_read_again(page, clinic)


def an_old_encoding_is_read_again(page, clinic):
    open_page(page, clinic, "contact_imports")
    content = "Phone;Name;Hamlet;Name;Age (years)\n+250788000901;Łukasz;Żory;Old;30\n+250788000902;Ben;Huye;;abc"
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Choose a file").click()
    chosen.value.set_files({"name": "list.csv", "mimeType": "text/csv", "buffer": content.encode("cp1250")})
    expect(page.get_by_label("Encoding")).to_be_visible()
    page.get_by_label("Values that are not understood").select_option("Reject their rows")
    page.get_by_label("Put everybody of this file into a group").select_option("Expecting mothers")
    page.get_by_label("Encoding").select_option("cp1252")
    expect(page.locator("tbody tr").nth(1)).to_contain_text("£ukasz")
    page.get_by_label("Encoding").select_option("cp1250 (Polish)")
    expect(page.locator("tbody tr").nth(1)).to_contain_text("Łukasz")
    expect(page.get_by_label("Values that are not understood")).to_have_value("reject")
    expect(page.get_by_label("Put everybody of this file into a group").locator("option:checked")).to_have_text(
        "Expecting mothers"
    )
    page.get_by_label("Values that are not understood").select_option("Keep them as texts")
    expect(page.locator("form")).to_contain_text("Left out: Hamlet, Name, Age (years)")
    page.get_by_label("What Age (years) means").select_option("new:Age years:number")
    page.get_by_label("Name of the new field for Age (years)").fill("Age")
    page.get_by_label("Name of the new field for Age (years)").blur()
    expect(page.locator("tbody tr").nth(4)).to_contain_text("1 of 2 values are not understood.")
    assert findings(page, "old encoding") == []
    page.set_viewport_size(NARROW)
    assert page.get_by_label("What Phone means").evaluate("choice => choice.offsetWidth") > 150
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="Import 2 rows").click()

    expect(page.locator(".badge")).to_have_text("imported")
    expect(page.locator(".problem")).to_contain_text("“abc”")
    (found,) = clinic.service.get(CONTACTS, urn="tel:+250788000901")["results"]
    assert (found["name"], found["fields"]["age"]) == ("Łukasz", "30")

    page.get_by_role("button", name="Take the import back").click()
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text("2 contacts that this import created are deleted, 0 contacts get back what they had")
    assert findings(page, "before an import is taken back") == []
    asked.get_by_role("button", name="Take the import back").click()
    expect(page.locator(".badge")).to_have_text("taken back")
    assert clinic.service.get(CONTACTS, urn="tel:+250788000901")["results"] == []


def test_doubles_are_merged_one_by_one_or_by_rule_and_numbers_change_by_a_rule(somebody, clinic):
    with clinic.service.database.writing() as tx:
        old = ["tel:+22997000001", "tel:+22997000002", "tel:+5215512345678", "tel:+22997000003", "tel:+22997000004"]
        old += ["tel:+551187654321", "tel:+9109876543210"]
        new = ["tel:+2290197000001", "tel:+2290197000002", "tel:+525512345678", "whatsapp:22997000004"]
        new += ["tel:+5511987654321", "tel:+919876543210"]
        ensure_owners(tx, clinic.service.workspace.id, [parse(urn) for urn in [*old, *new]])
    page = sign_in(somebody, clinic, "editor", place="contacts")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Doubles and changed numbers").click()
    pairs = page.locator("tbody tr")
    expect(pairs).to_have_count(6)
    assert findings(page, "doubles") == []
    page.set_viewport_size(NARROW)
    assert findings(page, "doubles on a phone", is_again=True) == []
    page.get_by_role("button", name="Merge +22997000001").click()
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    expect(pairs).to_have_count(5)

    page.get_by_label("Why").select_option("old and new number")
    expect(pairs).to_have_count(4)
    page.get_by_role("button", name="Merge all of this kind").click()
    expect(page.get_by_role("dialog")).to_contain_text("Pairs of contacts: 4.")
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    expect(page.get_by_role("heading", name="No doubles")).to_be_visible()
    expect(page.get_by_text("Merged: 4. Left: 0.")).to_be_visible()

    rule = page.get_by_role("region", name="Change numbers by a rule")
    rule.get_by_label("Numbers that begin with").fill("+229 9")
    rule.get_by_label("Then begin with").fill("+229 01 9")
    rule.get_by_label("Only new numbers of this country").select_option("Benin")
    rule.get_by_role("button", name="See what would change").click()
    expect(rule.locator(".facts dd").first).to_contain_text("+22997000003")
    expect(rule.locator(".facts dt").first).to_have_text("Would change")
    assert findings(page, "what a rule would change") == []
    rule.get_by_role("button", name="Change 4 numbers").click()
    page.get_by_role("dialog").get_by_role("button", name="Change 4 numbers").click()
    expect(rule.locator(".facts dt").first).to_have_text("Changed")
    (found,) = clinic.service.get(CONTACTS, urn="tel:+2290197000003")["results"]
    assert found["urns"] == ["tel:+2290197000003"]
