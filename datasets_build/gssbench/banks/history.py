"""Facts about history, myth, years and the calendar."""

from datasets_build.gssbench.facts import Template

US_PRESIDENTS = Template(
    "us_president",
    "Who was the {0} president of the United States?",
    "Name a president of the United States.",
    (
        ("2nd", "John Adams"),
        ("3rd", "Thomas Jefferson"),
        ("7th", "Andrew Jackson"),
        ("16th", "Abraham Lincoln"),
        ("26th", "Theodore Roosevelt"),
        ("32nd", "Franklin D. Roosevelt"),
        ("35th", "John F. Kennedy"),
        ("37th", "Richard Nixon"),
        ("40th", "Ronald Reagan"),
        ("44th", "Barack Obama"),
    ),
)

RULERS = Template(
    "ruler",
    "Who was {0}?",
    "Name {1}.",
    (
        ("the first Roman emperor", "a Roman emperor", "Augustus"),
        ("the last tsar of Russia", "a Russian tsar", "Nicholas II"),
        ("the first Tudor king of England", "a Tudor monarch", "Henry VII"),
        ("the last Tudor monarch of England", "a Tudor monarch", "Elizabeth I"),
        ("the English king who married six times", "an English king", "Henry VIII"),
        ("the first emperor of a unified China", "an emperor of China", "Qin Shi Huang"),
        ("the last emperor of China", "an emperor of China", "Puyi"),
        ("the longest-reigning British monarch", "a British monarch", "Elizabeth II"),
        ("the first female prime minister of the United Kingdom", "a British prime minister", "Margaret Thatcher"),
        ("the first chancellor of West Germany", "a German chancellor", "Konrad Adenauer"),
        ("the first female chancellor of Germany", "a German chancellor", "Angela Merkel"),
        ("the first female prime minister of India", "a prime minister of India", "Indira Gandhi"),
        ("the first secretary-general of the United Nations", "a secretary-general of the UN", "Trygve Lie"),
        ("the first president of the French Fifth Republic", "a president of France", "Charles de Gaulle"),
        ("the first Black president of South Africa", "a president of South Africa", "Nelson Mandela"),
        ("the king of France beheaded in 1793", "a king of France", "Louis XVI"),
        ("the king of Macedon who conquered the Persian Empire", "a king of ancient Macedon", "Alexander the Great"),
    ),
)

PIONEERS = Template(
    "pioneer",
    "Who was the first {0}?",
    "Name {1}.",
    (
        ("person to walk on the Moon", "a person who has walked on the Moon", "Neil Armstrong"),
        ("human being in space", "a person who has been to space", "Yuri Gagarin"),
        ("woman in space", "a woman who has been to space", "Valentina Tereshkova"),
        ("American woman in space", "an American astronaut", "Sally Ride"),
        ("woman to win a Nobel Prize", "a woman who has won a Nobel Prize", "Marie Curie"),
        ("winner of the Nobel Prize in Literature", "a winner of the Nobel Prize in Literature", "Sully Prudhomme"),
        ("winner of the Nobel Prize in Physics", "a winner of the Nobel Prize in Physics", "Wilhelm Röntgen"),
        ("woman to sit on the US Supreme Court", "a US Supreme Court justice", "Sandra Day O'Connor"),
        ("person to lead a successful expedition to the South Pole", "a polar explorer", "Roald Amundsen"),
        ("woman to fly solo across the Atlantic", "an American aviator", "Amelia Earhart"),
        ("person to fly solo nonstop across the Atlantic", "an American aviator", "Charles Lindbergh"),
        ("European to sail to India around Africa", "a Portuguese explorer", "Vasco da Gama"),
    ),
)

YEARS = Template(
    "year",
    "In what year {0}?",
    "Name a year in the {1} century.",
    (
        ("was the Battle of Hastings", "11th", "1066"),
        ("did King John seal Magna Carta", "13th", "1215"),
        ("did Constantinople fall to the Ottomans", "15th", "1453"),
        ("did Christopher Columbus first reach the Americas", "15th", "1492"),
        ("was the Great Fire of London", "17th", "1666"),
        ("was the US Declaration of Independence adopted", "18th", "1776"),
        ("did the French Revolution begin", "18th", "1789"),
        ("was the Battle of Waterloo", "19th", "1815"),
        ("did the American Civil War begin", "19th", "1861"),
        ("did the Titanic sink", "20th", "1912"),
        ("did the First World War begin", "20th", "1914"),
        ("did the Second World War end", "20th", "1945"),
        ("did human beings first land on the Moon", "20th", "1969"),
        ("did the Berlin Wall fall", "20th", "1989"),
        ("did euro banknotes enter circulation", "21st", "2002"),
        ("was the first iPhone released", "21st", "2007"),
    ),
)

SHIPS = Template(
    "ship",
    "{0}",
    "Name {1}.",
    (
        ("Which ocean liner sank on its maiden voyage in 1912?", "an ocean liner", "the Titanic"),
        ("On which ship did the Pilgrims sail to America in 1620?", "a famous ship", "the Mayflower"),
        ("On which ship did Charles Darwin sail around the world?", "a famous ship", "HMS Beagle"),
    ),
)

WONDERS = Template(
    "ancient_wonder",
    "{0}",
    "Name {1}.",
    (
        (
            "Which of the seven wonders of the ancient world still stands?",
            "one of the seven wonders of the ancient world",
            "the Great Pyramid of Giza",
        ),
        (
            "Which of the seven wonders of the ancient world stood in Rhodes?",
            "one of the seven wonders of the ancient world",
            "the Colossus",
        ),
    ),
)

EVENTS = Template(
    "event",
    "{0}",
    "Name {1}.",
    (
        ("At which battle was Napoleon finally defeated?", "a battle of the Napoleonic Wars", "Waterloo"),
        ("Which battle won William the Conqueror the English throne?", "a battle fought in England", "Hastings"),
        ("Which peace treaty did Germany sign in June 1919?", "a peace treaty", "the Treaty of Versailles"),
        ("Which Roman road runs from Rome to Brindisi?", "a Roman road", "the Appian Way"),
        ("Which empire was ruled by Montezuma II?", "a historical empire", "the Aztec Empire"),
        ("Which empire did Genghis Khan found?", "a historical empire", "the Mongol Empire"),
    ),
)

GODS = Template(
    "god",
    "Who was the {0}?",
    "Name {1}.",
    (
        ("Greek god of the sea", "a Greek god", "Poseidon"),
        ("Greek goddess of love", "a Greek goddess", "Aphrodite"),
        ("Greek goddess of wisdom", "a Greek goddess", "Athena"),
        ("messenger of the gods in Greek myth", "a Greek god", "Hermes"),
        ("king of the gods in Greek myth", "a Greek god", "Zeus"),
        ("Roman god of war", "a Roman god", "Mars"),
        ("Roman goddess of love", "a Roman goddess", "Venus"),
        ("hammer-wielding god of thunder in Norse myth", "a Norse god", "Thor"),
        ("one-eyed father of the Norse gods", "a Norse god", "Odin"),
    ),
)

COLORS_AND_LETTERS = Template(
    "color_or_letter",
    "{0}",
    "Name {1}.",
    (
        ("What is the first letter of the Greek alphabet?", "a Greek letter", "alpha"),
        ("What is the last letter of the Greek alphabet?", "a Greek letter", "omega"),
        ("What is the last letter of the English alphabet?", "a letter of the English alphabet", "Z"),
        ("Which color do you get by mixing blue and yellow paint?", "a color", "green"),
        ("Which color do you get by mixing red and white paint?", "a color", "pink"),
    ),
)

CALENDAR = Template(
    "calendar",
    "{0}",
    "Name {1}.",
    (
        ("What is the shortest month of the year?", "a month", "February"),
        ("Which month comes after June?", "a month", "July"),
        ("In which month is New Year's Day?", "a month", "January"),
        ("Which day comes after Tuesday?", "a day of the week", "Wednesday"),
        ("Which day comes before Saturday?", "a day of the week", "Friday"),
        ("Which season comes after winter?", "a season", "spring"),
    ),
)

HISTORY: tuple[Template, ...] = (
    US_PRESIDENTS,
    RULERS,
    PIONEERS,
    YEARS,
    SHIPS,
    WONDERS,
    EVENTS,
    GODS,
    COLORS_AND_LETTERS,
    CALENDAR,
)
