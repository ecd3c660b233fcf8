"""Page Arena: visitors answer two questions about the response sets of two unnamed systems, and see all votes' results.

Before the vote, nothing sent to the browser names a system: the pair has an opaque id, and names, results and scores
stay on the server. The visitor's choices are kept in the browser until they are submitted.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr
from markupsafe import Markup

from divbench.core.errors import DivBenchError
from divbench.core.tables import Table
from leaderboard.app import components
from leaderboard.app.components import Choices
from leaderboard.app.identity import login_is_real, verified_login
from leaderboard.app.intake import error_text
from leaderboard.app.limits import caller_address
from leaderboard.app.permalinks import QUIET, chosen_or_first, count_on, wire
from leaderboard.app.polls import Offer, Polls
from leaderboard.data.live_results import LiveResults
from leaderboard.data.votes import VoteResults
from leaderboard.pages import page_text
from leaderboard.pages.votes import (
    ANSWERS,
    QUESTIONS,
    agreement_table,
    outcome_text,
    strengths_table,
    votes_text,
)
from submissions.judgements.votes import is_token, new_token

_READ = "Read both response sets, then answer both questions. The systems' names are shown after you vote."
_Act = Callable[[Polls, Mapping[str, str], str], list[Any]]  # of a visitor, with what their browser stores
# Stored in the browser: the visitor's token, the pair, and answers that are not submitted yet.
_NOBODY = dict.fromkeys(("visitor", "pair", *QUESTIONS), "")
_REMEMBER = "(state, ...answers) => ({...state, more_different: answers[0] ?? '', preferred: answers[1] ?? ''})"
# Moves the focus and scrolls to it after the page has been updated; the next step waits for this.
_FOCUS = """async () => {
  await new Promise((done) => setTimeout(done, 50));
  document.querySelector('SELECTOR')?.focus();
}"""


def response_sets(
    prompt: str, left: Sequence[str], right: Sequence[str], titles: tuple[str, str] = ("Left set", "Right set")
) -> Markup:
    """Render a prompt and two response sets side by side; all texts are escaped, titles may be untrusted names."""

    def section(title: str, responses: Sequence[str]) -> Markup:
        texts = [text if text.strip() else Markup("<em>(blank)</em>") for text in responses]
        items = Markup("").join(Markup('<li><p dir="auto" lang="">{}</p></li>').format(text) for text in texts)
        return Markup("<section><h2><bdi>{}</bdi></h2><ol>{}</ol></section>").format(title, items)

    return Markup(
        '<div class="pair" tabindex="-1"><h2>Prompt</h2><p class="asked" dir="auto" lang="">{}</p>'
        '<div class="sets">{}{}</div></div>'
    ).format(prompt, section(titles[0], left), section(titles[1], right))


def metrics_table(offer: Offer) -> Table:
    """Return the metric values of the two complete response sets, and the side that each rates more diverse."""
    contest, pair = offer.arena.contest, offer.pair
    prompt = contest.prompts.index(pair.prompt_id)
    rows = []
    for i, column in enumerate(column for column in offer.arena.board.columns if column.direction):
        left, right = (float(contest.scores[i, prompt, side.system]) for side in (pair.left, pair.right))
        if math.isfinite(left) and math.isfinite(right):  # oriented: higher is more diverse
            winner = "left" if left > right else "right" if left < right else "no difference"
            rows.append((column.label, left * column.direction, right * column.direction, winner))
    return Table("", ("metric", "left", "right", "more diverse"), rows)


@dataclass(frozen=True, slots=True)
class _Ballot:
    """Components of the vote."""

    state: gr.BrowserState
    note: gr.Textbox
    sets: gr.HTML
    panel: gr.Column
    answers: list[gr.Radio]
    buttons: gr.Row
    outcome: gr.Column
    undo: gr.Button
    metrics: gr.Dataframe
    vote: gr.Button
    skip: gr.Button
    following: gr.Button

    def outputs(self) -> list[Any]:
        """List the components that each step updates, in the order of `_view`."""
        shown = [self.state, self.note, self.sets, self.panel, *self.answers, self.buttons]
        return [*shown, self.outcome, self.undo, self.metrics]


def _view(note: str, state: Any = None, **shown: Any) -> list[Any]:
    """Return the updates of a step: a note; the browser's state, kept if None; other components as they are shown.

    `sets` is HTML; `answers` are those of an open pair; `judged` and `undo` say whether there is an outcome, and a vote
    to undo. What is not given is hidden.
    """
    answers, is_judged = shown.get("answers"), shown.get("judged", False)
    sets = str(shown.get("sets", ""))
    return [
        gr.skip() if state is None else state,
        gr.update(value=note, visible=True),
        gr.update(value=sets, visible=bool(sets)),
        gr.update(visible=answers is not None),
        *(gr.update(value=(answers or {}).get(question) or None) for question in QUESTIONS),
        gr.update(visible=answers is not None),
        gr.update(visible=is_judged),
        gr.update(visible=shown.get("undo", False)),
        gr.update(value=None, visible=False),
    ]


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: a pair to judge, then the results of all votes for systems and metrics."""
    gr.Markdown(page_text.ARENA, elem_classes="lead")
    if login_is_real():
        with gr.Row():
            gr.LoginButton(size="md", scale=0, min_width=240, elem_id="login")
    polls = None if live.votes is None else Polls(live, live.votes)
    if polls is not None:
        polls.start()
    _wire_ballot(page, _Clerk(polls), _ballot())
    _results(page, live, polls)


def _ballot() -> _Ballot:
    state = gr.BrowserState(dict(_NOBODY), storage_key="divbench-arena", secret="divbench")  # noqa: S106 - hides nothing
    sets = gr.HTML("", elem_id="pair", padding=False, visible=False)
    choices = [(words, answer) for answer, words in ANSWERS.items()]
    with gr.Column(visible=False, elem_id="ballot") as panel:
        answers = [
            gr.Radio(choices, label=words, elem_id=name, elem_classes="answers") for name, words in QUESTIONS.items()
        ]
    note = components.note("arena-note", 2)  # beside the button, where a phone shows it
    with gr.Row(visible=False, elem_id="ballot-buttons") as buttons:
        vote = gr.Button("Vote", variant="primary", elem_id="vote", scale=2)
        skip = gr.Button("Skip this pair", elem_id="skip-pair")
    with gr.Column(visible=False, elem_id="outcome") as outcome:
        following = gr.Button("Next pair", variant="primary", elem_id="next-pair")
    undo = gr.Button("Undo my last vote", size="sm", visible=False, elem_id="undo-vote")
    metrics = components.table("Metric values of these two response sets", "pair-metrics", height=420)
    return _Ballot(state, note, sets, panel, answers, buttons, outcome, undo, metrics, vote, skip, following)


class _Clerk:
    """Handlers of what a visitor does; each returns the updates of `_view`."""

    def __init__(self, polls: Polls | None) -> None:
        self._polls = polls

    def opened(self, state: Any, profile: gr.OAuthProfile | None, request: gr.Request) -> list[Any]:
        """Show the visitor's open pair."""
        return _step(self._polls, state, profile, request)

    def following(self, state: Any, profile: gr.OAuthProfile | None, request: gr.Request) -> list[Any]:
        """Show another pair."""
        return _step(self._polls, state, profile, request, following=True)

    def skip(self, state: Any, profile: gr.OAuthProfile | None, request: gr.Request) -> list[Any]:
        """Show another pair instead of the open one."""

        def skipped(polls: Polls, stored: Mapping[str, str], voter: str) -> list[Any]:
            polls.skip(stored["pair"], voter, caller_address(request))
            return _step(polls, state, profile, request, following=True)

        return self._done(skipped, state, profile, request)

    def undo(self, state: Any, profile: gr.OAuthProfile | None, request: gr.Request) -> list[Any]:
        """Delete the visitor's last vote."""

        def undone(polls: Polls, stored: Mapping[str, str], voter: str) -> list[Any]:
            polls.undo(voter)
            return _step(polls, state, profile, request, following=True, notice=page_text.UNDONE)

        return self._done(undone, state, profile, request)

    def vote(
        self, state: Any, first: Any, second: Any, profile: gr.OAuthProfile | None, request: gr.Request
    ) -> list[Any]:
        """Save the visitor's answers."""

        def voted(polls: Polls, stored: Mapping[str, str], voter: str) -> list[Any]:
            answers = dict(zip(QUESTIONS, (first, second), strict=True))
            offer, is_new = polls.vote(stored["pair"], voter, answers, caller_address(request))
            return _judged(stored, offer, is_new=is_new, undo=polls.may_undo(voter))

        return self._done(voted, state, profile, request)

    def metrics(self, state: Any, profile: gr.OAuthProfile | None, request: gr.Request) -> gr.Dataframe:
        """Show the metrics of the pair that was judged."""
        try:
            stored = _stored(state)
            polls = self._polls
            offer = None if polls is None else polls.find(stored["pair"], _voter(polls, stored, profile, request))
        except DivBenchError:
            return components.no_table()
        if offer is None or offer.answers is None or offer.pair.check:
            return components.no_table()
        table = metrics_table(offer)
        return components.filled(table) if table.rows else components.no_table()

    def _done(self, act: _Act, state: Any, profile: gr.OAuthProfile | None, request: gr.Request) -> list[Any]:
        """Do something for a visitor, or say why it was not done and leave the rest as it is."""
        stored = _stored(state)
        if self._polls is None:
            return _view(page_text.NO_VOTES)
        try:
            return act(self._polls, stored, _voter(self._polls, stored, profile, request))
        except (DivBenchError, OSError) as error:
            return [gr.skip(), f"Not saved: {error_text(error)}", *[gr.skip()] * (len(_view("")) - 2)]


def _wire_ballot(page: gr.Blocks, clerk: _Clerk, ballot: _Ballot) -> None:
    start = page.load(clerk.opened, [ballot.state], ballot.outputs(), queue=False, **QUIET)
    start.then(None, js=count_on("asked"))
    for answer in ballot.answers:
        # Runs in the browser only, so that a choice survives an immediate reload.
        answer.input(None, [ballot.state, *ballot.answers], [ballot.state], js=_REMEMBER, api_visibility="private")
    judged = ballot.vote.click(clerk.vote, [ballot.state, *ballot.answers], ballot.outputs(), **QUIET)
    judged.then(None, js=count_on("voted"))
    judged.then(None, js=_FOCUS.replace("SELECTOR", "#next-pair"))
    # In a second step, so that the vote's outcome does not wait for the table.
    start.then(clerk.metrics, [ballot.state], [ballot.metrics], queue=False, **QUIET)
    judged.then(clerk.metrics, [ballot.state], [ballot.metrics], **QUIET)
    for button, handler in ((ballot.following, clerk.following), (ballot.skip, clerk.skip), (ballot.undo, clerk.undo)):
        shown = button.click(handler, [ballot.state], ballot.outputs(), **QUIET)
        shown.then(None, js=_FOCUS.replace("SELECTOR", ".pair")).then(None, js=count_on("asked"))


def _stored(state: Any) -> dict[str, str]:
    """Validate the state that the browser sends, which is untrusted."""
    values = state if isinstance(state, dict) else {}
    stored = {name: str(values.get(name) or "")[:100] for name in _NOBODY}
    return stored if is_token(stored["visitor"]) else {**_NOBODY, "visitor": new_token()}


def _voter(polls: Polls, stored: Mapping[str, str], profile: gr.OAuthProfile | None, request: gr.Request) -> str:
    login = verified_login(None if profile is None else profile.username, dict(request.headers))
    return polls.voter(stored["visitor"], login)


def _step(
    polls: Polls | None,
    state: Any,
    profile: gr.OAuthProfile | None,
    request: gr.Request,
    *,
    following: bool = False,
    notice: str = "",
) -> list[Any]:
    """Show the pair that the browser names if it is still open, otherwise another pair, after a notice."""
    if polls is None or polls.fault:
        return _view(page_text.NO_VOTES if polls is None else polls.fault)
    stored = _stored(state)
    try:
        voter = _voter(polls, stored, profile, request)
        offer = (None if following else polls.find(stored["pair"], voter)) or polls.offer(voter)
    except (DivBenchError, OSError) as error:
        return _view(error_text(error))
    if offer is None:
        return _view(page_text.ALL_JUDGED if polls.arenas() else page_text.NO_PAIRS, undo=polls.may_undo(voter))
    if offer.answers is not None:
        return _judged(stored, offer, is_new=False, undo=polls.may_undo(voter))
    is_same = stored["pair"] == offer.pair_id
    pending = {name: stored[name] if is_same and stored[name] in ANSWERS else "" for name in QUESTIONS}
    return _view(
        f"{notice} {_READ}".strip(),
        {**stored, "pair": offer.pair_id, **pending},
        sets=response_sets(offer.prompt, offer.pair.left.texts, offer.pair.right.texts),
        answers=pending,
        undo=polls.may_undo(voter),
    )


def _judged(stored: Mapping[str, str], offer: Offer, *, is_new: bool, undo: bool) -> list[Any]:
    """Show the pair with the systems' names after the vote."""
    names, pair = offer.arena.contest.names, offer.pair
    left, right = names[pair.left.system], names[pair.right.system]
    titles = ("Left set", "Right set") if pair.check else (left, right)
    return _view(
        outcome_text(left, right, offer.answers or {}, pair.check, is_new=is_new),
        {**stored, "pair": offer.pair_id},
        sets=response_sets(offer.prompt, pair.left.texts, pair.right.texts, titles),
        judged=True,
        undo=undo,
    )


def _results(page: gr.Blocks, live: LiveResults, polls: Polls | None) -> None:
    with gr.Column(visible=polls is not None):
        gr.Markdown("## Results of all votes")
        suite = gr.Dropdown([], label="Suite", elem_id="suite")
        note = components.note("votes-note", 3)
        agreement = components.table(
            "Agreement with people to date: share of votes that each metric predicts [95% interval]", "agreement"
        )
        systems = components.table("Systems by points per vote [95% interval]", "votes")
    with gr.Accordion("How votes are taken and counted", open=False):
        gr.Markdown(page_text.ARENA_METHOD)
    wire(page, live, [suite], partial(_controls, polls), partial(_shown, polls), [note, agreement, systems])


def _results_of(polls: Polls | None) -> dict[str, VoteResults]:
    return {} if polls is None else {results.suite: results for results in polls.tally.results}


def _controls(polls: Polls | None, choices: Choices) -> list[Any]:
    suites = list(_results_of(polls))
    return [gr.Dropdown(suites, value=chosen_or_first(choices, "suite", suites), visible=len(suites) > 1)]


def _shown(polls: Polls | None, choices: Mapping[str, Any]) -> list[Any]:
    suites = _results_of(polls)
    results = suites.get(choices["suite"]) or next(iter(suites.values()), None)
    if results is None:
        return [page_text.NO_VOTES_YET, components.no_table(), components.no_table()]
    tables = (agreement_table(results), strengths_table(results))
    shown = (components.filled(table) if table.rows else components.no_table() for table in tables)
    return [votes_text(results), *shown]
