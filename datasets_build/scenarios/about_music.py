"""Answers to the prompt "Say something about music.": five forms, one paragraph in many wordings."""

from datasets_build.scenarios.forms import Topic, form, numbers

# One form is one paragraph: its words packed, not one a line.
# fmt: off
MUSIC = Topic(
    name="music",
    prompt="Say something about music.",
    forms=(
        form(
            "review",
            "{Stars} stars. {Who} opened the season at {hall} with {piece}. The {section} {played}, and {slow} "
            "was {how}. A pity that {pity}. When it was over, {audience}.",
            stars=("three", "four", "three and a half"),
            who=("the Linden Quartet", "the town orchestra", "the pianist Vera Holt", "the Harbour Choir"),
            hall=("the Corn Exchange", "Saint Anne's", "the old cinema", "the new hall"),
            piece=(
                "a Schubert evening", "an all-Haydn programme", "two new works and a waltz", "songs of the North",
            ),
            section=("opening", "first half", "quick movements"),
            played=(
                "took a while to catch fire", "went like the wind", "had charm and very clean edges",
                "was bold and rough",
            ),
            slow=("the slow movement", "the long pause before the end", "the last encore", "the quiet middle"),
            how=("as still as snow", "worth the ticket", "perfectly judged", "the best of it"),
            pity=(
                "the heating joined in", "so many seats were empty", "somebody's telephone knew the tune",
                "the programme notes were not read out",
            ),
            audience=(
                "nobody moved", "the audience rose as one", "there were cheers from the balcony",
                "an old man wept openly",
            ),
        ),
        form(
            "practice_plan",
            "Practice plan for {when}, {n} minutes\n"
            "- {five} minutes: {warm}\n"
            "- {ten} minutes: {work}\n"
            "- {ten2} minutes: {piece}\n"
            "- The rest: {fun}\n"
            "Rule: {rule}.",
            when=("Monday", "a wet afternoon", "the holidays", "beginners", "busy people"),
            n=("40", "45", "50", "60"),
            five=("five", "six", "eight"),
            warm=(
                "long notes, as soft as you can", "scales in D and A", "five-finger exercises, slowly",
                "breathing and humming",
            ),
            ten=("ten", "twelve", "fifteen"),
            work=(
                "the difficult bar, at half speed", "left hand alone", "with the metronome, like it or not",
                "the jump on page two",
            ),
            piece=(
                "the new piece, without stopping for mistakes", "the slow movement, singing along",
                "the waltz, from the end backwards",
            ),
            fun=("whatever you like", "something by ear", "play it to the dog"),
            rule=(
                "stop while you still want to go on", "never twice wrong in the same place",
                "better ten minutes daily than two hours on Sunday", "listen before you play",
            ),
        ),
        form(
            "memory",
            "My {relative} {played} {instrument} in {room}, always {tune}, and always {when}. I {did} and "
            "{pretended}. Years later I heard it {where}, and for the length of {length} I was {age} again, in "
            "my socks, and {end}.",
            relative=("grandfather", "mother", "great-uncle", "elder sister"),
            played=("played", "practised"),
            instrument=("the accordion", "the piano", "the clarinet", "the fiddle"),
            room=("the kitchen", "the room below mine", "the shed", "the hall"),
            tune=("the same polka", "a tune without a name", "the same waltz", "the slow hymn"),
            when=("after supper", "when it rained", "on Sundays", "when the letters had come"),
            did=("lay on the floor", "sat on the stairs", "hid under the table"),
            pretended=("pretended to sleep", "counted the wrong notes", "beat time with a spoon"),
            where=("in a lift", "in a foreign station", "through a wall", "at a stranger's wedding"),
            length=("one verse", "three minutes", "a single chorus"),
            age=("six", "seven", "eight", "nine"),
            end=("nobody had died yet", "supper was nearly ready", "the lamp was lit", "all the doors were open"),
        ),
        form(
            "code",
            "# {comment}\n"
            'notes = ["{note1}", "{note2}", "{note3}", "{note4}"]\n'
            'for note in notes: play(note, instrument="{instrument}", beats={beats})\n'
            "rest({rest})\n"
            "play(notes[{index}], volume={volume})\n"
            'print("{message}")',
            comment=(
                "a very small song", "four notes are enough", "music is mostly waiting", "tune for a rainy day",
            ),
            note=("C4", "D4", "E4", "F4", "G4", "A4", "B4", "C5"),
            instrument=("flute", "cello", "glockenspiel", "piano"),
            beats=("1", "2", "3"),
            rest=("1", "2", "4"),
            index=("0", "-1", "2"),
            volume=("0.2", "0.5", "0.8"),
            message=("Play it again.", "Now sing it.", "The silence was part of it.", "Any questions?"),
        ),
        form(
            "advertisement",
            "LEARN {instrument}! {Teacher} takes pupils of {age}, {where}. No {no} needed. First lesson {first}. "
            "{Motto} Ring the bell at {n} {street}, {when}.",
            instrument=("THE CELLO", "THE BANJO", "THE PIANO", "TO SING", "THE TRUMPET"),
            teacher=("Miss Ada Flint", "a patient teacher", "a retired bandmaster", "a conservatory graduate"),
            age=("all ages", "seven to ninety", "any age and temper"),
            where=("at home", "above the bakery", "in your house or mine"),
            no=("talent", "reading of music", "experience", "instrument"),
            first=("free", "half price", "on the house"),
            motto=(
                "Neighbours understanding.", "Biscuits provided.", "Slow learners welcome.",
                "Nobody has ever been shouted at.",
            ),
            n=numbers(3, 77),
            street=("Orchard Street", "Chapel Row", "Station Road", "Well Lane"),
            when=("any day but Sunday", "after four", "and ring it twice"),
        ),
    ),
    paragraph=form(
        "one_mode",
        "Music can {change} a {mood} faster than {words}. A {slow} song in a minor key can make an ordinary "
        "{evening} feel {like} a farewell, and a good drummer can {get} a whole room of strangers to {move} "
        "together. We do not need to {understand} it for it to {work}.",
        change=("change", "lift", "alter", "shift"),
        mood=("mood", "person's mood", "bad mood"),
        words=("words", "words can", "any words", "words do"),
        slow=("slow", "quiet", "sad", "soft"),
        evening=("evening", "afternoon", "Tuesday", "day"),
        like=("like", "as sad as", "almost like"),
        get=("get", "bring", "cause"),
        move=("move", "dance", "sway"),
        understand=("understand", "explain", "analyse"),
        work=("work", "work on us", "reach us"),
    ),
)
# fmt: on
