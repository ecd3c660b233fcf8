"""Short stories: 40 topics in four kinds."""

from datasets_build.gssbench.tasks import Family, Kind

MYSTERIES = Kind(
    topics={
        "about a stolen painting": (
            "in a seaside hotel",
            "during a masked ball",
            "returned a century too late",
        ),
        "about a missing cat": (
            "in a retirement home",
            "on a cargo ship",
            "during a heat wave",
        ),
        "about a hidden safe": (
            "at a boarding school",
            "in the house of a retired judge",
            "without a key",
        ),
        "about a locked room": (
            "at the top of a lighthouse",
            "in a house full of cousins",
            "on a luxury train",
        ),
        "about a forged will": (
            "in a family of beekeepers",
            "on the eve of a funeral",
            "in eighteenth-century Venice",
        ),
        "about a private detective": (
            "afraid of the dark",
            "hired by a ghost",
            "on the first day of retirement",
        ),
        "about a vanished village": (
            "at the bottom of a reservoir",
            "on an old map",
            "in the Scottish Highlands",
        ),
        "about a jewel thief": (
            "with a guilty conscience",
            "at a village fair",
            "trapped in an elevator",
        ),
        "about a secret passage": (
            "between two rival shops",
            "behind the stage of an opera house",
            "under a snowbound castle",
        ),
    },
    qualifiers=(
        "that is told in the first person",
        "that is under 800 words",
        "that begins with a line of dialogue",
        "that plants one false clue",
        "that never names its main character",
        "that takes place within a single day",
        "that is written in the present tense",
    ),
    outlines=(
        ("The puzzle", "The false trail", "The truth"),
        ("A quiet morning", "A discovery", "A suspicion", "A confession"),
        ("What everyone believes", "What does not fit", "What really happened"),
    ),
)

FANTASIES = Kind(
    topics={
        "about a household robot": (
            "in love with a streetlamp",
            "inherited by a grumpy widow",
            "on the day before its retirement",
        ),
        "about a colony on Mars": (
            "cut off from Earth for a year",
            "with a single surviving tree",
            "on the eve of an election",
        ),
        "about a time traveler": (
            "stuck in a medieval kitchen",
            "with amnesia",
            "at her own birthday party",
        ),
        "about a dragon": (
            "afraid of heights",
            "running a secondhand bookstore",
            "in a modern zoo",
        ),
        "about a city on the back of a whale": (
            "in the year of the great storm",
            "with only one cartographer",
            "drifting toward the ice",
        ),
        "about a wizard's apprentice": (
            "with no talent for magic",
            "on the day of the final exam",
            "in charge of a haunted laundry",
        ),
        "about a machine for recording dreams": (
            "in a poor neighborhood",
            "owned by a jealous king",
            "on sale at a flea market",
        ),
        "about a mermaid": (
            "working as a lifeguard",
            "in a landlocked country",
            "on trial for theft",
        ),
        "about a ghost": (
            "with stage fright",
            "in a brand-new apartment",
            "looking for a lost earring",
        ),
        "about an alien botanist": (
            "in a supermarket",
            "stranded in the Sahara",
            "during the first frost",
        ),
    },
    qualifiers=(
        "that is suitable for young children",
        "that is under 600 words",
        "that contains no dialogue",
        "that has a surprising last sentence",
        "that is told in the second person",
        "that makes fun of bureaucracy",
        "that treats the impossible as ordinary",
    ),
    outlines=(
        ("The world as it is", "A disturbance", "A hard choice", "The world afterward"),
        ("A wish", "A mistake", "A lesson"),
        ("An arrival", "A misunderstanding", "A friendship"),
    ),
)

DAILY_LIFE = Kind(
    topics={
        "about a family dinner": (
            "on the night of a blackout",
            "with an uninvited guest",
            "at the end of a long quarrel",
        ),
        "about a bus driver": (
            "on the last route of the day",
            "with a secret talent",
            "in a snowbound town",
        ),
        "about two sisters": (
            "with a failing bakery",
            "on opposite sides of a border",
            "at a spelling bee",
        ),
        "about a lost suitcase": (
            "full of other people's letters",
            "at a crowded airport",
            "returned by a stranger",
        ),
        "about a first day at work": (
            "in a flower shop",
            "at the age of seventy",
            "on the night shift of a hospital",
        ),
        "about a wedding": (
            "without a groom",
            "in a flooded church",
            "seen through the eyes of the cook",
        ),
        "about a piano teacher": (
            "with a hopeless pupil",
            "in a village at war",
            "on a concert tour",
        ),
        "about a feud between neighbors": (
            "over a cherry tree",
            "in the days before a hurricane",
            "at a gardening contest",
        ),
        "about a long-distance friendship": (
            "between a farmer and an astronaut",
            "kept alive by postcards",
            "in the age of telegrams",
        ),
        "about a chess club": (
            "in a prison",
            "with only three members",
            "on its hundredth anniversary",
        ),
        "about an amateur baker": (
            "in a national competition",
            "with a stolen recipe",
            "on the morning of a christening",
        ),
    },
    qualifiers=(
        "that is told in the past tense",
        "that is under 500 words",
        "that mixes humor and sadness",
        "that begins in the middle of a conversation",
        "that ends on a hopeful note",
        "that quotes from a letter",
        "that uses plenty of dialogue",
    ),
    outlines=(
        ("A normal day", "An interruption", "A choice", "A consequence"),
        ("An arrival", "A misunderstanding", "A reconciliation"),
        ("Beginning", "Complication", "Climax", "Aftermath"),
    ),
)

ADVENTURES = Kind(
    topics={
        "about a shipwreck": (
            "off the coast of Iceland",
            "with a cargo of mirrors",
            "survived by a cook and a parrot",
        ),
        "about a treasure map": (
            "torn in half",
            "tattooed on a sailor's back",
            "in the attic of an orphanage",
        ),
        "about a mountain rescue": (
            "in the middle of a snowstorm",
            "led by a nervous guide",
            "on the highest peak in the Andes",
        ),
        "about a smuggler": (
            "in the port of Marseille",
            "with a cargo of forbidden books",
            "pursued by her own brother",
        ),
        "about a hot-air balloon": (
            "drifting over the Alps",
            "with two stowaways aboard",
            "in a race around the world",
        ),
        "about an escape": (
            "from a tower without doors",
            "across a frozen sea",
            "planned for eleven years",
        ),
        "about a traveling circus": (
            "in the middle of a desert",
            "on the brink of ruin",
            "in the winter of 1911",
        ),
        "about a young cartographer": (
            "on an unknown island",
            "with a fear of open water",
            "in the service of a queen",
        ),
        "about a cave explorer": (
            "without a light",
            "in search of a lost brother",
            "beneath an ancient city",
        ),
        "about a dogsled race": (
            "across Alaska",
            "through a night of fog",
            "between two former friends",
        ),
    },
    qualifiers=(
        "that is told in the first person",
        "that is under 1,000 words",
        "that opens in the middle of the action",
        "that is written in short sentences",
        "that gives an animal an important part",
        "that ends where it began",
        "that includes a page from a diary",
    ),
    outlines=(
        ("Departure", "Danger", "Loss", "Return"),
        ("A promise", "A setback", "A daring plan", "A price"),
        ("The goal", "The obstacle", "The outcome"),
    ),
)

STORIES = Family(
    "story",
    ("Write", "Write me", "Please write", "Make up", "Please make up", "Tell me"),
    "a short story",
    (MYSTERIES, FANTASIES, DAILY_LIFE, ADVENTURES),
)
