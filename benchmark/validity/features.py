"""Features of the responses to one prompt, from which the models of validity estimate who did what was asked.

Four groups: the *text* itself (length, questions, lists, spelling, word order, echoes of the prompt), its *relevance*
(similarity to the prompt, beside that of other prompts), what the *set* looks like, and its *neighbours* among judged
responses to the same prompt from other systems. A feature is NaN where it says nothing.
"""

import itertools
import math
import re
import string
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.validity.record import ASSENT, SENTENCE_END, VALID_FROM, JudgedResponses
from benchmark.validity.text_statistics import Floats, LanguageModels, Spelling, WordOrder, spelling, word_order
from submissions.checking.response_kinds import count_letters, is_foreign, is_foreign_prompt, is_refusal

TEXT: tuple[str, ...] = (
    *("log_characters", "log_words", "log_sentences", "log_lines", "list_lines", "bold", "questions"),
    *("ends_with_question", "ends_like_a_sentence", "ends_open", "distinct_words", "distinct_bigrams"),
    *("words_of_prompt", "prompt_covered", "digits", "capitals", "count_asked", "off_count", "asks_for_sentences"),
    *("assent", "declines", "first_sentence_words", "log_prompt_words", "first_person", "other_letters"),
    *("bits", "bits_of_long_texts", "case_changes", "symbols", "mixed_scripts"),
    *("order", "capitals_after_stops", "word_pairs", "beginning_and_end", "late_capital"),
    *("share_of_prompt", "share_new", "answers_in_a_sentence", "refuses"),
)
RELEVANCE: tuple[str, ...] = ("like_prompt", "above_other_prompts", "above_likest_prompt", "like_a_refusal", "no_topic")
SET: tuple[str, ...] = (
    *("mean_similarity", "highest_similarity", "lowest_similarity", "share_same", "share_alike"),
    *("relevance_of_set", "relevance_in_set"),
)
NEIGHBOURS: tuple[str, ...] = (
    *("score_of_nearest", "score_of_5", "score_of_15", "score_of_all", "nearest", "nearest_valid", "nearest_failing"),
    *("valid_less_failing", "share_valid"),
)
FEATURES = (*TEXT, *RELEVANCE, *SET, *NEIGHBOURS)
_FEWEST_WORDS = 3  # shorter texts have no meaningful order
_FEWEST_WORDS_OF_A_TOPIC = 4  # of a prompt; shorter ones may be continued in any way
_FEWEST_LETTERS_OF_A_SCRIPT = 3  # "π" is a good answer to some prompts
_MOST_PAIRS = 20  # of words; more are hardly independent evidence
_MOST_NAMES = 8  # capitalised words that may be one or several names; more are sentences in capitals
_LONGEST_STRING = 12  # characters of a password or a number
_LONGEST_SOUND = 60  # characters of a passphrase or a sound
_MARKS = string.punctuation + "“”‘’«»…"
_INNER_MARKS = dict.fromkeys(map(ord, "'’-"))  # of a word
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_LIST_LINE = re.compile(r"\s*(?:[-*•]|\d+[.)])\s")
_DECLINES = re.compile(r"\b(?:i can't|i cannot|as an ai|language model|i'm sorry|i don't have)\b", re.I)
_FIRST_PERSON = re.compile(r"\b(?:i|my|me)\b", re.I)
_CLAUSE = re.compile(r"[,;:–—]\s+|\s-\s")
_WISH = re.compile(
    r"\b(?:please|your task|i (?:want|would like)|i(?: am|'m)? (?:need|looking for)|i'd like|(?:help|give|show) me"
    r"|act as|you are an?|you (?:must|should|need to)|let's|true or false)\b"
)
_FIRST_WORDS = 5  # of a prompt without a verb, such as "Two names for a cat"
_SHARPNESS = 12.0  # of the weights of neighbours by their similarity
_SAME, _ALIKE = 0.999, 0.8  # cosines


def set_features(
    prompt: str,
    responses: Sequence[str],
    models: LanguageModels,
    vectors: Mapping[str, Floats] | None = None,
    judged: JudgedResponses | None = None,
) -> Floats:
    """Return the `FEATURES` of the scorable responses to a prompt, float64 [responses, features].

    `vectors` has unit vectors of the responses, the prompt, `refusal_texts` and `other_prompts`; without them, and
    without judged responses, those groups are NaN. The order of the responses does not matter.
    """
    features = np.full((len(responses), len(FEATURES)), np.nan)
    rows = {text: text_features(prompt, text, models) for text in dict.fromkeys(responses)}
    features[:, : len(TEXT)] = [rows[text] for text in responses]
    if vectors is None:
        return features
    matrix = np.array([vectors[text] for text in responses])
    relevance = _relevance(prompt, responses, matrix, vectors)
    start = len(TEXT) + len(RELEVANCE)
    features[:, len(TEXT) : start] = relevance
    features[:, start : start + len(SET)] = set_shape(matrix, relevance[:, 0])
    if judged is not None:
        features[:, start + len(SET) :] = neighbours(cosines(matrix, judged.vectors), judged.scores)
    return features


def text_features(prompt: str, text: str, models: LanguageModels) -> list[float]:
    """Return the features that need no model of meaning."""
    cased, of_prompt = _WORD.findall(text), [word.lower() for word in _WORD.findall(prompt)]
    words = [word.lower() for word in cased]
    sentences = [part for part in SENTENCE_END.split(text.strip()) if part.strip()] or [text]
    lines = [line for line in text.split("\n") if line.strip()]
    last = text.rstrip()[-1:]
    content, asked = [word for word in words if word not in _stop_words()], {*of_prompt} - _stop_words()
    counts = [_number(word) for word in of_prompt]
    count = max(counts, default=0)
    bigrams = [*itertools.pairwise(words)]
    letters = max(1, len(text))
    return [
        *(math.log1p(len(text)), math.log1p(len(words)), math.log1p(len(sentences)), math.log1p(len(lines))),
        sum(_LIST_LINE.match(line) is not None for line in lines) / max(1, len(lines)),
        10 * text.count("**") / max(1, len(words)),
        text.count("?") / len(sentences),
        *(float(last == "?"), float(last in '.!?"”)*' and last != ""), float(last in ":,-" and last != "")),
        *(len({*words}) / max(1, len(words)), len({*bigrams}) / max(1, len(bigrams))),
        sum(word in asked for word in content) / max(1, len(content)),
        sum(word in words for word in asked) / max(1, len(asked)),
        *(sum(map(str.isdigit, text)) / letters, sum(map(str.isupper, text)) / letters),
        *(float(count), float(abs(len(sentences) - count)) if count else -1.0, float("sentence" in of_prompt)),
        *(float(ASSENT.match(text.strip()) is not None), float(_DECLINES.search(text.replace("’", "'")) is not None)),
        *(float(len(_WORD.findall(sentences[0]))), math.log1p(len(of_prompt))),
        *(float(_FIRST_PERSON.search(text) is not None), sum(ord(letter) > 127 for letter in text) / letters),
        *_evidence_of_junk(prompt, text, models),
        float(is_refusal(text)),
    ]


def _number(word: str) -> int:
    if word.isdigit() and len(word) < 3:
        return int(word)
    return _banks()["numbers"].index(word) + 1 if word in _banks()["numbers"] else 0


def _relevance(prompt: str, responses: Sequence[str], matrix: Floats, vectors: Mapping[str, Floats]) -> Floats:
    """Return the `RELEVANCE` features [responses, features]."""
    refusals, others = (np.array([vectors[text] for text in bank]) for bank in (refusal_texts(), other_prompts()))
    refusal = cosines(matrix, refusals).max(axis=1)
    like = cosines(matrix, vectors[prompt][None])[:, 0]
    unlike = cosines(matrix, others)
    free = [float(_has_no_topic(prompt, text)) for text in responses]
    return np.stack(
        [like, (like - unlike.mean(axis=1)) / unlike.std(axis=1), like - unlike.max(axis=1), refusal, free], axis=1
    )


def set_shape(matrix: Floats, like_prompt: Floats) -> Floats:
    """Return the `SET` features [responses, features]; NaN for a single response."""
    size = len(matrix)
    features = np.full((size, len(SET)), np.nan)
    if size < 2:
        return features
    others = cosines(matrix, matrix)[~np.eye(size, dtype=bool)].reshape(size, size - 1)
    columns = (others.mean(axis=1), others.max(axis=1), others.min(axis=1))
    shares = ((others > _SAME).mean(axis=1), (others > _ALIKE).mean(axis=1))
    return np.stack([*columns, *shares, np.full(size, like_prompt.mean()), like_prompt - like_prompt.mean()], axis=1)


def neighbours(similarity: Floats, scores: Floats) -> Floats:
    """Return the `NEIGHBOURS` features [responses, features] from cosines [responses, judged] and scores [judged]."""
    if not len(scores):
        return np.full((len(similarity), len(NEIGHBOURS)), np.nan)
    order = np.argsort(-similarity, axis=1, kind="stable")
    ranked, ranked_scores = np.take_along_axis(similarity, order, axis=1), scores[order]
    weights = np.exp(_SHARPNESS * (ranked - ranked[:, :1]))
    weighted, total = np.cumsum(weights * ranked_scores, axis=1), np.cumsum(weights, axis=1)
    ends = [min(size, len(scores)) - 1 for size in (1, 5, 15, len(scores))]
    valid = scores >= VALID_FROM
    best, worst = (similarity[:, chosen].max(axis=1, initial=-1.0) for chosen in (valid, ~valid))
    share = np.full(len(similarity), valid.mean())
    return np.column_stack([weighted[:, ends] / total[:, ends], ranked[:, 0], best, worst, best - worst, share])


def cosines(rows: Floats, columns: Floats) -> Floats:
    """Return the cosines of unit vectors; by row, since the last digits of a matrix product change with its shape."""
    return np.array([(columns * row).sum(axis=1) for row in rows])


@cache
def _banks() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("banks.toml").read_text(encoding="utf-8"))


def refusal_texts() -> tuple[str, ...]:
    """Return refusals to compare responses with."""
    return tuple(_banks()["refusals"])


def other_prompts() -> tuple[str, ...]:
    """Return other prompts to compare responses with."""
    return tuple(_banks()["other_prompts"])


# Thresholds of features from which one of them explains why a response is probably not valid.
_ECHO, _NEW, _UNREADABLE_BITS, _LIKE_FAILING = 0.75, 0.4, 6.0, 0.9
UNREADABLE, ECHO, REFUSAL = "unreadable", "echo of the prompt", "refusal"
# A refusal at the beginning, of something that a system could be asked to do; "I can't sleep at night" is none.
_REFUSES = re.compile(
    r"(?:(?:no|sorry|unfortunately|i'm (?:very |really )?(?:sorry|afraid)|i am (?:sorry|afraid)|i apologi[sz]e"
    r"|my apologies|as an? (?:ai|(?:large )?language model))\b[^.!?\n]{0,60}?)?\bi"
    r"(?:(?: can't| cannot| can not| won't| will not|(?: must)? decline to| refuse to| do not feel comfortable"
    r"| don't feel comfortable|(?:'m| am) (?:unable to|not (?:able to|comfortable|allowed to|permitted to)))"
    r" (?:\w+ly )?(?:answer|assist|choos|compl|compos|creat|discuss|do (?:that|this|so)\b|engag|express|fulfil|generat"
    r"|giv(?:e|ing) you (?:a|any|the|that|one)\b|help(?! but| it| my)|list\b|mak(?:e|ing) (?:a|any|that|this|up)\b|nam"
    r"|offer|participat|pick|play|produc|provid|recommend|respond|roll|satisfy|select|shar|suggest|support|writ)"
    r"| (?:don't|do not) have (?:the (?:ability|capability)|access|(?:any )?(?:personal )?(?:opinion|preference)))",
    re.I,
)
_ANSWERS_NEVERTHELESS = re.compile(r":|\b(?:but|however|instead|here)\b(?! i (?:can't|cannot|won't|am|must|do))", re.I)
_LONGEST_REFUSAL = 600  # characters


def is_clear_refusal(text: str) -> bool:
    """Whether a response begins with a refusal and nothing in it shows that an answer follows.

    >>> is_clear_refusal("I cannot roll a die."), is_clear_refusal("I can't roll a die, but here is a number: 4")
    (True, False)
    """
    plain = text.strip().replace("’", "'")
    begins = _REFUSES.match(plain)
    if begins is None or len(plain) > _LONGEST_REFUSAL:
        return False
    return _ANSWERS_NEVERTHELESS.search(plain, begins.end()) is None


def explanation(text: str, features: Sequence[float]) -> str:
    """Return in words why a response that is probably not valid is not, by its `FEATURES`; vague if none is clear."""
    of = dict(zip(FEATURES, features, strict=True))
    has_topic = not of["no_topic"] > 0  # a riddle may be about anything, and end with a question
    cases = (
        (of["mixed_scripts"] > 0 or of["bits_of_long_texts"] > _UNREADABLE_BITS, UNREADABLE),
        (of["share_of_prompt"] >= _ECHO and of["share_new"] <= _NEW, ECHO),
        (is_clear_refusal(text), REFUSAL),
        (has_topic and of["ends_with_question"] > 0 and of["questions"] > _NEW, "asks back"),
        (of["nearest_failing"] >= max(_LIKE_FAILING, of["nearest_valid"]), "like a response that failed"),
        (has_topic and of["above_likest_prompt"] < 0, "not about the prompt"),
    )
    return next((words for holds, words in cases if holds), "does not do what was asked")


def training_sentences(kind: str) -> tuple[str, ...]:
    """Return sentences of our own from which training makes junk."""
    return tuple(_banks()["junk"][kind])


def is_in_another_script(prompt: str, response: str) -> bool:
    """Whether most letters of a response are not Latin, although nothing in its English prompt asks for others.

    >>> is_in_another_script("Name a fruit.", "яблоко"), is_in_another_script("Name a fruit in Russian.", "яблоко")
    (True, False)
    """
    letters, others = count_letters(response)
    if others < _FEWEST_LETTERS_OF_A_SCRIPT or others <= 0.5 * letters:
        return False
    return not (_allows_languages(prompt) or _asks_for("notation", prompt) or _asks_for("strings", prompt))


@lru_cache(maxsize=64)
def _allows_languages(prompt: str) -> bool:
    """Whether a response may be in a language other than English: the prompt is, has a letter of one, or names one."""
    named = _languages().intersection(re.findall(r"[a-z]+", prompt.casefold()))
    return is_foreign(prompt) or count_letters(prompt)[1] > 0 or len(named) > 0


@cache
def _languages() -> frozenset[str]:
    return frozenset(_banks()["languages"])


@lru_cache(maxsize=64)  # the responses to a prompt follow each other
def _asks_for(kind: str, prompt: str) -> bool:
    """Whether a prompt has a word from a bank of `asked_for`.

    The first word counts only for notation, as in "Draw a cat", and not for names, as in "Name a fruit".
    """
    words = re.findall(r"[a-z]+", prompt.casefold())
    return not _asked_for()[kind].isdisjoint(words if kind == "notation" else words[1:])


@cache
def _asked_for() -> Mapping[str, frozenset[str]]:
    return {kind: frozenset(words) for kind, words in _banks()["asked_for"].items()}


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(_banks()["stop_words"])


def _has_no_topic(prompt: str, response: str) -> bool:
    """Whether a response may be about anything: a name, a question or a string, if the prompt asks for one."""
    text = response.strip()
    return (
        _is_beginning(prompt)
        or _names_no_topic(prompt)
        or (_asks_for("strings", prompt) and len(text) <= _LONGEST_SOUND)
        or (_asks_for("names", prompt) and _is_names(text))
        or (_asks_for("questions", prompt) and "?" in text)
    )


def _is_number(text: str) -> bool:
    return text.strip().isdecimal() and len(text.strip()) <= _LONGEST_STRING


def _is_beginning(prompt: str) -> bool:
    """Whether a prompt is too short to have a topic, such as "It is a", which a response continues.

    >>> _is_beginning("It is a"), _is_beginning("It rained."), _is_beginning("Name a fruit.")
    (True, True, False)
    """
    words = prompt.split()
    is_request = prompt.rstrip().endswith((".", "?", "!")) and words[0].casefold() in _banks()["requests"]
    return len(words) < _FEWEST_WORDS_OF_A_TOPIC and not is_request


@lru_cache(maxsize=64)  # the responses to a prompt follow each other
def asks(prompt: str) -> bool:
    """Whether a prompt asks for something, by its form: a fragment, an opening or a remark does not.

    >>> asks("Tim smiled. Now explain why."), asks("who is that poet"), asks("Who is that"), asks("Tim smiled.")
    (True, True, False, False)
    """
    plain, banks = prompt.casefold().replace("’", "'"), _banks()["asks"]
    if "?" in plain or _WISH.search(plain) or not {*banks["wanted"]}.isdisjoint(_words(plain)[:_FIRST_WORDS]):
        return True
    for sentence in SENTENCE_END.split(plain):
        words = [*itertools.dropwhile(banks["openers"].__contains__, _words(sentence))]
        clauses = [words, *map(_words, _CLAUSE.split(sentence)[1:])]
        if any(clause[:1] and clause[0] in (*_banks()["requests"], *banks["verbs"]) for clause in clauses):
            return True
        # The last word of a short question without its mark carries content, other than that of a fragment.
        is_whole = len(words) >= _FEWEST_WORDS_OF_A_TOPIC or (len(words) > 1 and words[-1] not in _stop_words())
        if is_whole and words[0] in banks["question_words"]:
            return True
    return False


@lru_cache(maxsize=64)
def _names_no_topic(prompt: str) -> bool:
    """Whether a prompt asks for a text of some kind on any topic, as "Tell me a funny joke" does."""
    return set(re.findall(r"[a-z]+", prompt.casefold())) <= _words_without_topic()


@cache
def _words_without_topic() -> frozenset[str]:
    return frozenset(_banks()["words_without_topic"])


def _is_names(text: str) -> bool:
    """Whether a text consists of one or several names: each word has a capital, or no lower-case letter.

    >>> _is_names("Royce Gracie."), _is_names("iPhone SE"), _is_names("Apollo 11"), _is_names("The golden bough")
    (True, True, True, False)
    """
    words = [word for word in text.split() if any(map(str.isalnum, word))]
    return len(words) <= _MOST_NAMES and not any(word == word.lower() != word.upper() for word in words)


def _evidence_of_junk(prompt: str, text: str, models: LanguageModels) -> list[float]:
    """Return features of spelling, word order and echoes; NaN where such a text need not be prose."""
    notation = _asks_for("notation", prompt)
    foreign = is_foreign(text) or is_foreign_prompt(prompt)
    prose = not (notation or foreign or _is_list_or_code(text) or _is_names(text))
    any_string = _asks_for("strings", prompt) and len(text.strip()) <= _LONGEST_STRING
    letters = spelling(text, models.letters)
    any_letters = any_string or (notation and not letters.mixed) or _is_number(text)
    return [
        *((math.nan,) * 5 if any_letters else _unreadable(letters)),
        *((_word_salad(word_order(text, models.order)) if prose else None) or (math.nan,) * 5),
        *(_echo(prompt, text, models.order.words) or (math.nan,) * 3),
    ]


def _unreadable(letters: Spelling) -> tuple[float, ...]:
    long = min(1.0, letters.characters / 20)
    return (letters.bits, letters.bits * long, letters.case_changes, letters.symbols, letters.mixed)


def _word_salad(order: WordOrder) -> tuple[float, ...] | None:
    if order.words < _FEWEST_WORDS:
        return None
    # For normal distributions, the log-odds are linear in the sum over pairs and in their number.
    pairs = min(_MOST_PAIRS, order.pairs)
    root = math.sqrt(pairs)
    return (order.z * root, order.ends_z * root, float(pairs), order.edges, float(order.late_capital))


def _is_list_or_code(text: str) -> bool:
    """Whether a text hardly consists of sentences, so that its words are in another kind of order.

    >>> _is_list_or_code("1. e4 e5 2. Nf3"), _is_list_or_code("salt, oil, rice"), _is_list_or_code("It is 8 o'clock.")
    (True, True, False)
    """
    words = text.split()
    breaks = sum(text.count(mark) for mark in ",\n;|")
    marks = sum(text.count(mark) for mark in "{}[]()=<>_/\\")
    return max(breaks, marks) > len(words) / 3 or sum(map(_is_word, words)) <= len(words) / 2


def _is_word(text: str) -> bool:
    """Whether a text without its outer marks consists of letters, and is not a single one other than "a" and "I"."""
    letters = text.strip(_MARKS).translate(_INNER_MARKS)
    return letters.isalpha() and (len(letters) > 1 or letters in "aI")


def _echo(prompt: str, response: str, common_words: Sequence[str]) -> tuple[float, ...] | None:
    """Return the share of the prompt's word pairs in the response, the share of new ones, and if it is a full answer.

    "One style is boxing" has most of "Name one style", but not its beginning, and has a new word.
    """
    asked, answered = _words(prompt), _words(response)
    if len(asked) < 2 or len(answered) < 2:
        return None
    pairs, answer_pairs = Counter(itertools.pairwise(asked)), Counter(itertools.pairwise(answered))
    common = sum((pairs & answer_pairs).values())
    answers = _is_beginning(prompt) or tuple(asked[:2]) not in answer_pairs
    answers &= not {*answered}.issubset({*asked, *common_words})
    return (common / pairs.total(), 1 - common / answer_pairs.total(), float(answers))


def _words(text: str) -> list[str]:
    return [word for token in text.casefold().split() if (word := token.strip("\"'*_“”‘’«».,;:!?…()[]>"))]
