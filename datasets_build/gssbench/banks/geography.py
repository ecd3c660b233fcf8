"""Facts about continents, states, cities, waters and mountains."""

from datasets_build.gssbench.facts import Template

STATE_CAPITALS = Template(
    "state_capital",
    "What is the capital of {0}?",
    "Name a city in {0}.",
    (
        ("Alabama", "Montgomery"),
        ("Alaska", "Juneau"),
        ("Arizona", "Phoenix"),
        ("California", "Sacramento"),
        ("Colorado", "Denver"),
        ("Florida", "Tallahassee"),
        ("Hawaii", "Honolulu"),
        ("Illinois", "Springfield"),
        ("Kentucky", "Frankfort"),
        ("Louisiana", "Baton Rouge"),
        ("Michigan", "Lansing"),
        ("Minnesota", "Saint Paul"),
        ("Missouri", "Jefferson City"),
        ("Montana", "Helena"),
        ("Nevada", "Carson City"),
        ("New Mexico", "Santa Fe"),
        ("North Carolina", "Raleigh"),
        ("Ohio", "Columbus"),
        ("Oregon", "Salem"),
        ("Pennsylvania", "Harrisburg"),
        ("South Dakota", "Pierre"),
        ("Tennessee", "Nashville"),
        ("Texas", "Austin"),
        ("Vermont", "Montpelier"),
        ("Virginia", "Richmond"),
        ("Wisconsin", "Madison"),
    ),
)

REGION_CAPITALS = Template(
    "region_capital",
    "What is the capital of the {0}?",
    "Name a city in the {0}.",
    (
        ("Australian state of Queensland", "Brisbane"),
        ("Australian state of Tasmania", "Hobart"),
        ("Australian state of Western Australia", "Perth"),
        ("Canadian province of Alberta", "Edmonton"),
        ("Canadian province of British Columbia", "Victoria"),
        ("Canadian province of Manitoba", "Winnipeg"),
        ("Canadian province of Saskatchewan", "Regina"),
        ("German state of Bavaria", "Munich"),
        ("German state of Hesse", "Wiesbaden"),
        ("German state of Saxony", "Dresden"),
        ("Indian state of Karnataka", "Bengaluru"),
        ("Indian state of Rajasthan", "Jaipur"),
        ("Indian state of Tamil Nadu", "Chennai"),
        ("Indian state of West Bengal", "Kolkata"),
    ),
)

US_STATES = Template(
    "us_state",
    "Which US state {0}?",
    "Name a US state.",
    (
        ("is the largest by area", "Alaska"),
        ("is the smallest by area", "Rhode Island"),
        ("has the most inhabitants", "California"),
        ("has the fewest inhabitants", "Wyoming"),
        ("was the last to join the Union", "Hawaii"),
        ("was the first to ratify the Constitution", "Delaware"),
        ("borders exactly one other state", "Maine"),
        ("is nicknamed the Lone Star State", "Texas"),
    ),
)

CONTINENT_COUNTRIES = Template(
    "continent_country",
    "What is the {0} in {1}?",
    "Name a {2} in {1}.",
    (
        ("largest country by area", "Africa", "country", "Algeria"),
        ("largest country by area", "South America", "country", "Brazil"),
        ("largest country by area", "North America", "country", "Canada"),
        ("most populous country", "Africa", "country", "Nigeria"),
        ("most populous country", "North America", "country", "the United States"),
        ("most populous country", "South America", "country", "Brazil"),
        ("smallest country by area", "Africa", "country", "Seychelles"),
        ("smallest country by area", "Asia", "country", "the Maldives"),
        ("smallest country by area", "Europe", "country", "Vatican City"),
        ("smallest country by area", "South America", "country", "Suriname"),
    ),
)

CONTINENT_NATURE = Template(
    "continent_nature",
    "What is the {0} in {1}?",
    "Name a {2} in {1}.",
    (
        ("longest river", "Asia", "river", "the Yangtze"),
        ("longest river", "Europe", "river", "the Volga"),
        ("longest river", "Africa", "river", "the Nile"),
        ("longest river", "South America", "river", "the Amazon"),
        ("highest mountain", "Africa", "mountain", "Mount Kilimanjaro"),
        ("highest mountain", "Asia", "mountain", "Mount Everest"),
        ("highest mountain", "North America", "mountain", "Denali"),
        ("highest mountain", "South America", "mountain", "Aconcagua"),
        ("highest mountain", "Antarctica", "mountain", "Vinson Massif (Mount Vinson)"),
        ("largest lake by area", "Africa", "lake", "Lake Victoria"),
        ("largest lake by area", "Europe", "lake", "Lake Ladoga"),
        ("largest lake by area", "North America", "lake", "Lake Superior"),
        ("deepest lake", "Africa", "lake", "Lake Tanganyika"),
        ("deepest lake", "Asia", "lake", "Lake Baikal"),
        ("largest desert", "Africa", "desert", "the Sahara"),
    ),
)

GREAT_LAKES = Template(
    "great_lake",
    "{0}",
    "Name {1}.",
    (
        ("Which of the Great Lakes is the largest by area?", "one of the Great Lakes", "Lake Superior"),
        ("Which of the Great Lakes is the shallowest?", "one of the Great Lakes", "Lake Erie"),
        ("Which of the Great Lakes lies entirely in the US?", "one of the Great Lakes", "Lake Michigan"),
    ),
)

WATERS = Template(
    "waters",
    "{0}",
    "Name {1}.",
    (
        ("What is the largest ocean on Earth?", "an ocean", "the Pacific Ocean"),
        ("What is the smallest ocean on Earth?", "an ocean", "the Arctic Ocean"),
        ("Which ocean lies between Africa and Australia?", "an ocean", "the Indian Ocean"),
        ("What is the deepest ocean trench in the world?", "an ocean trench", "the Mariana Trench"),
        ("Which canal connects the Mediterranean Sea with the Red Sea?", "a canal", "the Suez Canal"),
        ("Which canal connects the Atlantic with the Pacific?", "a canal", "the Panama Canal"),
        ("Which strait separates Spain from Morocco?", "a strait", "the Strait of Gibraltar"),
        ("Which strait separates Alaska from Russia?", "a strait", "the Bering Strait"),
        ("Which sea separates Egypt from Saudi Arabia?", "a sea", "the Red Sea"),
        ("Which sea lies between Great Britain and Denmark?", "a sea", "the North Sea"),
    ),
)

RANGES_AND_VOLCANOES = Template(
    "range_or_volcano",
    "{0}",
    "Name {1}.",
    (
        ("Which volcano buried Pompeii?", "a volcano", "Mount Vesuvius"),
        ("Which volcano erupted in Washington State in 1980?", "a volcano", "Mount St. Helens"),
        ("Which mountain range separates France from Spain?", "a mountain range", "the Pyrenees"),
        ("What is the longest mountain range in South America?", "a mountain range", "the Andes"),
        ("In which mountain range is Mount Everest?", "a mountain range", "the Himalayas"),
    ),
)

WORLD = Template(
    "world",
    "{0}",
    "Name {1}.",
    (
        ("What is the largest continent by area?", "a continent", "Asia"),
        ("Which continent is the coldest?", "a continent", "Antarctica"),
        ("Which continent has the most inhabitants?", "a continent", "Asia"),
        ("What is the largest country in the world by area?", "a country", "Russia"),
        ("What is the smallest country in the world by area?", "a country", "Vatican City"),
        ("What is the highest mountain in the world above sea level?", "a mountain", "Mount Everest"),
        ("What is the largest hot desert in the world?", "a desert", "the Sahara"),
        ("What is the largest desert in Mongolia?", "a desert", "the Gobi"),
        ("What is the deepest lake in the world?", "a lake", "Lake Baikal"),
        ("What is the largest island in the world?", "an island", "Greenland"),
        ("What is the tallest uninterrupted waterfall in the world?", "a waterfall", "Angel Falls"),
        ("What is the largest rainforest in the world?", "a rainforest", "the Amazon"),
        ("What is the largest coral reef system in the world?", "a coral reef", "the Great Barrier Reef"),
        ("What is the largest peninsula in the world?", "a peninsula", "the Arabian Peninsula"),
    ),
)

ISLANDS = Template(
    "island",
    "{0}",
    "Name {1}.",
    (
        ("What is the largest island in the Mediterranean Sea?", "an island in the Mediterranean Sea", "Sicily"),
        ("What is the largest Greek island?", "a Greek island", "Crete"),
        ("What is the largest of the Canary Islands?", "one of the Canary Islands", "Tenerife"),
        ("What is the largest of the Balearic Islands?", "one of the Balearic Islands", "Mallorca"),
        ("What is the largest island of the Azores?", "one of the Azores", "São Miguel"),
        ("What is the largest of the Galápagos Islands?", "one of the Galápagos Islands", "Isabela"),
        ("What is the largest island of Japan?", "a Japanese island", "Honshu"),
        ("On which island is Jakarta?", "an island in Indonesia", "Java"),
        ("On which island is Manila?", "an island in the Philippines", "Luzon"),
        ("On which Hawaiian island is Honolulu?", "a Hawaiian island", "Oahu"),
    ),
)

CITY_RIVERS = Template(
    "city_river",
    "Which river flows through the center of {0}?",
    "Name a river in {1}.",
    (
        ("Baghdad", "Iraq", "the Tigris"),
        ("Bangkok", "Thailand", "the Chao Phraya"),
        ("Bordeaux", "France", "the Garonne"),
        ("Budapest", "Hungary", "the Danube"),
        ("Cologne", "Germany", "the Rhine"),
        ("Dublin", "Ireland", "the Liffey"),
        ("Florence", "Italy", "the Arno"),
        ("Glasgow", "Scotland", "the Clyde"),
        ("Kyiv", "Ukraine", "the Dnipro"),
        ("London", "England", "the Thames"),
        ("Paris", "France", "the Seine"),
        ("Prague", "the Czech Republic", "the Vltava"),
        ("Rome", "Italy", "the Tiber"),
        ("Seoul", "South Korea", "the Han"),
        ("Seville", "Spain", "the Guadalquivir"),
        ("Warsaw", "Poland", "the Vistula"),
        ("Zaragoza", "Spain", "the Ebro"),
    ),
)

LANDMARKS = Template(
    "landmark",
    "In which country {0}?",
    "Name a country in {1}.",
    (
        ("is Machu Picchu", "South America", "Peru"),
        ("is the statue of Christ the Redeemer", "South America", "Brazil"),
        ("are the Nazca Lines", "South America", "Peru"),
        ("is the Taj Mahal", "Asia", "India"),
        ("is Angkor Wat", "Asia", "Cambodia"),
        ("is the ancient city of Petra", "Asia", "Jordan"),
        ("is the temple of Borobudur", "Asia", "Indonesia"),
        ("are the ruins of Persepolis", "Asia", "Iran"),
        ("is the Terracotta Army", "Asia", "China"),
        ("is the Eiffel Tower", "Europe", "France"),
        ("is the Colosseum", "Europe", "Italy"),
        ("is the Parthenon", "Europe", "Greece"),
        ("is Stonehenge", "Europe", "the United Kingdom"),
        ("is the Alhambra", "Europe", "Spain"),
        ("is Neuschwanstein Castle", "Europe", "Germany"),
        ("is Chichén Itzá", "North America", "Mexico"),
        ("is Mount Rushmore", "North America", "the United States"),
        ("are the pyramids of Giza", "Africa", "Egypt"),
        ("is Table Mountain", "Africa", "South Africa"),
        ("is the city of Timbuktu", "Africa", "Mali"),
        ("is Serengeti National Park", "Africa", "Tanzania"),
    ),
)

GEOGRAPHY: tuple[Template, ...] = (
    STATE_CAPITALS,
    REGION_CAPITALS,
    US_STATES,
    CONTINENT_COUNTRIES,
    CONTINENT_NATURE,
    GREAT_LAKES,
    WATERS,
    RANGES_AND_VOLCANOES,
    WORLD,
    ISLANDS,
    CITY_RIVERS,
    LANDMARKS,
)
