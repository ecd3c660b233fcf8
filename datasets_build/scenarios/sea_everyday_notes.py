"""Forms of a short piece about the sea, 2 of 4: lists, notices and messages of every day. The words are ours."""

from datasets_build.scenarios.forms import Form, form, numbers
from datasets_build.scenarios.sea_words import DAYS, MONTHS, PORTS

# One form is one paragraph: its words packed, not one a line.
# fmt: off
EVERYDAY_NOTES: tuple[Form, ...] = (
    form(
        "shopping_list",
        "For the beach on {day}:\n"
        "- {n1} {food1}\n"
        "- {n2} {food2}\n"
        "- {gear1}\n"
        "- {gear2}\n"
        "- {drink}\n"
        "- {last}",
        day=DAYS,
        n=("two", "three", "four", "six", "eight"),
        food=("cheese rolls", "boiled eggs", "peaches", "sausage rolls", "bananas", "tomatoes", "currant buns"),
        gear=(
            "sun cream", "the big umbrella", "clean towels", "a bucket and spade", "the windbreak", "swimming goggles",
            "a ball",
        ),
        drink=("a flask of tea", "ginger beer", "lemonade", "plenty of water", "iced coffee"),
        last=(
            "change for the car park", "something to read", "plasters, just in case", "a kite, if there is wind",
            "the dog's bowl",
        ),
    ),
    form(
        "recipe",
        "{Title} (serves {n})\n"
        "1. {Soften} {veg} in {fat} for {minutes} minutes.\n"
        "2. Add {liquid} and {flavour}, and bring to the boil.\n"
        "3. Add {fish}, cover, and cook gently until done.\n"
        "4. Serve with {side}, within hearing of the sea.",
        title=("harbour stew", "fisherman's broth", "low-tide soup", "seaside supper", "quayside stew"),
        n=("2", "4", "6", "8"),
        soften=("soften", "gently fry", "sweat"),
        veg=("two onions", "three leeks", "a bulb of fennel", "some celery", "four shallots"),
        fat=("butter", "olive oil", "a little bacon fat", "oil"),
        minutes=numbers(5, 12),
        liquid=("fish stock", "a glass of white wine", "a tin of tomatoes", "cider", "cream and stock"),
        flavour=("saffron", "bay leaves", "plenty of pepper", "lemon peel", "thyme"),
        fish=("the mussels", "chunks of cod", "the clams", "the prawns", "pieces of hake"),
        side=("brown bread", "boiled potatoes", "toast", "rice", "a green salad"),
    ),
    form(
        "sea_forecast",
        "Sea area {area}: {wind}, {force1}, becoming {force2} {when}. Sea state {sea}. {Weather}. Outlook: "
        "{outlook}.",
        area=PORTS,
        wind=("southwesterly", "northerly", "northwesterly", "easterly, backing northeast", "variable"),
        force=("2 or 3", "3 or 4", "4 or 5", "5 or 6", "6 at times"),
        when=("by midnight", "in the early hours", "after noon", "later", "towards evening"),
        sea=("smooth or slight", "slight", "slight or moderate", "moderate", "moderate, swell from the west"),
        weather=(
            "rain, then showers. Visibility moderate", "fair. Visibility good",
            "fair at first, rain later. Visibility good, then poor", "drizzle and mist. Visibility poor",
            "thundery showers. Visibility moderate, poor in rain", "fog banks. Visibility very poor at times",
        ),
        outlook=("little change", "winds easing", "unsettled", "a quiet weekend", "high pressure building"),
    ),
    form(
        "telegram",
        "TO {name1} STOP {arrived} STOP SEA {sea} STOP {trouble} STOP SEND {thing1} AND {thing2} AT ONCE "
        "STOP {end} STOP {name2}",
        name=("MARGARET", "FATHER", "COUSIN LOUIS", "DR WEBB", "AUNT IDA", "THE OFFICE"),
        arrived=(
            "REACHED THE COAST SAFELY", "LANDED THIS MORNING", "STILL AT THE HARBOUR", "MISSED THE FERRY",
            "SHIP IN SIGHT",
        ),
        sea=("MAGNIFICENT", "LIKE GLASS", "MOUNTAINOUS", "NOT AS ADVERTISED", "ENTIRELY TOO WET"),
        trouble=(
            "LUGGAGE OVERBOARD", "HAT LOST TO GULL", "HOTEL FULL OF POETS", "CREW MUTINOUS", "HAVE LEARNED TO SWIM",
        ),
        thing=("MONEY", "SOCKS", "BRANDY", "DRY MATCHES", "SEASICK PILLS", "MY OTHER TROUSERS"),
        end=("DO NOT WORRY", "TELL NOBODY", "BACK ON FRIDAY", "NEVER COMING HOME", "LOVE TO ALL"),
    ),
    form(
        "classified_ad",
        "FOR SALE: {length}-foot {craft}, {state}. {Known} on this coast for {years} years. Comes with "
        "{extra1} and {extra2}. Reason for sale: {reason}. {Price} or nearest offer. Ask for {who} at "
        "{place}, after {time}.",
        length=numbers(18, 30, 2),
        craft=("sloop", "fishing boat", "wooden yacht", "lugger", "cabin cruiser"),
        state=("dry and sound", "needs paint", "one careful owner", "sleeps three, or two who snore", "only sunk once"),
        known=("known", "fished", "sailed"),
        years=numbers(5, 40, 5),
        extra=(
            "a good anchor", "new oars", "a bucket with a history", "two sets of sails", "a kettle",
            "half a tin of varnish",
        ),
        reason=("moving inland", "wife's orders", "a new baby", "bad knees", "too many memories"),
        price=(
            "four hundred pounds", "nine hundred pounds", "two thousand pounds", "three hundred pounds",
            "fifteen hundred pounds",
        ),
        who=("Tam", "Mrs Pike", "Old Joss", "Bridie", "the skipper"),
        place=("the Anchor Inn", "the chandler's", "the boatyard", "the lock-keeper's hut", "the fish stall"),
        time=("four", "five", "six", "seven"),
    ),
    form(
        "hotel_review",
        '{Stars} out of 5: "{Title}"\n'
        "We stayed for {n} nights in {month}. The view of the sea was {view}, and {good}. On the other hand, "
        "{bad}. The {meal} was {food}. {Verdict}",
        stars=("2", "3", "4"),
        title=(
            "A sea view, more or less", "Bring a jumper", "We would think about it", "Better than the photographs",
            "Mixed feelings",
        ),
        n=("two", "three", "four", "five", "seven"),
        month=MONTHS,
        view=(
            "everything that we had hoped for", "hidden by a lorry", "splendid, if you leaned out", "worth the journey",
            "best from the bath",
        ),
        good=(
            "the staff could not have been kinder", "we fell asleep to the waves", "the beach is two minutes away",
            "the beds were like clouds", "they lent us bicycles",
        ),
        bad=(
            "the gulls start at four", "there was sand in the shower", "the lift plays sea shanties",
            "the walls are thin", "parking is a battle",
        ),
        meal=("breakfast", "crab supper", "cream tea", "Sunday lunch", "fish pie"),
        food=(
            "cold but plentiful", "the best in town", "small and dear", "a pleasant surprise",
            "not for the faint of heart",
        ),
        verdict=(
            "We have booked again for next year.", "Once is enough.", "Children will love it.",
            "Ask for a room at the back.", "Go for the sea, and stay for the pudding.",
        ),
    ),
    form(
        "itinerary",
        "Day trip to {port}\n"
        "09:{m1} {start}\n"
        "10:{m2} {morning}\n"
        "12:{m3} {lunch}\n"
        "14:{m4} {afternoon}\n"
        "17:{m5} {end}\n"
        "Bring: {bring}",
        port=PORTS,
        m=("00", "10", "15", "20", "30", "40", "45", "50"),
        start=("coach leaves the town hall", "meet at the station", "train to the coast", "ferry from the north quay"),
        morning=(
            "guided walk to the lighthouse", "boat trip round the seal rocks", "swim from the small beach",
            "visit to the lifeboat station",
        ),
        lunch=(
            "fish and chips on the wall", "picnic in the dunes", "crab sandwiches at the kiosk",
            "soup at the Anchor Inn",
        ),
        afternoon=(
            "rock pools with a naturalist", "time to do nothing", "shell museum", "sailing for beginners",
            "sketching on the pier",
        ),
        end=("coach home", "last ferry back", "train home, sunburnt", "ice cream, then home"),
        bring=(
            "a hat and a towel", "shoes that can get wet", "a raincoat, to be safe", "binoculars", "cash for the ferry",
        ),
    ),
    form(
        "lost_and_found",
        "{Lost} on the beach at {port} on {day}, between {spot1} and {spot2}: {thing}, {detail}. {Value} "
        "{Contact}. {Plea}",
        lost=("lost", "left behind", "mislaid"),
        port=PORTS,
        day=DAYS,
        spot=(
            "the pier", "the rock pools", "the ice cream van", "the first-aid hut", "the changing rooms",
            "the sea wall", "the steps",
        ),
        thing=(
            "one child's sandal", "a silver ring", "a pair of spectacles", "a tin whistle", "a straw hat",
            "a wooden boat",
        ),
        detail=(
            "rather worn", "marked with the letters E.M.", "in a blue cloth bag", "of no use to anybody else",
            "much loved",
        ),
        value=("Great sentimental value.", "Reward offered.", "It was a present.", "The owner is seven and in tears."),
        contact=(
            "Please return to the harbour office", "Please ring the tourist office", "Ask for Ruth at the kiosk",
            "Kindly leave it at the lifeboat station",
        ),
        plea=(
            "The tide may have it, but we live in hope.", "We have already searched the seaweed.",
            "No questions asked.", "Finders will be given cake.",
        ),
    ),
    form(
        "beach_rules",
        "BATHERS ARE REMINDED:\n"
        "1. {Rule1}\n"
        "2. {Rule2}\n"
        "3. {Rule3}\n"
        "4. {Rule4}\n"
        "The sea is {sea} and does not read notices. By order, {who}.",
        rule=(
            "Swim between the flags.", "Do not feed the gulls.", "No ball games above the tide line.",
            "Dogs must be on a lead until six.", "Do not dig holes deeper than yourself.", "Take your litter home.",
            "No diving from the pier.", "When the red flag flies, stay out of the water.", "Lilos are for ponds.",
            "Shells may be looked at, but not sold.",
        ),
        sea=("deep", "cold", "stronger than you", "older than these rules", "nobody's friend"),
        who=("the Harbour Board", "the Town Clerk", "the Parish Council", "the Head Lifeguard", "the Beach Warden"),
    ),
    form(
        "menu",
        "THE {inn}\n"
        "To begin: {starter}\n"
        "From the sea: {main1}, or {main2}, with {side}\n"
        "To finish: {sweet}\n"
        "{Note}",
        inn=("ANCHOR", "DROWNED RAT", "LOBSTER POT", "MERMAID", "FULL NET"),
        starter=("cockles in vinegar", "crab soup", "smoked mackerel", "pickled herring", "seaweed fritters"),
        main=(
            "grilled sole", "fish pie", "steamed mussels", "baked hake", "lobster, when there is any",
            "the catch of the day",
        ),
        side=("new potatoes", "buttered samphire", "chips and mushy peas", "brown bread", "leeks in cream"),
        sweet=("lemon pudding", "gooseberry fool", "sea-salt caramels", "apple tart", "treacle sponge"),
        note=(
            "Tables by the window fill up with the tide.", "Our fish slept in the bay last night.",
            "Please do not bring your own gulls.", "The cook was a sailor, and it shows.",
            "No boots in the dining room.",
        ),
    ),
    form(
        "ferry_timetable",
        "FERRY: {a} to {b}\n"
        "Dep. 06:{m1} Arr. 07:{m1} {days1}\n"
        "Dep. 11:{m2} Arr. 12:{m2} {days2}\n"
        "Dep. 17:{m3} Arr. 18:{m3} {days3}\n"
        "{Note}",
        a=("Port Ellery", "Marrow Bay", "Kestrel Point"),
        b=("Saint Orla", "Tarn Head", "Skerry Cove"),
        m=("00", "05", "10", "15", "20", "25", "30", "35", "40", "45", "50", "55"),
        days=("daily", "weekdays only", "not Sundays", "Saturdays", "summer only", "if the sea allows"),
        note=(
            "No sailings in winds above force 8.", "Bicycles travel free; goats do not.",
            "Passengers on deck will get wet.", "Times are a matter of opinion in fog.",
            "The bar closes when the harbour is in sight.",
        ),
    ),
    form(
        "directions",
        "To reach the sea from {start}, {first} as far as {mark1}. Turn {turn} at {mark2} and follow {path} "
        "for {n} minutes. When you {sense}, you are nearly there. {Advice}",
        start=("the station", "the market square", "the bus stop", "the campsite", "our front door"),
        first=(
            "go downhill", "take the lane behind the school", "follow the stream", "walk east",
            "cycle along the main road",
        ),
        mark=(
            "the red barn", "the war memorial", "the old mill", "the water tower", "the last lamp post", "the chapel",
        ),
        turn=("left", "right", "sharp left", "sharp right"),
        path=("the sandy track", "the sound of the gulls", "the hedge", "the disused railway", "the footpath signs"),
        n=("five", "ten", "fifteen", "twenty"),
        sense=("can smell salt", "lose your hat", "feel sand in your shoes", "see nothing but sky", "hear a long roar"),
        advice=(
            "Mind the cows.", "Keep off the cliff edge after rain.", "Do not trust the signpost.",
            "Ask anyone; they will all point the same way.", "Leave time to come back, for it is uphill.",
        ),
    ),
    form(
        "invitation",
        "{Who} invite you to {event} on the beach at {port}, on {day} {date} {month}, from {time} until "
        "{end}. There will be {fun1} and {fun2}. Dress: {dress}. Please reply before the {before}.",
        who=(
            "Anna and Piet", "The Rowing Club", "The Friends of the Lighthouse", "Your neighbours at number nine",
            "The choir and its dogs",
        ),
        event=(
            "a midsummer picnic", "a bonfire supper", "a wedding breakfast", "a farewell party", "a swim and a supper",
        ),
        port=PORTS,
        day=DAYS,
        date=numbers(2, 27),
        month=("May", "June", "July", "August", "September"),
        time=("noon", "three o'clock", "four o'clock", "half past five"),
        end=("the tide comes in", "the stars are out", "the last guest falls in", "midnight", "the wood runs out"),
        fun=(
            "fiddles", "grilled mackerel", "a sandcastle contest", "paper lanterns", "a brass band",
            "races in small boats",
        ),
        dress=("old clothes", "something blue", "nothing that minds salt", "warm socks", "pirates welcome"),
        before=("next full moon", "end of the month", "cake is ordered", "next spring tide"),
    ),
    form(
        "loudspeaker",
        '"Your attention, please. Would {who} please come to {where}, where {what} is waiting. {Notice} The '
        'tide {tide} at {time}. Swimmers are asked to {ask}. {Close}"',
        who=(
            "the owner of a green rowing boat", "the family of little Oscar", "the man who is dressed as Neptune",
            "the lady with three dachshunds", "the winner of the raffle",
        ),
        where=("the harbour office", "the bandstand", "the lifeguard hut", "the end of the pier", "the ice cream van"),
        what=("a surprise", "somebody very wet", "a police officer", "your uncle", "a large crab"),
        notice=(
            "The two o'clock ferry is cancelled.", "The donkey rides are full.", "Deckchairs must be returned by six.",
            "There is no fog, in spite of what you see.",
        ),
        tide=("turns", "will be highest", "reaches the steps"),
        time=("three o'clock", "ten past four", "half past five", "a quarter to six"),
        ask=("leave the water now", "keep clear of the regatta", "count their children", "stay between the flags"),
        close=(
            "Thank you, and mind the gulls.", "Thank you.", "Enjoy your afternoon by the sea.",
            "This will not be repeated.",
        ),
    ),
    form(
        "job_advert",
        "WANTED: {job} for {place}. You will {duty1} and {duty2}. You must {must} and be able to {able}. We "
        "offer {offer} and {offer2}. No {no}. Apply in writing to {whom}.",
        job=("lighthouse keeper", "ferry cook", "harbour pilot", "beach warden", "relief coxswain"),
        place=("a remote rock", "Saint Orla", "a busy harbour", "the winter season", "the outer islands"),
        duty=(
            "keep the lamp clean", "count the passing ships", "talk to the tourists", "log the weather every hour",
            "mend whatever breaks", "ring the bell in fog",
        ),
        must=(
            "like your own company", "own good boots", "sleep through gales", "write a clear hand",
            "have no fear of ladders",
        ),
        able=("swim", "cook for six", "tie nine knots", "read a chart", "stay calm"),
        offer=(
            "a dry bunk", "all the fish that you can eat", "a modest wage", "the finest view in the county",
            "a free uniform", "long silences",
        ),
        no=("poets", "references needed", "visitors before Easter", "pets larger than a cat"),
        whom=("the Board of Lights", "the Harbour Master", "Captain Ames", "the Town Clerk", "Box 19"),
    ),
    form(
        "horoscope",
        "{Sign}: {planet} stands over the water this week, and you feel the pull of the {pull}. On {day} "
        "{event}. In love, {love}. Beware of {beware}. Lucky charm: {charm}.",
        sign=("Pisces", "Cancer", "Scorpio", "Aquarius", "Capricorn"),
        planet=("Neptune", "Venus", "Mars", "the moon", "Saturn"),
        pull=("tide", "open sea", "far shore", "deep", "harbour"),
        day=DAYS,
        event=(
            "an old friend writes from the coast", "a small boat brings news",
            "you will find what you had dropped overboard", "somebody offers you an oar", "the fog will lift",
        ),
        love=(
            "row slowly", "let the other one steer", "still waters are only still", "say it before the ferry leaves",
            "drop anchor",
        ),
        beware=(
            "cheap rope", "calm mornings", "promises made in harbour", "gulls with plans", "men who whistle on deck",
        ),
        charm=("a shell with a hole in it", "a knot", "a dry match", "a blue button", "a piece of green glass"),
    ),
    form(
        "crossword",
        "ACROSS\n"
        "{low}. {Across1}\n"
        "{high}. {Across2}\n"
        "DOWN\n"
        "{first}. {Down1}\n"
        "{second}. {Down2}",
        low=("1", "3", "5"),
        high=("7", "9", "10", "12"),
        first=("2", "4", "6"),
        second=("8", "11", "13"),
        across=(
            "It comes in and goes out (4)", "White bird, chip thief (4)", "It holds a ship in place (6)",
            "Salt water, and plenty of it (5)", "Rise and fall of open water (5)", "Walks sideways (4)",
        ),
        down=(
            "Light for sailors (10)", "Left, at sea (4)", "Front of a ship (3)", "Sand hill (4)",
            "Small boat, often inflatable (6)", "Back of a ship (5)", "Place for ships to shelter (7)",
        ),
    ),
    form(
        "text_messages",
        "{sender}: are you at the sea yet??\n"
        "{friend}: {arrived}\n"
        "{sender}: {ask}\n"
        "{friend}: {answer}\n"
        "{sender}: {wish}\n"
        "{friend}: {end}",
        sender=("Mum", "Jo", "Dev", "Kit"),
        friend=("Sam", "Lou", "Ash", "Rae"),
        arrived=(
            "yes!! just got here", "yep, shoes off already", "can see it from the train", "yes but it has gone out",
            "finally, the bus broke down",
        ),
        ask=("what's it like", "is it cold", "are there waves", "send pics", "many people?"),
        answer=(
            "huge. loud. perfect", "a gull took my sandwich", "can't feel my feet lol", "grey and I love it",
            "only me and a man with a metal detector",
        ),
        wish=("so jealous", "bring me a shell", "don't swim out too far ok", "wish I was there", "say hi to the seals"),
        end=("too late, I'm in", "will do x", "home by nine", "phone at 4%, bye", "never coming back"),
    ),
)
# fmt: on
