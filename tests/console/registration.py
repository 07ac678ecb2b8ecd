"""A registration that is drawn from nothing, as docs/flow-editor.md tells it."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

QUESTION, AGAIN = "How old are you?", "Please answer with a number from 1 to 100."


def draw_registration(page: Page, group: str, url: str, told: Callable[[str], object] = lambda _: None) -> None:
    """A number is asked for, three times at most, and kept; the contact joins a group, and a service and people get to
    know. The editor is open; `told` gets the name of each picture.
    """
    page.get_by_role("button", name="New step").click()
    page.get_by_role("menuitem", name="A block").click()
    page.get_by_label("Which block").select_option(label="A number in a range")
    page.get_by_role("button", name="Put in").click()
    expect(page.locator(".flow-node")).to_have_count(5)
    page.locator(".node-opener >> nth=0").click()
    form = page.locator(".node-form")
    form.get_by_label("Text", exact=True).fill(QUESTION)
    told("question")
    page.keyboard.press("Escape")
    page.locator(".node-opener >> nth=1").click()
    form.get_by_label("Save as result").fill("Age")
    page.keyboard.press("Escape")

    question = box_of(page.locator(".flow-node >> nth=1"))
    page.locator(".flow-node >> nth=1").locator(".port >> nth=0").hover()
    page.mouse.down()
    page.mouse.move(question["x"] + 60, question["y"] + question["height"] + 60, steps=4)
    page.mouse.up()
    told("drawn")
    page.get_by_role("menuitem", name="Set a field").click()
    form.get_by_label("Field", exact=True).select_option(label="Age")
    form.get_by_label("Value", exact=True).fill("@results.age")
    form.get_by_text("Add an action").click()
    form.get_by_role("button", name="Add to groups", exact=True).click()
    form.get_by_label("Add to: Groups").select_option(label=group)
    lead_on(page, "Call a web service")
    form.get_by_label("Address (URL)").fill(url)
    lead_on(page, "Open a ticket")
    form.get_by_label("Note", exact=True).fill("@contact has registered.")
    expect(page.locator(".flow-node")).to_have_count(8)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Show all").click()
    told("steps")


def lead_on(page: Page, kind: str) -> None:
    """From the opened step to a new one, by keyboard."""
    page.locator(".flow-node.opened .node-opener").focus()
    page.keyboard.press("c")
    page.get_by_label("Leads to").select_option(label=kind)
    page.get_by_role("dialog").get_by_role("button", name="Connect").click()


def try_registration(page: Page, told: Callable[[str], object] = lambda _: None) -> None:
    """The conversation becomes a test of the flow."""
    page.get_by_role("button", name="Try", exact=True).click()
    panel = page.get_by_role("complementary", name="Try the flow")
    panel.get_by_role("button", name="Begin", exact=True).click()
    expect(panel.get_by_text(QUESTION)).to_be_visible()
    for answer, then in (("200", AGAIN), ("34", "The flow has ended.")):
        panel.get_by_label("Answer of the contact").fill(answer)
        page.keyboard.press("Enter")
        expect(panel.get_by_text(then)).to_be_visible()
    told("tried")
    panel.get_by_role("button", name="Save as a test").click()
    page.get_by_label("What the test shows").fill("Somebody registers")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(panel.get_by_role("button", name="Play all tests (1)")).to_be_visible()
    panel.get_by_role("button", name="Close").click()


def box_of(element: Locator) -> dict[str, float]:
    box = element.bounding_box()
    assert box is not None
    return {**box}
