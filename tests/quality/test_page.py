from testbed.quality_page import PAGE, TITLES, write_section


def test_a_section_is_replaced_and_new_ones_stand_in_their_order(tmp_path):
    page = tmp_path / "quality.md"
    page.write_text("# Quality\n\nWritten by commands.\n\n## Soak\n\nold\n\n### Part\n\nof it\n")

    write_section("Faults", "new\n", page)
    write_section("Soak", "\nnew\n", page)

    assert page.read_text() == "# Quality\n\nWritten by commands.\n\n## Faults\n\nnew\n\n## Soak\n\nnew\n"


def test_the_page_has_the_sections_that_commands_write():
    titles = [line[3:] for line in PAGE.read_text().splitlines() if line.startswith("## ")]

    assert titles == [title for title in TITLES if title in titles]
    assert "Faults" in titles
