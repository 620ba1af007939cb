"""Image folders: what becomes of pictures, and what is refused."""

import os
import stat

import numpy as np
import pytest
from PIL import Image

from tfssl.data import images
from tfssl.data.loading import load_source
from tfssl.data.new_inputs import read_new
from tfssl.data.on_disk import Rows
from tfssl.data.splits import split
from tfssl.errors import InputError

GREY = {"format": "images", "height": 6, "width": 5, "channels": 1}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TFSSL_CACHE_DIR", str(tmp_path / "cache"))


def save(path, array, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(array, np.uint8)).save(path, **options)


@pytest.fixture
def folder(tmp_path, rng):
    """Two classes, unlabelled pictures in both places, and test pictures, all 6 x 5."""
    root = tmp_path / "pictures"
    for name in (
        "cat/1.png",
        "cat/deep/2.PNG",
        "dog/1.png",
        "unlabelled/a.png",
        "b.png",
        "test/dog/9.png",
    ):
        save(root / name, rng.integers(0, 256, size=(6, 5)))
    (root / "cat" / "notes.txt").write_text("no picture")
    (root / ".hidden").mkdir()
    return root


def test_sub_folders_are_classes(folder):
    source = load_source(str(folder))
    assert source.class_names == ("cat", "dog")
    assert (source.name, source.levels, source.image_shape) == ("pictures", 255, (6, 5))
    assert source.schema == GREY
    assert source.files == (
        "b.png",
        "cat/1.png",
        "cat/deep/2.PNG",
        "dog/1.png",
        "unlabelled/a.png",
    )
    assert source.files_test == ("test/dog/9.png",)
    # In the order of the names: b.png, cat/, dog/, unlabelled/.
    np.testing.assert_array_equal(source.label, [-1, 0, 0, 1, -1])
    np.testing.assert_array_equal(source.label_test, [1])
    for row, name in enumerate(source.files):
        with Image.open(folder / name) as image:
            np.testing.assert_array_equal(source.x[row], np.asarray(image))


def test_a_train_folder_with_classes_stands_for_the_rest(folder):
    (folder / "train").mkdir()
    for name in ("cat", "dog", "unlabelled"):
        (folder / name).rename(folder / "train" / name)
    source = load_source(str(folder))
    assert source.class_names == ("cat", "dog")
    assert len(source.x) == 4  # not the picture beside it
    assert len(source.x_test) == 1


def test_a_class_may_be_called_train(folder, rng):
    save(folder / "train" / "1.png", rng.integers(0, 256, size=(6, 5)))
    assert load_source(str(folder)).class_names == ("cat", "dog", "train")


def test_mixed_sizes_become_the_median_and_large_ones_shrink(tmp_path):
    for i, size in enumerate([(10, 20), (10, 20), (30, 40)]):
        save(tmp_path / "p" / "ab"[i % 2] / f"{i}.png", np.full(size, 7))
    source = load_source(str(tmp_path / "p"))
    assert source.x.shape == (3, 10, 20)
    assert (source.x == 7).all()
    source = load_source(str(tmp_path / "p"), image_size=(4, 3))
    assert source.x.shape == (3, 4, 3)
    for name in ("a", "b"):
        save(tmp_path / "large" / name / "1.jpg", np.full((200, 100, 3), 7))
    assert load_source(str(tmp_path / "large")).x.shape == (2, 32, 16, 3)


def test_grey_and_colour_do_not_mix_unless_asked_for(folder, rng):
    save(folder / "dog" / "colour.png", rng.integers(0, 256, size=(6, 5, 3)))
    with pytest.raises(
        InputError, match=r"all grey or all in colour.*grey=6, colour=1.*data.colou"
    ):
        load_source(str(folder))
    assert load_source(str(folder), colour=True).x.shape == (6, 6, 5, 3)
    assert load_source(str(folder), colour=False).x.shape == (6, 6, 5)


def test_what_a_picture_becomes(tmp_path):
    """Transparent is white, 16 bits become 8, a photograph is turned upright."""
    clear = np.zeros((6, 5, 4), np.uint8)
    clear[0, 0] = [40, 40, 40, 255]
    Image.fromarray(clear).save(tmp_path / "clear.png")
    found = images.read_image(tmp_path / "clear.png", GREY)
    assert found[0, 0] == 40
    assert (found.ravel()[1:] == 255).all()
    deep = np.arange(30, dtype=np.uint16).reshape(6, 5) * 2000
    Image.fromarray(deep).save(tmp_path / "deep.png")
    np.testing.assert_array_equal(images.read_image(tmp_path / "deep.png", GREY), deep // 256)
    lying = Image.fromarray(np.zeros((50, 60), np.uint8))
    exif = lying.getexif()
    exif[0x0112] = 6
    lying.save(tmp_path / "lying.jpg", exif=exif)
    form = images.common_form([tmp_path / "lying.jpg"])
    assert (form["height"], form["width"]) == (60, 50)


def test_decoded_once_and_again_when_a_file_changes(folder, tmp_path, monkeypatch):
    before = load_source(str(folder), image_size=(6, 5), colour=False)
    monkeypatch.setattr(images, "read_image", None)
    again = load_source(str(folder), image_size=(6, 5), colour=False)
    np.testing.assert_array_equal(again.x, before.x)
    monkeypatch.undo()
    monkeypatch.setenv("TFSSL_CACHE_DIR", str(tmp_path / "cache"))
    save(folder / "cat" / "1.png", np.full((6, 5), 9))
    os.utime(folder / "cat" / "1.png", (1, 1))
    assert (load_source(str(folder)).x[1] == 9).all()


def test_decoded_pictures_are_for_their_owner_alone(folder, tmp_path, monkeypatch):
    cache = tmp_path / "private" / "cache"
    monkeypatch.setenv("TFSSL_CACHE_DIR", str(cache))
    before = os.umask(0o022)
    try:
        x = load_source(str(folder), colour=False).x
    finally:
        os.umask(before)
    (entry,) = cache.iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (cache, entry)] == [0o700, 0o700]
    assert {stat.S_IMODE(path.stat().st_mode) for path in entry.iterdir()} == {0o600}
    entry.chmod(0o755)  # as it was made before
    np.testing.assert_array_equal(load_source(str(folder), colour=False).x, x)
    assert stat.S_IMODE(entry.stat().st_mode) == 0o700


def test_what_another_user_cached_is_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TFSSL_CACHE_DIR", str(tmp_path / "cache"))
    load_source(str(folder), colour=False)
    (entry,) = (tmp_path / "cache").iterdir()
    entry.rename(tmp_path / "planted")
    entry.symlink_to(tmp_path / "planted")
    with pytest.raises(InputError, match="must be a folder of the user who runs this"):
        load_source(str(folder), colour=False)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)  # for whom all this is another's
    with pytest.raises(InputError, match=rf"owner={own}, user={own + 1}.*TFSSL_CACHE_DIR"):
        load_source(str(folder), colour=False)


def test_a_large_folder_stays_on_disk(tmp_path, rng):
    for i in range(40):
        save(tmp_path / "p" / "ab"[i % 2] / f"{i}.png", rng.integers(0, 256, size=(64, 64, 3)))
    options = {"image_size": (170, 170), "colour": True}
    on_disk = load_source(str(tmp_path / "p"), memory_limit_mb=1, **options)
    in_memory = load_source(str(tmp_path / "p"), memory_limit_mb=10, **options)
    assert isinstance(on_disk.x, np.memmap)
    assert type(in_memory.x) is np.ndarray
    parts = [split(s, 10, 4, 6, seed=3) for s in (on_disk, in_memory)]
    assert isinstance(parts[0].x_unlabelled, Rows)
    for name in ("x_train", "x_labelled", "x_unlabelled", "x_validation", "x_test"):
        np.testing.assert_array_equal(getattr(parts[0], name), getattr(parts[1], name))


def test_new_pictures_get_the_form_of_the_training_pictures(folder, rng):
    save(folder / "new" / "b" / "2.png", rng.integers(0, 256, size=(12, 10)))
    save(folder / "new" / "a.png", rng.integers(0, 256, size=(6, 5, 3)))
    x, names = read_new(folder / "new", GREY)
    assert x.shape == (2, 6, 5)
    assert names == ["a.png", os.path.join("b", "2.png")]  # noqa: PTH118
    one, names = read_new(folder / "new" / "a.png", GREY)
    np.testing.assert_array_equal(one[0], x[0])
    assert names == ["a.png"]
    with pytest.raises(InputError, match="of the kind the run was trained on, table"):
        read_new(folder / "new", {"format": "table", "columns": []})
    with pytest.raises(InputError, match="must exist"):
        read_new(folder / "nowhere", GREY)


@pytest.mark.parametrize(
    "content",
    [b"", b"PK\x03\x04zip", b"MZ" + bytes(100), b"\x89PNG\r\n\x1a\n" + bytes(20), b"GIF89a"],
)
def test_what_is_no_picture_is_named(content, folder):
    (folder / "dog" / "fake.png").write_bytes(content)
    with pytest.raises(InputError, match=r"fake\.png is not a readable png or jpg picture"):
        load_source(str(folder))
    with pytest.raises(InputError, match=r"fake\.png is not a readable png or jpg picture"):
        load_source(str(folder), image_size=(6, 5), colour=False)


def test_a_cut_picture_is_named_and_no_half_cache_is_left(folder, tmp_path):
    whole = (folder / "dog" / "1.png").read_bytes()
    (folder / "dog" / "1.png").write_bytes(whole[: len(whole) - 25])
    with pytest.raises(InputError, match=r"1\.png is not a readable png or jpg picture"):
        load_source(str(folder), image_size=(6, 5), colour=False)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_decompression_bomb_is_refused(folder, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20)
    with pytest.raises(InputError, match="is not a readable png or jpg picture: Image size"):
        load_source(str(folder))


def test_folders_that_cannot_be_learned_from(tmp_path, rng):
    picture = rng.integers(0, 256, size=(6, 5))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="must hold png or jpg pictures"):
        load_source(str(tmp_path / "empty"))
    save(tmp_path / "flat" / "a.png", picture)
    with pytest.raises(InputError, match=r"at least two classes.*classes=\[\]"):
        load_source(str(tmp_path / "flat"))
    save(tmp_path / "flat" / "one" / "a.png", picture)
    with pytest.raises(InputError, match=r"at least two classes.*classes=\['one'\]"):
        load_source(str(tmp_path / "flat"))
    (tmp_path / "flat" / "none").mkdir()
    with pytest.raises(InputError, match=r"the class folder .*none must hold"):
        load_source(str(tmp_path / "flat"))
    (tmp_path / "flat" / "none").rmdir()
    save(tmp_path / "flat" / "two" / "a.png", picture)
    save(tmp_path / "flat" / "test" / "three" / "a.png", picture)
    with pytest.raises(InputError, match=r"among the training pictures.*\['three'\]"):
        load_source(str(tmp_path / "flat"))
    with pytest.raises(InputError, match=r"the data set must be one of.*exists=False"):
        load_source(str(tmp_path / "nowhere"))


def test_a_cache_without_a_place_is_explained(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TFSSL_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"cannot keep decoded data in .*TFSSL_CACHE_DIR"):
        load_source(str(folder))
