"""Rules of layout, checked in every picture of a figure."""

from __future__ import annotations

from functools import cache

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from seeds import others_slow

from stepgen.study.figures import figures
from stepgen.study.point import DRAWN, PUBLISHED
from stepgen.study.report import SETTINGS, picture

NAMES = list(figures())
QUICK = ["8", "9", "14", "rtl-regions", "streamtensor"]
SOME = others_slow(NAMES, QUICK)


@pytest.fixture(scope="module")
def laid_out(faked):
    """Figures by name: the picture, laid out, the figure, and the results that it shows."""
    known = {figure.name: (figure, results) for figure, results in faked}

    @cache
    def made(name):
        figure, results = known[name]
        drawn = picture(figure, results)
        FigureCanvasAgg(drawn).draw()
        return drawn, figure, results

    return made


def parts(drawn):
    """The pictures of the views."""
    return drawn.subfigs


@pytest.mark.parametrize("name", SOME)
def test_a_title_says_what_is_shown_and_fits(laid_out, name):
    drawn, figure, _ = laid_out(name)
    for part, view in zip(parts(drawn), figure.views, strict=True):
        first, second = part._suptitle.get_text().split("\n")
        assert first.endswith(figure.title)
        assert second.startswith(SETTINGS[view])
        for text in (part._suptitle, *part.legends):
            box = text.get_window_extent()
            assert box.x0 >= 0
            assert box.x1 <= drawn.bbox.x1


@pytest.mark.parametrize("name", SOME)
def test_numbers_of_an_axis_need_no_power_of_ten_beside_it(laid_out, name):
    for axes in laid_out(name)[0].axes:
        for axis in (axes.xaxis, axes.yaxis):
            assert axis.get_offset_text().get_text() == ""
            ticks = [text.get_text() for text in axis.get_ticklabels()]
            assert not [t for t in ticks if t.replace(".", "").isdigit() and float(t) > 2100]


@pytest.mark.parametrize("name", SOME)
def test_a_panel_has_one_axis_of_values(laid_out, name):
    places = [tuple(axes.get_position().bounds) for axes in laid_out(name)[0].axes]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("name", SOME)
def test_bars_begin_where_their_axis_does(laid_out, name):
    """At 0, or at 1 on a logarithmic axis of ratios, down from there where they are smaller."""
    for axes in laid_out(name)[0].axes:
        ratios = axes.get_yscale() == "log"
        assert {bar.get_y() for bar in axes.patches} <= {1 if ratios else 0}
        low, high = axes.get_ylim()
        if axes.patches:
            assert (low == 0) or ratios
            ends = [bar.get_y() + bar.get_height() for bar in axes.patches]
            assert low <= min(ends)
            assert max(ends) <= high


@pytest.mark.parametrize("name", others_slow(["14", "21"], QUICK))
def test_batches_that_are_drawn_look_so(laid_out, name):
    drawn, _, results = laid_out(name)
    assert {r.row.point.origin for r in results[PUBLISHED]} == {DRAWN}
    for part in parts(drawn):
        bars = [bar for axes in part.axes for bar in axes.patches]
        assert {bar.get_facecolor()[3] for bar in bars} == {0.25}
        (legend,) = part.legends
        labels = [text.get_text() for text in legend.get_texts()]
        assert all(text.endswith(", with drawn batches") for text in labels)


def test_points_of_figure_8_show_their_inner_tiles(laid_out):
    drawn, _, results = laid_out("8")
    for part in parts(drawn):
        (axes,) = part.axes
        texts = [text.get_text() for text in axes.texts]
        assert texts == [str(r["inner tile"]) for r in results[PUBLISHED]]


@pytest.mark.parametrize("name", others_slow(["9", "10"], QUICK))
def test_every_published_point_has_its_ring(laid_out, name):
    drawn, _, results = laid_out(name)
    known = [r for r in results[PUBLISHED] if {"cycles", "memory_allocated"} <= r.row.known.keys()]
    wanted = [r for r in known if r.row.point.origin != DRAWN]
    assert (len(wanted) == 6) == (name == "10")
    rings = [
        tuple(point)
        for axes in parts(drawn)[0].axes
        for collection in axes.collections
        if isinstance(collection, PathCollection)
        for point in collection.get_offsets()
    ]
    assert sorted(rings) == sorted(
        (r.row.known["memory_allocated"], r.row.known["cycles"]) for r in wanted
    )
