"""Goal:   calendar functions and casts of timestamps in a zone go by the zone's clock, also where it is set forward
        or back, before 1970 and beyond 2037.
Method: instants around every transition of some years and anywhere in eight centuries; each expression is computed by
        morsel sql and, a row at a time, from Python's zoneinfo and the rules of docs/semantics.md; the parts also by
        pyarrow, up to 2037. Every case is counted: gaps and folds must have been met.
Usage:  zone_test.py MORSEL [unittest arguments]"""
import bisect, calendar, datetime, functools, io, pathlib, random, subprocess, sys, tempfile, unittest, zoneinfo
import pyarrow, pyarrow.compute as pc, pyarrow.ipc

MORSEL = pathlib.Path(sys.argv.pop(1)).resolve()
ZONES = ["America/New_York", "Europe/Berlin", "Europe/Dublin", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia",
         "America/Sao_Paulo", "America/Havana", "Africa/Casablanca", "+05:45", "-0330"]
YEARS = [1883, 1916, 1945, 1969, 1970, 2011, 2018, 2024, 2037, 2038, 2100, 2399, 2500]
EPOCH = datetime.datetime(1970, 1, 1)
UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]
SECOND = datetime.timedelta(seconds=1)


def naive(seconds):
    return EPOCH + datetime.timedelta(seconds=seconds)


def seconds_of(moment):
    return (moment - EPOCH) // SECOND


class Clock:
    """One zone, as zoneinfo knows it; times are whole seconds."""

    def __init__(self, name):
        self.name = name
        if name[0] in "+-":
            sign, digits = (-1 if name[0] == "-" else 1), name[1:].replace(":", "")
            self.zone = datetime.timezone(sign * datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))
        else:
            self.zone = zoneinfo.ZoneInfo(name)
        self.met = {"gap": 0, "fold": 0}

    def offset(self, instant):
        return naive(instant).replace(tzinfo=datetime.timezone.utc).astimezone(self.zone).utcoffset() // SECOND

    def local(self, instant):
        return instant + self.offset(instant)

    def change_between(self, low, high):
        """The first instant above low with high's offset."""
        return low + 1 + bisect.bisect_left(range(low + 1, high), True, key=lambda t: self.offset(t) != self.offset(low))

    def instants(self, local):
        """(first, last, transition): the last is None but in a gap."""
        early, late = (naive(local).replace(tzinfo=self.zone, fold=fold).utcoffset() // SECOND for fold in (0, 1))
        if early < late:
            self.met["gap"] += 1
            return local - early, local - early, self.change_between(local - late, local - early)
        self.met["fold"] += early > late
        return local - early, local - late, None

    def instant(self, local):
        return self.instants(local)[1]

    def trunc(self, unit, instant):
        moment = naive(self.local(instant))
        day = moment.replace(hour=0, minute=0, second=0)
        start = {"year": day.replace(month=1, day=1), "quarter": day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
                 "month": day.replace(day=1), "week": day - datetime.timedelta(days=day.weekday()), "day": day,
                 "hour": moment.replace(minute=0, second=0), "minute": moment.replace(second=0), "second": moment}[unit]
        if unit == "second":
            return instant
        first, last, transition = self.instants(seconds_of(start))
        if transition is not None:
            return transition
        return last if unit in ("hour", "minute") and last <= instant else first

    def add_months(self, instant, months):
        moment = naive(self.local(instant))
        year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        return self.instant(seconds_of(moment.replace(year=year, month=month + 1, day=min(moment.day, last))))

    def moments(self, chance):
        found = set()
        for year in YEARS:
            begin, end = seconds_of(datetime.datetime(year, 1, 1)), seconds_of(datetime.datetime(year + 1, 1, 1))
            for day in range(begin, end, 86400):
                if self.offset(day) != self.offset(day + 86400):
                    at = self.change_between(day, day + 86400)
                    near = {at - 1, at, at + 1} | {at + 900 * k + 7 for k in range(-12, 13, 2)}
                    found |= near | {t - 86400 for t in near} | {t + chance.choice([-31, 31, 7]) * 86400 for t in near}
        low, high = (seconds_of(datetime.datetime(year, 1, 1)) for year in (1800, 2600))
        return sorted(found | {chance.randrange(low, high) for _ in range(300)})


def run(*arguments):
    done = subprocess.run([MORSEL, "sql", *arguments], capture_output=True, timeout=300)
    return done.returncode, done.stdout, done.stderr.decode()


class Zones(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def table(self, statement, instants):
        path = pathlib.Path(self.folder.name) / "t.csv"
        path.write_text("i,x\n" + "".join(f"{i},{naive(t).isoformat()}Z\n" for i, t in enumerate(instants)))
        code, out, err = run(statement, "--table", f"t={path}", "--types", "t=i:int64;x:timestamp[s,UTC]", "-o", "arrow")
        self.assertEqual(code, 0, err)
        return pyarrow.ipc.open_stream(out).read_all()

    def check(self, name, seed):
        clock, chance = Clock(name), random.Random(seed)
        instants = clock.moments(chance)
        months, days = chance.choice([1, -1, 11, -13]), chance.choice([1, -1, 30])
        zone = f'"timestamp[s,{name}]"'
        parts = {"year": "year", "month": "month", "day": "day", "hour": "hour", "minute": "minute", "dow": "isodow",
                 "week": "week", "doy": "doy"}
        table = self.table(
            f"SELECT {', '.join(f'extract({part} FROM z) AS p_{key}' for key, part in parts.items())},"
            f" {', '.join(f'''date_trunc('{unit}', z) AS t_{unit}''' for unit in UNITS)},"
            f" cast(z AS \"timestamp[s]\") AS local, cast(z AS date) AS date, cast(date_of AS {zone}) AS midnight,"
            f" cast(plain AS {zone}) AS instant, cast(cast(plain AS string) AS {zone}) AS parsed,"
            f" z + interval '{months} months' AS months, z + interval '{days} days' AS days, z + interval '0 days' AS same,"
            f" date_diff('day', z, cast(timestamptz '2000-01-01' AS {zone})) AS day_diff,"
            f" date_diff('hour', z, cast(timestamptz '2000-01-01' AS {zone})) AS hour_diff,"
            f" plain >= timestamp '1970-01-01' AND z = cast(plain AS {zone}) AS is_it"
            f" FROM (SELECT i, cast(x AS {zone}) AS z, cast(x AS \"timestamp[s]\") AS plain, cast(x AS date) AS date_of FROM t) s"
            f" ORDER BY i", instants)
        got = {column: table[column].cast(pyarrow.int64()).to_pylist() if pyarrow.types.is_timestamp(table[column].type)
               else table[column].to_pylist() for column in table.column_names}
        base = seconds_of(datetime.datetime(2000, 1, 1))
        for row, t in enumerate(instants):
            moment = naive(clock.local(t))
            want = {"p_year": moment.year, "p_month": moment.month, "p_day": moment.day, "p_hour": moment.hour,
                    "p_minute": moment.minute, "p_dow": moment.isoweekday(), "p_week": moment.isocalendar()[1],
                    "p_doy": moment.timetuple().tm_yday, "local": clock.local(t), "date": moment.date(),
                    "midnight": clock.instant(t // 86400 * 86400), "instant": clock.instant(t), "parsed": clock.instant(t),
                    "months": clock.add_months(t, months), "same": t, "is_it": t >= 0 and clock.instant(t) == t,
                    "days": clock.instant(clock.local(t) + days * 86400),
                    "day_diff": clock.local(base) // 86400 - clock.local(t) // 86400,
                    "hour_diff": clock.trunc("hour", base) // 3600 - clock.trunc("hour", t) // 3600,
                    **{f"t_{unit}": clock.trunc(unit, t) for unit in UNITS}}
            for column, value in want.items():
                self.assertEqual(got[column][row], value, f"{name}: {column} of {naive(t)}Z, seed {seed}")
        if name[0] not in "+-":
            self.check_parts_by_pyarrow(name, instants, got)
        return clock, len(instants)

    def check_parts_by_pyarrow(self, name, instants, got):
        end = seconds_of(datetime.datetime(2037, 1, 1))
        kept = [row for row, t in enumerate(instants) if t < end]
        times = pyarrow.array([instants[row] for row in kept], pyarrow.int64()).cast(pyarrow.timestamp("s", name))
        for column, function in [("p_year", pc.year), ("p_hour", pc.hour), ("p_minute", pc.minute), ("p_doy", pc.day_of_year),
                                 ("p_week", pc.iso_week)]:
            self.assertEqual([got[column][row] for row in kept], function(times).to_pylist(), f"{name}: {column}")

    def test_zones(self):
        met = {"gap": 0, "fold": 0}
        for name in ZONES:
            with self.subTest(name):
                clock, count = self.check(name, 20)
                self.assertGreater(count, 290)
                met = {kind: met[kind] + clock.met[kind] for kind in met}
        self.assertGreater(min(met.values()), 500, met)

    def test_every_zone_has_the_offsets_of_zoneinfo(self):
        """All names of tzdata, a few instants each; beyond the rules of any test written by hand."""
        chance = random.Random(7)
        low, high = (seconds_of(datetime.datetime(year, 1, 1)) for year in (1900, 2400))
        instants = [chance.randrange(low, high) for _ in range(40)]
        names = sorted(name for name in zoneinfo.available_timezones() if name not in ("localtime", "posixrules", "Factory")
                       and (pathlib.Path("/usr/share/zoneinfo") / name).exists() and len(name) < 32)  # what a type holds
        self.assertGreater(len(names), 300)
        for begin in range(0, len(names), 60):
            some = names[begin:begin + 60]
            table = self.table("SELECT " + ", ".join(f'cast(cast(x AS "timestamp[s,{name}]") AS "timestamp[s]") AS "c{n}"'
                                                     for n, name in enumerate(some)) + " FROM t ORDER BY i", instants)
            for n, name in enumerate(some):
                self.assertEqual(table[f"c{n}"].cast(pyarrow.int64()).to_pylist(), [Clock(name).local(t) for t in instants], name)

    def test_refusals(self):
        for zone, words in [("Mars/Olympus", "no time zone 'Mars/Olympus'"), ("../../etc/hostname", "no time zone '../"),
                            ("tzdata.zi", "no time zone 'tzdata.zi'"), ("+25:00", "no time zone '+25:00'")]:
            with self.subTest(zone):
                statement = f"SELECT year(z) FROM (SELECT cast(x AS \"timestamp[s,{zone}]\") AS z FROM (VALUES (timestamptz '2024-01-01')) v(x)) t"
                code, out, err = run(statement)
                self.assertNotEqual(code, 0)
                self.assertEqual(out, b"")
                self.assertIn(words, err)
                self.assertIn("(column z)", err)
        code, out, err = run("SELECT cast(timestamptz '2024-01-01' AS \"timestamp[s,Mars/Olympus]\") AS passed_on")
        self.assertEqual((code, out), (0, b"passed_on\n2024-01-01T00:00:00Z\n"), err)


if __name__ == "__main__":
    unittest.main()
