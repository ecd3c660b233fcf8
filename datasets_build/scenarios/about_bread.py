"""Answers to the prompt "Tell me something about bread.": five forms, one paragraph in many wordings."""

from datasets_build.scenarios.forms import Topic, form, numbers

# One form is one paragraph: its words packed, not one a line.
# fmt: off
BREAD = Topic(
    name="bread",
    prompt="Tell me something about bread.",
    forms=(
        form(
            "recipe",
            "{Name} (makes one loaf)\n"
            "1. Mix {n} g {flour} with {liquid}, {salt} of salt and {yeast}.\n"
            "2. Knead for {minutes} minutes and leave to rise {rise}.\n"
            "3. Shape, {top}, and bake at {heat} degrees for {bake} minutes.\n"
            "4. {Test}",
            name=("plain white bread", "Sunday loaf", "farmhouse bread", "everyday tin loaf"),
            n=("450", "475", "500", "525"),
            flour=("strong white flour", "wholemeal flour", "white flour and a little rye", "spelt flour"),
            liquid=("320 ml warm water", "300 ml warm milk", "330 ml cool water"),
            salt=("a teaspoon", "a good pinch", "8 g"),
            yeast=("a spoonful of dried yeast", "7 g of yeast", "a cup of sourdough starter"),
            minutes=numbers(8, 12),
            rise=("overnight in the fridge", "for two hours", "until it has doubled"),
            top=("brush with milk", "slash the top", "scatter with seeds", "dust with flour"),
            heat=("210", "220", "230"),
            bake=("30", "35", "40"),
            test=(
                "It is done when it sounds hollow underneath.", "Let it cool before you cut it, if you can.",
                "Cool on a rack, and hide it from the children.",
            ),
        ),
        form(
            "poem",
            "{Before}, the baker lights the fire,\n"
            "and flour {falls} on the {board};\n"
            "the dough climbs slowly, {slowly}, higher\n"
            "than all the {gold} a king could hoard.\n"
            "And {when}, the whole street wakes\n"
            "to {smell} the crust before it breaks.",
            before=("before the dawn", "while others sleep", "at four o'clock", "in winter dark"),
            falls=("settles", "falls like snow", "drifts like smoke", "lies soft"),
            board=("wooden board", "empty board", "kneading board", "ancient board"),
            slowly=("sweetly", "softly", "surely", "gently"),
            gold=("gold", "pearls", "coins", "jewels"),
            when=("now at six", "as bells begin", "at first light"),
            smell=("smell", "dream of", "praise"),
        ),
        form(
            "dialogue",
            "Customer: {Asked}\n"
            "Customer: {Next}\n"
            "Customer: {Close}",
            asked=(
                "What is good today?\nBaker: The sourdough. It came out ten minutes ago.",
                "Is there any rye left?\nBaker: Two loaves, and one of them is mine.",
                "What is that wonderful smell?\nBaker: Walnut. It is my proudest hour.",
                "Which loaf keeps the longest?\nBaker: The dark one. It gets better until Thursday.",
                "Do you still have the small rolls?\nBaker: A dozen, if you are quick.",
                "Which one do children like?\nBaker: The milk loaf. They eat it in the street.",
            ),
            next=(
                "And what do you put in it?\nBaker: Flour, water, salt and a great deal of waiting.",
                "And how do you get it to rise like that?\nBaker: My grandmother's starter does the work.",
                "And do you never get tired of it?\n"
                "Baker: After thirty years? Ask me again at four in the morning.",
                "And what do you eat at home?\nBaker: The ends. A baker always eats the ends.",
                "And how early do you start?\nBaker: Early enough to see the last ones going home.",
                "And who taught you to bake?\nBaker: A bad cook, who was a very good baker.",
            ),
            close=(
                "Then I'll take two.", "Wrap one up before I eat it here.", "You should charge more.",
                "I'll have one now and one tomorrow, then.", "My mother will never believe it.",
                "Keep one for me on Saturday.",
            ),
        ),
        form(
            "list",
            "{Five} things to do with stale bread:\n"
            "1. {Use1}\n"
            "2. {Use2}\n"
            "3. {Use3}\n"
            "4. {Use4}\n"
            "5. {Use5}",
            five=("five", "five good", "five easy", "five old"),
            use=(
                "Rub it into crumbs and freeze them.", "Fry it in butter for the soup.",
                "Soak it in egg and milk for French toast.", "Layer it with apples and bake it.",
                "Cut it thin and dry it into rusks.", "Tear it into a tomato salad.", "Thicken a stew with it.",
                "Make a bread pudding with raisins.", "Toast it, rub it with garlic, and add oil.",
            ),
        ),
        form(
            "news_item",
            "{Town} - {Who} {queued} yesterday for the last loaves from {bakery}, which closed its doors after "
            '{years} years. "{Quote}," said {name}, {age}. {Next}',
            town=("NORTH WELLING", "ASHCOMBE", "LITTLE MARTIN", "EAST HALLOW"),
            who=(
                "more than a hundred people", "half the town", "three generations of customers",
                "long lines of neighbours",
            ),
            queued=("queued in the rain", "stood in line from five o'clock", "waited for hours"),
            bakery=("Harlow's Bakery", "the Mill Lane bakery", "Pell and Daughters", "the Corner Oven"),
            years=numbers(52, 118),
            quote=(
                "You could set your watch by that smell", "I was sent here for rolls when I was four",
                "Nobody else gets the crust right", "I have bought eleven, and I live alone",
            ),
            name=("Ruth Ames", "Gordon Pike", "Leila Banks", "Owen Marsh"),
            age=numbers(31, 88),
            next=(
                "The oven will go to a museum.", "A former apprentice hopes to reopen in spring.",
                "The building is to be flats.", "The recipe for the rye has not been revealed.",
            ),
        ),
    ),
    paragraph=form(
        "one_mode",
        "Bread is one of the {oldest} foods that people {make}. It takes little more than flour, water, salt "
        "and time. The yeast {feeds} on the flour and fills the dough with {bubbles}, and the heat of the "
        "oven {sets} them in place. {Fresh} bread with butter {makes} a meal that needs nothing else.",
        oldest=("oldest", "most ancient", "very oldest", "earliest"),
        make=("make", "bake", "prepare", "eat"),
        feeds=("feeds", "lives", "works"),
        bubbles=("bubbles", "tiny bubbles", "small bubbles", "little bubbles"),
        sets=("sets", "fixes", "locks", "holds"),
        fresh=("fresh", "warm", "crusty", "good"),
        makes=("is", "makes", "can be"),
    ),
)
# fmt: on
