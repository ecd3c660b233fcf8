"""What *union* joins: themes of requests with quadruples of alternatives, of one type and none inside another."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Theme:
    """Requests and what they may ask for; every request fits every quadruple.

    Attributes:
        requests: With one `{}` where the alternatives stand.
        quadruples: Of alternatives. Two of them share no member, so that no two sets of one request share a pair.
    """

    requests: tuple[str, ...]
    quadruples: tuple[tuple[str, str, str, str], ...]


THEMES: Mapping[str, Theme] = {
    "meals": Theme(
        ("Come up with a menu for {}.", "Suggest a dish for {}.", "Write a shopping list for {}."),
        (
            ("a picnic by a lake", "a birthday brunch", "a beach barbecue", "a Sunday family dinner"),
            ("a school lunch", "a midnight snack", "a wedding banquet", "a campfire breakfast"),
        ),
    ),
    "genres": Theme(
        ("Write the opening sentence of {}.", "Suggest a title for {}.", "Describe the cover of {}."),
        (
            ("a detective novel", "a travel memoir", "a book of fairy tales", "a cookbook"),
            ("a spy thriller", "a collection of love letters", "a guide to birdwatching", "a science textbook"),
        ),
    ),
    "shops": Theme(
        ("Suggest a name for {}.", "Write an advertising slogan for {}.", "Describe the front window of {}."),
        (
            ("a bakery", "a bookstore", "a barbershop", "a bicycle repair shop"),
            ("a toy store", "a pharmacy", "a fish market", "a jewelry store"),
        ),
    ),
    "animals": Theme(
        ("Write a short poem about {}.", "Tell a fable about {}.", "Describe the daily life of {}."),
        (
            ("a heron", "a hedgehog", "a moth", "a salmon"),
            ("a tortoise", "a wolf", "a peacock", "a grasshopper"),
        ),
    ),
    "objects": Theme(
        ("Write a riddle whose answer is {}.", "Invent an unusual use for {}.", "Write a product description for {}."),
        (
            ("a candle", "a ladder", "a mirror", "an umbrella"),
            ("a spoon", "a lantern", "a rope", "a teapot"),
        ),
    ),
    "recipients": Theme(
        ("Suggest a birthday gift for {}.", "Write a greeting card for {}."),
        (
            ("a three-year-old niece", "a piano teacher", "a retiring colleague", "a best friend"),
            ("a great-grandmother", "a soccer-loving nephew", "a new neighbor", "a favorite librarian"),
        ),
    ),
    "destinations": Theme(
        ("Describe a perfect day in {}.", "Plan a three-day trip to {}.", "Write a postcard from {}."),
        (
            ("Lisbon", "Kyoto", "Marrakesh", "Buenos Aires"),
            ("Iceland", "Peru", "Vietnam", "Kenya"),
        ),
    ),
    "occupations": Theme(
        ("Describe a day in the life of {}.", "Write a short monologue spoken by {}.", "Describe the workplace of {}."),
        (
            ("a baker", "a brain surgeon", "a lighthouse keeper", "a judge"),
            ("a librarian", "a truck driver", "a ballet dancer", "a geologist"),
        ),
    ),
    "dishes": Theme(
        ("Share a recipe for {}.", "Describe the smell of {}."),
        (
            ("pancakes", "mushroom risotto", "lentil curry", "lemonade"),
            ("banana bread", "fish tacos", "onion soup", "chocolate ice cream"),
        ),
    ),
    "concepts": Theme(
        ("Explain {} to a ten-year-old.", "Write a quiz question about {}.", "Find a metaphor for {}."),
        (
            ("photosynthesis", "gravity", "inflation", "democracy"),
            ("evolution", "the water cycle", "electricity", "trade"),
        ),
    ),
    "events": Theme(
        ("Write an invitation to {}.", "Write a short welcome speech for {}.", "Describe a poster for {}."),
        (
            ("a retirement party", "an art exhibition", "a science fair", "a poetry reading"),
            ("a charity run", "a book launch", "a school reunion", "a chess tournament"),
        ),
    ),
    "addressees": Theme(
        ("Write a polite complaint to {}.", "Write a thank-you note to {}."),
        (
            ("a landlord", "a travel agency", "a city council", "a piano tuner"),
            ("a dentist", "a hotel manager", "a moving company", "a school cafeteria"),
        ),
    ),
    "occasions": Theme(
        ("Recommend a song for {}.", "Suggest a name for a playlist for {}."),
        (
            ("a long road trip", "a first dance at a wedding", "a rainy Sunday", "a morning workout"),
            ("a candlelit dinner", "a house-cleaning session", "a graduation ceremony", "a children's birthday party"),
        ),
    ),
    "films": Theme(
        ("Invent a plot for {}.", "Suggest a title for {}.", "Write the opening scene of {}."),
        (
            ("a western", "a romantic comedy", "a courtroom drama", "a monster movie"),
            ("a prison drama", "a space opera", "a silent comedy", "a documentary about the sea"),
        ),
    ),
    "feelings": Theme(
        ("Describe a moment of {}.", "Write a haiku about {}.", "Choose a color that stands for {}."),
        (
            ("joy", "grief", "envy", "relief"),
            ("curiosity", "loneliness", "pride", "boredom"),
        ),
    ),
    "hobbies": Theme(
        ("Give one piece of advice to someone new to {}.", "Write a motto for a club devoted to {}."),
        (
            ("pottery", "chess", "rock climbing", "stargazing"),
            ("knitting", "surfing", "archery", "gardening"),
        ),
    ),
    "users": Theme(
        ("Come up with an idea for a mobile app for {}.", "Design a T-shirt for {}."),
        (
            ("dog owners", "choir singers", "night-shift workers", "amateur astronomers"),
            ("stamp collectors", "long-distance runners", "new parents", "city cyclists"),
        ),
    ),
    "functions": Theme(
        ("Write a Python function that {}.", "Write a JavaScript function that {}."),
        (
            ("reverses a string", "counts vowels", "checks whether a number is prime", "sorts a list of dates"),
            (
                "computes a factorial",
                "removes duplicates from a list",
                "converts Celsius to Fahrenheit",
                "finds the longest word in a sentence",
            ),
        ),
    ),
    "landscapes": Theme(
        ("Describe the sounds of {}.", "Write a short paragraph set in {}."),
        (
            ("a desert", "a rainforest", "an ice cave", "a coral reef"),
            ("a salt marsh", "a vineyard", "a mountain pass", "a busy harbor"),
        ),
    ),
    "voices_from_history": Theme(
        ("Write a diary entry by {}.", "Write a letter home from {}."),
        (
            ("a Roman soldier", "a medieval pilgrim", "a Viking trader", "a Victorian railroad engineer"),
            ("an Egyptian scribe", "a samurai", "a gold-rush prospector", "a Renaissance painter"),
        ),
    ),
    "rooms": Theme(
        ("Suggest a way to decorate {}.", "Suggest a piece of furniture for {}."),
        (
            ("a kitchen", "a nursery", "a home office", "a hallway"),
            ("a balcony", "a classroom", "a coffee shop", "a hospital waiting room"),
        ),
    ),
    "mishaps": Theme(
        ("Suggest a way to cope with {}.", "Write a short comic scene about {}."),
        (
            ("a noisy neighbor", "a lost passport", "a flat tire", "a burnt dinner"),
            ("a canceled flight", "a forgotten birthday", "a stuck elevator", "a flooded basement"),
        ),
    ),
    "causes": Theme(
        ("Give an argument in favor of {}.", "Write a campaign slogan in support of {}."),
        (
            ("school uniforms", "a four-day workweek", "night trains", "free museums"),
            ("later school start times", "urban beekeeping", "a tax on sugar", "longer library hours"),
        ),
    ),
    "professions": Theme(
        ("Tell a joke about {}.", "Write a limerick about {}."),
        (
            ("plumbers", "pilots", "pirates", "philosophers"),
            ("astronauts", "opera singers", "accountants", "beekeepers"),
        ),
    ),
    "toasts": Theme(
        ("Write a short toast to {}.", "Write a newspaper headline about {}."),
        (
            ("a newly elected mayor", "a champion swimmer", "a retiring mail carrier", "a young inventor"),
            ("a village blacksmith", "a famous pastry chef", "a brave lifeboat crew", "an eccentric professor"),
        ),
    ),
    "sights": Theme(
        ("Describe {} to someone who has never seen one.", "Write the first line of a poem about {}."),
        (
            ("a volcano", "a rainbow", "a tornado", "a glacier"),
            ("a subway station", "a windmill", "a planetarium", "a roller coaster"),
        ),
    ),
}
