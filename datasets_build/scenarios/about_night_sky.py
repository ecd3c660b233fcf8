"""Answers to the prompt "Share a thought about the night sky.": five forms, one paragraph in many wordings."""

from datasets_build.scenarios.forms import Topic, form, numbers

# One form is one paragraph: its words packed, not one a line.
# fmt: off
NIGHT_SKY = Topic(
    name="night_sky",
    prompt="Share a thought about the night sky.",
    forms=(
        form(
            "observation_log",
            "{n} {month}, {time}. {Place}. Seeing {seeing}, {cloud}. {First} through {instrument}. {Then} {m} "
            "meteors in {span}, one of them {bright}. {Cold}",
            month=("October", "November", "January", "February", "March"),
            n=numbers(3, 28),
            time=("21:40", "22:15", "23:05", "23:50"),
            place=("back garden", "the hill above the village", "the school roof", "field behind the barn"),
            seeing=("good", "fair", "excellent", "poor at first, then good"),
            cloud=("no cloud", "thin cloud in the west", "no moon", "a thin moon, setting"),
            first=(
                "Jupiter and three of its moons", "A galaxy in the Great Bear, faint",
                "Saturn, very small and quite perfect", "The double cluster in Perseus",
            ),
            instrument=(
                "the small refractor", "10x50 binoculars", "my brother's telescope", "the old brass telescope",
            ),
            then=("then, with the naked eye:", "later:", "while packing up:"),
            m=("four", "six", "nine", "eleven"),
            span=("twenty minutes", "half an hour", "a quarter of an hour"),
            bright=("brighter than Venus", "leaving a green trail", "very slow", "almost overhead"),
            cold=(
                "Fingers numb, very happy.", "Stopped when the dew came.", "The fox watched too.",
                "Cocoa at midnight.",
            ),
        ),
        form(
            "question_and_answer",
            "Child: {Question}\n"
            "Child: {Next}\n"
            "Child: {Last}",
            question=(
                "How many stars are there?\nFather: More than you could count in all the nights of your life.",
                "Why is the sky dark at night?\nFather: People have argued about that for hundreds of years.",
                "Do the stars know that we are here?\nFather: That depends on who is looking out from there.",
                "Where do the stars go in the morning?\n"
                "Father: Nowhere. The sun is too loud for them, that is all.",
                "Why do they twinkle?\nFather: It is our air that shakes. Up there they shine quite steadily.",
                "Which star is ours?\nFather: The one that went down behind the church.",
            ),
            next=(
                "And who put the moon there?\nFather: Nobody, as far as I know. It just never left.",
                "Is that one moving?\nFather: Wait a minute and see. That is how astronomers do it.",
                "Can we go there on Sunday?\nFather: We'd need more sandwiches than the car will hold.",
                "What if one goes out?\nFather: Then its light goes on travelling, like a letter.",
                "Are they all very far away?\nFather: Further than I can say without stopping for breath.",
                "Do they have names?\nFather: A few hundred do. The rest make do with numbers.",
            ),
            last=(
                "I'm going to stay awake and check.", "I can hear my eyes getting tired.",
                "That one is mine, then.", "Can the cat come and look too?",
                "It is bigger than our town, isn't it?", "One more, and then I'll sleep.",
            ),
        ),
        form(
            "explanation",
            "When you look at {object}, you are looking into the past. The light that reaches you {tonight} "
            "{left} long ago and has travelled through empty space ever since. {Compare} {Some} {Close}",
            object=("a star", "the night sky", "the stars above your roof", "the Milky Way"),
            tonight=("tonight", "now", "this evening"),
            left=("left its star", "began its journey", "set out"),
            compare=(
                "Moonlight is little more than a second old.", "Sunlight needs about eight minutes to reach us.",
                "The nearest star beyond the sun is about four light years away.",
            ),
            some=(
                "Some of that light is older than the pyramids.",
                "Some of that light set out before there were people.",
                "Some of that light is younger than you are, and some older than writing.",
            ),
            close=(
                "The sky is not a picture but an archive.", "Every clear night is a history lesson.",
                "We never see the sky as it is, only as it was.", "It is the oldest thing that you will ever see.",
            ),
        ),
        form(
            "lullaby",
            "{Sleep}, my {one}, the day is done,\n"
            "the {hills} have swallowed up the sun;\n"
            "the {star} is first to show its light,\n"
            "then all the others {call} good night.\n"
            "{Sleep}, my {one}, and do not fear:\n"
            "the dark is {dark}, and I am here.",
            sleep=("sleep now", "hush now", "rest now", "dream now"),
            one=("little one", "sleepy one", "dearest one", "weary one"),
            hills=("hills", "woods", "roofs", "fields"),
            star=("evening star", "smallest star", "western star"),
            call=("call", "sing", "wink", "hum"),
            dark=("kind", "wide", "soft", "deep"),
        ),
        form(
            "social_post",
            "{Went} to look at the sky because {why}. {Hours} later I am still {still}. {Thought} {Ask}\n"
            "#{tag1} #{tag2}",
            went=("just went outside", "stepped out", "went up on the roof", "drove out of town"),
            why=("I couldn't sleep", "the power went off", "my sister told me to", "the radio promised meteors"),
            hours=("two hours", "an hour", "three hours", "forty minutes"),
            still=("lying on the bonnet of the car", "here, in my pyjamas", "out, with a stiff neck", "staring"),
            thought=(
                "I had forgotten how many there are.", "My problems are now very small.",
                "Why do we ever look at anything else?", "I don't know a single name and I don't care.",
            ),
            ask=(
                "Who else is awake?", "What's the bright orange one?", "Turn your lights off, people.",
                "Somebody bring soup.",
            ),
            tag=("stars", "nightsky", "darkskies", "lookup", "awake"),
        ),
    ),
    paragraph=form(
        "one_mode",
        "On a clear night, {far} from the lights of the town, you can {see} some two or three thousand "
        "stars. It {feels} as if you could {reach} them, yet the {nearest} are so far away that their light "
        "takes years to {arrive}. I find that {thought} comforting: there is {plenty} of room.",
        far=("far", "well away", "a long way", "far away"),
        see=("see", "make out", "count", "pick out"),
        feels=("feels", "seems", "looks"),
        reach=("reach", "touch", "almost touch"),
        nearest=("nearest", "closest", "very nearest"),
        arrive=("arrive", "get here", "reach us"),
        thought=("thought", "idea", "fact"),
        plenty=("plenty", "a great deal", "a lot"),
    ),
)
# fmt: on
