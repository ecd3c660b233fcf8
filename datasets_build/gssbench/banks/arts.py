"""Facts about books, pictures, music, films, sport and games."""

from datasets_build.gssbench.facts import Template

POETS_AND_PLAYWRIGHTS = Template(
    "poet_or_playwright",
    "Who wrote {0}?",
    "Name {1}.",
    (
        ('"Romeo and Juliet"', "an English playwright", "William Shakespeare"),
        ('"The Canterbury Tales"', "an English poet", "Geoffrey Chaucer"),
        ('"Paradise Lost"', "an English poet", "John Milton"),
        ('"Death of a Salesman"', "an American playwright", "Arthur Miller"),
        ('"The Cherry Orchard"', "a Russian playwright", "Anton Chekhov"),
        ('"The Divine Comedy"', "an Italian poet", "Dante Alighieri"),
        ('"A Doll\'s House"', "a Norwegian playwright", "Henrik Ibsen"),
    ),
)

ENGLISH_NOVELISTS = Template(
    "english_novelist",
    "Who wrote {0}?",
    "Name {1}.",
    (
        ('"Pride and Prejudice"', "an English novelist", "Jane Austen"),
        ('"Jane Eyre"', "an English novelist", "Charlotte Brontë"),
        ('"Wuthering Heights"', "an English novelist", "Emily Brontë"),
        ('"Middlemarch"', "an English novelist", "George Eliot"),
        ('"Nineteen Eighty-Four"', "an English novelist", "George Orwell"),
    ),
)

NOVELISTS = Template(
    "novelist",
    "Who wrote {0}?",
    "Name {1}.",
    (
        ('"Ulysses"', "an Irish writer", "James Joyce"),
        ('"The Picture of Dorian Gray"', "an Irish writer", "Oscar Wilde"),
        ('"Dracula"', "an Irish writer", "Bram Stoker"),
        ('"Treasure Island"', "a Scottish writer", "Robert Louis Stevenson"),
        ('"Moby-Dick"', "an American novelist", "Herman Melville"),
        ('"The Great Gatsby"', "an American novelist", "F. Scott Fitzgerald"),
        ('"Beloved"', "an American novelist", "Toni Morrison"),
        ('"The Old Man and the Sea"', "an American novelist", "Ernest Hemingway"),
        ('"Les Misérables"', "a French novelist", "Victor Hugo"),
        ('"Madame Bovary"', "a French novelist", "Gustave Flaubert"),
        ('"War and Peace"', "a Russian novelist", "Leo Tolstoy"),
        ('"Crime and Punishment"', "a Russian novelist", "Fyodor Dostoevsky"),
        ('"Don Quixote"', "a Spanish writer", "Miguel de Cervantes"),
        ('"One Hundred Years of Solitude"', "a Latin American novelist", "Gabriel García Márquez"),
        ('"Things Fall Apart"', "a Nigerian novelist", "Chinua Achebe"),
        ('"The Metamorphosis"', "a German-language novelist", "Franz Kafka"),
        ('"The Tale of Genji"', "a Japanese writer", "Murasaki Shikibu"),
    ),
)

SHAKESPEARE = Template(
    "shakespeare",
    "In which of Shakespeare's plays does {0} appear?",
    "Name a play by Shakespeare.",
    (
        ("Ophelia", "Hamlet"),
        ("Iago", "Othello"),
        ("Shylock", "The Merchant of Venice"),
        ("Prospero", "The Tempest"),
        ("Cordelia", "King Lear"),
        ("Banquo", "Macbeth"),
        ("Malvolio", "Twelfth Night"),
        ("Mercutio", "Romeo and Juliet"),
    ),
)

NOVELS = Template(
    "novel",
    "In which novel by {0} does {1} appear?",
    "Name a novel by {0}.",
    (
        ("Charles Dickens", "Miss Havisham", "Great Expectations"),
        ("Charles Dickens", "Uriah Heep", "David Copperfield"),
        ("Charles Dickens", "Sydney Carton", "A Tale of Two Cities"),
        ("Charles Dickens", "Fagin", "Oliver Twist"),
        ("Jane Austen", "Mr. Darcy", "Pride and Prejudice"),
        ("Jane Austen", "Anne Elliot", "Persuasion"),
        ("Jane Austen", "Fanny Price", "Mansfield Park"),
        ("Jane Austen", "Marianne Dashwood", "Sense and Sensibility"),
        ("Victor Hugo", "Jean Valjean", "Les Misérables"),
        ("Victor Hugo", "Quasimodo", "Notre-Dame de Paris (The Hunchback of Notre-Dame)"),
    ),
)

PAINTERS = Template(
    "painter",
    "Who painted {0}?",
    "Name {1}.",
    (
        ("the Mona Lisa", "a painter of the Italian Renaissance", "Leonardo da Vinci"),
        ("the ceiling of the Sistine Chapel", "a painter of the Italian Renaissance", "Michelangelo"),
        ('"The Birth of Venus" in the Uffizi Gallery', "a painter of the Italian Renaissance", "Sandro Botticelli"),
        ('"The Night Watch"', "a Dutch painter", "Rembrandt"),
        ('"Girl with a Pearl Earring"', "a Dutch painter", "Johannes Vermeer"),
        ('"The Starry Night"', "a Dutch painter", "Vincent van Gogh"),
        ('"The Garden of Earthly Delights"', "a Netherlandish painter", "Hieronymus Bosch"),
        ('"Guernica"', "a Spanish painter", "Pablo Picasso"),
        ('"Las Meninas"', "a Spanish painter", "Diego Velázquez"),
        ('"The Persistence of Memory"', "a Spanish painter", "Salvador Dalí"),
        ('"The Third of May 1808"', "a Spanish painter", "Francisco Goya"),
        ('"Impression, Sunrise"', "a French painter", "Claude Monet"),
        ('"Liberty Leading the People"', "a French painter", "Eugène Delacroix"),
        ('"American Gothic"', "an American painter", "Grant Wood"),
        ('"Nighthawks"', "an American painter", "Edward Hopper"),
    ),
)

COMPOSERS = Template(
    "composer",
    "Who composed {0}?",
    "Name {1}.",
    (
        ('"The Magic Flute"', "an Austrian composer", "Wolfgang Amadeus Mozart"),
        ('"The Four Seasons"', "an Italian composer", "Antonio Vivaldi"),
        ('"Aida"', "an Italian composer", "Giuseppe Verdi"),
        ('"Tosca"', "an Italian composer", "Giacomo Puccini"),
        ('"Swan Lake"', "a Russian composer", "Pyotr Ilyich Tchaikovsky"),
        ('"The Rite of Spring"', "a Russian composer", "Igor Stravinsky"),
        ('"Peter and the Wolf"', "a Russian composer", "Sergei Prokofiev"),
        ('"The Ring of the Nibelung"', "a German composer", "Richard Wagner"),
        ("the Brandenburg Concertos", "a German composer", "Johann Sebastian Bach"),
        ("the Moonlight Sonata", "a German composer", "Ludwig van Beethoven"),
        ('"Boléro"', "a French composer", "Maurice Ravel"),
        ('"Carmen"', "a French composer", "Georges Bizet"),
        ("the New World Symphony", "a Czech composer", "Antonín Dvořák"),
        ('"The Bartered Bride"', "a Czech composer", "Bedřich Smetana"),
        ('"Finlandia"', "a Finnish composer", "Jean Sibelius"),
        ('"Rhapsody in Blue"', "an American composer", "George Gershwin"),
        ('"Appalachian Spring"', "an American composer", "Aaron Copland"),
    ),
)

FILM_DIRECTORS = Template(
    "film_director",
    'Who directed the {0} film "{1}"?',
    "Name a film director.",
    (
        ("1941", "Citizen Kane", "Orson Welles"),
        ("1954", "Seven Samurai", "Akira Kurosawa"),
        ("1957", "The Seventh Seal", "Ingmar Bergman"),
        ("1960", "Psycho", "Alfred Hitchcock"),
        ("1963", "8½", "Federico Fellini"),
        ("1968", "2001: A Space Odyssey", "Stanley Kubrick"),
        ("1972", "The Godfather", "Francis Ford Coppola"),
        ("1975", "Jaws", "Steven Spielberg"),
        ("1994", "Pulp Fiction", "Quentin Tarantino"),
        ("2001", "Spirited Away", "Hayao Miyazaki"),
    ),
)

WORLD_CUPS = Template(
    "world_cup",
    "Which country won the {0} men's soccer World Cup?",
    "Name a country that has won the men's soccer World Cup.",
    (
        ("1930", "Uruguay"),
        ("1966", "England"),
        ("1986", "Argentina"),
        ("1998", "France"),
        ("2002", "Brazil"),
        ("2006", "Italy"),
        ("2010", "Spain"),
        ("2014", "Germany"),
    ),
)

OLYMPIC_CITIES = Template(
    "olympic_city",
    "Which city hosted the {0} {1} Olympics?",
    "Name a city that has hosted the {1} Olympics.",
    (
        ("1896", "Summer", "Athens"),
        ("1936", "Summer", "Berlin"),
        ("1952", "Summer", "Helsinki"),
        ("1964", "Summer", "Tokyo"),
        ("1976", "Summer", "Montreal"),
        ("1988", "Summer", "Seoul"),
        ("1992", "Summer", "Barcelona"),
        ("2000", "Summer", "Sydney"),
        ("2008", "Summer", "Beijing"),
        ("2012", "Summer", "London"),
        ("2016", "Summer", "Rio de Janeiro"),
        ("1952", "Winter", "Oslo"),
        ("1988", "Winter", "Calgary"),
        ("1998", "Winter", "Nagano"),
        ("2002", "Winter", "Salt Lake City"),
        ("2006", "Winter", "Turin"),
        ("2010", "Winter", "Vancouver"),
        ("2014", "Winter", "Sochi"),
    ),
)

CHESS_PIECES = Template(
    "chess_piece",
    "{0}",
    "Name {1}.",
    (
        ("Which chess piece can jump over other pieces?", "a chess piece", "the knight"),
        ("Which chess piece moves only diagonally?", "a chess piece", "the bishop"),
    ),
)

SPORTS = Template(
    "sport",
    "{0}",
    "Name {1}.",
    (
        ("Which racket sport is played at Wimbledon?", "a racket sport", "tennis"),
        ("Which racket sport is played with a shuttlecock?", "a racket sport", "badminton"),
        ("In which sport is the Stanley Cup awarded?", "a winter sport", "ice hockey"),
        ("In which sport can players make a slam dunk?", "a ball sport", "basketball"),
        ("Which sport does the Tour de France belong to?", "an Olympic sport", "cycling"),
        ("Which martial art was founded by Jigoro Kano?", "a martial art", "judo"),
        ("Which swimming stroke is swum on the back?", "a swimming stroke", "backstroke"),
        ("Which Grand Slam tennis tournament is played on grass?", "a Grand Slam tennis tournament", "Wimbledon"),
        ("Which Grand Slam tennis tournament is played on clay?", "a Grand Slam tennis tournament", "the French Open"),
        ("Which track-and-field contest consists of ten events?", "a track-and-field event", "the decathlon"),
        ("Which city hosts the world's oldest annual marathon?", "a city in the United States", "Boston"),
    ),
)

ARTS: tuple[Template, ...] = (
    POETS_AND_PLAYWRIGHTS,
    ENGLISH_NOVELISTS,
    NOVELISTS,
    SHAKESPEARE,
    NOVELS,
    PAINTERS,
    COMPOSERS,
    FILM_DIRECTORS,
    WORLD_CUPS,
    OLYMPIC_CITIES,
    CHESS_PIECES,
    SPORTS,
)
