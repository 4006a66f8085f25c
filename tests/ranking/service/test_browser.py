"""The page in a real browser: Debian's Chromium, where it and selenium are installed."""

import json
import shutil
import urllib.parse

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="the browser's tests need selenium")
from selenium.webdriver.support.expected_conditions import staleness_of  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

pytest.importorskip("fastapi", reason="the service needs pip install -e '.[serve]'")
CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
if not (CHROMIUM and DRIVER):
    pytest.skip("chromium and chromedriver are not installed", allow_module_level=True)

QUESTION = "In what year was helium first turned into a liquid?"
OWN = ['<script>alert("x")</script>', "שלום עולם", '😀 helium & "quotes"']


@pytest.fixture(scope="module")
def address(service):
    with service() as (port, _):
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture(scope="module")
def driver(address):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    driver.set_window_size(1100, 900)
    yield driver
    driver.quit()


@pytest.fixture
def browser(driver, address):
    """The browser; nothing may go wrong in it, and nothing may leave the machine."""
    yield driver
    said = driver.get_log("browser")
    assert not said, said
    messages = (json.loads(each["message"])["message"] for each in driver.get_log("performance"))
    asked = [
        each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"
    ]
    assert len(asked) > 2 and all(url.startswith((address, "data:", "chrome:")) for url in asked), asked


def follow(browser, selector):
    """Click what leads to another page, and wait for that page."""
    old = browser.find_element("css selector", "html")
    browser.find_element("css selector", selector).click()
    wait = WebDriverWait(browser, 30)
    wait.until(staleness_of(old))
    wait.until(lambda browser: browser.execute_script("return document.readyState") == "complete")


def texts(browser, selector):
    return [each.text for each in browser.find_elements("css selector", selector)]


def test_ask_compare_and_see_why(browser, address):
    browser.get(address)
    assert texts(browser, ".examples a")
    assert not browser.find_element("id", "right").is_displayed()
    browser.find_element("id", "q").send_keys(QUESTION)
    browser.find_element("id", "compare").click()
    browser.find_element("css selector", "#right option[value=bm25]").click()
    follow(browser, "button")
    assert len(texts(browser, "li")) == 20 and texts(browser, "mark")
    assert browser.execute_script("return document.activeElement.selectionStart") == len(QUESTION)
    shared = browser.current_url
    follow(browser, "li .link")
    why = browser.find_element("css selector", "li:first-child #why")
    assert why.find_elements("css selector", ".s9") and why.find_element("css selector", "svg circle")
    # A narrow screen needs no scrolling to the side.
    for width in (390, 768, 1280):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wider = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script(wider) <= 0
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get(shared)
    assert browser.find_element("id", "q").get_attribute("value") == QUESTION


def test_candidates_of_one_s_own_are_texts(browser, address):
    browser.get(address)
    browser.find_element("css selector", "summary").click()
    browser.execute_script("document.getElementById('candidates').value = arguments[0]", "\n".join(OWN))
    browser.find_element("id", "q").send_keys("Is helium a gas?")
    follow(browser, "button")
    assert sorted(texts(browser, "li .answer")) == sorted(OWN)
    browser.execute_script("document.activeElement.blur()")
    browser.find_element("css selector", "body").send_keys("/")
    assert browser.switch_to.active_element.get_attribute("id") == "q"


def test_everybody_can_read_it(browser, address):
    """axe-core finds nothing that keeps people from reading the page or from using it by keyboard."""
    axe = pytest.importorskip("axe_core_python.selenium", reason="needs axe-core-python").Axe()
    view = {"q": QUESTION, "left": "nearest", "right": "bm25", "compare": 1, "candidates": ""}
    views = ({"q": ""}, {}, {"why": "Helium glows."}, {"candidates": "\n".join(OWN), "left": ""})
    pages = ["api/docs", *(f"?{urllib.parse.urlencode(view | more)}" for more in views)]
    for page in pages:
        browser.get(f"{address}{page}")
        for scheme in ("light", "dark"):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            found = axe.run(browser)
            assert len(found["passes"]) > 10
            assert not found["violations"], [(each["id"], each["nodes"]) for each in found["violations"]]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
