"""How systemd reads its files, as far as these tests need it, written from systemd.syntax(7), systemd.service(5) and systemd.exec(5).

It is the reader's side, made apart from the code that writes: a value has to survive both.
"""

from __future__ import annotations

import re

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}


def sections(text):
    """{section: [(key, value)]} of a unit file. A trailing backslash would join lines; there must be none."""
    found, current = {}, None
    for line in text.splitlines():
        assert not line.endswith("\\"), f"the line goes on: {line!r}"
        if not line.strip() or line.startswith(("#", ";")):
            continue
        if re.fullmatch(r"\[\w+\]", line):
            current = found.setdefault(line[1:-1], [])
            continue
        key, equals, value = line.partition("=")
        assert equals and re.fullmatch(r"[A-Za-z]+", key) and current is not None, f"no setting: {line!r}"
        current.append((key, value.strip()))
    return found


def setting(text, section, key):
    """The one value of a setting."""
    (value,) = [value for name, value in sections(text)[section] if name == key]
    return value


def specifiers(text):
    """Expand %: only %% is known here; any other specifier would put something else there."""
    assert not re.search(r"%(?!%)", text.replace("%%", "")), f"a specifier is left: {text!r}"
    return text.replace("%%", "%")


def words(text):
    """Split a value into words: white space, quotes around words, C escapes."""
    found, word, quote, place = [], None, None, 0
    while place < len(text):
        char = text[place]
        if char == "\\":
            place += 1
            word = (word or "") + _ESCAPES[text[place]]
        elif quote:
            if char == quote:
                quote = None
            else:
                word += char
        elif char in "\"'" and word is None:
            quote, word = char, ""
        elif char in " \t":
            if word is not None:
                found.append(word)
            word = None
        else:
            assert char not in "\"';", f"a quote inside a word, or a second command begins: {text!r}"
            word = (word or "") + char
        place += 1
    assert quote is None, f"a quote is not closed: {text!r}"
    return found + ([word] if word is not None else [])


def command(text):
    """The argument vector of an ExecStart= value: words, then % and then $ of each."""
    argv = []
    for word in words(text):
        plain = specifiers(word)
        assert not re.search(r"\$(?!\$)", plain.replace("$$", "")), f"a variable is left: {word!r}"
        argv.append(plain.replace("$$", "$"))
    return argv


def environment_file(text):
    """{name: value} of an EnvironmentFile=, by the states of systemd's parser (env-file.c); values that it would drop fail here."""
    found = {}
    state, name, value, place = "line", "", "", 0
    text += "" if text.endswith("\n") else "\n"
    while place < len(text):
        char = text[place]
        if state == "line":
            if char in "#;":
                state = "comment"
            elif not char.isspace():
                state, name, value = "name", char, ""
        elif state == "comment":
            if char == "\\":
                place += 1
            elif char == "\n":
                state = "line"
        elif state == "name":
            assert char != "\n", f"a line without =: {name!r}"
            if char == "=":
                state = "value"
            else:
                name += char
        elif state == "value":
            if char == "\n":
                found[name] = value
                state = "line"
            elif char == '"':
                state = "double"
            elif char == "'":
                state = "single"
            elif char == "\\":
                place += 1
                value += text[place]
            else:
                value += char
        elif state == "single":
            if char == "'":
                state = "value"
            else:
                value += char
        elif state == "double":
            if char == '"':
                state = "value"
            elif char == "\\":
                place += 1
                # Only these lose their backslash inside double quotes; a line feed after it is a continued line.
                if text[place] in '"\\`$':
                    value += text[place]
                elif text[place] != "\n":
                    value += "\\" + text[place]
            else:
                value += char
        place += 1
    assert state == "line", f"the file ends inside {name!r}"
    for key, text_value in found.items():
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key), f"systemd ignores the name {key!r}"
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text_value), f"systemd ignores the value of {key}"
    return found
