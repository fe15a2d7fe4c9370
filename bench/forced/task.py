"""Twenty grammars as they come from schemas: fixed keys, values between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_VALUES: Final = r"""
word    ::= "\"" [A-Z] [a-z]{2,9} "\""
phrase  ::= "\"" [A-Za-z] [A-Za-z ]{4,28} "\""
whole   ::= "0" | [1-9] [0-9]{0,3}
decimal ::= [1-9] [0-9]{0,2} "." [0-9]{1,2}
truth   ::= "true" | "false"
date    ::= "\"20" [0-9] [0-9] "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8]) "\""
digit   ::= [0-9]
size    ::= "\"small\"" | "\"medium\"" | "\"large\""
"""

_FIELDS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "person": (("first_name", "word"), ("last_name", "word"), ("age_in_years", "whole"), ("is_employed", "truth")),
    "address": (("street_name", "phrase"), ("house_number", "whole"), ("city", "word"), ("home_country", "word")),
    "order": (("order_number", "whole"), ("customer_name", "phrase"), ("total_price", "decimal"), ("paid", "truth")),
    "event": (("event_title", "phrase"), ("start_date", "date"), ("end_date", "date"), ("number_of_guests", "whole")),
    "book": (("book_title", "phrase"), ("author_name", "phrase"), ("publication_year", "whole"), ("in_print", "truth")),
    "weather": (("temperature_celsius", "decimal"), ("wind_speed", "decimal"), ("condition", "word"), ("date", "date")),
    "product": (("product_name", "phrase"), ("unit_price", "decimal"), ("size", "size"), ("available", "truth")),
    "account": (("user_name", "word"), ("registration_date", "date"), ("login_count", "whole"), ("is_locked", "truth")),
    "vehicle": (("manufacturer", "word"), ("model_name", "word"), ("year_of_construction", "whole"), ("size", "size")),
    "recipe": (("recipe_name", "phrase"), ("minutes_needed", "whole"), ("vegetarian", "truth"), ("serves", "whole")),
    "flight": (("departure_city", "word"), ("arrival_city", "word"), ("departure_date", "date"), ("price", "decimal")),
    "film": (("film_title", "phrase"), ("director_name", "phrase"), ("release_date", "date"), ("rating", "decimal")),
    "pet": (("pet_name", "word"), ("species", "word"), ("weight_in_kilograms", "decimal"), ("vaccinated", "truth")),
    "job": (("job_title", "phrase"), ("company_name", "phrase"), ("monthly_salary", "whole"), ("remote_work", "truth")),
    "sensor": (("sensor_name", "word"), ("measurement", "decimal"), ("battery_level", "whole"), ("last_seen", "date")),
    "invoice": (("invoice_number", "whole"), ("due_date", "date"), ("amount_due", "decimal"), ("reminded", "truth")),
    "team": (("team_name", "word"), ("number_of_members", "whole"), ("founded_on", "date"), ("active", "truth")),
    "parcel": (("tracking_number", "whole"), ("recipient_name", "phrase"), ("size", "size"), ("insured", "truth")),
    "course": (("course_title", "phrase"), ("teacher_name", "phrase"), ("first_lesson", "date"), ("level", "whole")),
    "ticket": (("ticket_title", "phrase"), ("reported_by", "word"), ("priority_level", "size"), ("resolved", "truth")),
}  # fmt: skip


# One value each that is one of a few, after much that is forced.
_CHOICES: Final = {
    "shirt": ("available_size", "size"), "car": ("is_electric", "truth"), "house": ("has_a_garden", "truth"),
    "child": ("age_in_years", "digit"),
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    name: str
    gbnf: str

    def prompt(self) -> str:
        """By the template of the demo model."""
        return f"<|im_start|>user\nMake up one {self.name} as JSON.<|im_end|>\n<|im_start|>assistant\n"


def tasks() -> list[Task]:
    return [Task(name, _gbnf(name, fields)) for name, fields in _FIELDS.items()]


def choices() -> list[Task]:
    """Texts that differ in one value of a few: how often each comes can be counted."""
    return [Task(name, _gbnf(name, (field,))) for name, field in _CHOICES.items()]


def _gbnf(name: str, fields: tuple[tuple[str, str], ...]) -> str:
    members = r' ",\n  " '.join(rf'"\"{key}\": " {value}' for key, value in fields)
    return rf'root ::= "{{\n  \"type\": \"{name}\",\n  " {members} "\n}}"' + _VALUES
