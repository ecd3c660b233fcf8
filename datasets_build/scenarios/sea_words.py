"""Words that many forms share. Places and ships are invented, so that no piece says anything false of a real one."""

from datasets_build.scenarios.forms import Bank

PORTS: Bank = ("Port Ellery", "Marrow Bay", "Skerry Cove", "Kestrel Point", "Tarn Head", "Hollin Sound", "Saint Orla")
BOATS: Bank = ("the Marigold", "the Plover", "the Patience", "the Kittiwake", "the Second Wind", "the Morning Star")
DAYS: Bank = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Bank = ("April", "May", "June", "July", "August", "September", "October")
TIMES: Bank = (
    "ten past nine",
    "half past ten",
    "a quarter to eleven",
    "noon",
    "two o'clock",
    "twenty to four",
    "five o'clock",
)
