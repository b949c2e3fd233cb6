"""The traits of keys, read off ``sql/templates/keys``; what is wrong with a file is said by name."""

from __future__ import annotations

import re

import pytest

from redial.config.choices import Key
from redial.config.keys import KeyFileError, Traits, bases, every_key, keys_with, read
from redial.config.sections import Conversation
from redial.paths import TEMPLATES

GOOD = '{#\nplace = 1\nmeaning = "a"\nchoose = "b"\n#}\n'


@pytest.fixture
def folder(tmp_path):
    """Templates of two bases and no key."""
    for name, head in (("any", ""), ("with_row", "has_rows = true\n")):
        path = tmp_path / "key_bases" / f"{name}.inc.j2"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{{#\n{head}#}}\n", "utf-8")
    (tmp_path / "keys").mkdir()
    return tmp_path


def put(folder, word, text=GOOD):
    (folder / "keys" / f"{word}.inc.j2").write_text(text, "utf-8")
    return folder


def test_the_words_of_the_files_are_the_choices_in_the_order_of_their_places():
    places = [traits.place for traits in every_key().values()]
    assert places == sorted(places)
    assert [*Key] == [*every_key()] and len(Key) >= 5
    assert Conversation().key == next(iter(every_key()))


def test_a_base_gives_its_traits_and_a_key_may_say_otherwise(folder):
    put(folder, "row", GOOD.replace("#}", 'base = "with_row"\n#}'))
    put(
        folder,
        "no_row",
        GOOD.replace("1", "2").replace("#}", 'base = "with_row"\nhas_rows = false\n#}'),
    )
    found = read(folder)
    assert [found[key].has_rows for key in ("row", "no_row")] == [True, False]
    assert bases(folder, "with_row") == ["with_row", "any"]
    assert found["row"].row_of_one_key and not found["no_row"].row_of_one_key


def test_every_trait_is_that_of_some_key_and_not_of_all():
    for name, field in Traits.model_fields.items():
        if field.annotation is bool:
            assert 0 < len(keys_with(name)) < len(every_key()), name


@pytest.mark.parametrize(
    ("word", "text", "said"),
    [
        ("Host", GOOD, r"keys/Host\.inc\.j2: the name of the file .*allowed: a lower case letter"),
        ("host", "SELECT 1;\n", r"keys/host\.inc\.j2: must begin with a comment of TOML"),
        ("host", "{#\nplace = \n#}\n", r"keys/host\.inc\.j2: its first comment is not TOML: "),
        ("host", GOOD.replace("place = 1\n", ""), r"keys/host.*: place: Field required"),
        ("host", GOOD.replace("place = 1", 'place = "1"'), r"keys/host.*: place: .*integer"),
        ("host", GOOD.replace("#}", "rows = true\n#}"), r"rows: .*allowed are the fields place, "),
        ("host", GOOD.replace("#}", 'base = "none"\n#}'), r"no such base; allowed: any, with_row"),
        ("host", GOOD.replace("#}", "slots = true\n#}"), r"slots: .*only with has_rows = true"),
        (
            "host",
            GOOD.replace("#}", 'base = "with_row"\nper_message = true\n#}'),
            r"has_rows and per_message: allowed is one way to find a dialog",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_name_and_what_is_allowed(
    folder, word, text, said
):
    with pytest.raises(KeyFileError, match=said):
        read(put(folder, word, text))


def test_two_keys_in_one_place_are_refused_with_a_free_one(folder):
    put(put(folder, "one"), "two")
    with pytest.raises(KeyFileError, match=r"keys/one.*place: another key has 1 too; .*as 11"):
        read(folder)


def test_a_folder_without_keys_is_refused(folder):
    with pytest.raises(KeyFileError, match="has no key"):
        read(folder)


def test_a_circle_of_bases_ends(folder):
    (folder / "key_bases" / "any.inc.j2").write_text('{#\nbase = "with_row"\n#}\n', "utf-8")
    assert bases(folder, "any") == ["any", "with_row"]


def test_every_file_says_in_a_sentence_what_the_key_is():
    for path in TEMPLATES.glob("key*/*.inc.j2"):
        assert re.match(r"\{#\n# [A-Z].*", path.read_text("utf-8")), path.name
