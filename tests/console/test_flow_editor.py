"""People draw flows in a real browser: by mouse and by keyboard, with undo, between flows, and beside somebody else."""

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Response, Route, expect

from tests.console.clinic import Clinic
from tests.console.conftest import new_context
from tests.console.pages import open_page, sign_in
from tests.console.test_flows_kept import FLOWS, REVISIONS, make_long_flow
from tests.console.test_triggers import on_every_screen


def make_flow(clinic: Clinic, name: str) -> str:
    return str(clinic.service.post(FLOWS, {"name": name, "type": "message", "base_language": "eng"})["uuid"])


def newest(clinic: Clinic, flow: str) -> dict[str, Any]:
    number = clinic.service.get(REVISIONS, uuid=flow)["revisions"][0]["number"]
    definition: dict[str, Any] = clinic.service.get(REVISIONS, uuid=flow, number=number)["definition"]
    return definition


def publish(page: Page) -> None:
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("dialog").get_by_role("button", name="Publish").click()
    expect(page.get_by_text("All is published.")).to_be_visible()


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def middle(page: Page, selector: str) -> tuple[float, float]:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_flow_is_drawn_by_mouse_and_by_keyboard_and_every_change_is_kept_and_undone(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    flow = make_flow(clinic, "Drawn")
    page = sign_in(somebody, clinic, "editor", place=f"flows/{flow}")
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("button", name="New step").click()
    expect(page.get_by_role("menuitem", name="Wait for an answer")).to_be_in_viewport(ratio=1)
    page.get_by_role("menuitem", name="Wait for an answer").click()
    nodes, lines = page.locator(".flow-node"), page.locator("path.way")
    expect(nodes).to_have_count(1)

    port = middle(page, ".port")
    drag(page, port, (port[0] + 20, port[1] + 140))
    page.get_by_role("menuitem", name="Decide by chance").click()
    expect(nodes).to_have_count(2)
    expect(lines).to_have_count(1)
    drag(page, middle(page, ".flow-node:nth-child(2) .port >> nth=0"), middle(page, ".flow-node:nth-child(1) .does"))
    expect(lines).to_have_count(2)

    page.locator(".node-opener >> nth=1").focus()
    page.keyboard.press("c")
    page.get_by_label("Leads to").select_option(label="Something else")
    page.get_by_role("dialog").get_by_role("button", name="Connect").click()
    expect(nodes).to_have_count(3)
    expect(lines).to_have_count(3)
    page.locator(".node-opener >> nth=2").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".node-opener >> nth=1")).to_be_focused()
    on_every_screen(page, "the editor of flows")
    expect(page.get_by_text("Saved as a draft")).to_be_visible()
    page.reload()
    expect(nodes).to_have_count(3)
    publish(page)
    drawn = newest(clinic, flow)
    assert [len(node["exits"]) for node in drawn["nodes"]] == [1, 2, 1]
    assert all("position" in drawn["_ui"]["nodes"][node["uuid"]] for node in drawn["nodes"])

    page.locator(".node-opener >> nth=1").focus()
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Delete")
    expect(nodes).to_have_count(2)
    expect(lines).to_have_count(0)
    for _ in range(4):
        page.keyboard.press("Control+z")
    expect(page.get_by_text("All is published.")).to_be_visible()
    expect(nodes).to_have_count(3)
    move_and_delete_note(page)

    page.route("**/api/v2/flow_revisions.json*", lose_the_first_answer)
    with page.expect_event("requestfailed"):
        page.keyboard.press("Control+Shift+z")
    page.unroute("**/api/v2/flow_revisions.json*")
    page.keyboard.press("Control+Shift+z")
    expect(page.get_by_text("Saved as a draft")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def move_and_delete_note(page: Page) -> None:
    """With live numbers beside it; all is undone at the end."""
    more = page.get_by_role("button", name="More to do with steps")
    more.click()
    page.get_by_role("menuitem", name="New note").click()
    page.get_by_label("Title").fill("Ask the ministry")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    note = page.locator(".sticky-note")
    expect(page.get_by_role("dialog")).to_have_count(0)
    note.hover()
    before = middle(page, ".sticky-note")
    drag(page, before, (before[0] + 60, before[1] + 30))
    assert middle(page, ".sticky-note")[0] > before[0] + 30
    more.click()
    page.get_by_role("menuitemcheckbox", name="Live numbers").click()
    expect(page.locator(".exits strong").first).to_have_text("0")
    note.get_by_role("button").press("Enter")
    page.get_by_role("button", name="Delete the note").click()
    expect(note).to_have_count(0)
    for _ in range(3):
        page.keyboard.press("Control+z")
    expect(note).to_have_count(0)
    expect(page.get_by_text("All is published.")).to_be_visible()


def lose_the_first_answer(route: Route) -> None:
    if route.request.method == "POST":
        route.fetch()
        route.abort()
    else:
        route.continue_()


def test_steps_go_from_one_flow_to_another_and_nobody_overwrites_what_another_one_saved(
    somebody: BrowserContext, browser: Browser, clinic: Clinic
) -> None:
    source, target = make_long_flow(clinic, 90), make_flow(clinic, "Pasted into")
    page = sign_in(somebody, clinic, "editor", place=f"flows/{source}/edit")
    paste_step_twice(page, clinic, target)
    meet_somebody(page, browser, clinic, target)

    theirs = newest(clinic, source)
    body = {"based_on": 1, "definition": {**theirs, "nodes": [], "uuid": target}}
    clinic.service.post(f"{REVISIONS}?uuid={target}", body)
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("dialog").get_by_role("button", name="Publish").click()
    conflict = page.get_by_role("dialog", name="Somebody else has saved this flow")
    expect(conflict).to_contain_text("saved revision 2 on")
    conflict.get_by_role("button", name="Go on with mine").click()
    publish(page)
    assert len(newest(clinic, target)["nodes"]) == 4


def paste_step_twice(page: Page, clinic: Clinic, target: str) -> None:
    """From the flow that is open into another one."""
    nodes = page.locator(".flow-node")
    page.get_by_label("Search the steps").fill("week 88")
    expect(page.get_by_text("1 of 90 steps")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".flow-node.opened")).to_contain_text("How was week 88?")
    assert nodes.count() < 90, "what is out of sight is not drawn"
    page.locator(".flow-node.opened .node-opener").focus()
    page.keyboard.press("Control+c")
    expect(page.get_by_text("Steps copied: 1.")).to_be_visible()
    open_page(page, clinic, "flows", target, "edit")
    page.locator(".flow-box").focus()
    page.keyboard.press("Control+v")
    expect(nodes).to_have_count(1)
    page.keyboard.press("Control+v")
    expect(page.get_by_text("Results with new names: Week 88 → Week 2")).to_be_visible()
    expect(nodes).to_have_count(2)
    expect(page.get_by_text("Saved as a draft")).to_be_visible()


def meet_somebody(page: Page, browser: Browser, clinic: Clinic, flow: str) -> None:
    """Both save the flow that is open, each before the other knows."""
    before = middle(page, "main .primary:has-text('Publish')")
    with new_context(browser) as second:
        other = sign_in(second, clinic, "administrator", place=f"flows/{flow}/edit")
        expect(other.locator(".presence")).to_have_text("Also here: Joel Editor")
        expect(page.locator(".presence")).to_have_text("Also here: Joel Administrator")
        assert middle(page, "main .primary:has-text('Publish')") == before, "who comes moves nothing"
        with other.expect_response(is_saving):
            add_step(other, "Something else")
        add_step(page, "Decide by chance")
        conflict = page.get_by_role("dialog", name="Somebody else has saved this flow")
        expect(conflict).to_contain_text("Joel Administrator saved a draft of this flow")
        with page.expect_response(is_saving):
            conflict.get_by_role("button", name="Go on with mine").click()
        add_step(other, "Decide by chance")
        again = other.get_by_role("dialog", name="Somebody else has saved this flow")
        expect(again).to_contain_text("Joel Editor saved a draft of this flow")
        again.get_by_role("button", name="Take theirs").click()
        expect(other.locator(".flow-node")).to_have_count(3)
        with other.expect_response(is_saving):
            other.keyboard.press("Control+z")
        expect(other.locator(".flow-node")).to_have_count(4)
        page.get_by_role("button", name="Publish").click()
        page.get_by_role("dialog").get_by_role("button", name="Publish").click()
        expect(conflict).to_contain_text("Joel Administrator saved a draft of this flow")
        conflict.get_by_role("button", name="Take theirs").click()
        expect(page.locator(".flow-node")).to_have_count(4)
        open_page(other, clinic, "flows", flow)
        expect(page.locator(".presence")).to_have_text("")


def is_saving(response: Response) -> bool:
    return "flow_revisions" in response.url and response.request.method == "POST"


def add_step(page: Page, kind: str) -> None:
    page.get_by_role("button", name="New step").click()
    page.get_by_role("menuitem", name=kind).click()


def ask_for_a_number(form: Locator) -> None:
    form.get_by_role("button", name="Add a test").click()
    form.get_by_role("combobox", name="Test 1").select_option(label="is a number between")
    form.get_by_label("From", exact=True).fill("18")
    form.get_by_label("To", exact=True).fill("120")
    form.get_by_label("Category 1", exact=True).fill("Grown up")
    form.get_by_label("Category 1", exact=True).press("Tab")
    form.get_by_label("Go on without an answer after").check()
    form.get_by_label("Save as result").fill("Age")


def test_a_step_is_written_in_its_form_in_two_languages_and_read_for_a_contact_and_a_flow_needs_no_mouse(
    somebody: BrowserContext, clinic: Clinic, tmp_path: Path
) -> None:
    flow = make_flow(clinic, "Asked")
    page = sign_in(somebody, clinic, "editor", place=f"flows/{flow}/edit")
    page.get_by_role("button", name="New step").click()
    page.get_by_role("menuitem", name="Wait for an answer").click()
    page.locator(".node-opener").dblclick()
    form = page.locator(".node-form")
    form.get_by_text("Add an action").click()
    form.get_by_role("button", name="Send a message", exact=True).click()
    text = form.get_by_label("Text", exact=True)
    text.press_sequentially("How old are you, @contact.first")
    expect(form.locator(".completions li")).to_have_text(["first_name "])
    text.press("Enter")
    expect(text).to_have_value("How old are you, @contact.first_name")
    text.press_sequentially("?")
    form.get_by_role("group", name="Quick replies").get_by_role("button", name="Add").click()
    form.get_by_role("textbox", name="Quick replies 1").press_sequentially("@(uppe")
    expect(form.locator(".completions li")).to_have_text(["upper(text) In upper case."])
    form.get_by_role("textbox", name="Quick replies 1").fill("@(upper(")
    expect(form.get_by_text("An expression is not closed")).to_be_visible()
    form.get_by_role("textbox", name="Quick replies 1").fill("No idea")

    ask_for_a_number(form)
    on_every_screen(page, "the form of a step")

    form.get_by_text("How it reads for a contact").click()
    contact = clinic.service.get("/api/v2/contacts.json")["results"][0]
    form.get_by_label("For this contact").fill(contact["name"])
    form.get_by_role("radio").first.check()
    expect(form.get_by_role("definition").first).to_have_text(f"How old are you, {contact['name'].split()[0]}?")
    page.get_by_role("button", name="Translations").click()
    form.get_by_label("Another language").fill("Kinyarwanda")
    form.get_by_role("button", name="Add").click()
    form.get_by_label("Send a message: Text (Kinyarwanda)").fill("Ufite imyaka ingahe?")
    expect(page.get_by_text("Saved as a draft").first).to_be_visible()
    bring_translations(page, tmp_path)
    publish(page)

    definition = newest(clinic, flow)
    (node,) = definition["nodes"]
    (asks,) = node["actions"]
    router = node["router"]
    assert [asks["text"], asks["quick_replies"]] == ["How old are you, @contact.first_name?", ["No idea"]]
    assert [category["name"] for category in router["categories"]] == ["Grown up", "Other", "No Response"]
    assert [router["cases"][0]["type"], router["cases"][0]["arguments"]] == ["has_number_between", ["18", "120"]]
    assert [router["result_name"], router["wait"]["timeout"]["seconds"]] == ["Age", 300]
    said = {"text": ["Ufite imyaka ingahe?"], "quick_replies": ["Simbizi"]}
    assert definition["localization"]["kin"] == {asks["uuid"]: said}

    open_page(page, clinic, "flows")
    draw_without_a_mouse(page)
    see_what_was_drawn(clinic)


def see_what_was_drawn(clinic: Clinic) -> None:
    (drawn,) = [each for each in clinic.service.get(FLOWS)["results"] if each["name"] == "By keys alone"]
    ask, thank = newest(clinic, drawn["uuid"])["nodes"]
    assert [each["actions"][0]["text"] for each in (ask, thank)] == ["How old are you?", "Thank you"]
    assert [each["destination_uuid"] for each in ask["exits"]] == [thank["uuid"]]


def bring_translations(page: Page, folder: Path) -> None:
    """A file goes to a translator and comes back; what it says is seen before it is taken, and can be undone."""
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as told:
        page.get_by_role("menuitem", name="For programs of translators (PO)").click()
    written = Path(told.value.path()).read_text()
    assert 'msgid "How old are you, @contact.first_name?"\nmsgstr "Ufite imyaka ingahe?"' in written
    back = folder / "kin.po"
    stranger = '\nmsgctxt "nothing/text/0"\nmsgid "Who?"\nmsgstr "Nde?"\n'
    back.write_text(written.replace('msgid "No idea"\nmsgstr ""', 'msgid "No idea"\nmsgstr "Simbizi"') + stranger)
    page.locator(".editor input[type=file]").set_input_files(back)
    dialog = page.get_by_role("dialog", name="What kin.po changes")
    expect(dialog.get_by_role("listitem")).to_have_text(
        [re.compile("new.*No idea.*Simbizi"), re.compile("left out.*Who?")]
    )
    on_every_screen(page, "what a file of translations changes")
    dialog.get_by_role("button", name="Take over: 1").click()
    expect(page.get_by_label("Send a message: Quick replies (Kinyarwanda)")).to_have_value("Simbizi")
    for name, value in (("Undo", ""), ("Redo", "Simbizi")):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.get_by_label("Send a message: Quick replies (Kinyarwanda)")).to_have_value(value)


def draw_without_a_mouse(page: Page) -> None:
    """A flow with a question is made, tried and published by keys alone, from the list of flows."""
    form, dialog = page.locator(".node-form"), page.get_by_role("dialog")
    reach(page, page.get_by_role("button", name="New flow")).press("Enter")
    reach(page, dialog.get_by_label("Name")).press_sequentially("By keys alone")
    page.keyboard.press("Enter")
    reach(page, page.get_by_role("button", name="New step")).press("Enter")
    reach(page, page.get_by_role("menuitem", name="Wait for an answer"), "ArrowDown").press("Enter")
    reach(page, page.locator(".node-opener")).press("Enter")
    reach(page, form.get_by_text("Add an action")).press("Enter")
    reach(page, form.get_by_role("button", name="Send a message", exact=True)).press("Enter")
    reach(page, form.get_by_label("Text", exact=True)).press_sequentially("How old are you?")
    page.keyboard.press("Escape")
    reach(page, page.locator(".node-opener")).press("c")
    reach(page, dialog.get_by_label("Leads to")).press_sequentially("Send a m")
    reach(page, dialog.get_by_role("button", name="Connect")).press("Enter")
    reach(page, form.get_by_label("Text", exact=True)).press_sequentially("Thank you")
    reach(page, page.get_by_role("button", name="Try", exact=True), "Shift+Tab").press("Enter")
    panel = page.get_by_role("complementary", name="Try the flow")
    reach(page, panel.get_by_role("button", name="Begin", exact=True)).press("Enter")
    reach(page, panel.get_by_label("Answer of the contact")).press_sequentially("34")
    page.keyboard.press("Enter")
    expect(panel.get_by_text("Thank you")).to_be_visible()
    reach(page, page.get_by_role("button", name="List"), "Shift+Tab").press("Enter")
    expect(page.locator(".editor-list")).to_be_visible()
    reach(page, page.get_by_role("button", name="Publish"), "Shift+Tab").press("Enter")
    reach(page, dialog.get_by_role("button", name="Publish")).press("Enter")
    expect(page.get_by_text("All is published.")).to_be_visible()


def reach(page: Page, wanted: Locator, key: str = "Tab") -> Locator:
    """What is wanted, once pressing one key again and again has led the focus to it."""
    expect(wanted).to_be_visible()
    for _ in range(120):
        if wanted.evaluate("each => each === document.activeElement"):
            return wanted
        page.keyboard.press(key)
    raise AssertionError(f"no keys lead to {wanted}")
