"""Forty strangers' texts that would do harm where a page took them for more than text, and what tells that none did.

Each one, run, sets `window.hacked` or asks for something from `hacked.invalid`; those that no browser runs (formulas,
letters that show nothing or turn the text round, a terminal's commands) carry the mark, too, so that it can be seen
whether they are shown.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

HTML = (
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<details open ontoggle=window.hacked=1>x</details>",
    "<input autofocus onfocus=window.hacked=1>",
    "<video><source onerror=window.hacked=1></video>",
    "<meta http-equiv=refresh content='0;url=http://hacked.invalid/m'>",
    "<link rel=stylesheet href=http://hacked.invalid/l.css>",
    "<style>@import 'http://hacked.invalid/s.css';</style>",
    "<form action=http://hacked.invalid/><button autofocus>x</button></form>",
    "<base href=http://hacked.invalid/>",
    '" onmouseover=window.hacked=1 autofocus onfocus=window.hacked=1 x="',
    "' onpointerenter='window.hacked=1' onfocus='window.hacked=1' tabindex='0",
    "&lt;img src=x onerror=window.hacked=1&gt;",
)
MARKDOWN = (
    "[a link](javascript:window.hacked=1)",
    "![an image](http://hacked.invalid/i.png)",
    '[x]: http://hacked.invalid/ "hacked" <http://hacked.invalid/auto>',
    "`code`</code></pre><img src=x onerror=window.hacked=1>",
)
SVG = (
    "<svg onload=window.hacked=1></svg>",
    "<svg><script>window.hacked=1</script></svg>",
    "<svg><image href=http://hacked.invalid/v.png onerror=window.hacked=1 /></svg>",
    "</text></svg><svg><animate onbegin=window.hacked=1 attributeName=x dur=1s>",
    "<math><mtext><img src=x onerror=window.hacked=1></mtext></math>",
)
TEMPLATE = (
    "{{ constructor.constructor('window.hacked=1')() }}",
    "${window.hacked=1}",
    "{% raw %}{{ hacked.__class__.__mro__ }}{% endraw %}",
    "%{customdata[0]}<br><a href='javascript:window.hacked=1'>%{z}</a>",
    "{0.__class__} {hacked!r} %(hacked)s $hacked^2$",
)
SCRIPT = (
    "</script><script>window.hacked=1</script>",
    '";window.hacked=1;//',
    "'-(window.hacked=1)-'",
    '\\";window.hacked=1;//<!--<script>',
    "]]><script>window.hacked=1</script><!--",
)
FORMULA = (
    '=HYPERLINK("http://hacked.invalid/","hacked")',
    "@SUM(1+1)*cmd|' /C hacked'!A0",
)
# From here on no manifest takes them as a name, but responses and notes can hold them.
BIDI = ("\u202egnp.dekcah\u202c hacked", "\u2067hacked\u2066 <b>turned\u2069\u2069 round")
ZERO_WIDTH = ("<scr\u200bipt>window.hacked=1</scr\u200bipt>", "hac\u200dked\u00ad\ufeff")
TERMINAL = ("\x1b[31mhacked\x1b[0m\x1b]8;;http://hacked.invalid/\x07link\x1b]8;;\x07",)

INJECTIONS: tuple[str, ...] = (
    *HTML,
    *MARKDOWN,
    *SVG,
    *TEMPLATE,
    *SCRIPT,
    *FORMULA,
    *BIDI,
    *ZERO_WIDTH,
    *TERMINAL,
)
# Those that a manifest takes as the name of a system or a submitter.
NAMES: tuple[str, ...] = (*HTML, *MARKDOWN, *SVG, *TEMPLATE, *SCRIPT, *FORMULA)

_WHAT_RAN = """
const found = [];
if (window.hacked !== undefined) found.push("window.hacked is " + window.hacked);
for (const entry of performance.getEntriesByType("resource"))
  if (new URL(entry.name, location).hostname.endsWith("hacked.invalid")) found.push("asked for " + entry.name);
const fetching = ["src", "href", "xlink:href", "action", "formaction", "srcdoc", "data", "poster", "style", "content"];
for (const element of document.querySelectorAll("*")) for (const {name, value} of element.attributes) {
  const live = /javascript:|hacked\\.invalid|hacked=1/.test(value);
  const told = name === "content" && !element.hasAttribute("http-equiv");  // a link preview is text
  if (live && !told && (name.startsWith("on") || fetching.includes(name)))
    found.push("<" + element.localName + " " + name + "=" + value + ">");
}
return found;
"""
_ALL_TEXT = """
const fields = [...document.querySelectorAll("input, textarea")].map((field) => field.value);
return [document.body.textContent, ...fields].join("\\n");
"""


def what_ran(browser: "Chrome") -> list[str]:
    """What of the injections came to life on the page: nothing, if all is well."""
    found: list[str] = browser.execute_script(_WHAT_RAN)
    return found


def assert_inert(browser: "Chrome") -> None:
    """Nothing of a stranger's text was run, or became a part of the page that could be."""
    found = what_ran(browser)
    assert not found, f"{browser.current_url}: {found}"
    assert not (urlsplit(browser.current_url).hostname or "").endswith("hacked.invalid")


def not_shown(browser: "Chrome", texts: Iterable[str]) -> list[str]:
    """Those of the texts that the page does not hold as text, white space aside."""
    there = " ".join(browser.execute_script(_ALL_TEXT).split())
    return [text for text in texts if " ".join(text.split()) not in there]
