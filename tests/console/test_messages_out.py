"""People write to many in a real browser, now, later or again and again, follow what becomes of it, and stop it."""

from base64 import b64decode
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Route, expect
from sqlalchemy import update

from persistence.tables.messages import broadcast
from testbed.running import wait_until
from tests.console.pages import NARROW, WIDE, findings, open_page, sign_in, sign_in_at

BROADCASTS, PROGRESS = "/api/v2/broadcasts.json", "/api/v2/broadcast_progress.json"
RECORD = """async () => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 64, height: 48});
    const recorder = new MediaRecorder(canvas.captureStream(20), {mimeType: "video/webm"});
    const [drawing, parts] = [canvas.getContext("2d"), []];
    recorder.ondataavailable = ({data}) => parts.push(data);
    const stopped = new Promise((done) => { recorder.onstop = done; });
    recorder.start();
    for (let at = 0; at < 8; at++) {
        drawing.fillStyle = `hsl(${at * 40} 80% 50%)`;
        drawing.fillRect(0, 0, 64, 48);
        await new Promise((done) => setTimeout(done, 50));
    }
    recorder.stop();
    await stopped;
    return btoa(String.fromCharCode(...new Uint8Array(await new Blob(parts).arrayBuffer())));
}"""
PLAY = """async (video) => {
    video.muted = true;
    await video.play();
    return [video.videoWidth, video.videoHeight];
}"""
TELL = "change => new BroadcastChannel('relayboard.changes').postMessage(change)"
PICTURE = b"\x89PNG\r\n\x1a\n" + b"\0" * 64


def answer(page, name):
    """Yes to the question whether it shall go to so many."""
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("contacts?")
    question.get_by_role("button", name=name).click()


def test_a_message_is_previewed_as_one_contact_sees_it_sent_to_a_query_and_followed(somebody, clinic):
    clinic.phone.receive_sms("+250788000771", "hello")
    clinic.sync()
    contacts = "/api/v2/contacts.json"
    wait_until(lambda: clinic.service.get(contacts, urn="tel:+250788000771")["results"], "the contact to be known")
    page = sign_in_at(somebody, clinic, "editor", "broadcasts")
    page.get_by_role("link", name="Write to many").click()
    page.get_by_label("Also to contacts that match a query").fill("tel = +250788000771")
    page.locator("textarea").first.fill("Hello @contact.urn!")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Attach files").click()
    chosen.value.set_files({"name": "map.png", "mimeType": "image/png", "buffer": PICTURE})
    expect(page.locator(".estimate")).to_have_text("1 contacts · about 1 SMS")
    page.get_by_label("As this contact will see it").fill("+250788000771")
    page.get_by_role("radio").click()

    expect(page.locator(".preview-bubble .text")).to_have_text("Hello tel:+250788000771!")
    assert findings(page, "form") == []
    page.set_viewport_size(NARROW)
    assert findings(page, "form on a phone", is_again=True) == []
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.get_by_role("heading", name="Message to many")).to_be_visible()
    expect(page.locator("code", has_text="tel = +250788000771")).to_be_visible()
    wired = page.locator("td", has_text="wired")
    wait_until(lambda: clinic.phone.sync() or wired.count(), "the message to be with the phone")
    expect(page.locator(".badge", has_text="sent")).to_be_visible()
    clinic.sync()
    expect(page.locator("td", has_text="delivered")).to_be_visible()
    assert findings(page, "broadcast") == []
    (sent,) = clinic.service.get(BROADCASTS, uuid=page.url.rpartition("/")[2])["results"]
    assert len(sent["attachments"][sent["base_language"]]) == 1


def test_an_answer_that_comes_late_does_not_hide_a_newer_one(somebody, clinic):
    urn = "+250788000773"
    clinic.phone.receive_sms(urn, "hello")
    clinic.sync()
    uuid = clinic.service.post(BROADCASTS, {"text": "Good day", "urns": [f"tel:{urn}"]})["uuid"]
    page = sign_in_at(somebody, clinic, "editor", "broadcasts", uuid)
    other = somebody.new_page()
    open_page(other, clinic, "broadcasts", uuid)
    wired = page.locator("td", has_text="wired")
    wait_until(lambda: clinic.phone.sync() or wired.count(), "the message to be with the phone")
    asked = []

    def hold_first(route: Route) -> None:
        asked.append((route, route.fetch() if not asked else None))
        if len(asked) > 1:
            route.continue_()

    page.route(f"**{PROGRESS}*", hold_first)
    other.evaluate(TELL, {"kind": "broadcast", "record": {"uuid": uuid}})
    wait_until(lambda: wired.count() and asked, "the page to ask")
    sent = clinic.phone.send_waiting(is_delivered=False)
    clinic.phone.sync()
    expect(other.locator("td", has_text="sent")).to_be_visible()
    for message_id in sent:
        clinic.phone.delivery(message_id)
    clinic.phone.sync()
    expect(other.locator("td", has_text="delivered")).to_be_visible()
    assert len(asked) == 1, "the page asks again when it has the answer"
    asked[0][0].fulfill(response=asked[0][1])
    wait_until(lambda: not wired.count(), "the late answer to be shown")

    expect(page.locator("td", has_text="delivered")).to_be_visible()


def test_a_scheduled_message_waits_is_stopped_or_sent_in_time_and_what_was_typed_outlives_a_reload(somebody, clinic):
    clinic.service.post("/api/v2/workspace_settings.json", {"languages": ["eng", "fra"]})
    page = sign_in_at(somebody, clinic, "editor", "broadcasts", "new")
    page.get_by_label("Expecting mothers").check()
    page.get_by_label("Text (English)").fill("For another day")
    page.get_by_label("Text (French)").fill("Pour un autre jour")
    page.reload()
    expect(page.get_by_label("Text (English)")).to_have_value("For another day")
    expect(page.get_by_label("Expecting mothers")).to_be_checked()
    day = page.evaluate("new Date(Date.now() + 3 * 864e5).toISOString().slice(0, 10)")
    page.get_by_label("When").fill(f"{day}T08:30")
    page.get_by_role("button", name="Schedule").click()
    answer(page, "Schedule")
    expect(page.get_by_text("Scheduled for")).to_be_visible()
    uuid = page.url.rpartition("/")[2]
    (written,) = clinic.service.get(BROADCASTS, uuid=uuid)["results"]
    assert written["text"] == {"eng": "For another day", "fra": "Pour un autre jour"}
    zone = clinic.service.get("/api/v2/workspace.json")["timezone"]
    local = page.evaluate(
        "([at, timeZone]) => new Date(at).toLocaleString('sv', {timeZone})",
        [clinic.service.get(PROGRESS, uuid=uuid)["scheduled_on"], zone],
    )
    assert local == f"{day} 08:30:00"
    expect(page.locator("dt", has_text="Written")).to_be_visible()
    open_page(page, clinic, "broadcasts")
    expect(page.get_by_role("link", name="Sent")).to_have_attribute("aria-current", "true")
    expect(page.locator(".broadcast").first).to_be_visible()
    expect(page.get_by_role("link", name="For another day")).to_have_count(0)
    page.get_by_role("link", name="Scheduled").click()
    card = page.locator(".broadcast", has_text="For another day")
    expect(card).to_contain_text("waiting")
    expect(card).to_contain_text("Scheduled for")
    expect(card.locator("time")).to_contain_text("8:30")
    assert findings(page, "scheduled") == []

    page.get_by_role("link", name="For another day").click()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()

    expect(page.locator(".badge", has_text="stopped")).to_be_visible()
    assert clinic.service.get(PROGRESS, uuid=uuid)["status"] == "interrupted"
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    body = {"text": {"eng": "It is time"}, "urns": ["tel:+250788000774"], "scheduled_on": tomorrow}
    written = clinic.service.post(BROADCASTS, body)
    page.get_by_role("link", name="Back").click()
    expect(card).to_contain_text("stopped")
    expect(page.get_by_role("link", name="It is time")).to_be_visible()
    assert clinic.service.get(BROADCASTS, scheduled="true")["results"][0]["uuid"] == written["uuid"]

    with clinic.service.database.writing() as tx:
        tx.execute(update(broadcast).where(broadcast.c.uuid == written["uuid"]).values(scheduled_on=tx.now))
        began = tx.now
    expect(page.get_by_role("link", name="It is time")).to_have_count(0)
    page.get_by_role("link", name="Sent").click()
    expect(page.locator(".broadcast").first).to_contain_text("It is time")
    page.get_by_role("link", name="It is time").click()
    expect(page.locator("dt", has_text="Begun")).to_be_visible()
    created_on = clinic.service.get(BROADCASTS)["results"][0]["created_on"]
    assert datetime.fromisoformat(created_on) >= began > datetime.fromisoformat(written["created_on"])


def test_a_draft_is_written_on_repeated_changed_and_taken_back(somebody, clinic):
    page = sign_in_at(somebody, clinic, "editor", "broadcasts", "new")
    page.locator("textarea").first.fill("The clinic moves")
    page.get_by_role("button", name="Save as draft").click()
    expect(page.locator(".badge", has_text="draft")).to_be_visible()
    uuid = page.url.rpartition("/")[2]
    open_page(page, clinic, "broadcasts")
    page.get_by_role("link", name="Drafts").click()
    expect(page.locator(".broadcast", has_text="The clinic moves")).to_contain_text("draft")
    page.get_by_role("link", name="The clinic moves").click()
    page.get_by_role("link", name="Edit").click()
    expect(page.locator("textarea").first).to_have_value("The clinic moves")

    page.get_by_label("Expecting mothers").check()
    year = page.evaluate("new Date(Date.now() + 3 * 864e5).getUTCFullYear()")
    day = page.evaluate("new Date(Date.now() + 3 * 864e5).toISOString().slice(0, 10)")
    page.get_by_label("When").fill(f"{day}T08:30")
    page.get_by_label("Repeats").select_option("Every month")
    page.get_by_label("Ends").select_option("On a day")
    page.get_by_label("Last day").fill(f"{year + 5}-12-31")
    times = page.locator(".next-times li")
    expect(times).to_have_count(3)
    page.get_by_label("Repeats").select_option("Every week")
    for name in page.get_by_role("group", name="On these days").get_by_role("checkbox").all():
        name.check()
    page.get_by_label("Ends").select_option("After a number of times")
    page.get_by_label("How many times").fill("2")
    expect(times).to_have_count(2)
    expect(times.first).to_contain_text("8:30")
    assert findings(page, "repeat") == []
    page.set_viewport_size(NARROW)
    assert findings(page, "repeat on a phone", is_again=True) == []
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="Schedule").click()
    answer(page, "Schedule")

    expect(page.get_by_text("times in all: 2")).to_be_visible()
    (stored,) = clinic.service.get(BROADCASTS, uuid=uuid)["results"]
    assert (stored["status"], stored["repeat"], stored["days"]) == ("pending", "weekly", "MTWRFSU")
    page.get_by_role("link", name="Edit").click()
    page.locator("textarea").first.fill("The clinic has moved")
    page.get_by_label("Repeats").select_option("Once")
    page.get_by_role("button", name="Save", exact=True).click()
    answer(page, "Save")
    expect(page.locator(".text", has_text="The clinic has moved")).to_be_visible()
    (changed,) = clinic.service.get(BROADCASTS, scheduled="true", uuid=uuid)["results"]
    assert (changed["repeat"], changed["scheduled_on"]) == (None, stored["scheduled_on"])
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("button", name="Save as draft").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="No drafts")).to_be_visible()
    assert clinic.service.get(BROADCASTS, uuid=uuid)["results"] == []


def test_an_answer_with_a_video_is_sent_and_plays_in_the_conversation(somebody, clinic):
    page = sign_in(somebody, clinic, "agent")
    video = b64decode(page.evaluate(RECORD))
    page.locator(".conversation").nth(2).click()
    page.get_by_label("Write an answer").fill("How to wash hands")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Attach files").click()
    chosen.value.set_files({"name": "hands.webm", "mimeType": "video/webm", "buffer": video})
    expect(page.locator(".files")).to_contain_text("hands.webm")
    page.get_by_role("button", name="Send", exact=True).click()

    sent = page.locator(".message.out:not(.pending)", has_text="How to wash hands")
    assert sent.get_by_label("Video").evaluate(PLAY) == [64, 48]
    assert findings(page, "a video") == []
