from studies import design


def test_the_design_for_many_machines_has_the_figures_of_the_pages() -> None:
    text = design.DESIGN.read_text(encoding="utf-8")
    assert design.written(text) == text
