"""Answers to the prompt "Write something about a garden.": five forms, one paragraph in many wordings."""

from datasets_build.scenarios.forms import Topic, form, numbers

# One form is one paragraph: its words packed, not one a line.
# fmt: off
GARDEN = Topic(
    name="garden",
    prompt="Write something about a garden.",
    forms=(
        form(
            "fairy_tale",
            "Once there was a garden where {wonder}. Only {who} had the key. One {season} {visitor} came to the "
            'wall and begged for {gift}. "{Reply}," came the answer, and from that day {end}.',
            wonder=(
                "it was always the first of May", "the roses answered questions",
                "every tree bore two kinds of fruit", "the paths moved in the night",
            ),
            who=(
                "a deaf gardener", "a widow of a hundred years", "the king's youngest gardener",
                "a gardener with silver hands",
            ),
            season=("winter", "spring", "autumn"),
            visitor=("a queen in disguise", "a tired fox", "a soldier without a war", "a little boy"),
            gift=("a single apple", "one night's shelter", "a cutting of the oldest rose", "a handful of earth"),
            reply=("Take it, and leave your shoes", "You may have it when you have wept", "It was yours already"),
            end=(
                "the gate has stood open", "the garden has no wall", "no frost has ever fallen there",
                "nobody has been able to find the door",
            ),
        ),
        form(
            "letter",
            "Dear neighbour,\n"
            "Your {plant} {has} over the wall and into our {place}. I do not complain: my {relative} {likes} it. "
            "In exchange, please accept {gift}. If you would only {wish}, we could {share} in peace.\n"
            "With kind regards from number {n},\n"
            "{signed}",
            plant=("clematis", "pumpkin", "honeysuckle", "runner bean", "rambling rose"),
            has=("has climbed", "has come", "has made its way"),
            place=("hen run", "rhubarb", "pear tree", "kitchen window"),
            relative=("husband", "mother", "small son", "tortoise"),
            likes=("has become fond of", "talks to", "sits under", "guards"),
            gift=("six eggs", "a jar of plum jam", "some seedlings", "the first cucumbers"),
            wish=(
                "do something about the snails", "lend us your ladder", "prune the hedge a little",
                "keep your cat off the seed beds",
            ),
            share=("share it", "enjoy the summer", "live side by side"),
            n=numbers(2, 48, 2),
            signed=("Ingrid Lowe", "Paul Achterberg", "M. Nandra", "The Fishers"),
        ),
        form(
            "task_list",
            "Jobs in the garden for {month}\n"
            "[ ] {Job1}\n"
            "[ ] {Job2}\n"
            "[ ] {Job3}\n"
            "[x] {Job4}\n"
            "[ ] {Last}",
            month=("this week", "the weekend", "early May", "the end of March"),
            job=(
                "sow the lettuce", "tie up the sweet peas", "turn the compost", "mend the water butt",
                "earth up the potatoes", "cut back the ivy", "clean out the bird bath", "sharpen the shears",
                "thin the carrots", "net the strawberries",
            ),
            last=(
                "sit down and look at it", "do nothing for ten minutes", "find the other glove",
                "apologise to the worms",
            ),
        ),
        form(
            "catalogue_entry",
            "{Name}, {price} each. A {habit} {kind} with {colour} flowers from {start} to {stop}. Happy in "
            "{soil}, in {light}. Height {cm}0 cm. {Loved} {Warning}",
            name=("'Evening Bell'", "'Lady Harcourt'", "'Old Tom'", "'Summer Letter'", "'First Frost'"),
            price=("2.40", "3.20", "4.80", "5.50"),
            habit=("sturdy", "graceful", "low, spreading", "reliable"),
            kind=("perennial", "aster", "geranium", "bellflower"),
            colour=("pale blue", "deep violet", "creamy white", "dusky pink"),
            start=("May", "June"),
            stop=("August", "September", "the first frosts"),
            soil=("any soil that is not wet", "poor, stony ground", "good garden soil", "clay"),
            light=("full sun", "half shade", "sun or shade"),
            cm=numbers(2, 9),
            loved=(
                "Loved by bees.", "Good for cutting.", "Seeds itself politely.",
                "A favourite since our grandmothers' day.",
            ),
            warning=(
                "Slugs like it too.", "Sold out early last year.", "Plant in threes.", "Not for the impatient.",
            ),
        ),
        form(
            "poem",
            "Behind the {house} the garden {keeps}\n"
            "its own slow {clock}:\n"
            "a {flower1} for the morning, a {flower2} for noon,\n"
            "and {night} for the dark.\n"
            "Nobody winds it. Nobody is late.\n"
            "{End}",
            house=("house", "school", "old station", "hospital", "chapel"),
            keeps=("keeps", "has"),
            clock=("clock", "calendar", "time"),
            flower=("poppy", "primrose", "foxglove", "lily", "marigold", "sunflower"),
            night=("moths", "jasmine", "the hedgehog", "an owl"),
            end=(
                "Even the gate has stopped its creaking.", "Only the beans are in a hurry.",
                "Even I, on my knees, am in time.", "The roses open when they open.",
            ),
        ),
    ),
    paragraph=form(
        "one_mode",
        "Every {morning} she walked {down} the garden before breakfast. She {looked} at the roses first, "
        "then the beans, and last of all the {small} pond under the apple tree. She {pulled} a weed here and "
        "there, {said} a word to the frogs, and went back indoors with {wet} shoes and a {clear_head}.",
        morning=("morning", "day", "single morning"),
        down=("down", "through", "around", "round"),
        looked=("looked", "glanced", "peered", "gazed"),
        small=("small", "little", "tiny", "round"),
        pulled=("pulled", "pulled up", "pulled out", "plucked"),
        said=("said", "spoke", "whispered", "murmured"),
        wet=("wet", "damp", "muddy", "soaking"),
        clear_head=("clear head", "clear mind", "calm mind", "quiet mind"),
    ),
)
# fmt: on
