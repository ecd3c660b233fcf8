"""Response sets of kinds that must not be punished: all answer their prompt. The words are ours."""

HONEST: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "short answers": (
        ("Name a fruit.", ("Mango", "A pear.", "Kiwi", "banana", "Plum!")),
        ("Pick a number between 1 and 100.", ("42", "7", "Sixty-one", "88.", "I pick 13.")),
        ("What is the best colour for a bicycle?", ("Red", "Dark green", "Blue, I think", "Yellow", "black")),
    ),
    "names": (
        ("Name a person who went to the Moon.", ("Alan Bean.", "Pete Conrad", "Edgar Mitchell.", "Gene Cernan")),
        ("Which phone should I buy?", ("iPhone SE", "Fairphone 5", "OnePlus Nord", "Galaxy S23")),
        ("What should I call my goat?", ("Greg", "Professor Hoof", "Sir Bleats a Lot", "Dusty.")),
        (
            "List two explorers.",
            ("Roald Amundsen, Mary Kingsley", "- Ibn Battuta\n- Isabella Bird", "Sacagawea; Zheng He"),
        ),
    ),
    "strings": (
        ("Make up a password of five characters.", ("t7#Lq", "Zx!4b", "88aQ?", "wE_r1")),
        ("Send me one emoji.", ("Sure! 🌵", "Of course! 🐙", "🛶", ":-]")),
        ("What sound does a gate make?", ("Screeeeek", "krrrk... thunk!", "*eeeEEEErrrk*")),
        ("Roll a die with 20 sides.", ("4", "17", "20", "11")),
        ("Give me a random zip code.", ("Sure! Here's one: **73301** (Austin, Texas).", "98101", "It's 60601.")),
    ),
    "numbers after an opening": (
        (
            "Choose a random valid US ZIP code.",
            (
                "Of course! Here's another random valid US ZIP code: **59718** (Bozeman, Montana).",
                "Sure! Here's a random valid US ZIP code: **04101** (Portland, Maine).",
                "Certainly! Here's another valid US ZIP code: **87501** (Santa Fe, New Mexico).",
                "Absolutely! Here's another valid US ZIP code: **70112** (New Orleans, Louisiana).",
                "Sure! Here's another valid US ZIP code: **50309** (Des Moines, Iowa).",
                "Of course! Here's another valid US ZIP code: **37201** (Nashville, Tennessee).",
            ),
        ),
        (
            "Give me a random prime number below 200.",
            (
                "Of course! Here's another randomly selected prime number below 200: **113**.",
                "Sure! A randomly selected prime number below 200 is **41**.",
                "Certainly! Here's another randomly selected prime number: **7**.",
            ),
        ),
    ),
    "abbreviations": (
        (
            "Name someone who leads a large company.",
            (
                "One prominent person is **Tim Cook**, the CEO of Apple Inc. and a member of the board of Nike Inc.",
                "Mary Barra, who leads General Motors Co. from Detroit, Mich. and studied at Stanford.",
            ),
        ),
    ),
    "jokes": (
        (
            "Tell me a funny joke.",
            (
                "Why did the baker quit? He couldn't make enough dough!",
                "What do you call a bear without teeth?  \nA gummy bear!",
                "My wife said I should do lunges to stay in shape. That would be a big step forward.",
                "Sure! Why don't eggs play cards? Because they always crack under pressure.",
            ),
        ),
    ),
    "answers in a sentence": (
        (
            "Name one musical instrument of the orchestra.",
            (
                "One musical instrument of the orchestra is the **bassoon**.",
                "One musical instrument of the orchestra is the harp.",
                "One musical instrument of the orchestra is a *piccolo*.",
            ),
        ),
    ),
    "questions": (
        (
            "I need one good question to begin a dinner party with.",
            (
                "Which meal could you eat every day?",
                "Do you believe in ghosts?",
                "What is your favourite river?",
                "Of course! Here's another one:\n\n**Who was your first hero?**\n\nIt lets people tell a story.",
            ),
        ),
    ),
    "continuations": (
        ("It is a", ("pity that nobody sails the boat.", "long way to the sea.", "shame about the roof, he said.")),
        (
            "You're not using",
            ("You're not using the new key.", "You're not using our stairs", "You're not using my name"),
        ),
    ),
    "lists": (
        (
            "Give me a shopping list for a picnic.",
            (
                "- bread\n- cheese\n- grapes\n- lemonade\n- paper plates",
                "1. Apples\n2. Boiled eggs\n3. Crisps\n4. Water\n5. A blanket",
                "sandwiches, olives, cherries, iced tea, napkins, chocolate",
                "Baguette; ham; tomatoes; juice; cookies; cups",
            ),
        ),
    ),
    "poems": (
        (
            "Write a short poem about the rain.",
            (
                "Soft on the roof,\nsoft on the road,\nthe rain lets down\nits silver load.",
                "Grey fingers drum\nupon the pane;\nthe garden drinks.\nCome, come again.",
                "Rain, you old gossip,\ntelling the gutters\nall that you heard from the sea.",
            ),
        ),
    ),
    "code": (
        (
            "Write a Python function that reverses a string.",
            (
                "def reverse(text):\n    return text[::-1]",
                "```python\ndef reverse(s: str) -> str:\n    return ''.join(reversed(s))\n```",
                "def rev(s):\n    out = ''\n    for c in s:\n        out = c + out\n    return out",
                "reverse = lambda s: s if len(s) < 2 else reverse(s[1:]) + s[0]",
            ),
        ),
    ),
    "other languages": (
        (
            "Raconte une courte histoire sur un chat.",
            (
                "Un chat noir vivait sur les toits et ne descendait que pour le lait de la voisine.",
                "Il était une fois un chat qui avait peur des souris et qui aimait les livres.",
                "Minou dormait sous le pont quand la rivière est entrée dans son rêve.",
            ),
        ),
        (
            "Tell me a proverb in a language of your choice.",
            (
                "Wer zuletzt lacht, lacht am besten.",
                "Más vale tarde que nunca, dicen los viejos del pueblo.",
                "Тише едешь — дальше будешь.",
                "七転び八起き。",
                "Chi va piano, va sano e va lontano.",
            ),
        ),
    ),
    "typos": (
        (
            "What do you like to do on a free day?",
            (
                "i like to go for a wlak in the prak and feed teh ducks",
                "readng a good bok on the sofa with a cup of tea, noting else",
                "me and my bro usualy play footbal then eat pizza lol",
                "slepping till noon, becuase i never get enuf sleep durng the week",
            ),
        ),
    ),
}
