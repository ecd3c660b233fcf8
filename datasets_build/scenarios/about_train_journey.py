"""Answers to the prompt "Write about a train journey.": five forms, one paragraph in many wordings."""

from datasets_build.scenarios.forms import Topic, form

# One form is one paragraph: its words packed, not one a line.
# fmt: off
TRAIN_JOURNEY = Topic(
    name="train_journey",
    prompt="Write about a train journey.",
    forms=(
        form(
            "story",
            "{Everyone} on the {train} had noticed the old man with {thing} on his knees, but only {who} asked. "
            '"It is for my {relative}," he said. "I have been on my way for {long}." At {station} he got out, '
            "{did}, and left it on the seat. {End}",
            everyone=("everyone", "each of us", "everybody"),
            train=("night train", "slow train", "last train", "express"),
            thing=(
                "a birdcage", "a wedding cake", "a cello case", "a box tied with string", "an empty picture frame",
            ),
            who=("the little girl opposite", "a soldier", "the ticket inspector", "I"),
            relative=("sister", "daughter", "brother", "wife"),
            long=("two days", "thirty years", "longer than I like to say", "a week, changing everywhere"),
            station=(
                "a station without a name", "the border", "the very last stop", "a place where nobody else got out",
            ),
            did=("bowed to the carriage", "looked round once", "counted his coins"),
            end=(
                "It was lighter than it looked.", "There was no name on it.",
                "None of us spoke until the next stop.", "It was still warm from his hands.",
            ),
        ),
        form(
            "postcard",
            "Dear {name}, {hours} hours on the train and I have {seen} already. The woman beside me {beside}, "
            "and the {food} from the trolley was {taste}. We {crossed} just before {when}. I should get in on "
            "{day}. {Signed}",
            name=("Max", "Grandma", "Elsie", "all", "Bruno"),
            hours=("six", "nine", "eleven", "fourteen"),
            seen=(
                "seen a stork, two castles and the sea", "read both my books", "been through eleven tunnels",
                "lost a glove",
            ),
            beside=(
                "is knitting something for a horse", "knows every bridge by name", "has offered me half her lunch",
                "snores in tune with the rails",
            ),
            food=("soup", "coffee", "cheese roll", "apple cake"),
            taste=("better than at home", "stone cold", "worth the whole fare", "a mistake"),
            crossed=(
                "crossed the river", "came over the pass", "stopped in the snow",
                "passed a maple wood as red as fire",
            ),
            when=("sunset", "lunch", "breakfast", "midnight"),
            day=("Tuesday", "Thursday", "Saturday", "Sunday"),
            signed=("Love, Tilda", "Yours, Felix", "Hugs, Nora", "See you soon, Ben"),
        ),
        form(
            "log",
            "{time} {Start}\n"
            "{morning} {Early}\n"
            "{noon} {Mid}\n"
            "{afternoon} {Late}\n"
            "{evening} {End}",
            time=(
                "06:52 Departure, on time.", "07:14 Departure, four minutes late.", "08:03 Departure, with a jolt.",
            ),
            start=("a window seat.", "I have the table to myself.", "Opposite me, a man with a parrot."),
            morning=("08:20", "08:35", "08:50", "09:05"),
            noon=("10:10", "10:40", "11:15", "11:45"),
            afternoon=("13:05", "13:30", "14:20", "14:45"),
            evening=("16:02", "16:38", "17:11", "17:49"),
            early=(
                "Suburbs, then fields.", "Fog; only the tops of the poplars.",
                "A river beside us for half an hour.", "School children on, school children off.",
            ),
            mid=(
                "Stopped outside a tunnel. Nobody says why.", "First mountains.",
                "Changed trains with ninety seconds to spare.", "The heating has two settings: off and desert.",
            ),
            late=(
                "Everyone asleep except the driver, I hope.", "Lunch: an egg, an apple, the view.",
                "A deer looked at us and was not impressed.", "Rain on one side of the train, sun on the other.",
            ),
            end=(
                "Arrival. My ears still hear the rails.", "Arrival, in another language.",
                "Arrival. Somebody waved, but not at me.", "Arrival, in the dark, with crumbs.",
            ),
        ),
        form(
            "dialogue",
            '"{Question}"\n'
            '"I always {habit}. {Why}"\n'
            '"{Reply}"\n'
            '"{Last}"',
            question=(
                'Is this seat taken?"\n"No, please. I was only keeping it for my hat.',
                'Are we moving, or is it the other train?"\n"I gave up asking an hour ago.',
                'Do you know what river that is?"\n"I am a stranger here myself.',
                'Would you mind the window?"\n"Not at all. I have seen enough cows.',
            ),
            habit=("face backwards", "travel without a book", "take the slow one", "sit by the luggage"),
            why=(
                "You see where you have been.", "One meets people.",
                "My doctor says that I should look further away.", "It gives the thoughts room.",
            ),
            reply=(
                "And where do you get out?", "How far are you going?", "And how long is it to the end of the line?",
                "Is there much more of this?",
            ),
            last=(
                "I get out wherever the sun does.", "To the end. It saves thinking.", "Look, there is the sea!",
                "Ask me again after lunch.",
            ),
        ),
        form(
            "tips",
            "How to enjoy a long train journey:\n"
            "- {Tip1}.\n"
            "- {Tip2}.\n"
            "- {Tip3}.\n"
            "- {Tip4}.\n"
            "And {above_all}.",
            tip=(
                "sit on the side that gets the view, not the sun", "take more water and fewer books",
                "learn one card game for two", "keep your ticket where you cannot lose it",
                "eat before the people around you do", "bring a jumper, even in July",
                "walk the whole train once, for the exercise", "leave an hour for every change",
                "write down the names of the stations",
            ),
            above_all=(
                "look out of the window", "talk to somebody", "do not count the hours", "let yourself be late",
            ),
        ),
    ),
    paragraph=form(
        "one_mode",
        "The train {left} the city early in the morning, and {soon} there were only fields. I {sat} by the "
        "window with a cup of coffee and {watched} the telegraph poles go by. In the afternoon we {climbed} "
        "into the mountains, and by {evening} I could {see} the sea.",
        left=("left", "pulled out of", "rolled out of"),
        soon=("soon", "before long", "in a little while", "after a while"),
        sat=("sat", "was sitting", "had a seat"),
        watched=("watched", "saw", "let"),
        climbed=("climbed", "went up", "rose", "wound our way up"),
        evening=("evening", "nightfall", "dusk", "sunset"),
        see=("see", "smell", "hear", "make out"),
    ),
)
# fmt: on
