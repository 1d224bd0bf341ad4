"""`weft show` in all of its formats: what is written where, what is refused, and what pictures have in pixels."""

import io
import json
import struct

import matplotlib.image
import pytest

import weft
from weft.conset import collectives, drawing, raster


@pytest.fixture
def allgather(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    collectives.compile("allgather", on="hgx-h100", bytes="1M", method="throughput").write("allgather.json.gz")
    return tmp_path


def pixels(picture):
    """Height, width and channels of a PNG, from 0 to 1."""
    return matplotlib.image.imread(io.BytesIO(picture))


def test_a_page_stands_beside_its_file(allgather, command):
    code, out, _ = command("show allgather.json.gz")
    assert code == 0
    assert "8 trees, verified; drawn in allgather.html" in out
    assert "allgather on hgx-h100" in (allgather / "allgather.html").read_text()
    code, _, err = command("show allgather.json.gz")
    assert (code, "allgather.html" in err) == (2, True)


def test_one_tree_is_a_picture(allgather, command):
    assert command("show allgather.json.gz --format svg --phase 3 -o tree.svg")[0] == 0
    assert "128 KiB copied from rank 3" in (allgather / "tree.svg").read_text()
    assert command("show allgather.json.gz --format png --phase 3 -o tree.png")[0] == 0
    assert (allgather / "tree.png").read_bytes()[:4] == b"\x89PNG"
    for shape in ("svg", "png"):
        code, _, err = command(f"show allgather.json.gz --format {shape} --phase 8 -o other.{shape}")
        assert (code, "there is no tree 8: the collective has trees 0 to 7" in err) == (2, True)
        assert not (allgather / f"other.{shape}").exists()


def test_names_that_do_not_say_the_format_are_refused(allgather, command):
    code, _, err = command("show allgather.json.gz --format png -o tree.svg")
    assert (code, "expected a name that ends in .png" in err) == (2, True)
    code, _, err = command("show allgather.json.gz --format text -o tree.txt")
    assert (code, "--format text is printed" in err) == (2, True)


def test_a_file_that_breaks_a_rule_is_drawn_if_that_is_asked_for_or_says_why_not(allgather, command):
    schedule = json.loads(collectives.read("allgather.json.gz").to_json())
    schedule["stages"][0]["trees"][0]["transfers"].pop()
    (allgather / "broken.json").write_text(json.dumps(schedule))
    code, _, err = command("show broken.json")
    assert (code, "broken.json: refused: " in err) == (2, True)
    assert command("show broken.json --unverified")[0] == 0
    schedule["stages"][0]["trees"][0]["transfers"][0][2] = [999]
    (allgather / "worse.json").write_text(json.dumps(schedule))
    code, _, err = command("show worse.json --unverified")
    assert (code, "names a link, a route or a vertex" in err) == (2, True)


def test_a_phase_in_pixels_has_its_numbers_on_white_and_twice_the_size_of_its_drawing():
    schedule = json.loads(weft.conset.compile("shift:1", "rail-h100", effort=0, method="phases").to_json())
    picture = drawing.svg(schedule, 0)
    drawn = pixels(raster.png(picture))
    plain = pixels(raster.png(picture[: picture.index("<text")] + "</svg>"))
    box = [float(number) for number in picture.split('viewBox="0 0 ')[1].split('"')[0].split()]
    assert drawn.shape[:2] == (round(2 * box[1]), round(2 * box[0]))
    assert drawn[0, 0].tolist()[:3] == [1, 1, 1]
    # Without the fonts of a system the labels at the left are there.
    assert (drawn[:, :200, :3] < 0.5).any()
    assert not (plain[:, :200, :3] < 0.5).any()


def test_large_drawings_have_fewer_pixels():
    large = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20000 10" width="20000" height="10"></svg>'
    assert struct.unpack(">II", raster.png(large)[16:24]) == (8192, 5)


@pytest.mark.parametrize("text", ["", "<p/>", '<svg viewBox="0 0 1 1"'])
def test_what_is_no_picture_is_refused(text):
    with pytest.raises(ValueError, match="viewBox|root node"):
        raster.png(text)
