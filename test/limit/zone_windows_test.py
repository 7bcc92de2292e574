"""Where windows begin, against Python's own reader of time zones.

    zone_windows_test.py PROGRAM hard|all

Days, weeks, months and years from 1970 to 2100, and the hours of some years: of zones that are hard
to follow, or of all. The rule is said here a second time: a window of days begins at the first
instant at which the clock shows that day or a later one; one of hours wherever the clock shows a
full hour, or is set.
"""

import datetime
import hashlib
import pathlib
import subprocess
import sys
import zoneinfo

HARD = ("Africa/Casablanca", "America/Sao_Paulo", "Australia/Lord_Howe", "Europe/Berlin",
        "Pacific/Apia")
FOLDER = pathlib.Path("/usr/share/zoneinfo")
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
SECOND = datetime.timedelta(seconds=1)
MINUTE = 60 * SECOND
HOUR, DAY, WEEK, MONTH, YEAR = 1, 2, 3, 4, 5
FIRST, LAST = datetime.date(1970, 1, 5), datetime.date(2100, 1, 1)


def shown(zone, second):
    """What the clock shows, without its offset."""
    return (EPOCH + second * SECOND).astimezone(zone).replace(tzinfo=None)


def begin_of_day(zone, date):
    """The first second at which the clock shows this date or a later one."""
    midnight = datetime.datetime(date.year, date.month, date.day)
    offset = midnight.replace(tzinfo=zone).utcoffset()
    second = (midnight - offset - EPOCH.replace(tzinfo=None)) // SECOND
    before = shown(zone, second - 1)
    if shown(zone, second) == midnight and midnight - SECOND <= before < midnight:
        return second
    # The clock was set about then: look for the second, coming from where it cannot be yet.
    low, high = second - 52 * 3600, second + 52 * 3600
    changes = [low]
    for probe in range(low, high, 600):
        if zone_offset(zone, probe) != zone_offset(zone, probe + 600):
            changes.append(find_change(zone, probe, probe + 600))
    for begin, end in zip(changes, changes[1:] + [high]):
        first = max(begin, begin + (midnight - shown(zone, begin)) // SECOND)
        if first < end:
            return first
    raise AssertionError(f"{zone}: no begin of {date}")


def zone_offset(zone, second):
    return (EPOCH + second * SECOND).astimezone(zone).utcoffset()


def find_change(zone, low, high):
    old = zone_offset(zone, low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if zone_offset(zone, middle) == old else (low, middle)
    return high


def days():
    date = FIRST
    while date < LAST:
        yield date
        date += datetime.timedelta(days=1)


def begins_of_hours(zone, low, high):
    """Looked for minute by minute; sets of the clock are at whole minutes since 1973."""
    begins, before = [], shown(zone, low - 60)
    for second in range(low, high, 60):
        now = shown(zone, second)
        if now.minute == 0 or now - before != MINUTE:
            begins.append(second)
        before = now
    return begins


def windows(program, path, unit, low, high):
    told = subprocess.run([program, path, str(unit), str(low), str(high)], check=True,
                          capture_output=True, text=True)
    return [int(line) for line in told.stdout.split()]


def expect(path, unit, told, wanted):
    if told == wanted:
        return 0
    wrong = next(pair for pair in zip(told + [None], wanted + [None]) if pair[0] != pair[1])
    print(f"{path}, unit {unit}: {len(told)} windows, expected {len(wanted)}; the first that "
          f"differs begins at {wrong[0]}, expected {wrong[1]}")
    return 1


def check(program, path, hours):
    zone = zoneinfo.ZoneInfo(str(path.relative_to(FOLDER)))
    begins = {date: begin_of_day(zone, date) for date in days()}
    low, high = begins[FIRST], begin_of_day(zone, LAST)
    of_unit = {DAY: lambda date: True, WEEK: lambda date: date.weekday() == 0,
               MONTH: lambda date: date.day == 1,
               YEAR: lambda date: date.month == 1 and date.day == 1}
    wrong = 0
    for unit, is_first in of_unit.items():
        wanted = sorted({begin for date, begin in begins.items() if is_first(date)})
        wanted = [begin for begin in wanted if low <= begin < high]
        wrong += expect(path, unit, windows(program, path, unit, low, high), wanted)
    for year in hours:
        low, high = (int(datetime.datetime(at, 1, 1, tzinfo=UTC).timestamp())
                     for at in (year, year + 1))
        wrong += expect(path, HOUR, windows(program, path, HOUR, low, high),
                        begins_of_hours(zone, low, high))
    return wrong


def main():
    program, which = sys.argv[1:]
    if which == "hard":
        paths, hours = [FOLDER / name for name in HARD], ()
    else:
        paths, hours, known = [], (2026,), set()
        for name in sorted(zoneinfo.available_timezones()):
            digest = hashlib.sha256((FOLDER / name).read_bytes()).digest()
            if name[0].isupper() and digest not in known:
                known.add(digest)
                paths.append(FOLDER / name)
    wrong = sum(check(program, path, hours) for path in paths)
    print(f"{len(paths)} zones, {wrong} lists of windows differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
