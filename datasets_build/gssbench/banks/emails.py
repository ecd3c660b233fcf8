"""Emails: 40 topics in six kinds."""

from datasets_build.gssbench.tasks import Family, Kind

REQUESTS = Kind(
    topics={
        "asking for an internship": (
            "at a natural history museum",
            "with a small film studio",
            "during the summer break",
        ),
        "requesting a week of leave": (
            "during the busiest month of the year",
            "to look after a sick parent",
            "for a cousin's wedding",
        ),
        "asking to postpone a deadline": (
            "for a history essay",
            "for a museum catalog",
            "after a burst pipe in the office",
        ),
        "asking about the cost": (
            "of repainting a stairwell",
            "of catering a retirement party",
            "of moving a grand piano",
        ),
        "asking for volunteers": (
            "to plant trees in a city park",
            "to run a school book fair",
            "to clean up a riverbank",
        ),
        "requesting access to a newspaper archive": (
            "for research on an old theater",
            "for a family history project",
            "outside normal opening hours",
        ),
        "asking for feedback": (
            "on the design of a playground",
            "on a new cafeteria menu",
            "after a training workshop",
        ),
        "asking for permission to film": (
            "inside a railroad station",
            "in a neighbor's orchard",
            "at a night market",
        ),
        "asking for donations": (
            "of used bicycles",
            "to an animal shelter",
            "toward a new roof for a village library",
        ),
    },
    qualifiers=(
        "that explains why the matter is urgent",
        "that is under 120 words",
        "that asks for an answer by a firm date",
        "that thanks the reader in advance",
        "that refers to an earlier phone call",
        "that is written in a formal tone",
        "that ends by proposing a short meeting",
    ),
    outlines=(
        ("Greeting", "Reason for writing", "Request", "Thanks"),
        ("Background", "What is needed", "What happens next"),
        ("Subject line", "Opening", "Request", "Sign-off"),
    ),
)

COMPLAINTS = Kind(
    topics={
        "complaining about a noisy neighbor": (
            "in a building with thin walls",
            "with a new drum kit",
            "during the week of final exams",
        ),
        "complaining about a late delivery": (
            "of office chairs",
            "of flowers for a wedding",
            "from an online bookstore",
        ),
        "reporting a billing error": (
            "on a phone contract",
            "for a canceled gym membership",
            "after a hotel stay",
        ),
        "complaining about a canceled flight": (
            "on the eve of a holiday",
            "during a family vacation",
            "at a small regional airport",
        ),
        "reporting a broken heating system": (
            "in a rented apartment",
            "in the middle of January",
            "at a primary school",
        ),
        "complaining about a guided tour": (
            "of a medieval castle",
            "in the pouring rain",
            "with far too many participants",
        ),
        "reporting a damaged parcel": (
            "full of handmade ceramics",
            "left out in the rain",
            "shipped from overseas",
        ),
    },
    qualifiers=(
        "that stays polite throughout",
        "that says clearly what should be done",
        "that lists the events in order",
        "that refers to two earlier attempts to solve the problem",
        "that is under 150 words",
        "that sets a date for a reply",
        "that refers to an attached file",
    ),
    outlines=(
        ("What happened", "Why it matters", "What should be done"),
        ("Greeting", "Problem", "Evidence", "Remedy", "Closing"),
        ("Subject line", "Summary", "Details", "Next steps"),
    ),
)

ANNOUNCEMENTS = Kind(
    topics={
        "announcing new office hours": (
            "at a dental clinic",
            "for the summer months",
            "at a university help desk",
        ),
        "announcing a new line of backpacks": (
            "made from recycled sails",
            "for schoolchildren",
            "to retailers across the country",
        ),
        "announcing the closing of a swimming pool": (
            "for urgent repairs",
            "at the end of the season",
            "in a small coastal town",
        ),
        "announcing the merger of two choirs": (
            "from neighboring towns",
            "after years of friendly rivalry",
            "ahead of the spring concert",
        ),
        "announcing a change in the parking rules": (
            "at an apartment complex",
            "around a football stadium",
            "near the town hall",
        ),
        "announcing a promotion": (
            "within the accounting team",
            "to head nurse",
            "at a family-owned bakery",
        ),
        "announcing a planned power outage": (
            "in a residential street",
            "at a research lab",
            "on a Sunday morning",
        ),
        "introducing a new colleague": (
            "to the kitchen staff of a hotel",
            "at a veterinary practice",
            "on a fully remote team",
        ),
    },
    qualifiers=(
        "that opens with the most important fact",
        "that answers two likely questions",
        "that names a person to contact",
        "that is under 200 words",
        "that invites questions",
        "that contains a short bulleted list",
        "that keeps to plain language",
    ),
    outlines=(
        ("Headline", "Details", "What it means for the reader", "Contact"),
        ("Greeting", "News", "Background", "Closing"),
        ("What is new", "Why", "When it takes effect"),
    ),
)

INVITATIONS = Kind(
    topics={
        "inviting friends to a housewarming party": (
            "in a converted barn",
            "on the shortest day of the year",
            "on a houseboat",
        ),
        "inviting a guest speaker": (
            "to a high school career day",
            "to a conference on bees",
            "for a lecture on bridge design",
        ),
        "inviting colleagues to a farewell lunch": (
            "for a retiring librarian",
            "at a noodle restaurant",
            "on the last day of the month",
        ),
        "inviting parents to a science fair": (
            "at an elementary school",
            "in the town's sports hall",
            "run entirely by students",
        ),
        "inviting customers to a tasting": (
            "at a family vineyard",
            "of local cheeses",
            "in the cellar of an old inn",
        ),
        "inviting neighbors to a street party": (
            "in honor of a local hero",
            "on a midsummer evening",
            "with live music",
        ),
    },
    qualifiers=(
        "that asks for a reply by Friday",
        "that gives directions to the venue",
        "that ends with a short postscript",
        "that is written in a warm, informal style",
        "that runs to no more than six sentences",
        "that mentions a plan for bad weather",
    ),
    outlines=(
        ("Greeting", "Occasion", "Date and place", "How to reply"),
        ("A warm opening", "What to expect", "Practical details"),
        ("Subject line", "Invitation", "Schedule", "Sign-off"),
    ),
)

THANKS = Kind(
    topics={
        "thanking a teacher": (
            "for help with a first concert",
            "at the end of the school year",
            "ten years after graduation",
        ),
        "thanking a host family": (
            "after a semester abroad",
            "for a weekend by the sea",
            "at the end of a long winter stay",
        ),
        "thanking the members of a search party": (
            "after the rescue of a lost dog",
            "in a mountain village",
            "on behalf of a worried family",
        ),
        "congratulating a friend": (
            "on passing the bar exam",
            "on opening a restaurant",
            "on the birth of twins",
        ),
        "thanking a team": (
            "for finishing a bridge ahead of schedule",
            "after a difficult product recall",
            "at the end of a charity run",
        ),
    },
    qualifiers=(
        "that mentions one specific detail",
        "that is no longer than five sentences",
        "that ends with an offer of help",
        "that sounds sincere without being sentimental",
        "that avoids clichés",
        "that opens with a short anecdote",
    ),
    outlines=(
        ("Greeting", "A memory", "What it meant", "Good wishes"),
        ("The occasion", "Praise", "A look ahead"),
        ("Subject line", "Opening", "Main message", "Sign-off"),
    ),
)

APOLOGIES = Kind(
    topics={
        "apologizing for a missed appointment": (
            "with a tax adviser",
            "at a hair salon",
            "on the first day back from vacation",
        ),
        "apologizing for a delivery mix-up": (
            "at a flower shop",
            "between two customers with the same name",
            "on the day before a wedding",
        ),
        "apologizing to an aunt for a forgotten birthday": (
            "after a hectic week at work",
            "for the second year in a row",
            "on behalf of the whole family",
        ),
        "apologizing for a loud party": (
            "to the people downstairs",
            "on a weeknight",
            "in a student dormitory",
        ),
        "apologizing for a broken window": (
            "in the neighbors' greenhouse",
            "after a game of baseball",
            "in a rented cottage",
        ),
    },
    qualifiers=(
        "that takes full responsibility",
        "that explains briefly what went wrong",
        "that offers to make amends",
        "that is free of excuses",
        "that is under 100 words",
        "that closes with a touch of humor",
    ),
    outlines=(
        ("Greeting", "Apology", "Explanation", "Closing"),
        ("What went wrong", "Regret", "How it will be put right"),
        ("Subject line", "Apology", "A promise", "Sign-off"),
    ),
)

EMAILS = Family(
    "email",
    ("Write", "Write me", "Please write", "Compose", "Draft", "Please draft"),
    "an email",
    (REQUESTS, COMPLAINTS, ANNOUNCEMENTS, INVITATIONS, THANKS, APOLOGIES),
)
