"""Page Arena: visitors answer two questions about the response sets of two unnamed systems, and see all votes' results.

Before the vote, nothing sent to the browser names a system: the pair has an opaque id, and names, results and scores
stay on the server. The visitor's choices are kept in the browser until they are submitted.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from divbench.core.errors import DivBenchError
from divbench.core.tables import Table
from leaderboard.app import components
from leaderboard.app.asked import Asked
from leaderboard.app.permalinks import QUIET, chosen, chosen_or_first, count_on, wire
from leaderboard.app.requests import caller_address
from leaderboard.app.submitting.identity import login_is_real, verified_login
from leaderboard.app.submitting.intake import error_text
from leaderboard.app.voting.polls import Offer, Polls
from leaderboard.data.live_results import LiveResults
from leaderboard.data.votes import VoteResults
from leaderboard.figures.board_plots import votes_figure
from leaderboard.figures.response_sets import response_sets
from leaderboard.tables import page_text
from leaderboard.tables.votes import (
    ANSWERS,
    QUESTIONS,
    SHORT,
    agreement_table,
    metrics_of_pair,
    outcome_text,
    strengths_table,
    votes_text,
)
from submissions.judgements.votes import Question, is_token, new_token

# Stored in the browser: the visitor's token, the pair, and answers that are not submitted yet.
_NOBODY = dict.fromkeys(("visitor", "pair", *QUESTIONS), "")
_REMEMBER = "(state, ...answers) => ({...state, more_different: answers[0] ?? '', preferred: answers[1] ?? ''})"
# Moves the focus and scrolls to it after the page has been updated; the next step waits for this.
_FOCUS = """async () => {
  await new Promise((done) => setTimeout(done, 50));
  document.querySelector('SELECTOR')?.focus();
}"""


@dataclass(frozen=True, slots=True)
class _Ballot:
    """Components of the vote."""

    state: gr.BrowserState
    note: gr.Textbox
    sets: gr.HTML
    panel: gr.Column
    answers: list[gr.Radio]
    vote: gr.Button
    outcome: gr.Column
    metrics: gr.Dataframe
    following: gr.Button

    def outputs(self) -> list[Any]:
        """List the components that each step updates."""
        return [
            *(self.state, self.note, self.sets, self.panel, *self.answers, self.vote),
            *(self.outcome, self.metrics),
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
    _wire_ballot(page, polls, _ballot())
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
    vote = gr.Button("Vote", variant="primary", visible=False, elem_id="vote")
    with gr.Column(visible=False, elem_id="outcome") as outcome:
        following = gr.Button("Next pair", variant="primary", elem_id="next-pair")
        metrics = components.table("Metric values of these two response sets", "pair-metrics", height=420)
    return _Ballot(state, note, sets, panel, answers, vote, outcome, metrics, following)


def _wire_ballot(page: gr.Blocks, polls: Polls | None, ballot: _Ballot) -> None:
    def opened(state: Any, profile: gr.OAuthProfile | None, request: gr.Request) -> list[Any]:
        return _step(polls, state, profile, request, following=False)

    def following(state: Any, profile: gr.OAuthProfile | None, request: gr.Request) -> list[Any]:
        return _step(polls, state, profile, request, following=True)

    def vote(state: Any, first: Any, second: Any, profile: gr.OAuthProfile | None, request: gr.Request) -> list[Any]:
        kept = _kept(state)
        answers = dict(zip(QUESTIONS, (first, second), strict=True))
        try:
            if polls is None:
                return _closed(page_text.NO_VOTES)
            offer = polls.vote(kept["pair"], _voter(polls, kept, profile, request), answers, caller_address(request))
        except (DivBenchError, OSError) as error:
            skipped = [gr.skip() for _ in ballot.outputs()[2:]]
            return [gr.skip(), f"Not saved: {error_text(error)}", *skipped]
        return _judged(kept, offer)

    def metrics(state: Any, profile: gr.OAuthProfile | None, request: gr.Request) -> gr.Dataframe:
        try:
            kept = _kept(state)
            offer = None if polls is None else polls.find(kept["pair"], _voter(polls, kept, profile, request))
        except DivBenchError:
            return components.no_table()
        view = None if offer is None or offer.answers is None or offer.pair.check else _metrics(offer)
        return components.filled(view) if view is not None and view.rows else components.no_table()

    start = page.load(opened, [ballot.state], ballot.outputs(), queue=False, **QUIET)
    start.then(None, js=count_on("asked"))
    for answer in ballot.answers:
        # Runs in the browser only, so that a choice survives an immediate reload.
        answer.input(None, [ballot.state, *ballot.answers], [ballot.state], js=_REMEMBER, api_visibility="private")
    done = ballot.vote.click(vote, [ballot.state, *ballot.answers], ballot.outputs(), **QUIET)
    done.then(None, js=count_on("voted"))
    done.then(None, js=_FOCUS.replace("SELECTOR", "#next-pair"))
    # In a second step, so that the vote's outcome does not wait for the table.
    start.then(metrics, [ballot.state], [ballot.metrics], queue=False, **QUIET)
    done.then(metrics, [ballot.state], [ballot.metrics], **QUIET)
    shown = ballot.following.click(following, [ballot.state], ballot.outputs(), **QUIET)
    shown.then(None, js=_FOCUS.replace("SELECTOR", ".pair")).then(None, js=count_on("asked"))


def _kept(state: Any) -> dict[str, str]:
    """Validate the state that the browser sends, which is untrusted."""
    given = state if isinstance(state, dict) else {}
    kept = {name: str(given.get(name) or "")[:100] for name in _NOBODY}
    return kept if is_token(kept["visitor"]) else {**_NOBODY, "visitor": new_token()}


def _voter(polls: Polls, kept: Mapping[str, str], profile: gr.OAuthProfile | None, request: gr.Request) -> str:
    login = verified_login(None if profile is None else profile.username, dict(request.headers))
    return polls.voter(kept["visitor"], login)


def _step(
    polls: Polls | None, state: Any, profile: gr.OAuthProfile | None, request: gr.Request, *, following: bool
) -> list[Any]:
    """Show the pair that the browser names if it is still open, otherwise another pair."""
    if polls is None or polls.fault:
        return _closed(page_text.NO_VOTES if polls is None else polls.fault)
    kept = _kept(state)
    try:
        voter = _voter(polls, kept, profile, request)
        known = None if following else polls.find(kept["pair"], voter)
        offer = known or polls.offer(voter)
    except (DivBenchError, OSError) as error:
        return _closed(error_text(error))
    if offer is None:
        return _closed(page_text.ALL_JUDGED if polls.arenas() else page_text.NO_PAIRS)
    if offer.answers is not None:
        return _judged(kept, offer)
    pending = [kept[name] if kept["pair"] == offer.pair_id and kept[name] in ANSWERS else None for name in QUESTIONS]
    return [
        {
            **kept,
            "pair": offer.pair_id,
            **{name: answer or "" for name, answer in zip(QUESTIONS, pending, strict=True)},
        },
        gr.update(
            value="Read both response sets, then answer both questions. The systems' names are shown after you vote.",
            visible=True,
        ),
        gr.update(value=str(response_sets(offer.prompt, offer.pair.left.texts, offer.pair.right.texts)), visible=True),
        gr.update(visible=True),
        *(gr.update(value=answer) for answer in pending),
        gr.update(visible=True),
        gr.update(visible=False),
        gr.update(value=None, visible=False),
    ]


def _judged(kept: Mapping[str, str], offer: Offer) -> list[Any]:
    """Show the pair with the systems' names after the vote."""
    names, pair = offer.arena.contest.names, offer.pair
    left, right = names[pair.left.system], names[pair.right.system]
    titles = ("Left set", "Right set") if pair.check else (left, right)
    return [
        {**kept, "pair": offer.pair_id},
        gr.update(value=outcome_text(left, right, offer.answers or {}, pair.check), visible=True),
        gr.update(value=str(response_sets(offer.prompt, pair.left.texts, pair.right.texts, titles)), visible=True),
        gr.update(visible=False),
        *(gr.update(value=None) for _ in QUESTIONS),  # otherwise the next pair would briefly show these answers
        gr.update(visible=False),
        gr.update(visible=True),
        gr.update(value=None, visible=False),
    ]


def _metrics(offer: Offer) -> Table:
    """Tabulate the metric values of the two complete response sets."""
    board, contest, pair = offer.arena.board, offer.arena.contest, offer.pair
    place = contest.prompts.index(pair.prompt_id)
    columns = [column.label for column in board.columns if column.direction]
    directions = [column.direction for column in board.columns if column.direction]
    values = {}
    for row, (label, direction) in enumerate(zip(columns, directions, strict=True)):
        left, right = (float(contest.scores[row, place, side.system]) * direction for side in (pair.left, pair.right))
        if math.isfinite(left) and math.isfinite(right):
            values[label] = left, right
    return metrics_of_pair(board, values)


def _closed(why: str) -> list[Any]:
    """Hide the ballot and show why there is no pair."""
    hidden = gr.update(visible=False)
    return [
        gr.skip(),
        gr.update(value=why, visible=True),
        gr.update(value="", visible=False),
        hidden,
        *(gr.update() for _ in QUESTIONS),
        gr.update(visible=False),
        hidden,
        gr.update(value=None, visible=False),
    ]


def _results(page: gr.Blocks, live: LiveResults, polls: Polls | None) -> None:
    with gr.Column(visible=polls is not None):
        gr.Markdown("## Results of all votes")
        with gr.Row(equal_height=False):
            suite = gr.Dropdown([], label="Suite", elem_id="suite")
            question = gr.Radio(
                [(words, name) for name, words in SHORT.items()],
                value="more_different",
                label="Question",
                elem_id="question",
            )
            metric = gr.Dropdown([], label="Metric", elem_id="metric")
        said = components.note("votes-note", 3)
        with gr.Row(equal_height=False):
            with gr.Column(min_width=320):
                plot = components.figure("votes-plot", visible=False)
            with gr.Column(min_width=320):
                agreement = components.table(
                    "Agreement with people to date: share of votes that each metric predicts [95% interval]",
                    "agreement",
                )
        systems = components.table("Systems by points per vote [95% interval]", "votes")
    with gr.Accordion("How votes are taken and counted", open=False):
        gr.Markdown(page_text.ARENA_METHOD)

    def found(name: object) -> VoteResults | None:
        counted = () if polls is None else polls.tally.results
        return next((each for each in counted if each.suite == name), counted[0] if counted else None)

    def restore(asked: Asked) -> list[Any]:
        counted = () if polls is None else polls.tally.results
        one = found(asked.get("suite"))
        board = None if one is None else one.board
        metrics = [] if board is None else [column.label for column in board.columns if column.direction]
        return [
            gr.Dropdown(
                [each.suite for each in counted], value=None if one is None else one.suite, visible=len(counted) > 1
            ),
            gr.Radio(value=chosen(asked, "question", list(SHORT), "more_different"), visible=bool(counted)),
            gr.Dropdown(
                components.column_choices(board),
                value=chosen_or_first(asked, "metric", metrics),
                visible=bool(metrics),
            ),
        ]

    def show(given: Mapping[str, Any]) -> list[Any]:
        one = found(given["suite"])
        if one is None:
            return [page_text.NO_VOTES_YET, components.drawn(None), components.no_table(), components.no_table()]
        column = None if one.board is None else one.board.column(given["metric"])
        asked: Question = next((name for name in SHORT if name == given["question"]), "more_different")
        figure = None if column is None else votes_figure(one, asked, column)
        tables = [
            components.filled(view) if view.rows else components.no_table()
            for view in (agreement_table(one), strengths_table(one))
        ]
        return [votes_text(one), components.drawn(figure), *tables]

    wire(page, live, (suite, question, metric), restore, show, [said, plot, agreement, systems], cascade=("suite",))
