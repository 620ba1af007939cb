"""The building blocks of the page: what enters is text, whatever it looks like."""

import base64
import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tfssl.results import page


@given(st.text())
def test_text_stays_text(text):
    import html

    for made in (page.paragraph(text), page.note(text), page.table((text,), [(text, text)])):
        assert isinstance(made, page.Markup)
        assert html.unescape(made).count(text) >= 1
        for tag in ("<script", "<img", "<svg"):
            assert tag not in made
    made = page.picture(b"", text)
    assert made.count('"') == page.picture(b"", "").count('"')


def test_values_are_not_templates_and_markup_is_kept():
    assert page.markup("<b>$a</b>", a="$b ${a}") == "<b>$b ${a}</b>"
    assert page.markup("$a", a=page.markup("<i>$b</i>", b="<")) == "<i>&lt;</i>"
    assert page.join(["<", page.Markup("<br>")]) == "&lt;<br>"


def test_tiles_hold_the_pixels(rng):
    images = rng.uniform(size=(2, 4, 3, 3))
    made = page.tiles(images, [("a", "b"), ('"', "<")])
    sources = [part.split('"')[0] for part in made.split('src="data:image/png;base64,')[1:]]
    assert len(sources) == 2
    for source, image in zip(sources, images, strict=True):
        with Image.open(io.BytesIO(base64.b64decode(source))) as picture:
            np.testing.assert_array_equal(np.asarray(picture), np.round(255 * image))
    assert page.encoded(images[0, :, :, :1])  # grey


def test_the_confusion_table_shows_every_count():
    counts = np.array([[7, 0], [3, 4]])
    made = page.confusion_table(counts, ("a<", "b"))
    assert made.count("<td") == 5
    for text in (">7<", ">3<", ">4<", "a&lt;"):
        assert text in made
    assert ">0<" not in made
