"""One question of a suite, in the words of each engine."""
import dataclasses


@dataclasses.dataclass
class Question:
    name: str          # short: q1
    title: str         # what is asked, for the table
    sql: str           # every engine without words of its own
    dialects: dict = dataclasses.field(default_factory=dict)  # engine family -> SQL, or for polars a function of the frames
    touched: dict = dataclasses.field(default_factory=dict)   # table -> columns that have to be read


@dataclasses.dataclass
class Suite:
    name: str
    tables: dict       # name -> Arrow IPC file
    questions: list
    engines: list      # names, see engines.py
    note: str = ""
