"""Facts about animals, plants, the human body and food."""

from datasets_build.gssbench.facts import Template

ANIMALS = Template(
    "animal",
    "What is the {0}?",
    "Name {1}.",
    (
        ("fastest land animal", "a land animal", "the cheetah"),
        ("tallest land animal", "a land animal", "the giraffe"),
        ("heaviest land animal", "a land animal", "the African bush elephant"),
        ("largest animal on Earth", "a sea animal", "the blue whale"),
        ("largest living bird", "a bird", "the ostrich"),
        ("smallest bird in the world", "a bird", "the bee hummingbird"),
        ("fastest bird in a dive", "a bird of prey", "the peregrine falcon"),
        ("largest fish in the world", "a fish", "the whale shark"),
        ("largest living reptile", "a reptile", "the saltwater crocodile"),
        ("largest living lizard", "a lizard", "the Komodo dragon"),
        ("largest living penguin", "a species of penguin", "the emperor penguin"),
        ("largest wild cat", "a wild cat", "the tiger"),
        ("largest living rodent", "a rodent", "the capybara"),
        ("largest living marsupial", "a marsupial", "the red kangaroo"),
        ("largest living deer", "a species of deer", "the moose"),
        ("largest frog in the world", "a frog or a toad", "the goliath frog"),
        ("largest living turtle", "a species of turtle", "the leatherback sea turtle"),
        ("heaviest snake in the world", "a snake", "the green anaconda"),
        ("largest member of the dolphin family", "a sea mammal", "the orca"),
        ("largest living primate", "a primate", "the eastern gorilla"),
    ),
)

YOUNG_ANIMALS = Template(
    "young_animal",
    "What is a young {0} called?",
    "Give a word for a young animal.",
    (
        ("kangaroo", "joey"),
        ("swan", "cygnet"),
        ("horse", "foal"),
        ("sheep", "lamb"),
        ("goose", "gosling"),
        ("cow", "calf"),
        ("hare", "leveret"),
        ("goat", "kid"),
        ("owl", "owlet"),
        ("eel", "elver"),
    ),
)

COUNTRY_FOODS = Template(
    "food_origin",
    "{0}",
    "Name {1}.",
    (
        ("Which country does mozzarella come from?", "a country in Europe", "Italy"),
        ("Which country does sake come from?", "a country in Asia", "Japan"),
    ),
)

PLANTS_AND_FOOD = Template(
    "food",
    "{0}",
    "Name {1}.",
    (
        ("On which tree do acorns grow?", "a tree", "oak"),
        ("What is the tallest species of tree in the world?", "a tree", "coast redwood"),
        ("Which grain is sake made from?", "a grain", "rice"),
        ("Which fruit is wine usually made from?", "a fruit", "grape"),
        ("Which nut is marzipan made from?", "a nut", "almond"),
        ("Which spice is made from the stigmas of crocus flowers?", "a spice", "saffron"),
        ("Which legume is tofu made from?", "a legume", "soybean"),
        ("Which legume is the main ingredient of hummus?", "a legume", "chickpea"),
        ("Which vegetable is sauerkraut made from?", "a vegetable", "cabbage"),
        ("Which vegetable gives borscht its red color?", "a vegetable", "beet"),
        ("Which fruit is the main ingredient of guacamole?", "a fruit", "avocado"),
        ("Which herb is the main ingredient of pesto alla genovese?", "an herb", "basil"),
    ),
)

BIOCHEMISTRY = Template(
    "biochemistry",
    "{0}",
    "Name {1}.",
    (
        ("Which vitamin does a person with scurvy lack?", "a vitamin", "vitamin C"),
        ("Which vitamin does the skin make in sunlight?", "a vitamin", "vitamin D"),
        ("Which blood cells carry oxygen?", "a type of blood cell", "red blood cells"),
        ("Which base pairs with adenine in DNA?", "a base found in DNA", "thymine"),
        ("Which base pairs with guanine in DNA?", "a base found in DNA", "cytosine"),
        ("Which part of a plant cell carries out photosynthesis?", "a part of a plant cell", "the chloroplast"),
    ),
)

BODY = Template(
    "body",
    "{0}",
    "Name {1}.",
    (
        ("What is the largest organ of the human body?", "an organ of the human body", "the skin"),
        ("Which organ pumps blood through the body?", "an organ of the human body", "the heart"),
        ("What is the largest internal organ of the human body?", "an internal organ of the human body", "the liver"),
        ("What is the longest bone in the human body?", "a bone in the human body", "the femur"),
        ("What is the smallest bone in the human body?", "a bone in the human body", "the stapes"),
        ("What is the largest muscle in the human body?", "a muscle in the human body", "the gluteus maximus"),
        ("What is the largest artery in the human body?", "an artery", "the aorta"),
        ("Which gland produces insulin?", "a gland in the human body", "the pancreas"),
        ("Which part of the eye is colored and surrounds the pupil?", "a part of the eye", "the iris"),
    ),
)

NATURE: tuple[Template, ...] = (ANIMALS, YOUNG_ANIMALS, COUNTRY_FOODS, PLANTS_AND_FOOD, BIOCHEMISTRY, BODY)
