"""User personas: 42 topics in four kinds."""

from datasets_build.gssbench.tasks import Family, Kind

WORKERS = Kind(
    topics={
        "of a night-shift nurse": (
            "with a long commute",
            "learning Portuguese",
            "raising two teenagers alone",
        ),
        "of a freelance illustrator": (
            "working from a camper van",
            "with an irregular income",
            "new to bookkeeping",
        ),
        "of a long-haul truck driver": (
            "with a passion for opera",
            "trying to eat more healthily",
            "close to retirement",
        ),
        "of a high school principal": (
            "in a rural district",
            "worried about rising costs",
            "in the first year on the job",
        ),
        "of an organic farmer": (
            "selling at weekend markets",
            "in a region short of water",
            "without a successor",
        ),
        "of a restaurant owner": (
            "opening a second branch",
            "in a tourist town",
            "with a dislike of social media",
        ),
        "of a software tester": (
            "returning from parental leave",
            "with limited eyesight",
            "on a fully remote team",
        ),
        "of a wedding photographer": (
            "in a small town",
            "switching to video",
            "with an old, slow laptop",
        ),
        "of a city bus mechanic": (
            "studying for a new license",
            "with a side business in furniture",
            "on rotating shifts",
        ),
        "of a museum curator": (
            "preparing an exhibition for children",
            "with a tiny budget",
            "fond of old maps",
        ),
        "of a community college teacher": (
            "new to online classes",
            "with very large classes",
            "close to burnout",
        ),
    },
    qualifiers=(
        "that includes a typical workday",
        "that lists three frustrations",
        "that names two trusted sources of information",
        "that describes attitudes toward technology",
        "that is under 250 words",
        "that quotes the person twice",
        "that mentions one unusual hobby",
    ),
    outlines=(
        ("Background", "Goals", "Obstacles"),
        ("Name and portrait", "Daily life", "Needs", "Favorite tools"),
        ("Who they are", "What they want", "What stands in the way"),
    ),
)

CONSUMERS = Kind(
    topics={
        "of a first-time homebuyer": (
            "in an expensive city",
            "with a large dog",
            "relocating for work",
        ),
        "of an amateur cook": (
            "with a gluten allergy",
            "in a tiny studio apartment",
            "preparing meals for a family of six",
        ),
        "of a secondhand shopper": (
            "on a student budget",
            "with a taste for vintage clothes",
            "furnishing a first apartment",
        ),
        "of a gym newcomer": (
            "recovering from a knee injury",
            "with very little free time",
            "over sixty years old",
        ),
        "of a cat owner": (
            "with three rescue animals",
            "in a high-rise building",
            "often away on business",
        ),
        "of a home gardener": (
            "with a shady balcony",
            "growing vegetables for the first time",
            "on a windy island",
        ),
        "of a music fan": (
            "collecting vinyl records",
            "with hearing loss",
            "saving up for festivals",
        ),
        "of an electric car owner": (
            "without a charger at home",
            "in a cold climate",
            "driving long distances every week",
        ),
        "of a video game player": (
            "sharing one console with two sisters",
            "in middle age",
            "with little patience for tutorials",
        ),
        "of a coffee lover": (
            "cutting down on caffeine",
            "with an expensive espresso machine",
            "on the road five days a week",
        ),
    },
    qualifiers=(
        "that describes a recent purchase",
        "that explains how the person makes decisions",
        "that lists three frustrations",
        "that gives a realistic income",
        "that ends with a one-sentence summary",
        "that is under 200 words",
        "that says what makes the person trust a brand",
    ),
    outlines=(
        ("Biography", "Habits", "Wishes", "Doubts"),
        ("Portrait", "Needs", "Buying triggers"),
        ("A day in the life", "Goals", "Obstacles"),
    ),
)

LEARNERS = Kind(
    topics={
        "of a first-year law student": (
            "from a family of farmers",
            "working weekends as a waiter",
            "living far from campus",
        ),
        "of an adult beginner on the piano": (
            "in an apartment with thin walls",
            "practicing before work",
            "preparing for a family concert",
        ),
        "of a language learner": (
            "about to move to Japan",
            "with a fear of speaking",
            "studying on the subway",
        ),
        "of a career changer": (
            "leaving a job in banking",
            "interested in carpentry",
            "at the age of fifty",
        ),
        "of a doctoral student": (
            "with two small children",
            "in the final year of a thesis on coral reefs",
            "far from home",
        ),
        "of a homeschooled teenager": (
            "interested in astronomy",
            "growing up on a sailboat",
            "with a talent for mathematics",
        ),
        "of a hobby astronomer": (
            "in a brightly lit suburb",
            "building a telescope from scratch",
            "new to photography",
        ),
        "of an apprentice electrician": (
            "with dyslexia",
            "in a remote mining town",
            "dreaming of a business of her own",
        ),
        "of an exchange student": (
            "from Brazil",
            "living with a strict host family",
            "homesick in the first weeks",
        ),
    },
    qualifiers=(
        "that describes a typical study session",
        "that names the biggest obstacle to progress",
        "that sets out three goals for the year",
        "that describes a preferred way of learning",
        "that quotes the person once",
        "that is under 200 words",
    ),
    outlines=(
        ("Background", "Motivation", "Daily routine", "Support"),
        ("Portrait", "Strengths", "Weaknesses"),
        ("Past", "Present", "Plans"),
    ),
)

NEIGHBORS = Kind(
    topics={
        "of a weekend hiker": (
            "with a fear of heights",
            "without a car",
            "accompanied by a toddler",
        ),
        "of a business traveler": (
            "with a vegan diet",
            "tired of airport lounges",
            "managing a team from abroad",
        ),
        "of a commuter": (
            "on a folding bike",
            "in a city without trains",
            "with two part-time jobs",
        ),
        "of a retired teacher": (
            "touring Europe by rail",
            "new to smartphones",
            "alone in the countryside",
        ),
        "of a cruise passenger": (
            "traveling alone",
            "on a first trip abroad",
            "interested in archaeology",
        ),
        "of a recent immigrant": (
            "looking for an apartment",
            "with a foreign medical degree",
            "sending money home every month",
        ),
        "of a new parent": (
            "with newborn twins",
            "on a tight budget",
            "living far from relatives",
        ),
        "of a grandfather": (
            "helping with homework",
            "an ocean away from his family",
            "with a large vegetable garden",
        ),
        "of a neighborhood volunteer": (
            "organizing a food bank",
            "with little experience of meetings",
            "fluent in three languages",
        ),
        "of a wheelchair user": (
            "planning a city trip",
            "shopping mostly online",
            "with a passion for basketball",
        ),
    },
    qualifiers=(
        "that includes a typical daily schedule",
        "that lists three everyday needs",
        "that describes how the person uses a phone",
        "that mentions two fears and two hopes",
        "that is under 250 words",
        "that ends with a quotation from the person",
    ),
    outlines=(
        ("Background", "Goals", "Obstacles"),
        ("Portrait", "Routine", "Needs", "Preferred channels"),
        ("Situation", "Motivation", "Opportunities"),
    ),
)

PERSONAS = Family(
    "persona",
    ("Create", "Please create", "Write", "Please write", "Develop", "Draft"),
    "a user persona",
    (WORKERS, CONSUMERS, LEARNERS, NEIGHBORS),
)
