"""Doxygen's input filter: prints a header with its comments in Doxygen's words.

    comments.py include/weir/algorithm/gcra.hpp

Our comments are written to be read in the header. Three habits need a translation:

  /// Bound    what is promised        a fixed line: becomes a paragraph with that title
  ///   word   what it means           two columns, indented: become a table
  ///   limit = [algorithm] count      else indented: stays as it is

and each type and function of the namespace is put into the group of its file (index.md has the
groups). Attributes are left out, which Doxygen takes for names.
"""

import pathlib
import re
import sys

FIXED = "Bound|Memory|Refusal|Source|Threads|Cost|Errors?|Requires"
FIXED_LINE = re.compile(rf"(?P<title>{FIXED})(?P<gap>:? +|:$|$)(?P<text>.*)")
TWO_COLUMNS = re.compile(r"(?P<word>\S+(?: \S+)*?)  +(?P<meaning>[^\s=].*)")
COMMENT = re.compile(r"(?P<indent> *)///(?!<) ?(?P<text>.*)")
# "two units of `a` or ``b``": what stands between back quotes is kept as it is.
CODE = re.compile(r"(`[^`]*`)")

# The group of a header, by the first pattern that fits its path below include/weir/.
GROUPS = (
    (r"local/(host|line|locked|sleeper|alarm|awaiting|tick_scale|tsc_\w+|wake_ups|keyed_hash"
     r"|keyed_words|key_name|atomic_bucket)\.hpp", "inside"),
    (r"algorithm/(interval|cells|boxed)\.hpp", "inside"),
    (r"local/(clocks?|steady_instant)\.hpp", "clocks"),
    (r"local/(keyed\w*|table|rule|spent_ids)\.hpp", "keyed"),
    (r"local/.*", "limiters"),
    (r"http/.*", "handlers"),
    (r"algorithm/.*", "algorithms"),
    (r"(limit|duration)\.hpp", "grammar"),
    (r".*", "vocabulary"),
)


def group_of(path: str) -> str:
    below = path.rpartition("include/weir/")[2]
    return next(group for pattern, group in GROUPS if re.fullmatch(pattern, below))


def escaped(text: str) -> str:
    """The text without what Doxygen would take for a command or for HTML."""
    parts = CODE.split(text)
    parts[::2] = [re.sub(r"([\\@<>#&])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def table(rows: list[tuple[str, str]]) -> list[str]:
    lines = ['<table class="words">']
    for word, meaning in rows:
        lines.append(f"<tr><td>`{word.strip('`')}`</td><td>{escaped(meaning)}</td></tr>")
    return lines + ["</table>"]


def indented(block: list[str]) -> list[str]:
    """Lines that stand further in: a table if all have two columns, else as they are."""
    margin = min(len(line) - len(line.lstrip()) for line in block if line)
    rows: list[tuple[str, str]] = []
    for line in (line[margin:] for line in block):
        if line.startswith("  ") and rows:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}".strip())
        elif columns := TWO_COLUMNS.fullmatch(line):
            rows.append((columns["word"], columns["meaning"]))
        elif re.fullmatch(r"[\w()., ]+", line) and not line.endswith("."):
            rows.append((line, ""))  # its meaning begins on the next line
        else:
            kind = ".cpp" if any(line.endswith((";", "{")) for line in block) else ".unparsed"
            return ["", f"@code{{{kind}}}", *(line[margin:] for line in block), "@endcode", ""]
    return table(rows)


def translated(lines: list[str]) -> list[str]:
    """The lines of one comment."""
    result: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        further = []
        while position < len(lines) and (lines[position].startswith("  ")
                                         or not lines[position] and further
                                         and lines[position + 1:position + 2]
                                         and lines[position + 1].startswith("  ")):
            further.append(lines[position])
            position += 1

        if line.startswith("  "):
            result += indented([line, *further])
            continue
        fixed = FIXED_LINE.fullmatch(line)
        if fixed:
            result += [f"@par {fixed['title']}", escaped(fixed["text"])]
        elif line.endswith(" Errors:"):
            result += [escaped(line.removesuffix(" Errors:")), "@par Errors"]
        else:
            result.append(escaped(line))
        if further:
            # What a fixed line goes on with, unless it has columns of its own.
            columns = all(re.match(r" {2,3}\S", text) for text in further[:1])
            if (fixed and fixed["text"]) and not columns:
                result += [escaped(text.strip()) for text in further]
            else:
                result += indented(further)
    return result


def page(path: str, text: str) -> str:
    group = group_of(path)
    output: list[str] = []
    comment: list[str] = []
    indent = ""

    def close() -> None:
        if comment:
            words = ([f"@ingroup {group}"] if not indent else []) + translated(comment)
            output.extend(f"{indent}/// {word}".rstrip() for word in words)
            comment.clear()

    for line in text.splitlines():
        match = COMMENT.fullmatch(line)
        if match:
            indent = match["indent"]
            comment.append(match["text"])
            continue
        close()
        line = re.sub(r"///< (.*)", lambda found: "///< " + escaped(found[1]), line)
        line = re.sub(r"\[\[[\w:, ]+\]\] ?|__attribute__\(\(\w+\)\) ?|__extension__ ", "", line)
        output.append(line)
    close()
    return "\n".join(output) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(sys.argv[1], pathlib.Path(sys.argv[1]).read_text()))
