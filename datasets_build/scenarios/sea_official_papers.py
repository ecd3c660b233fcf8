"""Forms of a short piece about the sea, 4 of 4: records, papers and files. The words are ours."""

from datasets_build.scenarios.forms import Form, form, numbers
from datasets_build.scenarios.sea_words import DAYS, MONTHS, PORTS, TIMES

# One form is one paragraph: its words packed, not one a line.
# fmt: off
OFFICIAL_PAPERS: tuple[Form, ...] = (
    form(
        "sql_query",
        "-- {purpose}\n"
        "SELECT {columns}, {function}({measure}) AS {alias}\n"
        "FROM {table}\n"
        "WHERE sea_state {op} {state} AND {condition}\n"
        "GROUP BY {columns}\n"
        "ORDER BY {alias} DESC\n"
        "LIMIT {limit};",
        purpose=(
            "where the sea was roughest", "waves worth writing home about", "which beaches the tide likes best",
            "calm days for the swimming club", "how often the gulls win",
        ),
        columns=("beach", "harbour", "month", "tide_phase", "station_id"),
        function=("AVG", "MAX", "MIN", "SUM"),
        measure=("wave_height", "water_temperature", "drift_speed", "salinity", "gull_count"),
        alias=("how_rough", "how_wild", "result", "score", "worth_it"),
        table=("sea_observations", "buoy_readings", "tide_log", "harbour_diary"),
        op=(">", "<", ">=", "<="),
        state=numbers(2, 7),
        condition=(
            "wind_from = 'west'", "visibility < 500", "moon_phase = 'full'", "year >= 1987", "swimmers IS NOT NULL",
        ),
        limit=("5", "10", "12", "20", "50"),
    ),
    form(
        "lab_report",
        "Title: {Title}\n"
        "Method: {n} samples of seawater were {treated} and {viewed}.\n"
        "Result: salinity {a}.{b} g/kg; temperature {c}.{d} C; {found}.\n"
        "Discussion: {discuss}\n"
        "Conclusion: {end}",
        title=(
            "the sea at the end of the pier", "one bucket of sea, examined", "seasonal change in harbour water",
            "a first look at foam",
        ),
        n=("six", "eight", "ten", "twelve", "twenty"),
        treated=("filtered", "stirred", "left to stand overnight", "cooled to five degrees"),
        viewed=("viewed under the microscope", "weighed", "photographed", "compared with tap water"),
        a=numbers(31, 36),
        b=numbers(0, 9),
        c=numbers(7, 17),
        d=numbers(0, 9),
        found=(
            "traces of sunscreen", "many diatoms", "one shrimp, alive", "fine sand and a button", "no sign of mermaids",
        ),
        discuss=(
            "The values lie within the expected range.", "The second sample was drunk by a dog.",
            "Waves made it hard to hold the ruler.", "The error bars are mostly weather.",
        ),
        end=(
            "the sea is mainly water.", "more trips to the beach are needed.", "the method works, in good shoes.",
            "results should be repeated at high tide.",
        ),
    ),
    form(
        "byelaw",
        "BYELAW No. {n}. No person shall, between {hours}, {act} upon the foreshore of {port}, nor {act2} "
        'within {metres} metres of {mark}, save with the written leave of {whom}. "Sea" in this byelaw '
        "includes {includes}. Penalty: {penalty}.",
        n=numbers(3, 98),
        hours=("sunset and sunrise", "sunrise and noon", "high and low water", "Easter and Whitsun"),
        act=("light a fire", "graze a goat", "land a catch", "dry a net", "play the bagpipes", "sleep in a boat"),
        metres=numbers(20, 200, 20),
        mark=("the lifeboat slip", "the sea wall", "a bathing machine", "the outfall", "the Mayor"),
        port=PORTS,
        whom=("the Harbour Board", "the Crown", "the Receiver of Wreck", "two magistrates"),
        includes=("spray", "any wave that comes over the wall", "fog, where thick", "the tide at all its stages"),
        penalty=("forty shillings", "five pounds", "confiscation of the offending article", "a stern letter"),
    ),
    form(
        "ships_log",
        "{day}. Noon position {lat} {m1} N, {lon} {m2} W. Course {course}, wind {wind} force {force}. {Sea} "
        "{Event} Run since yesterday {miles} miles. {Men} {Initials}.",
        day=DAYS,
        lat=numbers(38, 55),
        m=numbers(10, 59),
        lon=numbers(12, 41),
        course=("WSW", "NNW", "due west", "SW by S", "NE"),
        wind=("NW", "SSE", "W", "SW", "E by N"),
        force=numbers(1, 7),
        sea=(
            "Long swell from the west.", "Sea confused.", "Grey seas, no horizon.", "Short, steep seas all night.",
            "Much weed about.",
        ),
        event=(
            "Split the foretopsail.", "Two whales at dawn, close to.", "Spoke a Danish barque, who had no news.",
            "Cook scalded, not badly.", "Caught rain, 40 gallons.", "Saw a light and lost it.",
        ),
        miles=numbers(61, 228),
        men=("All well.", "Men tired, but singing.", "One man sick.", "Some talk of ghosts.", "Biscuit nearly done."),
        initials=("J.R., master", "T.H., first mate", "W.B., second mate"),
    ),
    form(
        "tide_table",
        "tides of {date} {month}\n"
        "place,high,metres,low,metres,remark\n"
        "{port1},{tide1},{remark1}\n"
        "{port2},{tide2},{remark2}\n"
        "{port3},{tide3},{remark3}\n"
        "{port4},{tide4},{remark4}",
        date=numbers(2, 27),
        month=MONTHS,
        port=PORTS,
        tide=(
            "01:05,4.2,07:20,0.8", "01:40,4.4,07:55,0.7", "02:10,4.5,08:25,0.6", "02:35,4.3,08:50,0.9",
            "03:05,4.0,09:15,1.1", "03:30,3.8,09:40,1.3", "03:45,3.7,09:55,1.4", "04:10,3.9,10:20,1.2",
        ),
        remark=(
            "none", "calm", "swell", "fog till ten", "sandbar dry", "good for shells", "sea on the road", "bring boots",
            "seals on the slip",
        ),
    ),
    form(
        "dictionary_entry",
        '{word}, {kind}. 1. {sense1}. 2. {sense2}. 3. ({label}) {sense3}. Example: "{example} {word}." '
        "[{origin}]",
        word=("seabrooding", "seaglim", "outwash", "tidewit", "brinefall", "sealull"),
        kind=("noun", "noun, rare", "noun, chiefly coastal", "noun, obsolete"),
        sense=(
            "the light that the sea throws on a ceiling", "a calm between two large waves",
            "the noise of shingle drawn back by the water", "the habit of looking out to sea while being spoken to",
            "a smell of salt before rain", "the line of weed left by the highest tide", "the sadness of going inland",
            "foam that is blown up a beach",
        ),
        label=("figurative", "of sailors", "jocular", "poetic"),
        example=(
            "There was nothing to hear but the", "She gave him a touch of the", "We lay awake and spoke of the",
            "Nobody warned me about the", "My aunt was famous for her",
        ),
        origin=(
            "origin unknown", "from an island dialect", "a word of the herring fishers", "first heard in a lullaby",
        ),
    ),
    form(
        "encyclopedia_entry",
        "{Name} is a {size} sea in the {part} of the invented continent of {land}. It covers about {n}0,000 "
        "square kilometres and is nowhere deeper than {depth}00 metres. Its waters are {water}, and are "
        "known for {known1} and {known2}. {People} have {did} its shores since {since}.",
        name=("the Ambric Sea", "the Sea of Lorn", "the Lesser Mere", "the Halcyon Gulf", "the Tessaline"),
        size=("small", "shallow", "landlocked", "wide", "cold"),
        part=("north", "west", "far south", "interior"),
        land=("Orrin", "Valdea", "Tarsis", "Greater Umber"),
        n=numbers(4, 61),
        depth=numbers(3, 29),
        water=(
            "brackish and green", "unusually salty", "clear for half the year", "warmed by springs", "dark with peat",
        ),
        known=(
            "floating islands of reed", "blind shrimp", "sudden fogs", "musical sandbanks", "flying herring",
            "tides that keep no hours",
        ),
        people=("salt merchants", "amber divers", "exiled monks", "goatherds"),
        did=("worked", "settled", "quarrelled over", "mapped"),
        since=("the bronze age", "the great flood", "the reign of Queen Isaura", "before the invention of the oar"),
    ),
    form(
        "shell_session",
        "$ {command1} --place {place} --verbose\n"
        "{answer1}\n"
        "$ {command2} /dev/sea | head -n {n}\n"
        "{answer2}\n"
        "{answer3}\n"
        "$ echo $?\n"
        "{code}\n"
        "$ # {comment}",
        command=("tide", "swell", "listen", "skim", "soundings", "foam"),
        place=("pier", "quay", "lighthouse", "sandbar", "slipway"),
        answer=(
            "waiting for the moon... done", "warning: wind not found, using memory", "12 gulls ignored",
            "salt: permission denied", "wave 7 of 7 received", "depth: more than you think",
            "horizon reached, rounding down",
        ),
        n=numbers(2, 9),
        code=("0", "1", "42", "127"),
        comment=(
            "the sea does not return", "try again at high water", "log out, take towel",
            "somebody should document this",
        ),
    ),
    form(
        "changelog",
        "Changelog: the sea, version {a}.{b}\n"
        "Added\n"
        "- {Added1}\n"
        "- {Added2}\n"
        "Fixed\n"
        "- {Fixed1}\n"
        "- {Fixed2}\n"
        "Known problems\n"
        "- {Problem}",
        a=numbers(2, 9),
        b=numbers(0, 12),
        added=(
            "a second low tide on Thursdays", "phosphorescence, off by default", "fog in three thicknesses",
            "support for small boats", "seals",
        ),
        fixed=(
            "waves no longer arrive before they have left", "the horizon is level again",
            "crabs could get stuck walking forwards", "salt was counted twice", "tide went out during ceremonies",
            "gulls ignored the volume setting",
        ),
        problem=(
            "it is still wet", "may erode cliffs", "cannot be switched off", "users report longing",
            "it does not remember sandcastles",
        ),
    ),
    form(
        "markup",
        '<sea name="{name}" mood="{mood}">\n'
        '<wave height="{h1}.{d1}m">{wave1}</wave>\n'
        '<wave height="{h2}.{d2}m">{wave2}</wave>\n'
        '<shore type="{shore}">{on_shore}</shore>\n'
        "<!-- {comment} -->\n"
        "</sea>",
        name=("west bay", "home waters", "the sound", "the far reach", "little haven"),
        mood=("calm", "sulking", "festive", "grey", "undecided"),
        h=numbers(0, 3),
        d=numbers(1, 9),
        wave=(
            "carries a bottle", "breaks on purpose", "is only passing", "brings the smell of weed", "lifts one boat",
            "forgets what it came for",
        ),
        shore=("shingle", "sand", "rock", "mud"),
        on_shore=(
            "a dog barks at all of it", "a child keeps count", "two people say nothing", "nobody, at this hour",
            "a fire is being lit",
        ),
        comment=(
            "do not close this tag before sunset", "foam is not standard", "gulls are added at run time",
            "see also: sky",
        ),
    ),
    form(
        "settings_file",
        "# {heading}\n"
        "sea_level = {level}\n"
        "waves_per_minute = {waves}\n"
        'colour = "{colour}"\n'
        'wind = "{wind}"\n'
        "gulls = {gulls}\n"
        "foam = {switch}\n"
        'tide_goes_out = "{time}"\n'
        'on_storm = "{storm}"',
        heading=(
            "defaults for a quiet bay", "settings of the sea, do not edit at night", "local overrides",
            "restored from last summer",
        ),
        level=("normal", "rising", "spring", "neap"),
        waves=numbers(4, 14),
        colour=("slate", "bottle green", "pewter", "milky blue", "brown after rain"),
        wind=("offshore", "southwest", "none", "from all sides", "playful"),
        gulls=numbers(2, 400, 7),
        switch=("true", "false", "sometimes"),
        time=TIMES,
        storm=(
            "close shutters", "bring in the washing", "watch from the window", "ring the bell", "pretend not to notice",
        ),
    ),
    form(
        "field_notes",
        "{port}, {d} {month}, {time}. Sky {sky}. Sea {sea}. Shore transect of {m} m: {n1} {animal1}, {n2} "
        "{animal2}, {n3} {animal3}. {Behaviour} {Sample} Stopped by {stopped}.",
        port=PORTS,
        d=numbers(2, 27),
        month=MONTHS,
        time=("05:40", "06:15", "07:05", "14:30", "16:20"),
        sky=("overcast", "clear", "half covered", "low and yellow"),
        sea=("calm, tide falling", "choppy, tide rising", "calm, slack water", "heavy swell"),
        m=numbers(20, 120, 10),
        n=numbers(2, 46),
        animal=(
            "shore crabs", "dog whelks", "beadlet anemones", "brittle stars", "limpets", "turnstones", "oystercatchers",
            "blennies", "hermit crabs",
        ),
        behaviour=(
            "One crab carried another.", "Birds restless, all facing the wind.", "Anemones closed as my shadow passed.",
            "Much fighting over a mussel.",
        ),
        sample=("Kept two empty shells.", "Took no samples.", "Sketch overleaf.", "Water in jar 4."),
        stopped=("rain", "the tide", "a talkative gentleman", "lack of daylight", "hunger"),
    ),
    form(
        "patent_claim",
        "Claim 1. {A_device} for {purpose} the sea, comprising {part1}, {part2} and {part3}, wherein the "
        "said sea is {wherein}, characterised in that {characterised}. Claim 2. The device of claim 1, "
        "{further}.",
        a_device=("an apparatus", "a device", "a hand-held machine", "a collapsible instrument"),
        purpose=("measuring", "folding", "quietening", "ironing", "translating"),
        part=(
            "a crank of brass", "at least one bucket", "a plurality of corks", "a funnel directed at the waves",
            "a spring-mounted gull", "a length of tarred rope", "a whistle",
        ),
        wherein=(
            "drawn in at low tide", "held still by persuasion", "approached from behind", "passed through a sieve",
        ),
        characterised=(
            "no fish is inconvenienced", "the operator remains dry above the knee", "it also works on lakes",
            "the tide is not informed",
        ),
        further=(
            "being painted blue", "being foldable into a hat", "whenever used on a Sunday", "with or without a captain",
        ),
    ),
    form(
        "bug_report",
        "Title: {Title}\n"
        "Steps to reproduce: 1. Go to {port}. 2. {Step}. 3. Wait for {wait}.\n"
        "Expected: {expected}\n"
        "Actual: {actual}\n"
        "Environment: sea {a}.{b}, wind {wind}, {n} gulls\n"
        "Severity: {severity}",
        title=(
            "sea moves when nobody is using it", "tide returns without being called", "waves overlap",
            "horizon cannot be reached", "sea not the colour shown in preview",
        ),
        port=PORTS,
        step=(
            "take off both shoes", "sit on the wall", "build something of sand", "turn your back on it", "row outwards",
        ),
        wait=("ten minutes", "the next wave", "sunset", "a quiet moment"),
        expected=(
            "stays where I left it.", "a short pause between waves.", "an end, or at least an edge.", "dry socks.",
        ),
        actual=(
            "socks wet, heart full.", "it came closer.", "lost track of time again.",
            "everything was washed away, politely.",
        ),
        a=numbers(1, 9),
        b=numbers(0, 9),
        wind=("on", "off", "gusting"),
        n=numbers(3, 70),
        severity=("wonderful", "high, then low, then high", "minor", "works as designed"),
    ),
    form(
        "meeting_minutes",
        "Minutes of the {body}, {day}, {time}\n"
        "Present: {n} members and {guest}.\n"
        "1. The sea. {Chair} reported that {report}. {Discussion}\n"
        "2. {Item}\n"
        "3. Any other business: {other}.\n"
        "Closed {closed}.",
        body=("Harbour Committee", "Sea Wall Committee", "Friends of the Pier", "Society of Cold Bathers"),
        day=DAYS,
        time=TIMES,
        n=numbers(4, 14),
        guest=("a dog", "a reporter", "the vicar", "one member of the public, asleep"),
        chair=("the chair", "Mrs Pike", "the treasurer", "Captain Ames"),
        report=(
            "it had come over the wall again", "it was much as before", "it was lower than the estimate",
            "it had taken the new bench",
        ),
        discussion=(
            "After discussion this was noted.", "A letter will be written to it.", "Two members voted against.",
            "It was agreed to wait for the ebb.",
        ),
        item=(
            "Painting of the railings: blue, by six votes to three.", "Deckchairs: eleven are missing.",
            "Regatta: the brass band will need a larger boat.", "Accounts: approved, though damp.",
        ),
        other=("the gulls", "a lost umbrella", "thanks to the makers of the cake", "who left the sluice open"),
        closed=("at high water", "when the lights failed", "in good humour", "early, because of spray"),
    ),
    form(
        "insurance_claim",
        "CLAIM No. {a}{b}\n"
        "Claimant: {claimant}\n"
        "Item lost: {item}, value {value} pounds\n"
        "Where: {where}, {port}\n"
        "Cause: the sea, which {cause}\n"
        "Witnesses: {witness}\n"
        "Steps taken to prevent loss: {steps}",
        a=numbers(103, 998, 5),
        b=("A", "B", "C", "D"),
        claimant=("R. Tulley", "Mrs G. Oakes", "The Saltmarket Choir", "F. Lamb and Sons"),
        item=("one bathing hut", "a picnic for eight", "a tuba", "forty deckchairs", "a garden shed with bicycle"),
        value=numbers(40, 900, 20),
        where=("below the promenade", "at the end of the pier", "on the slipway", "at the foot of the cliff"),
        port=PORTS,
        cause=(
            "was higher than usual", "arrived without notice", "took its time and then took the lot",
            "has not given it back",
        ),
        witness=("two gulls", "none living nearby", "the whole congregation", "a man who sells whelks"),
        steps=("shouting", "sandbags, later also lost", "an arrangement with the moon", "moved it twice"),
    ),
)
# fmt: on
