"""Python programs: 40 topics in five kinds. All can be written with the standard library alone."""

from datasets_build.gssbench.tasks import Family, Kind

FILES = Kind(
    topics={
        "for renaming photos": (
            "by the date on which they were taken",
            "in a deeply nested folder",
            "without overwriting existing files",
        ),
        "for finding duplicate files": (
            "by comparing their checksums",
            "on an external hard drive",
            "in a collection of scanned documents",
        ),
        "for backing up a folder": (
            "to a compressed archive",
            "while skipping hidden files",
            "under a name with the current date",
        ),
        "for splitting a large text file": (
            "into chapters",
            "into pieces of a thousand lines",
            "without loading it into memory",
        ),
        "for counting the words in a novel": (
            "chapter by chapter",
            "while ignoring case and punctuation",
            "with a list of words to leave out",
        ),
        "for tidying a downloads folder": (
            "by sorting files into subfolders",
            "after asking for confirmation",
            "on a shared computer",
        ),
        "for searching log files": (
            "for repeated error messages",
            "from several servers",
            "between two given dates",
        ),
        "for comparing two versions of a text": (
            "line by line",
            "while ignoring blank lines",
            "with the changes marked in color",
        ),
    },
    qualifiers=(
        "that includes a docstring for every function",
        "that uses type hints throughout",
        "that prints clear error messages",
        "that is shorter than sixty lines",
        "that reads its settings from the command line",
        "that reports its progress on the screen",
        "that uses no global variables",
    ),
    outlines=(
        ("Imports", "Helper functions", "Main function", "Entry point"),
        ("Reading the input", "Processing it", "Reporting the result"),
        ("Constants", "Functions", "An example call"),
    ),
)

RECORDS = Kind(
    topics={
        "for tracking household expenses": (
            "by category and month",
            "shared among three roommates",
            "in several currencies",
        ),
        "for analyzing weather records": (
            "from a single station",
            "to find the longest dry spell",
            "stored in a CSV file",
        ),
        "for managing a small library": (
            "with due dates for loans",
            "of children's books",
            "in an SQLite database",
        ),
        "for summarizing survey answers": (
            "on a five-point scale",
            "with missing values",
            "from two different years",
        ),
        "for planning weekly meals": (
            "from a list of favorite recipes",
            "for a vegetarian household",
            "on a fixed budget",
        ),
        "for keeping a runner's training log": (
            "over a whole season",
            "in miles and kilometers",
            "with weekly totals",
        ),
        "for grading multiple-choice tests": (
            "with points off for wrong answers",
            "for a class of thirty students",
            "from an answer key in a text file",
        ),
        "for scheduling shifts": (
            "at a busy restaurant",
            "so that nobody works two nights in a row",
            "for a team of volunteer firefighters",
        ),
        "for pairing mentors with students": (
            "by shared interests",
            "according to ranked preferences",
            "across different time zones",
        ),
    },
    qualifiers=(
        "that defines at least one class",
        "that uses type hints throughout",
        "that relies only on the standard library",
        "that prints its results as a neat table",
        "that comes with unit tests",
        "that handles empty input gracefully",
        "that keeps all of its settings in one place",
    ),
    outlines=(
        ("Data model", "Loading", "Calculation", "Report"),
        ("Imports", "Classes", "Functions", "Entry point"),
        ("Sample data", "Main logic", "Printed summary"),
    ),
)

GAMES = Kind(
    topics={
        "for playing hangman": (
            "with words from a text file",
            "against the clock",
            "in two languages",
        ),
        "for playing tic-tac-toe": (
            "against an unbeatable opponent",
            "on a five-by-five board",
            "in the terminal",
        ),
        "for solving sudoku puzzles": (
            "by backtracking",
            "read from a text file",
            "with a choice of difficulty levels",
        ),
        "for simulating a deck of cards": (
            "for a game of blackjack",
            "with a realistic riffle shuffle",
            "to estimate the odds of a flush",
        ),
        "for drawing mazes": (
            "with exactly one path between any two cells",
            "of any requested size",
            "with walls of ASCII characters",
        ),
        "for simulating Conway's Game of Life": (
            "on a wraparound grid",
            "starting from a glider",
            "at an adjustable speed",
        ),
        "for rolling dice": (
            "with any number of sides",
            "in a tabletop role-playing game",
            "a thousand times in a row",
        ),
        "for quizzing students": (
            "on the capitals of Europe",
            "with questions of growing difficulty",
            "on irregular French verbs",
        ),
        "for simulating traffic lights": (
            "at a four-way intersection",
            "with a button for pedestrians",
            "during rush hour",
        ),
    },
    qualifiers=(
        "that logs every step to a file",
        "that includes a docstring for every function",
        "that relies only on the standard library",
        "that is shorter than one hundred lines",
        "that separates the logic from the display",
        "that explains itself to the user at the start",
    ),
    outlines=(
        ("Setup", "Helper functions", "Main loop", "Summary at the end"),
        ("Imports", "Classes", "Main function"),
        ("Constants", "State", "One step", "Display"),
    ),
)

TOOLS = Kind(
    topics={
        "for converting units": (
            "of length and weight",
            "from metric to imperial",
            "in cooking recipes",
        ),
        "for suggesting passwords": (
            "of a chosen length",
            "from random dictionary words",
            "without easily confused characters",
        ),
        "for timing work sessions": (
            "with a five-minute break after each",
            "for a team of two",
            "according to the Pomodoro technique",
        ),
        "for managing a to-do list": (
            "with priorities and due dates",
            "stored in a JSON file",
            "for a whole family",
        ),
        "for calculating loan payments": (
            "at a fixed interest rate",
            "over thirty years",
            "with an optional down payment",
        ),
        "for splitting a restaurant bill": (
            "according to what each person ordered",
            "with a tip of eighteen percent",
            "after a group birthday dinner",
        ),
        "for listing upcoming birthdays": (
            "a week in advance",
            "from a list of contacts",
            "in order of age",
        ),
    },
    qualifiers=(
        "that has a simple text menu",
        "that rejects invalid input politely",
        "that uses type hints throughout",
        "that comes with unit tests",
        "that is shorter than eighty lines",
        "that has a help message",
    ),
    outlines=(
        ("Imports", "Helper functions", "User interface", "Entry point"),
        ("Input", "Processing", "Output"),
        ("Usage notes", "Functions", "Examples"),
    ),
)

MATHEMATICS = Kind(
    topics={
        "for finding prime numbers": (
            "with the sieve of Eratosthenes",
            "below one million",
            "whose digits add up to ten",
        ),
        "for sorting book titles": (
            "while ignoring leading articles",
            "with a hand-written insertion sort",
            "by author and then by year",
        ),
        "for multiplying matrices": (
            "of rational numbers",
            "given as nested lists",
            "with mostly zero entries",
        ),
        "for finding the shortest route": (
            "between two subway stations",
            "through a weighted graph",
            "with Dijkstra's algorithm",
        ),
        "for estimating pi": (
            "with random points in a square",
            "to a given number of decimals",
            "by summing an infinite series",
        ),
        "for converting Roman numerals": (
            "to ordinary numbers",
            "up to 3,999",
            "with a check for misspelled numerals",
        ),
        "for balancing chemical equations": (
            "with whole-number coefficients",
            "typed in by the user",
            "with exact fractions",
        ),
    },
    qualifiers=(
        "that explains every step in comments",
        "that relies only on the standard library",
        "that measures its own running time",
        "that includes three worked examples",
        "that consists of small, pure functions",
        "that uses type hints throughout",
    ),
    outlines=(
        ("Explanation of the method", "Core function", "Example"),
        ("Imports", "Helper functions", "Main function", "Tests"),
        ("Input", "Algorithm", "Printed result"),
    ),
)

PROGRAMS = Family(
    "program",
    ("Write", "Write me", "Please write", "Create", "Please create", "Develop"),
    "a Python program",
    (FILES, RECORDS, GAMES, TOOLS, MATHEMATICS),
)
