"""What pages look like in a real browser: contrast, and what stays in view."""

from time import sleep
from typing import Any

import pytest

from tests.leaderboard.conftest import in_scheme, open_page
from tests.leaderboard.page_reading import pale

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_contrast_with_their_background(reference_address: str, browser: Any, scheme: str) -> None:
    """Intervals, headings and hints had a contrast of 2.7 on the light page; WCAG 2 asks for 4.5 at level AA."""
    with in_scheme(browser, scheme):
        for page in ("", "metrics", "datasets", "explore", "submit"):
            open_page(browser, f"{reference_address}/{page}")
            for _ in range(20):  # a page fades in
                if not (found := pale(browser)):
                    break
                sleep(0.1)
            assert found == {}, page
