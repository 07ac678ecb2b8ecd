from tools.channel_pages import TARGET, find_missing, render_pages


def test_each_type_and_preset_has_a_beginning_written_by_hand():
    assert find_missing() == [], "write the way from the provider's page to the first message, with a heading"


def test_the_pages_of_channels_are_as_their_types_and_presets_say():
    written = {path.stem: path.read_text(encoding="utf-8") for path in TARGET.glob("*.md")}
    rendered = render_pages()

    differing = sorted(name for name in rendered.keys() | written.keys() if rendered.get(name) != written.get(name))
    assert differing == [], "run python -m tools.channel_pages"


def test_each_page_goes_from_its_heading_to_the_first_message():
    for name, page in render_pages().items():
        assert page.startswith("# "), f"{name} has no heading"
        assert name == "index" or "channel create" in page, f"{name} does not say how the channel is made"
