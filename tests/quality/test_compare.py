"""`python -m bench.compare`: figures of two working copies, in turns."""

from bench.compare import main, read_figures

BENCHMARK = (
    "import json, sys\nprint(json.dumps({'waits': {'p50_ms': %d}, 'only_here_%d': 1, 'asked': int(sys.argv[1])}))"
)


def test_each_figure_of_both_is_compared_by_its_median(tmp_path, monkeypatch):
    for name, value in (("before", 10), ("now", 5)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "figures.py").write_text(BENCHMARK % (value, value))
    said = []
    monkeypatch.chdir(tmp_path / "now")

    assert main([str(tmp_path / "before"), "--rounds", "2", "figures", "7"], said.append) == 0

    assert [str(line).partition(":")[0] for line in said[:4]] == [
        "round 1, now",
        "round 1, before",
        "round 2, before",
        "round 2, now",
    ]
    assert said[4:] == [
        "waits.p50_ms: 10 before, 5 now, 0.50 times",
        "asked: 7 before, 7 now, 1.00 times",
    ]


def test_figures_of_sentences_are_named_by_their_words():
    assert dict(read_figures("30,000 contacts: 2,910.5 contacts/s of v2\n")) == {
        "# contacts: # contacts/s of v2 [1]": 30000.0,
        "# contacts: # contacts/s of v2 [2]": 2910.5,
    }
