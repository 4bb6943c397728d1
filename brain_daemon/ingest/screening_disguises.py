"""What a text says under its disguise: folded to what a reader sees, and decoded.

Two things make an order hard to match. Letters may look like others, be set apart, hold something
invisible: `fold` and `plain` undo that. Or the text is no text before it is decoded: `decoded`
undoes the encodings that a language model reads without help.

Not here: what an order is (`screening_rules`), and which texts are looked at (`screening`).

References
----------
Unicode Technical Standard 39, "Unicode security mechanisms". RFC 4648, "The Base16, Base32, and
Base64 data encodings".
"""

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Set
from functools import lru_cache
from urllib.parse import unquote

# --- what a reader sees

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
# Flags of regions are tags, too; what else is written in tags or variation selectors is hidden.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f")
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_ENCLOSED = {  # letters that compatibility forms leave as they are
    first + i: chr(97 + i) for first in (0x1F130, 0x1F150, 0x1F170, 0x1F1E6) for i in range(26)
} | {0x2800: " "}
_LOOKALIKES = str.maketrans(
    {
        key.lower(): value
        for letters, meant in (
            (
                "авесһіјкмнорԛѕтуѵԝхԁӏгпьαβγεηικνορτυχωσϲϳ",
                "abechijkmhopqstyvwxdlrnbabyenikvoptuxwocj",
            ),
            ("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɡıɑøłđħօոսհ", "abcdefghijklmnoprstuvwyzgiaoldhonuh"),
            ("ɛɩʋɓɗƙɲŋɽʂʈȥŧƅ", "eivbdknnrstztb"),
            ("ǝɐɔɟƃɥᴉɾʞɯɹʇʌʍʎ", "eacfghijkmrtvwy"),  # upside down
            ("ꭰꭱꭲꭵꭹꭺꭻꭼꮃꮇꮋꮐꮓꮟꮢꮪꮩꮮꮯꮲꮶᏼᎾ", "driiyajewmhgzbrsvlcpkbo"),
            ("ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "bpddtgkjczfmnlsrvhwxyaeiou"),
            ("ⲁⲟⲣⲥⲧⲩⲭⲕⲙⲛⲏⲓⲉ", "aopctyxkmnhie"),
        )
        for key, value in zip(letters, meant, strict=True)
    }
)
_KEYS = "".join(map(chr, _LOOKALIKES))
_MIXED = re.compile(f"[a-z][{_KEYS}]|[{_KEYS}][a-z]|[ᴀ-ᴢ]|[ǝɐɔɥʇʌʍʎɹ]{{2}}")
_NON_ASCII = re.compile("[^\x00-\x7f]+")


def fold(text: str) -> str:
    """Give a text as it is matched: what a reader sees, in small letters without accents.

    Line breaks and punctuation stay. Letters of another script that look like Latin ones are
    taken for them where they stand in one word with Latin ones. What is hidden in tag characters
    or variation selectors follows on a line of its own.
    """
    if text.isascii():
        return text.lower()
    runs = {run: _folded_run(run) for run in set(_NON_ASCII.findall(text))}
    folded = _NON_ASCII.sub(lambda match: runs[match.group()], text).lower()
    has_lookalikes = any(not _LOOKALIKES.keys().isdisjoint(map(ord, r)) for r in runs.values())
    return folded.translate(_LOOKALIKES) if has_lookalikes and _MIXED.search(folded) else folded


@lru_cache(maxsize=8192)
def _folded_run(run: str) -> str:
    """Fold neighbouring characters outside ASCII."""
    hidden = "".join(_hidden(run)) if len(run) > 2 else ""
    seen = _INVISIBLE.sub("", run).translate(_ENCLOSED).casefold()
    plain = "".join(c for c in unicodedata.normalize("NFKD", seen) if not is_mark(c))
    plain = plain.lower()
    return f"{plain}\n{hidden}\n" if hidden else plain


def _hidden(run: str) -> Iterator[str]:
    for match in _TAGS.finditer(_FLAG.sub("", run)):
        yield "".join(chr(ord(c) - 0xE0000) for c in match.group())
    for match in _SELECTORS.finditer(run):
        values = (ord(c) - (0xFE00 if c <= "\ufe0f" else 0xE0100 - 16) for c in match.group())
        yield bytes(values).decode("utf-8", "ignore")


def is_mark(character: str) -> bool:
    """Tell a mark that stands over or under a letter."""
    return unicodedata.category(character) == "Mn"


# --- letters set apart, or put for others

_APART = r"[^\S\r\n]|[.\-_*|·/,~+=:;\\•∙‧‐–—\n]"
SPACED = re.compile(rf"(?<![^\W_])[^\W\d_](?:(?:{_APART})[^\W\d_]){{2,}}(?![^\W_])")
_LEET_WORD = re.compile(r"\S+@\S+\.\w+|[a-z0-9@$]*(?:[a-z][0134578@$]|[0134578@$][a-z])[a-z0-9@$]*")
_LEET_SIGN = re.compile(r"[a-z][0134578@$]|[0134578@$][a-z]")
_LEET = str.maketrans("0134578@$", "oieastbas")
_BANG = re.compile(r"(?<!\w)!(?=[a-z0-9]{2})")
_CONTRACTED = re.compile(r"\byou['’]re\b")
_SPACES = re.compile(r"[^\S\n]{2,}")
# What a page shows nothing of, in the middle of a word.
_WITHIN = re.compile(
    r"(?<=[a-z])(?:<!--[^<>]{0,200}-->|</?[a-z][^<>\n]{0,60}>|\*{1,3}|`|[^\x00-\x7f\w\s’]{1,3})+(?=[a-z])"
)
_LINE_ESCAPE = re.compile(r"\\[nrt](?![a-z]:)")
_ESCAPED_QUOTE = re.compile(r'\\(["\'])')


def read_bangs(folded: str) -> str:
    """Read an exclamation mark before a word as its first letter."""
    return _BANG.sub("i", folded)


def unmarked(folded: str) -> str:
    """Leave out tags, comments, emphasis and signs that stand within words."""
    return _WITHIN.sub("", folded)


def plain(folded: str) -> str:
    """Join letters that are set apart, and read digits within words as letters."""
    if "\\" in folded:  # a line end as JSON writes it
        folded = _ESCAPED_QUOTE.sub(r"\1", _LINE_ESCAPE.sub("\n", folded))
    joined = _SPACES.sub(" ", SPACED.sub(_joined, unmarked(folded)))
    if _LEET_SIGN.search(joined):
        joined = _LEET_WORD.sub(_unleet, joined)
    return _CONTRACTED.sub("you are", joined)


def _joined(match: re.Match[str]) -> str:
    return match.group()[::2]


def _unleet(match: re.Match[str]) -> str:
    word = match.group()
    return word if "." in word else word.replace("11", "ll").translate(_LEET)


# --- encodings

MAX_DECODED = 8  # of one kind in a text
_LONG = 19  # more characters without a space that may be base64 or base32
_MANY_CAPITALS = 4
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_BASE32 = re.compile(r"[A-Z2-7]{24,}={0,6}")
_HEX = re.compile(r"(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ ,:\n]?){8,}")
_HEX_SIGN = re.compile(r"(?:[67][0-9A-Fa-f][ ,:\n]?(?:0x|\\x)?){4}")  # four small letters
_BINARY = re.compile(r"(?:[01]{8}[ ,\n]?){8,}")
_ASCII85 = re.compile(r"<~[!-uz\s]{10,}~>")
_MORSE = re.compile(r"(?:[.-]{1,5}[ /\n]+){11,}[.-]{1,5}")
_MANY_SIGNALS = 24
_MORSE_LETTERS = "etianmsurwdkgohvf.l.pjbxcyzq"  # of Morse, by length and with "." before "-"
_SIGNALS = {
    format(at + 2, "b")[1:].replace("0", ".").replace("1", "-"): letter
    for at, letter in enumerate(_MORSE_LETTERS)
    if letter != "."
}
_ESCAPES = re.compile(r"\\u00([0-9A-Fa-f]{2})|\\x([0-9A-Fa-f]{2})")
_ESCAPE_SIGNS = ("&#", "&lt;", "\\u00", "\\x", "%20", "%6", "%7")
_TOLD = (
    "ignore",
    "disregard",
    "instruction",
    "previous",
    "prompt",
    "password",
    "system",
    "reveal",
)
_BACKWARDS = frozenset(word[::-1] for word in _TOLD)
_TURNED = frozenset(codecs.encode(word, "rot13") for word in _TOLD)
ENCODED_WORDS = _BACKWARDS | _TURNED  # of six letters and more
_FLIPPED = re.compile("[ǝɐɔɟƃɥᴉɹʇʌʍʎ]")
_MANY_FLIPPED = 4
_TURNED_OVER = str.maketrans("unpdbq", "nudpqb")
_BACKWARDS_LETTERS = tuple(word.encode() for word in _BACKWARDS)
_TURNED_LETTERS = tuple(word.encode() for word in _TURNED)
_BACKWARDS_WORD = re.compile(rf"\bs?(?:{'|'.join(sorted(_BACKWARDS))})\b")


def decoded(text: str, folded: str, encoded: Set[str]) -> Iterator[tuple[str, bool]]:
    """Give what a text says when it is decoded, in each way that finds something.

    With each comes whether it could not be read before: escapes can.

    Parameters
    ----------
    text, folded : str
        As it stands, and folded.
    encoded : set of str
        Those of `ENCODED_WORDS` that ``folded`` holds.
    """
    if ("&" in text or "\\" in text or "%" in text) and any(s in text for s in _ESCAPE_SIGNS):
        unescaped = _ESCAPES.sub(lambda m: chr(int(m[1] or m[2], 16)), unquote(html.unescape(text)))
        if unescaped != text:
            yield unescaped, False
    found: list[str] = []
    if text.count("6") + text.count("7") >= 4 and _HEX_SIGN.search(text):
        found += _replaced(_HEX, text, _from_hex)
    if "<~" in text:
        found += _replaced(_ASCII85, text, _from_ascii85)
    if text.count("-") + text.count(".") >= _MANY_SIGNALS:
        found += _replaced(_MORSE, text, _from_morse)
    if text.count("0") + text.count("1") >= 64:
        found += _replaced(_BINARY, text, _from_binary)
    if any(map(_may_be_base64, [word for word in text.split() if len(word) > _LONG])):
        found += _replaced(_BASE64, text, _from_base64)
        found += _replaced(_BASE32, text, _from_base32)
    if not encoded.isdisjoint(_TURNED):
        found.append(codecs.encode(folded, "rot13"))
    if not text.isascii() and len(_FLIPPED.findall(text)) > _MANY_FLIPPED:
        found.append(folded[::-1].translate(_TURNED_OVER))
    if not encoded.isdisjoint(_BACKWARDS):
        found.append(folded[::-1])
        found.append(" ".join(word[::-1] for word in folded.split()))
        found.append(_BACKWARDS_WORD.sub(lambda match: match.group()[::-1], folded))
    for said in found:
        yield said, True


def _may_be_base64(word: str) -> bool:
    """Tell whether capitals stand in a long word where no name has them."""
    return sum(map(str.isupper, word)) >= _MANY_CAPITALS


def _replaced(pattern: re.Pattern[str], text: str, read: Callable[[str], bytes]) -> list[str]:
    """Decode what matches where it stands, and give the text with what came of it."""
    n_read = 0

    def shown(match: re.Match[str]) -> str:
        nonlocal n_read
        if n_read == MAX_DECODED:
            return match.group()
        try:
            said = read(match.group()).decode("utf-8", "ignore")
        except (binascii.Error, ValueError):
            return match.group()
        letters = sum(c.isalpha() or c == " " for c in said)
        if len(said) < 4 or letters < 0.7 * len(said):
            return match.group()
        n_read += 1
        return said

    result = pattern.sub(shown, text)
    return [result] if n_read else []


def _from_base64(run: str) -> bytes:
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    whole = len(bare) - (len(bare) % 4 == 1)
    return base64.b64decode(bare[:whole] + "=" * (-whole % 4))


def _from_base32(run: str) -> bytes:
    bare = run.rstrip("=")
    whole = len(bare) - (len(bare) % 8 in (1, 3, 6))  # no number of bytes ends so
    return base64.b32decode(bare[:whole] + "=" * (-whole % 8))


def _from_hex(run: str) -> bytes:
    return bytes.fromhex("".join(re.findall(r"[0-9A-Fa-f]{2}", run.replace("0x", " "))))


def _from_binary(run: str) -> bytes:
    return bytes(int(octet, 2) for octet in re.findall("[01]{8}", run))


def _from_ascii85(run: str) -> bytes:
    return base64.a85decode(run, adobe=True)


def _from_morse(run: str) -> bytes:
    words = re.split(r"\s*[/\n]\s*| {2,}", run)
    letters = ("".join(_SIGNALS.get(signal, "") for signal in word.split()) for word in words)
    return " ".join(letters).encode()
