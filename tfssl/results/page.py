"""The report's HTML: one page that holds all it shows, from report.html and a few building blocks.

Every function takes text and gives `Markup`. What is not `Markup` is escaped where it enters the
page, so that no name of a file, class or setting can become a part of it.
"""

import base64
import html
import io
from importlib import resources
from string import Template

import numpy as np
from PIL import Image

TEMPLATE = "report.html"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(value):
    """HTML of a value: itself if it is `Markup`, else its text with nothing special in it."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def markup(template, **values):
    """`template` is ours and trusted, such as "<b>$name</b>"; the values are escaped."""
    return Markup(Template(template).substitute({k: escaped(v) for k, v in values.items()}))


def join(parts):
    return Markup("".join(escaped(part) for part in parts))


def document(title, summary, sections):
    """The whole page.

    Args:
      title: the heading.
      summary: `Markup` below it.
      sections: list of (anchor, heading, `Markup`).
    """
    text = resources.files("tfssl.results").joinpath(TEMPLATE).read_text(encoding="utf-8")
    links = join(markup('<a href="#$id">$name</a>', id=a, name=h) for a, h, _ in sections)
    body = join(
        markup('<section id="$id"><h2>$name</h2>$content</section>', id=a, name=h, content=c)
        for a, h, c in sections
    )
    return markup(text, title=title, summary=summary, links=links, sections=body)


def paragraph(text):
    return markup("<p>$text</p>", text=text)


def note(text):
    return markup('<p class="note">$text</p>', text=text)


def pair(left, right):
    """Side by side where there is room."""
    return markup('<div class="pair">$left$right</div>', left=left, right=right)


def cards(items):
    """Large numbers: list of (name, value, remark)."""
    card = '<div class="card"><span>$name</span><b>$value</b><small>$remark</small></div>'
    inner = join(markup(card, name=n, value=v, remark=r) for n, v, r in items)
    return markup('<div class="cards">$inner</div>', inner=inner)


def table(header, rows, numeric=True):
    """A table; the first column is text and the others are numbers unless `numeric` is False."""
    head = join(markup('<th scope="col">$cell</th>', cell=cell) for cell in header)
    body = join(
        markup(
            '<tr><th scope="row">$first</th>$rest</tr>',
            first=first,
            rest=join(markup("<td>$cell</td>", cell=cell) for cell in rest),
        )
        for first, *rest in rows
    )
    return markup(
        '<div class="scroll"><table class="$kind"><thead><tr>$head</tr></thead>'
        "<tbody>$body</tbody></table></div>",
        kind="numbers" if numeric else "words",
        head=head,
        body=body,
    )


def confusion_table(counts, class_names):
    """A confusion matrix [K, K], shaded by the share of each row."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    head = join(markup('<th scope="col">$name</th>', name=name) for name in class_names)
    rows = []
    for k, name in enumerate(class_names):
        cells = []
        for j, share in enumerate(shares[k]):
            kind = "right" if j == k else "wrong"
            # A few per cent wrong should be seen at a glance.
            cells.append(
                markup(
                    '<td class="$kind" style="--share:$share">$count</td>',
                    kind=kind,
                    share=f"{share if j == k else np.sqrt(share):.3f}",
                    count=counts[k, j] or "",
                )
            )
        cell = '<tr><th scope="row">$name</th>$cells</tr>'
        rows.append(markup(cell, name=name, cells=join(cells)))
    return markup(
        '<div class="scroll"><table class="confusion"><thead><tr><td class="corner">true ↓<br>'
        "said →</td>$head</tr></thead><tbody>$rows</tbody></table></div>",
        head=head,
        rows=join(rows),
    )


def picture(png, description, wide=False):
    """An image within the page.

    Args:
      png: the bytes of a PNG file.
      description: for those who do not see it.
      wide: whether to keep it legible on a narrow screen, where it scrolls.
    """
    return markup(
        '<div class="scroll"><img class="$kind" src="$source" alt="$description"></div>',
        kind="wide" if wide else "plain",
        source=data_uri(png),
        description=description,
    )


def figure(drawing, description):
    """A matplotlib figure within the page."""
    buffer = io.BytesIO()
    drawing.savefig(buffer, format="png", dpi=160)
    return picture(buffer.getvalue(), description)


def tiles(images, captions):
    """Images in a grid.

    Args:
      images: [N, height, width, channels] in [0, 1].
      captions: N lists of lines; the first is the image's description too.
    """
    tile = '<figure><img src="$source" alt="$name"><figcaption>$lines</figcaption></figure>'
    parts = []
    for image, (name, *rest) in zip(images, captions, strict=True):
        below = [markup("<br>$line", line=line) for line in rest]
        lines = join([markup("<b>$name</b>", name=name), *below])
        parts.append(markup(tile, source=data_uri(encoded(image)), name=name, lines=lines))
    return markup('<div class="tiles">$parts</div>', parts=join(parts))


def encoded(image):
    """[height, width, channels] in [0, 1] -> the bytes of a PNG file; 1 or 3 channels."""
    pixels = np.round(255 * image).astype(np.uint8)
    pixels = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def data_uri(png):
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
