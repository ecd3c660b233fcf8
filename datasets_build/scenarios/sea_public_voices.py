"""Forms of a short piece about the sea, 3 of 4: what is said to the public. The words are ours."""

from datasets_build.scenarios.forms import Form, form, numbers
from datasets_build.scenarios.sea_words import DAYS, PORTS, TIMES

# One form is one paragraph: its words packed, not one a line.
# fmt: off
PUBLIC_VOICES: tuple[Form, ...] = (
    form(
        "news_item",
        '{port}, {day} - {Who} {found} {where} early yesterday, to the surprise of {whose}. "{Quote}," said '
        "{witness}, {age}. The harbour office {office}. {Close}",
        port=("PORT ELLERY", "MARROW BAY", "SKERRY COVE", "KESTREL POINT", "TARN HEAD", "HOLLIN SOUND"),
        day=DAYS,
        who=("a fishing crew", "three schoolboys", "a retired dentist", "two kayakers", "a film crew"),
        found=(
            "found a ship's bell", "met a whale", "netted a grand piano", "filmed a waterspout",
            "rescued a swimming deer",
        ),
        where=("off the point", "half a mile from the beach", "just outside the harbour", "in the bay"),
        whose=("local people", "experts", "the coastguard", "early bathers", "everyone on the quay"),
        quote=(
            "I have never seen the like", "It simply came up out of the water", "We thought that it was a rock",
            "My hands are still shaking", "The sea does as it pleases",
        ),
        witness=("Nora Quill", "Peter Lamb", "Ada Brook", "Colin Marsh", "Sally Tern"),
        age=numbers(19, 83),
        office=(
            "asks the public to keep away", "has opened an inquiry", "had no comment", "says that such things happen",
        ),
        close=(
            "The weather is expected to hold.", "Sightseers have filled the hotels.",
            "The finders will be given a medal.", "A public meeting will be held tonight.",
        ),
    ),
    form(
        "obituary",
        "{name}, {built}-{ended}. {Launched} {where}, she carried {cargo} for {years} years and {fame}. She "
        "survived {ordeal1} and {ordeal2}, but not {end}. She leaves {leaves}. Her {part} may be seen at "
        "{place}.",
        name=(
            "THE MARIGOLD, FERRY", "THE PLOVER, TRAWLER", "THE PATIENCE, LIGHTSHIP", "THE KITTIWAKE, TUG",
            "THE MORNING STAR, PACKET BOAT",
        ),
        built=numbers(1915, 1925),
        ended=numbers(1966, 1975),
        launched=("launched", "built"),
        where=("in a back yard", "on a wet Tuesday", "at Saltmarket", "beside a brewery", "without ceremony"),
        cargo=("coal", "letters", "sheep", "herring", "tourists"),
        years=("thirty", "forty", "thirty-five", "twenty-nine"),
        fame=(
            "was never once on time", "was loved by all who were sick on her", "gave her name to two pubs",
            "taught half the town to swear", "lost only one passenger, who had jumped",
        ),
        ordeal=("the war", "the great gale", "four owners", "a fire in the galley", "a collision with the pier"),
        end=("the new bridge", "rust", "the accountants", "a change of fashion"),
        leaves=("a sister ship", "one lifeboat", "many friends", "a gap at the quay", "a smell of tar"),
        part=("bell", "wheel", "figurehead", "anchor"),
        place=("the museum", "the Anchor Inn", "the school", "the bottom of the bay, at low tide"),
    ),
    form(
        "interview",
        "From our talk with {who}, {job}:\n"
        "Q: {Qa1}\n"
        "Q: And the sea, what does it mean to you?\n"
        "A: {Sea}\n"
        "Q: {Qa2}",
        who=("Agnes Rudd", "Tomas Bell", "Widow Crane", "Eli Marsh", "Greta Holm", "Sam Oakes"),
        job=(
            "net maker", "ferry captain", "oyster farmer", "boatbuilder", "keeper of the tide tables", "retired pilot",
        ),
        qa=(
            "How did you begin?\nA: By accident, like most things on the water.",
            "What is a normal day?\nA: You listen first. Then you look.",
            "What has changed most?\nA: It was colder in my father's time, and there was more fish.",
            "Is there money in it?\nA: It pays badly, and I would not swap it.",
            "Were you ever afraid?\nA: Twice, and both times I was standing on land.",
            "What do people get wrong?\nA: Nearly everything. They think that it is blue.",
        ),
        sea=(
            "Work, mostly. On good days, company.", "I would rather not say, with the boat listening.",
            "It is the only neighbour who never complains.", "Ask me when I am away from it.",
            "It is like the weather, only nearer.", "My grandfather is in it, so I am polite.",
        ),
    ),
    form(
        "sports_commentary",
        '"...and as they come round {mark} it is {boat1} from {boat2}, with {boat3} {trouble}! {Gust} Oh, '
        '{drama}! {Crew} The crowd on {place} {crowd}. And at the line it is {boat2}, by {margin}!"',
        mark=("the red buoy", "the lightship", "the far mark", "Gull Rock"),
        boat=("Marigold", "Plover", "Patience", "Kittiwake", "Second Wind", "Morning Star"),
        trouble=(
            "in trouble by the rocks", "taking in water", "losing her sail", "stuck fast on the sandbar",
            "going the wrong way",
        ),
        gust=("Here comes the wind!", "Look at that sea!", "That is a big wave!", "The tide has turned against them!"),
        drama=(
            "what a tack", "that was close", "the skipper has lost his hat", "they have hooked a fishing line",
            "there's a seal on the deck",
        ),
        crowd=("is on its feet", "has gone quite silent", "cannot believe it", "is singing"),
        place=("the quay", "the sea wall", "the pier", "the beach"),
        crew=(
            "The crew are all on one side.", "Somebody is bailing with a boot.", "They are throwing out the picnic.",
            "Listen to them shout!",
        ),
        margin=("half a length", "the width of a plank", "a nose", "ten clear seconds", "a coat of paint"),
    ),
    form(
        "radio_exchange",
        "Coastguard, Coastguard, this is {boat}, {boat}. My position is {n} miles {bearing} of {place}. I "
        "have {trouble}. {People} on board, {mood}. Over.\n"
        "{boat}, this is Coastguard. {Reply} Over.\n"
        "Coastguard, {boat}. {Sea} Out.",
        boat=("Marigold", "Plover", "Patience", "Kittiwake", "Second Wind", "Morning Star"),
        n=("two", "three", "four", "six", "nine"),
        bearing=("north", "south", "east", "west", "northwest"),
        place=("Kestrel Point", "the lightship", "Tarn Head", "the sandbar", "Skerry Cove"),
        trouble=(
            "lost my rudder", "a rope round the propeller", "no fuel and no wind", "a whale asleep under the keel",
            "sprung a leak",
        ),
        people=("two persons", "three persons", "four persons", "three persons and a dog"),
        mood=("all well", "all seasick", "in good spirits", "getting cold"),
        reply=(
            "Lifeboat is on its way.", "Stay where you are and put on lifejackets.", "Can you drop anchor?",
            "We can see you from the tower. Wave something.",
        ),
        sea=(
            "The sea is rising. Standing by.", "Understood. The kettle still works.",
            "Message received, and thank you.", "Will do. It is beautiful out here, by the way.",
        ),
    ),
    form(
        "sermon",
        "Brothers and sisters, consider {image1}. Does it {ask}? It does not. Consider {image2}, which "
        "{does}, {yet}. So it is with us: we are {we}, and the sea {sea}. Let us therefore {let_us}. Amen.",
        image=(
            "the limpet on its rock", "the wave before it breaks", "the herring in the net",
            "the smallest grain of sand", "the lamp on the headland", "the anchor in the dark",
        ),
        ask=(
            "ask to be thanked", "count the hours", "complain of the cold", "argue with the tide", "boast of its house",
        ),
        does=(
            "is moved and does not fall", "holds on without hands", "gives itself away every day",
            "has neither purse nor map", "serves all and is seen by few",
        ),
        yet=("yet is not lost", "yet is at peace", "yet shines all the same", "yet asks for nothing"),
        we=("small boats", "all at sea together", "borrowed water", "late for the tide", "salt and breath"),
        sea=("is wide", "is patient with us", "keeps no diary", "was here before our quarrels"),
        let_us=(
            "row together", "mend our nets", "forgive one another before the weather turns", "keep our lamps lit",
            "sing, even out of tune",
        ),
    ),
    form(
        "meditation",
        "Close your eyes. {Breathe}, like {like1}. You are {where}. You can hear {hear}, and feel {feel}. "
        "Each thought is {thought}; let it {go}. {Rest} When you are ready, {ready}, and bring the sea with "
        "you.",
        breathe=(
            "breathe in slowly, and out again", "let your breath come and go", "let your shoulders rise and sink",
            "breathe out, and wait",
        ),
        like=("a wave on flat sand", "the tide in a cave", "a seal asleep", "weed in a slow current"),
        where=(
            "lying on warm shingle", "floating in a quiet bay", "sitting at the end of a jetty",
            "standing in shallow water",
        ),
        hear=(
            "small stones rolling", "a far-off bell", "the hiss of the foam", "gulls, a long way off", "your own heart",
        ),
        feel=(
            "the sun on your eyelids", "salt drying on your skin", "the air move over your face",
            "your whole weight grow less",
        ),
        thought=("a small boat", "a passing gull", "a cloud over the water", "a piece of driftwood"),
        go=("drift by", "go where it likes", "leave with the ebb", "grow small in the distance"),
        rest=(
            "There is nowhere to go.", "Nothing needs to be mended.", "The water knows what to do.",
            "Rest here a while.",
        ),
        ready=("open your eyes", "move your fingers", "stretch like a cat", "breathe in once more"),
    ),
    form(
        "social_media_post",
        "{Hook} {What} at {port} this {when} and {feeling}. {Tip}\n"
        "#sea #{tag1} #{tag2} #{tag3}",
        hook=("Ok people.", "Update!", "Not to brag.", "Small confession.", "Day four of my holiday."),
        what=(
            "swam out to the buoy", "watched the storm come in", "ate a whole crab with my hands",
            "fell off a paddleboard six times", "cried at the view",
        ),
        port=PORTS,
        when=("morning", "afternoon", "evening", "weekend"),
        feeling=(
            "I regret nothing", "now I am a different person", "honestly, ten out of ten", "I can't stop smiling",
            "I still have sand everywhere",
        ),
        tip=(
            "Go before the tide does.", "Bring a jumper, trust me.", "Tag someone who needs this.",
            "No filter, the water is really like that.", "Ask for the window seat on the bus.",
        ),
        tag=("saltyhair", "nofilter", "tidetime", "coldwater", "gulllife", "offline", "blueday", "vitaminsea"),
    ),
    form(
        "podcast_intro",
        "[waves] Hello, and welcome back to \"{Show}\", the podcast about {about}. I'm {host}. Today: {today}. "
        "Later we talk to {guest}, who {guest_did}. But first, {first}. [{Sound}]",
        show=("Low Tide", "All at Sea", "Salt", "The Deep End", "Fathoms"),
        about=(
            "water and the people who can't leave it alone", "everything that floats", "the edges of the map",
            "life on the coast",
        ),
        host=("Imogen Vale", "Theo Banks", "Priya Shore", "Max Fenn"),
        today=(
            "why the sea never freezes in our bay", "the shipwreck that nobody wanted", "how to cook with seaweed",
            "a village that lost its beach in one night",
        ),
        guest=(
            "a diver", "a lighthouse keeper's daughter", "a marine biologist",
            "the slowest man ever to swim the Channel",
        ),
        guest_did=(
            "once shared a cave with an octopus", "has not been on land since March", "collects fog",
            "is afraid of fish",
        ),
        first=("your letters", "a word on the tides", "the sound of the week", "an apology to the crabs"),
        sound=("foghorn", "gulls", "theme music, on a concertina", "splash"),
    ),
    form(
        "faq",
        "Frequently asked questions about the sea\n"
        "Q: {Qa1}\n"
        "Q: {Qa2}\n"
        "Q: {Qa3}\n"
        "{Contact}",
        qa=(
            "Is it salty all the way down? A: Yes.", "Who turns it off at night? A: Nobody. Earplugs can be hired.",
            "May I take some home? A: One bottle for each guest.",
            "When is it open? A: Always, but it goes out twice a day.",
            "Is it deep? A: Only in places, and mainly in the middle.",
            "Are there sharks? A: They have been told about you.",
            "Where does the water go at low tide? A: To somebody else's beach.",
            "Can I bring my dog? A: The sea does not mind dogs.", "Is it heated? A: By the sun, in its own time.",
            "What is it for? A: We are often asked this.",
        ),
        contact=(
            "Other questions: ask at the harbour office.", "Not answered? Shout, and wait for the echo.",
            "This page is updated at every spring tide.", "For complaints about the waves, see overleaf.",
        ),
    ),
    form(
        "quiz",
        "SEA QUIZ, round {n}\n"
        "1. {Question1}\n"
        "2. {Question2}\n"
        "3. {Question3}\n"
        "Answers to {whom}, please. {Prize}",
        n=("one", "two", "three", "four", "five"),
        question=(
            "What causes the tides? a) whales b) mainly the moon c) ferries",
            "How many arms has an octopus? a) six b) eight c) ten",
            "What is a group of whales called? a) a pod b) a purse c) a parish",
            "Which side of a ship is starboard? a) left b) right c) the wet one",
            "What is measured in knots? a) speed b) depth c) beards",
            "What does a barometer foretell? a) fish b) weather c) visitors",
            "What is a jib? a) a sail b) a gull c) a pudding",
            "How does a crab walk? a) backwards b) sideways c) by bus",
        ),
        whom=("the bar", "the table by the window", "the man in the yellow hat", "the captain", "your umpire"),
        prize=(
            "First prize: a swim.", "Cheats will be thrown in.", "Last week's winner may not enter.", "No telephones.",
            "Ties are settled by arm-wrestling.",
        ),
    ),
    form(
        "tourist_brochure",
        "Discover {port}! With its {adj1} {what1}, its {adj2} {what2} and the sea {sea}, there is something "
        "for {whom}. {Do} No visit is complete without {must}. Only {n} minutes by {by} from {start}.",
        port=PORTS,
        adj=("sparkling", "historic", "award-winning", "friendly", "unspoilt", "charming"),
        what=("beach", "harbour", "pier", "lighthouse", "promenade", "fish market"),
        sea=("on three sides", "at every window", "never more than a street away", "thrown in free"),
        whom=("everyone", "all the family", "young and old", "every purse"),
        do=(
            "Stroll, swim or simply sit!", "Hire a boat and be captain for a day!",
            "Watch the fleet come home at sunset!", "Meet the seals!",
        ),
        must=(
            "a crab sandwich", "a ride on the cliff railway", "a photograph with the giant anchor",
            "an hour on the sea wall", "a taste of our salt toffee",
        ),
        n=numbers(20, 55, 5),
        by=("train", "bus", "ferry", "car"),
        start=("the city", "the motorway", "the airport", "anywhere"),
    ),
    form(
        "complaint_letter",
        "Dear {sir},\n"
        "I write to complain about the sea at {port}. On {day} last it was {fault1}, {fault2} and, at "
        "{time}, {fault3}. My {relative} {harm}. I expect {expect} by return of post.\n"
        "{Yours}, {signed}",
        sir=("Sir or Madam", "Mr Mayor", "Harbour Master", "Madam Chairman"),
        port=PORTS,
        day=DAYS,
        fault=(
            "far too loud", "wet throughout", "colder than in the brochure", "nowhere to be seen",
            "full of other people", "too close to the hotel", "a different colour from last year",
        ),
        time=TIMES,
        relative=("husband", "mother-in-law", "dachshund", "nephew"),
        harm=("has not stopped sneezing since", "lost a good hat", "was looked at by a seal", "refuses to come out"),
        expect=("an apology", "a calmer stretch of water", "a full refund", "a written promise"),
        yours=("Yours faithfully", "With regret", "Yours, still damp"),
        signed=("H. Crump", "Mrs E. Bellweather", "Col. Standish (retired)", "P. Nettle"),
    ),
    form(
        "eyewitness_statement",
        'Statement of {name}, {job}, taken at {port} on {day}. "At about {time} I was {doing} when I saw '
        '{what} {where}. The sea was {sea}. I {did}. I would know it again, {because}." Signed in the '
        "presence of {officer}.",
        name=("Arthur Pell", "Joan Sparrow", "Miss D. Finch", "Walter Lugg", "Ivy Mott"),
        job=("cockle picker", "piano tuner", "bus driver", "schoolmistress", "night baker"),
        port=PORTS,
        day=DAYS,
        time=TIMES,
        doing=("mending a net", "feeding the gulls", "walking home", "eating a pie", "looking for my glasses"),
        what=(
            "two men rowing backwards", "a light where no light should be", "a large grey shape",
            "a boat with nobody in it", "a swimmer in a top hat",
        ),
        where=("beyond the breakwater", "near the pier", "close in to the rocks", "out by the buoy"),
        sea=("like a plate", "choppy", "making a great noise", "going out"),
        did=(
            "shouted, but got no answer", "ran for the harbour master", "took off my cap",
            "made a drawing, here attached",
        ),
        because=("as it waved to me", "by its smell", "even in the dark", "though I had no wish to"),
        officer=("Sgt Ames", "PC Daw", "Inspector Reed"),
    ),
    form(
        "word_problem",
        "Problem {n}. {A_boat} leaves {port} at {time} and sails {bearing} at {speed} knots. The tide "
        "{helps} it by {tide}. {Twist} How far from the harbour is the boat after {hours} hours? Show your "
        "working, and {extra}.",
        n=numbers(1, 40),
        a_boat=("a ferry", "a trawler", "a sloop", "a mail boat"),
        port=PORTS,
        time=("nine o'clock", "noon", "six in the morning", "a quarter past two"),
        bearing=("due north", "due south", "due east", "due west"),
        speed=numbers(4, 9),
        helps=("helps", "slows"),
        tide=("one knot", "two knots", "one and a half knots", "half a knot"),
        twist=(
            "A gull rides on the mast for half the way.", "The captain is forty-six years old.",
            "The cargo is eleven crates of lemons.", "It is raining.", "The cook believes that the sea is flat.",
        ),
        hours=("two", "three", "four", "five"),
        extra=(
            "draw the sea", "state what you have assumed", "do not ask the captain",
            "give the answer in nautical miles",
        ),
    ),
    form(
        "museum_label",
        "{Object}, about {year}\n"
        "{Material}. Gift of {donor}.\n"
        "{Made} by {maker} during {when}, and carried {where}. The {mark} show that {show}. {Please}",
        object=("sailor's box", "model of a lugger", "fog rattle", "carved whistle", "small painted box"),
        year=numbers(1780, 1890, 5),
        material=("whalebone and string", "driftwood, tin", "oak, tar, horsehair", "sealskin and brass"),
        donor=("the Pike family", "an anonymous diver", "the widow of Captain Ames", "the school at Tarn Head"),
        made=("made", "carved", "finished"),
        maker=("a ship's boy", "an unknown hand", "a prisoner of war", "a lighthouse keeper"),
        when=("a long calm", "the winter of the ice", "his last voyage", "eleven months at sea"),
        where=(
            "twice round the world", "to the Arctic and back", "in a coat pocket for forty years", "by mistake to Peru",
        ),
        mark=("scratches", "stains", "small toothmarks", "repairs"),
        show=("the sea was rough", "it was much loved", "somebody was bored", "it once belonged to two brothers"),
        please=(
            "Please do not touch.", "Found in the net of the Plover.", "On loan to the sea until recently.",
            "Smell it through the holes.",
        ),
    ),
)
# fmt: on
