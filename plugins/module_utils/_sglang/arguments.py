# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""SGLang's flags as a mapping: one spelling, no secrets, and the two forms in which SGLang takes them (``--config`` file and argv).

The behaviour of ``--config`` was read from srt/server_args_config_parser.py (0.5.9, 0.5.17) and srt/utils/server_args_config_parser.py
(0.5.23). Flags that were renamed between releases are no aliases: both spellings stay what the user wrote.
"""

from __future__ import annotations

import json
import math
import re
import shlex

from .._errors import KproError
from .argument_names import ALIASES, ARGV_ONLY, JSON_FLAGS

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")
_SECRET = re.compile(
    r"(?:^|-)(?:api-?key|password|passwd|passphrase|secrets?|credentials?|(?:private|access|auth|secret|watermark)-key(?:-b)?)(?:-|$)"
    r"|(?:^|-)key$|^token$|(?:^|-)(?:access|auth|bearer|hf|hub|api)-token$"
)
# These name a file, not what is in it.
_NO_SECRET = re.compile(r"-(?:file|path|dir|name|header)$")
_SECRET_ADVICE = {
    "api-key": "give it as option api_key or api_key_file",
    "admin-api-key": "give it as option admin_api_key or admin_api_key_file",
    "ssl-keyfile-password": "use a key file without a password that only the service user can read",
}
_RESERVED = {
    "config": "this collection writes the --config file itself",
    "help": "it only prints SGLang's usage text",
    "h": "it only prints usage",
}
# argparse takes these for values although they begin with a dash (argparse._negative_number_matcher, Python 3.9 to 3.13).
_NEGATIVE_NUMBER = re.compile(r"-\d+\Z|-\d*\.\d+\Z")
# Names that YAML 1.1 (PyYAML) would read as a boolean or as null.
_YAML_WORDS = frozenset(("yes", "no", "on", "off", "true", "false", "null"))
_FIRST = ("model-path", "served-model-name", "host", "port")


def canonical_name(key, option="args"):
    """The one spelling of a flag: no leading dashes, dashes for underscores, aliases resolved. KproError when it cannot be a flag."""
    if not isinstance(key, str):
        raise KproError(f"{option} has the key {key!r} ({type(key).__name__}); keys are SGLang flag names, for example tp-size")
    name = key.strip().lstrip("-").replace("_", "-")
    if not _NAME.match(name):
        raise KproError(
            f"{option} has the key {key!r}; a key is a SGLang flag name without leading dashes (small letters, digits, - or _), "
            "and its value stands apart"
        )
    if name in _RESERVED:
        raise KproError(f"{option}.{key} cannot be given: {_RESERVED[name]}")
    return ALIASES.get(name, name)


def is_secret_name(name):
    """True when a value under this name (flag, JSON key; any spelling) is likely a secret and must not be shown."""
    name = name.strip().lstrip("-").replace("_", "-").lower()
    return bool(_SECRET.search(name)) and not _NO_SECRET.search(name)


def normalise(args, option="args"):
    """Return ``args`` (dict or None) with canonical names, in rendering order, values as bool True, int, float, str or list of those.

    None, false and empty lists are left out. A dict, or a list for a flag that takes JSON, becomes compact JSON text. The same flag
    under two spellings is merged when the values are the same on a command line. Raises KproError, naming ``option`` and the key, for
    keys that are no flag names or look like secrets, for values SGLang cannot be given, and for two different values of one flag.
    """
    if args is None:
        return {}
    if not isinstance(args, dict):
        raise KproError(f"{option} is {type(args).__name__}; it must be a dictionary of SGLang flags, for example {{tp-size: 2}}")
    seen: dict = {}
    for key, raw in args.items():
        name = canonical_name(key, option)
        where = f"{option}.{key}"
        if is_secret_name(name):
            advice = _SECRET_ADVICE.get(name, "give it through option secret_environment or as a file on the target")
            raise KproError(f"{where} looks like a secret, and {option} are shown in results, logs and diffs: {advice}")
        if raw is None:
            continue
        value = _value(raw, where, name)
        if name in seen and _texts(seen[name][1]) != _texts(value):
            other = seen[name][0]
            raise KproError(
                f"{where} and {option}.{other} are the same flag (--{name}) with two values, "
                f"{_show(value)} and {_show(seen[name][1])}; give it once"
            )
        seen.setdefault(name, (key, value))
    kept = {name: value for name, (_key, value) in seen.items() if value is not False and value != []}
    return {name: kept[name] for name in sorted(kept, key=_order)}


def _order(name):
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)


def _value(raw, where, name):
    if isinstance(raw, dict):
        if name not in JSON_FLAGS:
            raise KproError(
                f"{where} is a dictionary, and --{name} is not known to take JSON; "
                "give a string, number, list, true or false (JSON text as a string)"
            )
        return _json(raw, where)
    if isinstance(raw, (list, tuple)):
        if name in JSON_FLAGS:
            return _json(list(raw), where)
        return [_item(item, f"{where}[{index}]", name) for index, item in enumerate(raw)]
    return _scalar(raw, where, name)


def _item(item, where, name):
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, dict) and name == "lora-paths":
        return _json(item, where)  # one adapter: {"lora_name": ..., "lora_path": ..., "pinned": ...}
    return _scalar(item, where, name)


def _scalar(raw, where, name):
    if isinstance(raw, (bool, int)):
        return raw
    if isinstance(raw, float):
        if not math.isfinite(raw):
            raise KproError(f"{where} is {raw}; --{name} needs a finite number")
        return raw
    if isinstance(raw, str):
        value = str(raw)
        if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise KproError(f"{where} holds a character that no command line can carry (NUL or half of a surrogate pair)")
        if len(value) > 1 and value[0] == "-" and " " not in value and not _NEGATIVE_NUMBER.match(value):
            raise KproError(
                f"{where} is {value!r}: SGLang's parser takes a value that begins with '-' for another flag; a flag is a key of its own"
            )
        return value
    raise KproError(f"{where} is {_kind(raw)}; a value is a string, a number, true, false or a list of strings and numbers")


def _kind(value):
    return {"NoneType": "null", "list": "a list inside a list", "tuple": "a list inside a list", "dict": "a dictionary"}.get(
        type(value).__name__, f"of type {type(value).__name__}"
    )


def _json(value, where):
    secret = _secret_key(value)
    if secret is not None:
        raise KproError(
            f"{where} holds {secret!r}, which looks like a secret: give it through option secret_environment or as a file on the target"
        )
    try:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise KproError(f"{where} cannot be written as JSON: {error}") from error


def _secret_key(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(key, str) and is_secret_name(key) and isinstance(inner, str):
                return key
            found = _secret_key(inner)
            if found is not None:
                return found
    elif isinstance(value, (list, tuple)):
        for inner in value:
            found = _secret_key(inner)
            if found is not None:
                return found
    return None


def _texts(value):
    """The words a value becomes on a command line: what decides whether two values are the same."""
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [_text(item) for item in value] if isinstance(value, list) else [_text(value)]


def _text(value):
    return str(value)


def _show(value):
    return json.dumps(value, ensure_ascii=False)


def split(mapping):
    """(for the --config file, for argv): two mappings of a normalised one; see ``ARGV_ONLY``."""
    config = {name: value for name, value in mapping.items() if name not in ARGV_ONLY}
    argv = {name: value for name, value in mapping.items() if name in ARGV_ONLY}
    return config, argv


def to_argv(mapping):
    """A normalised mapping as command-line words (list of str). Not for mappings to which a secret was added: argv is public."""
    words = []
    for name, value in mapping.items():
        words.append("--" + name)
        if value is not True:
            words.extend(_texts(value))
    return words


def to_config_yaml(mapping):
    """A normalised mapping as the text of SGLang's ``--config`` file: YAML, ASCII only (SGLang opens it in the encoding of its locale).

    ``true`` becomes a bare flag, a list repeated values, everything else ``str(value)`` of what PyYAML reads. Keys may be added after
    normalising (``api-key``): the file is the way for secrets, mode 0600.
    """
    lines = [f"{_yaml(name) if name in _YAML_WORDS else name}: {_yaml(value)}\n" for name, value in mapping.items()]
    return "".join(lines) or "{}\n"


def _yaml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _yaml_float(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_yaml(item) for item in value) + "]"
    return '"' + "".join(_yaml_char(char) for char in value) + '"'


def _yaml_float(value):
    """YAML 1.1 (PyYAML) reads 1e-05 as text: a number needs a dot in the mantissa. ``repr`` always signs the exponent."""
    mantissa, mark, exponent = repr(value).partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + mark + exponent


def _yaml_char(char):
    code = ord(char)
    if char in '"\\':
        return "\\" + char
    if 0x20 <= code < 0x7F:
        return char
    # JSON's surrogate pairs would become two broken characters in YAML, hence the 8-digit form.
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def shown(mapping):
    """A mapping as one line for people, quoted for a shell; values under secret names are replaced by ``***``."""
    hidden = {name: "***" if is_secret_name(name) and value is not True else value for name, value in mapping.items()}
    return " ".join(shlex.quote(word) for word in to_argv(hidden))
