"""What *random_choice* picks from: 25 categories of 20 options, all of one level (no bird beside an eagle)."""

from collections.abc import Mapping

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "mammals": (
        "badger", "beaver", "camel", "deer", "dolphin", "elephant", "fox", "giraffe", "goat", "hedgehog",
        "kangaroo", "lion", "moose", "otter", "panda", "rabbit", "rhinoceros", "seal", "squirrel", "wolf",
    ),
    "birds": (
        "albatross", "blackbird", "canary", "crow", "cuckoo", "duck", "eagle", "flamingo", "goose", "heron",
        "ostrich", "owl", "parrot", "peacock", "pelican", "penguin", "robin", "sparrow", "swan", "woodpecker",
    ),
    "colors": (
        "beige", "black", "blue", "bronze", "brown", "coral", "cyan", "gold", "gray", "green",
        "indigo", "ivory", "orange", "pink", "purple", "red", "silver", "turquoise", "white", "yellow",
    ),
    "numbers": (
        "3", "5", "8", "11", "14", "17", "20", "23", "26", "29", "34", "38", "41", "47", "52", "59", "66", "73", "85",
        "92",
    ),
    "fruits": (
        "apple", "apricot", "banana", "blueberry", "cherry", "coconut", "fig", "grape", "grapefruit", "kiwi",
        "lemon", "mango", "melon", "papaya", "peach", "pear", "pineapple", "plum", "raspberry", "strawberry",
    ),
    "vegetables": (
        "artichoke", "asparagus", "beet", "broccoli", "cabbage", "carrot", "cauliflower", "celery", "cucumber",
        "eggplant", "kale", "leek", "onion", "parsnip", "potato", "pumpkin", "radish", "spinach", "turnip", "zucchini",
    ),
    "vehicles": (
        "ambulance", "bicycle", "bulldozer", "bus", "canoe", "ferry", "glider", "helicopter", "motorcycle", "sailboat",
        "scooter", "skateboard", "sled", "submarine", "taxi", "tractor", "train", "tram", "truck", "wagon",
    ),
    "instruments": (
        "accordion", "banjo", "bassoon", "cello", "clarinet", "drum", "flute", "guitar", "harmonica", "harp",
        "mandolin", "oboe", "piano", "saxophone", "trombone", "trumpet", "tuba", "ukulele", "violin", "xylophone",
    ),
    "sports": (
        "archery", "badminton", "baseball", "basketball", "boxing", "cricket", "fencing", "football", "golf", "hockey",
        "judo", "rowing", "rugby", "sailing", "skiing", "surfing", "swimming", "tennis", "volleyball", "wrestling",
    ),
    "countries": (
        "Argentina", "Belgium", "Cambodia", "Canada", "Egypt", "Finland", "Ghana", "Iceland", "India", "Japan",
        "Kenya", "Mexico", "Morocco", "New Zealand", "Norway", "Peru", "Portugal", "Thailand", "Turkey", "Vietnam",
    ),
    "cities": (
        "Amsterdam", "Athens", "Bangkok", "Berlin", "Bogotá", "Cairo", "Chicago", "Dublin", "Istanbul", "Lima",
        "Madrid", "Montreal", "Mumbai", "Nairobi", "Oslo", "Prague", "Seoul", "Sydney", "Toronto", "Vienna",
    ),
    "trees": (
        "alder", "ash", "aspen", "beech", "birch", "cedar", "chestnut", "cypress", "elm", "fir",
        "hemlock", "juniper", "larch", "maple", "oak", "palm", "pine", "spruce", "willow", "yew",
    ),
    "flowers": (
        "anemone", "begonia", "carnation", "crocus", "daffodil", "dahlia", "daisy", "geranium", "hyacinth", "iris",
        "lavender", "lily", "marigold", "orchid", "peony", "poppy", "rose", "sunflower", "tulip", "violet",
    ),
    "tools": (
        "ax", "chisel", "clamp", "crowbar", "drill", "file", "hammer", "hoe", "ladder", "level",
        "mallet", "pliers", "rake", "ruler", "saw", "scissors", "screwdriver", "shovel", "trowel", "wrench",
    ),
    "furniture": (
        "armchair", "bed", "bench", "bookcase", "cabinet", "chest", "cradle", "cupboard", "desk", "dresser",
        "footstool", "futon", "hammock", "nightstand", "rocking chair", "shelf", "sideboard", "sofa", "table",
        "wardrobe",
    ),
    "clothes": (
        "apron", "belt", "blouse", "cardigan", "coat", "dress", "gloves", "hat", "hoodie", "jacket",
        "jeans", "pajamas", "raincoat", "scarf", "shirt", "skirt", "socks", "sweater", "tie", "vest",
    ),
    "professions": (
        "architect", "baker", "carpenter", "dentist", "electrician", "farmer", "firefighter", "gardener", "judge",
        "librarian", "mechanic", "nurse", "painter", "pilot", "plumber", "sailor", "tailor", "teacher", "translator",
        "waiter",
    ),
    "drinks": (
        "apple juice", "beer", "cider", "coconut water", "coffee", "cola", "ginger ale", "green tea", "hot chocolate",
        "kefir", "lemonade", "milk", "mineral water", "orange juice", "red wine", "sake", "sherry",
        "tomato juice", "tonic water", "whiskey",
    ),
    "desserts": (
        "apple pie", "baklava", "brownie", "carrot cake", "cheesecake", "chocolate mousse", "crème brûlée", "cupcake",
        "donut", "fruit salad", "gingerbread", "ice cream", "macaron", "panna cotta", "pancakes", "rice pudding",
        "sorbet", "tiramisu", "trifle", "waffles",
    ),
    "gemstones": (
        "agate", "amber", "amethyst", "aquamarine", "diamond", "emerald", "garnet", "jade", "jasper", "lapis lazuli",
        "malachite", "moonstone", "onyx", "opal", "pearl", "ruby", "sapphire", "topaz", "tourmaline", "turquoise",
    ),
    "games": (
        "backgammon", "bingo", "blackjack", "bridge", "charades", "checkers", "chess", "cribbage", "darts", "dominoes",
        "go", "hearts", "hide-and-seek", "hopscotch", "mahjong", "marbles", "poker", "rummy", "solitaire", "tag",
    ),
    "herbs_and_spices": (
        "anise", "basil", "cardamom", "chili", "cinnamon", "cloves", "coriander", "cumin", "dill", "fennel",
        "ginger", "mint", "nutmeg", "oregano", "paprika", "rosemary", "saffron", "sage", "thyme", "turmeric",
    ),
    "languages": (
        "Arabic", "Bengali", "Czech", "Dutch", "English", "French", "German", "Greek", "Hindi", "Hungarian",
        "Italian", "Japanese", "Korean", "Polish", "Portuguese", "Spanish", "Swahili", "Swedish", "Turkish",
        "Vietnamese",
    ),
    "buildings": (
        "barn", "bakery", "castle", "cathedral", "cinema", "cottage", "factory", "gas station", "greenhouse",
        "hospital", "hotel", "library", "lighthouse", "museum", "prison", "school", "stadium", "theater", "warehouse",
        "windmill",
    ),
    "school_subjects": (
        "algebra", "art", "astronomy", "biology", "calculus", "chemistry", "drama", "economics", "geography",
        "geometry", "grammar", "history", "Latin", "literature", "music", "philosophy", "physics", "psychology",
        "statistics", "woodworking",
    ),
}  # fmt: skip
"""Category → its options."""
