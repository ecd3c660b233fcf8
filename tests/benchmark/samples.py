"""Sets of responses that metrics are held against: like ones that differ in diversity, and odd ones."""

# Six responses of eight words each, no word twice in a response: of the same size and length, so that a metric which
# grows or falls with length has nothing else than diversity to tell them apart.
ALIKE: dict[str, tuple[str, ...]] = {
    "unrelated": (
        "Bright copper kettles hang above our kitchen stove",
        "My grandmother taught herself Portuguese at age ninety",
        "Seven trains were cancelled because snow blocked tracks",
        "Investors sold shares after yesterday's surprising quarterly report",
        "Octopuses taste whatever they touch with their arms",
        "Never trust weather forecasts made before early breakfast",
    ),
    "paraphrases": (
        "The old bridge was closed because of flooding",
        "Because of flooding the old bridge was closed",
        "Floods forced them to close the old bridge",
        "They closed the ancient bridge due to floods",
        "The ancient bridge is shut after heavy flooding",
        "Heavy floods led to closing the old bridge",
    ),
    "template": (
        "My favourite animal is the big brown bear",
        "My favourite animal is the small grey mouse",
        "My favourite animal is the loud green parrot",
        "My favourite animal is the shy red panda",
        "My favourite animal is the fast black horse",
        "My favourite animal is the calm white whale",
    ),
    "two modes": (
        "You should visit Paris and see its museums",
        "You should visit Paris and enjoy its museums",
        "You should visit Paris to see many museums",
        "Try learning chess with friends every single evening",
        "Try learning chess with friends almost every evening",
        "Try playing chess with friends every single evening",
    ),
    "one odd": (
        *("A quiet walk along the river helps me",) * 5,
        "Loud drums at midnight keep my neighbours awake",
    ),
    "same words in other orders": (
        "one two three four five six seven eight",
        "eight seven six five four three two one",
        "five one six two seven three eight four",
        "two four six eight one three five seven",
        "three one four two seven five eight six",
        "one three two five four seven six eight",
    ),
}

# What no metric may stumble over. (Placeholders and blanks are taken out before a metric sees them.)
ODD: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "one response": ("The only answer that there is.",),
    "one and a blank": ("The only answer that there is.", ""),
    "all blank": ("", " ", "\n\t", "\u3000"),
    "all placeholders": ("[Blocked]", "[refused]", "[empty]"),
    "identical": ("We all say exactly the same thing here.",) * 5,
    "identical words": ("yes",) * 5,
    "different words": ("yes", "no", "maybe", "never", "always"),
    "two words each": ("oh yes", "oh no", "not now"),
    "Chinese": ("今天天气很好", "我喜欢在公园散步", "明天可能会下雨", "请给我一杯茶", "今天天气很好"),
    "Arabic": ("الطقس جميل اليوم", "أحب المشي في الحديقة", "قد تمطر غدا", "أريد كوبا من الشاي"),
    "emoji": ("🌈", "🌵", "🎉🎉", "👩‍👩‍👧‍👦", "🙂"),
    "punctuation": ("...", "!!!", "?", "—", "."),
    "periods alone": (".", "..", "...", ". ."),
    "digits": ("47", "42", "3.14", "1e9"),
    "invisible": ("\u200b", "\ufeff", "a\u200bb", "\u00a0x\u00a0"),
    "control letters": ("a\x00b", "\x1c\x1d", "tab\tin", "line\nin", "return\rin"),
    "one long word": ("x" * 5000, "y" * 5000, "xy" * 2500, "z"),
    "long texts": tuple(f"{i} " + "word after word goes by " * 200 for i in range(4)),
    "mixed": ("plain", "今天", "🙂", "", "[Blocked]", "The end."),
}
