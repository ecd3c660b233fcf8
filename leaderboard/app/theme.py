"""The theme of the application: system fonts, one accent, colours that are safe for colour-blind readers."""

import json
from collections.abc import Mapping
from pathlib import Path

import gradio as gr

from leaderboard.app.components import FIGURES

# System fonts: nothing is loaded from other sites.
SANS = ["system-ui", "-apple-system", "Segoe UI", "Helvetica Neue", "Arial", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]
INK = gr.themes.Color(
    name="ink",
    c50="#f7f8f8",
    c100="#eef0f1",
    c200="#dde1e4",
    c300="#c3c9ce",
    c400="#929ca5",
    c500="#66717b",
    c600="#4b555e",
    c700="#353d45",
    c800="#21272d",
    c900="#161a1f",
    c950="#0e1115",
)
SEA = gr.themes.Color(
    name="sea",
    c50="#edf6fb",
    c100="#d3e8f5",
    c200="#a9d2ea",
    c300="#74b6db",
    c400="#3f97c7",
    c500="#0072b2",
    c600="#00639b",
    c700="#005180",
    c800="#053f63",
    c900="#082f49",
    c950="#051e30",
)
THEME = gr.themes.Base(
    primary_hue=SEA,
    secondary_hue=SEA,
    neutral_hue=INK,
    text_size=gr.themes.sizes.text_md,
    spacing_size=gr.themes.sizes.spacing_md,
    radius_size=gr.themes.sizes.radius_sm,
    font=SANS,
    font_mono=MONO,
).set(
    body_background_fill="#fbfbfa",
    body_background_fill_dark="*neutral_950",
    # Gradio's subdued text, neutral_400, is too pale on a light page: WCAG 2 asks for a contrast of 4.5.
    body_text_color_subdued="*neutral_600",
    input_placeholder_color="*neutral_500",
    link_text_color_dark="*primary_300",
    link_text_color_hover_dark="*primary_200",
    link_text_color_active_dark="*primary_300",
    link_text_color_visited_dark="*primary_300",
    block_background_fill="transparent",
    block_background_fill_dark="transparent",
    block_border_width="0px",
    block_shadow="none",
    block_padding="0.5rem 0",
    block_label_background_fill="transparent",
    block_label_background_fill_dark="transparent",
    block_label_text_color="*neutral_600",
    block_label_text_color_dark="*neutral_300",
    block_title_text_color="*neutral_700",
    block_title_text_color_dark="*neutral_200",
    panel_border_width="0px",
    input_background_fill="white",
    input_background_fill_dark="*neutral_900",
    input_border_width="1px",
    input_border_width_dark="1px",
    input_border_color="*neutral_300",
    input_border_color_dark="*neutral_700",
    button_primary_background_fill="*primary_500",
    button_primary_background_fill_hover="*primary_600",
    button_primary_background_fill_dark="*primary_500",
    button_primary_text_color="white",
    button_secondary_background_fill="*neutral_100",
    button_secondary_background_fill_dark="*neutral_800",
    table_text_color="*body_text_color",
    table_border_color="*neutral_200",
    table_border_color_dark="*neutral_800",
    table_even_background_fill="white",
    table_even_background_fill_dark="*neutral_950",
    table_odd_background_fill="*neutral_50",
    table_odd_background_fill_dark="*neutral_900",
)
ASSETS = Path(__file__).parent / "assets"
CSS = "".join((ASSETS / name).read_text(encoding="utf-8") for name in ("board.css", "forest.css"))


def head(metrics: Mapping[str, str]) -> str:
    """The head of every page: the script `assets/pages.js` with our texts filled in."""
    script = (ASSETS / "pages.js").read_text(encoding="utf-8")
    for name, texts in (("FIGURES", FIGURES), ("METRICS", metrics)):
        script = script.replace(f" = {name}", f" = {json.dumps(texts).replace('<', chr(92) + 'u003c')}")
    return f'<meta name="color-scheme" content="light dark"><script>(() => {{{script}}})();</script>'
