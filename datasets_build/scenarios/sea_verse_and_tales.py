"""Forms of a short piece about the sea, 1 of 4: verse, letters and tales. The words are ours."""

from datasets_build.scenarios.forms import Form, form, numbers
from datasets_build.scenarios.sea_words import BOATS, DAYS, MONTHS, PORTS

# One form is one paragraph: its words packed, not one a line.
# fmt: off
VERSE_AND_TALES: tuple[Form, ...] = (
    form(
        "haiku",
        "{Noun} on the {place}\n"
        "{middle}\n"
        "{close}",
        noun=("cold foam", "grey light", "white sails", "low mist", "dark weed", "late sun", "thin rain"),
        place=("harbour wall", "empty quay", "outer reef", "long sandbar", "old breakwater", "western rocks"),
        middle=(
            "a heron waits for the tide", "one oar knocks against the boat", "the bell buoy counts the long waves",
            "children run from the last wave", "the lighthouse opens one eye", "a net hangs drying in the wind",
        ),
        close=(
            "then the gulls fall still", "nobody speaks now", "salt dries on my hands", "and the night comes in",
            "the tide turns for home", "so much sky tonight",
        ),
    ),
    form(
        "limerick",
        "There was an old {who} from the quay\n"
        "Who {did} every morning at three.\n"
        'When {asker} asked, "Why?"\n'
        "He replied with a {sound},\n"
        '"{I_do} for the love of the sea."',
        who=("pilot", "captain", "cook", "clerk", "painter", "doctor", "fiddler"),
        did=("went rowing", "sang ballads", "baked biscuits", "wrote letters", "mended nets", "danced barefoot"),
        asker=("the priest", "a child", "his wife", "the mate", "the mayor"),
        sound=("sigh", "smile and a sigh", "wink of his eye", "glance at the sky"),
        i_do=("It is all", "I do it", "I do this", "It's purely", "It's simply"),
    ),
    form(
        "ode",
        "O {first}, O {second} sea,\n"
        "you who {deed1}\n"
        "and {deed2},\n"
        "teach me {lesson},\n"
        "and let me hear your {voice} once more\n"
        "before {end}.",
        first=("patient", "ancient", "restless", "silver", "generous"),
        second=("salt-bright", "sleepless", "unmapped", "many-voiced", "moonlit"),
        deed=(
            "carry the tall ships home", "grind the cliffs into sand", "keep the drowned bells ringing",
            "lift the smallest boat", "feed the gulls and the fishermen", "hold the moon in pieces",
        ),
        lesson=(
            "how to return", "to give without counting", "the use of patience", "to forget my name", "how to be wide",
        ),
        voice=("slow thunder", "long breathing", "grey music", "low applause", "old argument"),
        end=("I sleep", "the summer ends", "the lamps go out", "I turn inland", "my hair is white"),
    ),
    form(
        "acrostic",
        "O - {o}\n"
        "C - {c}\n"
        "E - {e}\n"
        "A - {a}\n"
        "N - {n}",
        o=(
            "Out past the pier the swell is rising.", "Over the bar the first boats come.",
            "Oars dip and lift in the grey water.", "On the slipway a dog is barking.",
        ),
        c=(
            "Crabs hurry sideways into the shade.", "Cold spray stings the children's knees.",
            "Clouds pull their shadows over the bay.", "Cormorants dry their wings on the posts.",
        ),
        e=(
            "Each wave takes back what it brought.", "Evening turns the water to slate.",
            "Eels wait under the harbour stones.", "Every window faces the wind.",
        ),
        a=(
            "A bell is ringing somewhere in the mist.", "All the nets are heavy with weed.",
            "At the end of the wall a boy is fishing.", "Above it all one gull hangs still.",
        ),
        n=(
            "Nobody here is in a hurry.", "Night comes in with the tide.", "Nothing is ever quite the same twice.",
            "Now the lighthouse begins to turn.",
        ),
    ),
    form(
        "diary_entry",
        "{day}, {date} {month}. Woke at {time} to the sound of {sound}. Walked as far as {place} before "
        "breakfast and {did}. The water was {water}, and I {went}. {Thought}",
        day=DAYS,
        date=numbers(2, 27),
        month=MONTHS,
        time=("five", "half past five", "six", "a quarter to seven", "seven"),
        sound=("rain on the skylight", "gulls on the roof", "the fog signal", "the ferry's horn", "a loose shutter"),
        place=("the lighthouse", "the old pier", "the coastguard cottages", "the headland", "the slipway"),
        did=(
            "met nobody", "found a whole sea urchin", "counted eleven seals", "sat for an hour on the wall",
            "drew the wrecked barge",
        ),
        water=(
            "flat and green", "too rough for swimming", "cold enough to hurt", "brown after the storm",
            "as clear as gin",
        ),
        went=(
            "did not go in", "went in all the same", "only paddled", "put a hand in, for luck",
            "stayed in until I shook",
        ),
        thought=(
            "I sleep better here than anywhere.", "I must write to Anna before the post goes.",
            "Only four days left, and I have stopped counting pages.",
            "It is hard to be angry beside something so large.", "Perhaps I shall stay another week.",
        ),
    ),
    form(
        "story_opening",
        "{Boat} had been missing for {count} days when {who} found it on the beach below {place}. The sails "
        "were {sails}, and on the table in the cabin stood {thing}. Of the crew there was {trace}.",
        boat=BOATS,
        count=numbers(3, 40),
        who=(
            "a boy looking for driftwood", "the postman's daughter", "two nuns", "the new schoolteacher",
            "a woman walking her dog",
        ),
        place=("the chapel", "the lighthouse", "the quarry", "Gannet Cliff", "the coast road"),
        sails=("neatly furled", "cut to ribbons", "dry", "set for a fair wind", "new, and dyed red"),
        thing=(
            "a pot of coffee, still warm", "a bowl of soup, still steaming", "a birthday cake, not yet cut",
            "a pan of potatoes, still hot", "a lamp, still burning",
        ),
        trace=(
            "no sign at all", "only a single glove", "nothing but a line of wet footprints",
            "one note, and it was in no language that anyone knew",
        ),
    ),
    form(
        "fairy_tale",
        "Once upon a time, in {home} at the bottom of the sea, there lived {a_creature} who {wish}. One "
        'night {a_helper} swam by and said, "Give me {price}, and you shall have what you want." The bargain '
        "was struck, and {ending}.",
        home=("a house of coral", "a sunken bell tower", "a teapot", "a palace of glass", "a giant clam"),
        a_creature=(
            "a lonely octopus", "a young seahorse", "a very small whale", "a mermaid with no voice",
            "an old and honest crab",
        ),
        wish=(
            "longed to see snow", "wished for legs", "wanted to sing", "had never seen the moon", "dreamed of dry land",
        ),
        a_helper=(
            "a silver eel", "the queen of the herrings", "a one-eyed turtle", "a ghost in a diving helmet",
            "a clever shrimp",
        ),
        price=("your shadow", "three tears", "your oldest memory", "the name of your mother", "one song"),
        ending=(
            "nobody in the deep ever heard of either of them again", "that is why the tide goes out to this day",
            "both of them were sorry before morning", "they lived happily until the next great storm",
            "the sea has been salty ever since",
        ),
    ),
    form(
        "dialogue",
        '"{Elder}, why is the sea so {adjective}?"\n'
        '"Because {reason}, my love."\n'
        '"And will it ever {verb}?"\n'
        '"Only when {when}."\n'
        '"{Last}"',
        elder=("Grandma", "Grandpa", "Aunt Rose", "Uncle Piet", "Nana"),
        adjective=("loud", "restless", "big", "cross today", "cold"),
        reason=(
            "it has so many stories to tell", "it has been awake since the beginning",
            "nobody has ever told it to stop", "it misses the rivers", "it is always looking for something",
        ),
        verb=("sleep", "get tired", "go away", "keep still", "grow old"),
        when=(
            "you do", "the moon lets go of it", "the last ship is home", "the hills come down to meet it",
            "it has counted all the sand",
        ),
        last=(
            "Then I shall wait.", "That isn't a real answer.", "Can I tell it something?", "It winked at me just now.",
            "Let's go and ask it.",
        ),
    ),
    form(
        "stage_play",
        "Scene: {setting}, {time}. MARA is {doing}.\n"
        "TOM: {Tom}\n"
        "MARA: {mara1}\n"
        "(Pause. {Effect}.)\n"
        "TOM: And yet you are still here.\n"
        "MARA: {mara2}",
        setting=(
            "a jetty", "the kitchen of a lighthouse", "the deck of a small ferry", "a beach hut", "the end of a pier",
        ),
        time=("dawn", "just after a storm", "late on a winter afternoon", "the last day of summer", "midnight"),
        doing=(
            "coiling a rope", "gutting a fish", "reading a letter aloud", "counting lifejackets", "looking out to sea",
        ),
        tom=(
            "You said that you would be gone by the spring.", "They are selling the boat, you know.",
            "The sea took the steps last night.", "I never learned to swim.",
            "My father stood just there, every evening.",
        ),
        mara=(
            "I like the noise it makes.", "Somebody has to mind the light.",
            "Everything comes back on the tide if you wait.", "Ask me again when the wind drops.",
            "It isn't the water that frightens me.",
        ),
        effect=(
            "a gull cries", "the lamp flickers", "a wave breaks against the boards", "a foghorn sounds, far away",
            "thunder",
        ),
    ),
    form(
        "love_letter",
        "My dear {name},\n"
        "I am writing this {place}, where I can hear the sea {doing}. Every {thing} makes me think of "
        "{memory}. When I come home in {month}, let us {plan} and never speak of distances again.\n"
        "Yours always,\n"
        "{signed}",
        name=("Clara", "Edmund", "Ines", "Julian", "Rosalind", "Victor"),
        place=(
            "in a cold room above the harbour", "on an upturned boat", "at the window of the inn",
            "in my bunk, by candlelight", "on the steps of the customs house",
        ),
        doing=(
            "turning over in its bed", "arguing with the wall", "breathing under the floor",
            "dragging its chains of shingle", "humming to itself",
        ),
        thing=("sail", "gull", "wave", "lamp on the water", "high tide"),
        memory=(
            "your hands", "the summer at the lake", "the day we missed the train", "your blue coat",
            "how you laughed at the storm",
        ),
        month=MONTHS,
        plan=(
            "buy the cottage", "take a small boat out", "walk to the point", "build a fire on the beach",
            "swim before breakfast",
        ),
        signed=("Adam", "Beatrice", "Henrik", "Lena", "Marcus", "Sofia"),
    ),
    form(
        "sayings",
        "Sayings of the fishermen of {port}:\n"
        "1. {Saying1}\n"
        "2. {Saying2}\n"
        "3. {Saying3}",
        port=PORTS,
        saying=(
            "A calm sea teaches nobody to steer.", "Praise the sea, but keep one hand on the rail.",
            "The tide waits for neither the bride nor the bishop.", "Every wave thinks that it is the first.",
            "He who curses the wind rows home.", "Salt in the bread, salt in the eyes.",
            "A net full of holes is still a net to the crab.", "Trust the sea on Sundays, when you are in church.",
            "The deepest water makes the least noise.", "What the sea borrows it returns in pieces.",
            "Old boats leak, and old sailors talk.", "You cannot anchor to a story.",
        ),
    ),
    form(
        "riddle",
        "{Clue1}.\n"
        "{Clue2}.\n"
        "{Clue3}.\n"
        "{Folk} both love me and fear me.\n"
        "What am I? (Answer: the sea.)",
        clue=(
            "I have a bed, but I never sleep", "I swallow ships, though I have no teeth",
            "I leave home twice a day and am never gone", "I roar without a throat", "I have arms but no hands",
            "I break all day and am never broken", "I am full of salt, and nobody can drink me",
            "I wear white horses on my back", "I climb the sand and never reach the top",
        ),
        folk=("sailors", "fishermen", "islanders", "the people of the coast", "captains and their wives"),
    ),
    form(
        "lullaby",
        "Hush, my {pet}, the tide is low,\n"
        "the {creatures} know the way to go.\n"
        "{The_light} will watch the bay,\n"
        "and {wind} will blow the clouds away.\n"
        "Hush, my {pet}, the boats are in,\n"
        "the stars are {stars} and the moon is thin.",
        pet=("lamb", "dove", "darling", "sparrow", "treasure", "little one"),
        creatures=("herrings", "dolphins", "seals", "old grey whales", "turtles", "eels"),
        the_light=(
            "The lighthouse lamp", "A lantern's light", "The harbour light", "Your father's lamp", "The northern star",
        ),
        wind=("gentle winds", "a southern breeze", "the morning wind", "a friendly breeze", "the wind from home"),
        stars=("small", "bright", "far", "white", "cold", "clear"),
    ),
    form(
        "sea_shanty",
        "Oh, {the_captain} was {drunk} when we sailed from {town},\n"
        "Heave away, lads, heave away!\n"
        "He traded {the_cargo} for {a_bargain},\n"
        "Heave away, lads, heave away!\n"
        "So it's {work} and it's {work2} till the sails come down,\n"
        "And we'll all be home by the first of May!",
        the_captain=("the captain", "the bosun", "the owner", "the mate", "the pilot"),
        drunk=("singing", "sleeping", "in debt", "in love", "seasick"),
        town=("Port Ellery town", "Saltmarket town", "Kestrel town", "Saint Orla's town"),
        the_cargo=("the anchor", "the compass", "the cargo of rum", "the mainsail", "the ship's own bell"),
        a_bargain=("a velvet gown", "a silver crown", "a dog named Brown", "a jacket of down"),
        work=("haul", "pump", "scrub", "row", "climb"),
    ),
    form(
        "fable",
        '{A_boaster} once boasted to {a_listener} that {boast}. "{Reply}," was the answer. That night '
        "{event}, and in the morning the boaster {result}.\n"
        "Moral: {moral}",
        a_boaster=("A wave", "A young gull", "A swordfish", "A shark", "A painted ship"),
        a_listener=("a limpet", "a pebble", "an old turtle", "a piece of cork", "a hermit crab"),
        boast=(
            "nothing in the sea was stronger", "the whole ocean knew its name", "it had never once been afraid",
            "it would outlast the sun", "even the moon asked its advice",
        ),
        reply=(
            "We shall see", "Then you have nothing to fear from the weather", "I am glad for you",
            "Come and tell me again tomorrow",
        ),
        event=(
            "a great storm came out of the north", "the tide went out further than ever before", "the wind changed",
            "a fog came down that lasted for hours",
        ),
        result=(
            "was nowhere to be seen", "asked very humbly for help", "had nothing more to say",
            "was on the far side of the bay",
        ),
        moral=(
            "The quiet ones are still here at low tide.", "Tell your story after the storm.",
            "The sea listens to nobody.", "To be small is also a kind of anchor.",
        ),
    ),
    form(
        "ghost_story",
        "They say that on {nights} {a_ghost} walks {place}, and that you can hear {sound}. {Witness} saw it "
        'once, {when}. The only words afterwards were: "{words}"',
        nights=(
            "foggy nights", "the longest night of the year", "still nights in November", "the night before a storm",
            "moonless nights",
        ),
        a_ghost=(
            "a drowned pilot", "a woman in oilskins", "a boy with a lantern", "the last keeper",
            "a man without a shadow",
        ),
        place=(
            "the old pier", "the sea wall", "the sands below the church", "the wrecked trawler",
            "the lighthouse stairs",
        ),
        sound=(
            "wet boots on stone", "a bell where no bell hangs", "someone counting", "oars, though there is no boat",
            "a tune played backwards",
        ),
        witness=("The harbour master", "My great-aunt", "The baker", "Old Mr Finch", "A visiting professor"),
        when=(
            "at low tide", "while walking home from a dance", "through a telescope", "from the window of the inn",
            "and only from behind",
        ),
        words=(
            "It knew the way.", "He asked me the time.", "The door was open when I came.", "Do not wave back.",
            "She is still waiting for the boat.",
        ),
    ),
    form(
        "memoir",
        "I was {age} when I first saw the sea, from {where}. I had expected {expected}; what I remember is "
        "{remembered}. My {relative} took off {shoes} and {action}, and I understood that {insight}.",
        age=("four", "five", "six", "seven", "nine", "eleven"),
        where=(
            "the back of a lorry", "a train window", "my uncle's shoulders", "the top of a dune",
            "the hospital balcony",
        ),
        expected=(
            "something blue", "ships and pirates", "a kind of large lake", "a picture from a biscuit tin", "silence",
        ),
        remembered=(
            "the noise", "the smell of it", "how the sky came down to the ground", "that it would not keep still",
            "the cold of the wind on my teeth",
        ),
        relative=("mother", "godmother", "grandmother", "eldest sister", "aunt"),
        shoes=(
            "her best shoes", "both shoes without undoing the laces", "every ring and bracelet",
            "her hat, as if in church,",
        ),
        action=("walked straight in", "began to laugh", "said nothing for a long time", "wept a little", "sang"),
        insight=(
            "grown people also had secrets", "the world did not end at our village", "I would come back",
            "nobody owned it", "there was no other side",
        ),
    ),
)
# fmt: on
