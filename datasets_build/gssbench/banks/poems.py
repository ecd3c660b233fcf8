"""Poems: 40 topics in four kinds."""

from datasets_build.gssbench.tasks import Family, Kind

NATURE = Kind(
    topics={
        "about the first snow of the year": (
            "on a crowded railroad platform",
            "in a desert town",
            "seen from a hospital window",
        ),
        "about a thunderstorm": (
            "over a wheat field",
            "on the last night of summer camp",
            "heard from inside a tent",
        ),
        "about migrating geese": (
            "above a sleeping city",
            "over a frozen lake",
            "in the gray light of November",
        ),
        "about an old oak tree": (
            "in the middle of a parking lot",
            "after a lightning strike",
            "behind a village school",
        ),
        "about the tide": (
            "in an abandoned harbor",
            "on a moonless night",
            "around a child's sandcastle",
        ),
        "about a fox": (
            "crossing a suburban garden",
            "in the snow at dawn",
            "outside a late-night diner",
        ),
        "about fog": (
            "in a mountain pass",
            "on the morning of a wedding",
            "around a lighthouse",
        ),
        "about fireflies": (
            "above a disused railroad",
            "in a jar by the bed",
            "at the edge of a battlefield",
        ),
        "about a river": (
            "at the foot of a silent factory",
            "in the last days of winter",
            "between two rival villages",
        ),
        "about a drought": (
            "on a family farm",
            "in its third year",
            "in a village of well diggers",
        ),
        "about wildflowers": (
            "along a busy highway",
            "on an unmarked grave",
            "in the ruins of a castle",
        ),
        "about the northern lights": (
            "above a fishing village",
            "on the longest night of the year",
            "seen for the first time",
        ),
    },
    qualifiers=(
        "that rhymes in couplets",
        "that is written in free verse",
        "that is exactly twelve lines long",
        "that begins and ends with the same line",
        "that appeals to at least three senses",
        'that avoids the word "I"',
        "that contains one question",
        "that uses only short, plain words",
    ),
    outlines=(
        ("What is seen", "What is heard", "What is remembered"),
        ("A wide view", "A single detail", "A quiet ending"),
        ("Stillness", "Movement", "Stillness again"),
    ),
)

PEOPLE = Kind(
    topics={
        "about a grandmother": (
            "peeling apples by a window",
            "learning to read at eighty",
            "on her last train journey",
        ),
        "about a night watchman": (
            "in an empty museum",
            "on his final shift",
            "under a sky full of stars",
        ),
        "about two old friends": (
            "on a park bench",
            "after twenty years of silence",
            "in a snowed-in cabin",
        ),
        "about a beekeeper": (
            "in early spring",
            "after the loss of her hives",
            "at the edge of a big city",
        ),
        "about a street musician": (
            "in a subway tunnel",
            "on a rainy afternoon",
            "with a broken violin",
        ),
        "about a fisherman's daughter": (
            "on the eve of a storm",
            "far from the sea",
            "mending nets by lamplight",
        ),
        "about a retired boxer": (
            "teaching children to dance",
            "in front of a mirror",
            "at a county fair",
        ),
        "about a clockmaker": (
            "in a town without clocks",
            "with failing eyesight",
            "at midnight on New Year's Eve",
        ),
        "about a soldier coming home": (
            "to a house full of strangers",
            "in the middle of the harvest",
            "on the last bus of the day",
        ),
        "about a child learning to swim": (
            "in a cold mountain lake",
            "under a grandfather's eye",
            "at the end of a long summer",
        ),
    },
    qualifiers=(
        "that rhymes on every second line",
        "that is written in free verse",
        "that is no longer than sixteen lines",
        "that never mentions a color",
        "that contains a line of direct speech",
        "that repeats one phrase three times",
        "that mixes sadness and humor",
        "that is written in the present tense",
    ),
    outlines=(
        ("A face", "A habit", "A hope"),
        ("Hands", "Voice", "Silence"),
        ("A first glance", "A closer look", "A parting wish"),
    ),
)

PLACES = Kind(
    topics={
        "about an empty classroom": (
            "on the first day of vacation",
            "after the last bell",
            "in a village with no more children",
        ),
        "about a night train": (
            "across the steppe",
            "full of sleeping strangers",
            "on its way to the sea",
        ),
        "about a kitchen": (
            "before anyone else is awake",
            "on the day of a wedding",
            "in a house about to be sold",
        ),
        "about a market square": (
            "on a winter morning",
            "after the stalls have closed",
            "in the years before the war",
        ),
        "about a lighthouse": (
            "on a rock far from shore",
            "in the year it went dark",
            "during a hurricane",
        ),
        "about an abandoned fairground": (
            "at sunrise",
            "on the outskirts of a mining town",
            "covered in ivy",
        ),
        "about a small library": (
            "during a power cut",
            "at the end of a dirt road",
            "on a rainy Saturday",
        ),
        "about a border crossing": (
            "high in the mountains",
            "at three in the morning",
            "between two friendly countries",
        ),
        "about a rooftop garden": (
            "above a noisy street",
            "in the first week of spring",
            "tended by a widower",
        ),
    },
    qualifiers=(
        "that rhymes in couplets",
        "that uses no rhyme at all",
        "that is exactly fourteen lines long",
        "that speaks directly to the reader",
        "that contains at least two similes",
        "that ends with a question",
        "that uses no word longer than two syllables",
    ),
    outlines=(
        ("From afar", "Up close", "In memory"),
        ("Light", "Sound", "Smell"),
        ("As it was", "As it is", "As it could be"),
    ),
)

THINGS = Kind(
    topics={
        "about a broken teacup": (
            "on the windowsill of an empty house",
            "handed down through four generations",
            "mended with gold",
        ),
        "about a sealed envelope": (
            "at the bottom of a mailbag",
            "found inside a secondhand book",
            "addressed to a forgotten village",
        ),
        "about an old bicycle": (
            "at the bottom of a canal",
            "on the road to the sea",
            "painted a different color every spring",
        ),
        "about a pair of worn shoes": (
            "by the door of a monastery",
            "after a thousand miles",
            "in a museum case",
        ),
        "about a piano": (
            "in a house without music",
            "left out in the rain",
            "with a single missing key",
        ),
        "about a wooden boat": (
            "on a dry lake bed",
            "named after a lost sister",
            "hung from the ceiling of a church",
        ),
        "about a photograph": (
            "with one face cut out",
            "at the bottom of a drawer",
            "taken on the day of a flood",
        ),
        "about a loaf of bread": (
            "shared on a long march",
            "fresh from a village oven",
            "in a time of hunger",
        ),
        "about a red umbrella": (
            "in a gray crowd",
            "forgotten on a bus",
            "at a seaside funeral",
        ),
    },
    qualifiers=(
        "that is told from the object's point of view",
        "that rhymes throughout",
        "that is written in free verse",
        "that is under one hundred words",
        "that contains no adjectives",
        "that asks the object a question",
        "that builds on a single metaphor",
    ),
    outlines=(
        ("What it looks like", "Where it comes from", "What it stands for"),
        ("Its beginning", "Its use", "Its end"),
        ("Its surface", "Its weight", "Its secret"),
    ),
)

POEMS = Family(
    "poem",
    ("Write", "Write me", "Please write", "Compose", "Please compose", "Create"),
    "a poem",
    (NATURE, PEOPLE, PLACES, THINGS),
)
