"""Looks at runs with `esker view` in a real browser: the page opens, draws what `esker render`
draws, plays, picks grains, and shows a live run.

    python ci/check_view.py ESKER RUN SCENE [--save FOLDER]

RUN is the folder of a recorded run with contacts, SCENE a scene that takes a few seconds. Needs
Playwright for Python, Pillow and numpy, and Chromium (found on the path, or named by the variable
CHROMIUM); where there is no browser it says so and passes.
"""

import argparse
import base64
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
# Without a graphics card, drawn by the processor.
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
SIZE = {"width": 740, "height": 400}
# Right part of pictures, with the legend, and lower part, with the time: not compared.
LEGEND, STAMP = 0.16, 0.08
# Mean difference of the colours of all pixels, of 255. Pictures differ in how surfaces are
# sampled within a pixel and in the noise of shadows, not in what they show.
MOST_MEAN = 1.6
# Share of pixels that may differ by more than FAR: rims of grains.
FAR, MOST_FAR = 48, 0.01


def find_browser():
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, BROWSERS)), None)


class View:
    """A server, which ends with the block."""

    def __init__(self, esker, *arguments):
        command = [esker, "view", *map(str, arguments), "--no-open"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://127.0.0.1:"), self.address

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(30) == 0, "the program did not end well"


def picture_of_page(page):
    """The pixels of the picture, drawn finely."""
    from PIL import Image

    address = page.evaluate(
        "() => { esker.draw(2); return document.getElementById('picture').toDataURL('image/png'); }"
    )
    bytes_of = base64.b64decode(address.split(",", 1)[1])
    return Image.open(io.BytesIO(bytes_of)).convert("RGB")


def difference(one, other):
    """Mean difference of two pictures, and the share of pixels that differ much."""
    import numpy

    assert one.size == other.size, (one.size, other.size)
    width, height = one.size
    part = (slice(0, int(height * (1 - STAMP))), slice(0, int(width * (1 - LEGEND))))
    apart = abs(numpy.asarray(one, int)[part] - numpy.asarray(other, int)[part])
    return apart.mean(), (apart.max(axis=2) > FAR).mean()


def check_pictures(page, arguments, folder):
    """The page draws what `esker render` draws, in every colour and view that is tried."""
    from PIL import Image

    size = page.evaluate("() => [0, 1].map((i) => document.getElementById('picture')[['width', 'height'][i]])")
    moments = page.evaluate("() => [esker.player.steps, esker.player.times]")
    middle = len(moments[0]) // 2
    pictures = {}
    for place, view, color, shown in [
        (middle, "oblique", "speed", None),
        (middle, "side", "speed", "joints"),
        (len(moments[0]) - 1, "front", "height", None),
        (middle, "oblique", "force", "chains"),
    ]:
        step, time = moments[0][place], moments[1][place]
        page.evaluate(
            """async ([step, place, view, color, shown]) => {
                esker.setChains(shown === "chains");
                esker.setJoints(shown === "joints");
                esker.setColor(color);
                await esker.player.seek(place);
                await esker.setView(view, step);
                esker.setRangeMode("frame");
            }""",
            [step, place, view, color, shown],
        )
        drawn = picture_of_page(page)
        file = folder / f"render-{view}-{color}.png"
        wanted = ["--view", view, "--color", color, "--at", str(time)]
        subprocess.run(
            [arguments.esker, "render", arguments.run, "-o", file, *wanted]
            + ["--size", f"{size[0]}x{size[1]}"]
            + ([f"--{shown}"] if shown else []),
            check=True, stdout=subprocess.DEVNULL,
        )
        drawn.save(folder / f"view-{view}-{color}.png")
        rendered = Image.open(file).convert("RGB")
        mean, far = difference(drawn, rendered)
        print(f"{view}, {color}: mean difference {mean:.2f} of 255, {100 * far:.2f} % far off")
        assert mean < MOST_MEAN and far < MOST_FAR, "the page draws something else than render"
        pictures[view, color] = (drawn, rendered)
        if shown == "joints":
            check_joints(page, rendered)
    wrong, _ = difference(pictures["oblique", "speed"][0], pictures["front", "height"][1])
    assert wrong > 3 * MOST_MEAN, f"other pictures are told apart by {wrong:.2f} only"
    page.evaluate("() => { esker.setChains(false); esker.setColor('speed'); }")


def check_joints(page, rendered):
    """The key switches joints; without them the page draws something else than render with them."""
    page.locator("#picture").focus()
    for wanted in [0, 22]:
        page.keyboard.press("j")
        page.wait_for_function(f"() => esker.frame.joints.length === {wanted}")
        page.evaluate("() => esker.settled()")
        assert page.locator("#joints").is_checked() == (wanted > 0)
        if wanted == 0:
            _, far = difference(picture_of_page(page), rendered)
            assert far > MOST_FAR, f"joints are {100 * far:.2f} % of the picture: too few to be checked"
    page.evaluate("() => esker.setJoints(false)")


def check_playing(page):
    """Playing, stepping and the time bar lead through all frames."""
    last = page.evaluate("() => esker.player.steps.length - 1")
    page.locator("#picture").focus()
    page.keyboard.press("Home")
    page.wait_for_function("() => esker.frame.step === esker.player.steps[0]")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => esker.frame.step === esker.player.steps[1]")
    page.select_option("#speed", "10")
    page.click("#play")
    page.wait_for_function(f"() => esker.player.index === {last} && !esker.player.playing")
    page.wait_for_function("() => esker.frame.step === esker.player.steps.at(-1)")
    page.locator("#time").fill("2")
    page.wait_for_function("() => esker.frame.step === esker.player.steps[2]")
    page.wait_for_function("() => document.querySelectorAll('.plot').length >= 3")
    with page.expect_download() as saved:
        page.keyboard.press("s")
    assert saved.value.suggested_filename.endswith(".png"), saved.value.suggested_filename
    print(f"plays {last + 1} frames; plots follow; saves a picture")


def check_picking(page):
    """A click on a grain shows the state that the recording has, marks it and traces it."""
    page.evaluate("() => esker.settled()")
    spot = page.evaluate(
        """() => {
            const canvas = document.getElementById("picture");
            for (let x = 0.2; x < 0.8; x += 0.025) {
                for (let y = 0.9; y > 0.1; y -= 0.02) {
                    const [px, py] = [Math.floor(canvas.width * x), Math.floor(canvas.height * y)];
                    const index = esker.renderer.pick(px, py);
                    if (index !== null) return { px, py, place: esker.renderer.placeOf(index) };
                }
            }
            return null;
        }"""
    )
    assert spot, "there is no grain in the picture"
    page.locator("#picture").click(position={"x": spot["px"], "y": spot["py"]})
    page.wait_for_selector(".pick")
    page.wait_for_function("() => esker.frame.picked.length === 1")
    state = page.evaluate("() => esker.picks.list[0].state")
    apart = max(abs(a - b) for a, b in zip(state["position"], spot["place"]))
    assert apart < 1e-6, (state["position"], spot["place"])
    page.wait_for_function("() => esker.renderer.traces?.length === 1")
    page.locator("#picture").click(position={"x": spot["px"], "y": spot["py"]})
    page.wait_for_function("() => document.querySelectorAll('.pick').length === 0")
    print(f"picks {state['name']}")


def check_live(page, esker, scene):
    """A live run is shown as it goes, waits, steps and ends."""
    with View(esker, scene, "--paused") as view:
        page.goto(view.address)
        page.evaluate("() => esker.ready")
        page.wait_for_function("() => esker.player.status?.live?.state === 'paused'")
        page.wait_for_function("() => esker.frame.step === 0")
        before = picture_of_page(page)
        page.click("#live-step")
        page.wait_for_function("() => esker.frame.step === 1")
        page.click("#live-pause")
        page.wait_for_function("() => esker.frame.step > 10")
        page.wait_for_function("() => esker.player.status.live.speed > 0")
        # A grain of a frame that is past when the click comes to the server.
        page.evaluate("() => esker.picks.toggle(esker.frame, 0)")
        page.wait_for_selector(".pick")
        page.wait_for_function("() => esker.player.status.live.state === 'finished'", timeout=100_000)
        page.wait_for_function("() => esker.frame.step === esker.player.status.live.step")
        mean, _ = difference(before, picture_of_page(page))
        assert mean > 0.2, f"the picture of the live run does not change ({mean})"
        assert page.evaluate("() => esker.player.steps.length") > 3
        print("shows a live run from its start to its end")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("esker")
    parser.add_argument("run")
    parser.add_argument("scene")
    parser.add_argument("--save", type=pathlib.Path, help="folder for the pictures")
    arguments = parser.parse_args()
    browser = find_browser()
    if browser is None:
        print("SKIPPED: there is no Chromium here (apt-get install chromium, or set CHROMIUM)")
        return
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("SKIPPED: there is no Playwright here (pip install playwright pillow numpy)")
        return
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as temporary:
        folder = arguments.save or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        page = chromium.new_page(viewport=SIZE)
        page.set_default_timeout(60_000)
        wrong = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda line: line.type == "error" and wrong.append(line.text))
        with View(arguments.esker, arguments.run) as view:
            page.goto(view.address)
            page.evaluate("() => esker.ready")
            assert page.locator("#message").is_hidden(), page.locator("#message").inner_text()
            check_pictures(page, arguments, folder)
            check_playing(page)
            check_picking(page)
        check_live(page, arguments.esker, arguments.scene)
        # The first server has ended while its page was still open, which the page tells.
        wrong = [line for line in wrong if "ERR_CONNECTION_REFUSED" not in line]
        assert not wrong, wrong
        chromium.close()


if __name__ == "__main__":
    sys.exit(main())
