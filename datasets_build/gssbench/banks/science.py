"""Facts about the sky, the elements, the Earth, numbers and the people who found things out."""

from datasets_build.gssbench.facts import Template

PLANETS = Template(
    "planet",
    "Which planet in our solar system {0}?",
    "Name a planet in our solar system.",
    (
        ("is the largest", "Jupiter"),
        ("is the smallest", "Mercury"),
        ("is closest to the Sun", "Mercury"),
        ("is farthest from the Sun", "Neptune"),
        ("is the hottest", "Venus"),
        ("is called the Red Planet", "Mars"),
        ("has the lowest density", "Saturn"),
        ("rotates most slowly on its axis", "Venus"),
        ("rotates fastest on its axis", "Jupiter"),
        ("orbits the Sun tipped over on its side", "Uranus"),
        ("is home to all known life", "Earth"),
    ),
)

MOONS = Template(
    "moon",
    "What is the largest moon of {0}?",
    "Name a moon of {0}.",
    (
        ("Jupiter", "Ganymede"),
        ("Mars", "Phobos"),
        ("Neptune", "Triton"),
        ("Saturn", "Titan"),
        ("Uranus", "Titania"),
    ),
)

STARS = Template(
    "star",
    "What is the brightest star in the constellation {0}?",
    "Name a star in the constellation {0}.",
    (
        ("Aquila", "Altair"),
        ("Boötes", "Arcturus"),
        ("Canis Major", "Sirius"),
        ("Canis Minor", "Procyon"),
        ("Carina", "Canopus"),
        ("Cygnus", "Deneb"),
        ("Lyra", "Vega"),
        ("Scorpius", "Antares"),
        ("Taurus", "Aldebaran"),
        ("Virgo", "Spica"),
    ),
)

ELEMENT_SYMBOLS = Template(
    "element_symbol",
    "Which {0} has the chemical symbol {1}?",
    "Name {2}.",
    (
        ("metal", "Ag", "a metal", "silver"),
        ("metal", "Au", "a metal", "gold"),
        ("metal", "Cu", "a metal", "copper"),
        ("metal", "Fe", "a metal", "iron"),
        ("metal", "Hg", "a metal", "mercury"),
        ("metal", "Pb", "a metal", "lead"),
        ("metal", "Sn", "a metal", "tin"),
        ("metal", "W", "a metal", "tungsten"),
        ("alkali metal", "K", "an alkali metal", "potassium"),
        ("alkali metal", "Na", "an alkali metal", "sodium"),
        ("halogen", "Br", "a halogen", "bromine"),
        ("halogen", "F", "a halogen", "fluorine"),
        ("noble gas", "Ne", "a noble gas", "neon"),
        ("noble gas", "Xe", "a noble gas", "xenon"),
    ),
)

ELEMENTS = Template(
    "element",
    "Which chemical element {0}?",
    "Name a chemical element.",
    (
        ("has the atomic number 1", "hydrogen"),
        ("has the atomic number 6", "carbon"),
        ("has the atomic number 8", "oxygen"),
        ("has the atomic number 20", "calcium"),
        ("has the atomic number 92", "uranium"),
        ("is the lightest noble gas", "helium"),
        ("makes up most of Earth's atmosphere", "nitrogen"),
        ("are diamonds made of", "carbon"),
    ),
)

EARTH = Template(
    "earth",
    "{0}",
    "Name {1}.",
    (
        ("What is the hardest natural mineral on the Mohs scale?", "a mineral", "diamond"),
        ("What is the softest mineral on the Mohs scale?", "a mineral", "talc"),
        ("Which rock forms when limestone is transformed by heat and pressure?", "a metamorphic rock", "marble"),
        ("What is the innermost layer of the Earth?", "a layer of the Earth", "the inner core"),
        ("What is the outermost solid layer of the Earth?", "a layer of the Earth", "the crust"),
        ("What is the lowest layer of Earth's atmosphere?", "a layer of Earth's atmosphere", "the troposphere"),
        ("Which type of cloud brings thunderstorms?", "a type of cloud", "cumulonimbus"),
        ("At the end of which geological period did Tyrannosaurus rex die out?", "a geological period", "Cretaceous"),
        ("What is the second most abundant gas in Earth's atmosphere?", "a gas in Earth's atmosphere", "oxygen"),
        ("From which supercontinent did today's continents break apart?", "a supercontinent", "Pangaea"),
    ),
)

UNITS = Template(
    "unit",
    "{0}",
    "Name {1}.",
    (
        ("What is the SI unit of force?", "an SI unit", "newton"),
        ("What is the SI unit of power?", "an SI unit", "watt"),
        ("What is the SI unit of frequency?", "an SI unit", "hertz"),
        ("What is the SI unit of pressure?", "an SI unit", "pascal"),
        ("What is the SI unit of electric current?", "an SI unit", "ampere"),
        ("What is the SI unit of electrical resistance?", "an SI unit", "ohm"),
    ),
)

PHYSICS = Template(
    "physics",
    "{0}",
    "Name {1}.",
    (
        ("Which particle in an atom has a negative charge?", "a subatomic particle", "electron"),
        ("Which particle in an atomic nucleus has no charge?", "a subatomic particle", "neutron"),
        ("Which color of visible light has the longest wavelength?", "a color of the rainbow", "red"),
        ("Which color of the rainbow comes between yellow and blue?", "a color of the rainbow", "green"),
    ),
)

SCIENTISTS = Template(
    "scientist",
    "Who {0}?",
    "Name {1}.",
    (
        ("formulated the three laws of motion", "an English physicist", "Isaac Newton"),
        ("developed the general theory of relativity", "a physicist", "Albert Einstein"),
        ("discovered X-rays", "a physicist", "Wilhelm Röntgen"),
        ("discovered the electron", "a physicist", "J. J. Thomson"),
        ("discovered the neutron", "a physicist", "James Chadwick"),
        ("formulated the uncertainty principle", "a physicist", "Werner Heisenberg"),
        ("formulated the three laws of planetary motion", "an astronomer", "Johannes Kepler"),
        ("discovered the planet Uranus", "an astronomer", "William Herschel"),
        ("discovered Pluto", "an astronomer", "Clyde Tombaugh"),
        ("discovered penicillin", "a bacteriologist", "Alexander Fleming"),
        ('wrote "On the Origin of Species"', "a naturalist", "Charles Darwin"),
        ("discovered the laws of inheritance by breeding peas", "a geneticist", "Gregor Mendel"),
        ("proved Fermat's Last Theorem", "a mathematician", "Andrew Wiles"),
        ("proved the incompleteness theorems", "a logician", "Kurt Gödel"),
    ),
)

NUMBERS = Template(
    "number",
    "{0}",
    "Name {1}.",
    (
        ("What is the smallest prime number?", "a prime number", "2"),
        ("What is the largest prime number below 20?", "a prime number", "19"),
        ("What is 7 times 8?", "an even number", "56"),
        ("What is 9 times 9?", "an odd number", "81"),
        ("How many days are there in a leap year?", "a three-digit number", "366"),
        ("What is the smallest positive perfect number?", "a perfect number", "6"),
        ("What is 12 squared?", "a square number", "144"),
        ("What is half of 90?", "a multiple of five", "45"),
        ("How many minutes are there in an hour?", "a multiple of ten", "60"),
        ("What is the smallest two-digit number?", "a two-digit number", "10"),
    ),
)

SHAPES = Template(
    "shape",
    "{0}",
    "Name {1}.",
    (
        ("Which polygon has three sides?", "a polygon", "triangle"),
        ("Which polygon has five sides?", "a polygon", "pentagon"),
        ("Which polygon has six sides?", "a polygon", "hexagon"),
        ("Which polygon has eight sides?", "a polygon", "octagon"),
        ("Which regular polyhedron has six faces?", "a regular polyhedron", "cube"),
        ("Which regular polyhedron has twelve faces?", "a regular polyhedron", "dodecahedron"),
        ("Which regular polyhedron has twenty faces?", "a regular polyhedron", "icosahedron"),
        ("Which quadrilateral has four equal sides and four right angles?", "a quadrilateral", "square"),
    ),
)

LANGUAGES = Template(
    "programming_language",
    "Which programming language was created by {0}?",
    "Name a programming language.",
    (
        ("Guido van Rossum", "Python"),
        ("Bjarne Stroustrup", "C++"),
        ("Brendan Eich", "JavaScript"),
        ("Larry Wall", "Perl"),
        ("Yukihiro Matsumoto", "Ruby"),
    ),
)

SCIENCE: tuple[Template, ...] = (
    PLANETS,
    MOONS,
    STARS,
    ELEMENT_SYMBOLS,
    ELEMENTS,
    EARTH,
    UNITS,
    PHYSICS,
    SCIENTISTS,
    NUMBERS,
    SHAPES,
    LANGUAGES,
)
