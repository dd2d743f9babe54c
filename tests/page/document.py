# SPDX-License-Identifier: MIT
"""document - `plimsoll html` writes one self-contained file, to the right place, that can run its own script only."""

import base64
import gzip
import hashlib
import sys
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

from built import BUILD, SOURCE
from claims import claim, main
from serving import Place, head_of

POLICY = ("default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; base-uri 'none'; "
          "form-action 'none'")

place = Place()
profile = place.record()
WHEN = {"SOURCE_DATE_EPOCH": "1700000000"}


class Elements(HTMLParser):
    """The elements of a document in their order: [name, attributes, text]."""

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self.found = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag):
        self.found.append(["/" + tag, {}, ""])

    def handle_data(self, data):
        if self.found:
            self.found[-1][2] += data

    def of(self, tag, **wanted):
        return [(attributes, text) for name, attributes, text in self.found
                if name == tag and all(attributes.get(k) == v for k, v in wanted.items())]


def html(*arguments, **settings):
    return place.plimsoll("html", *arguments, **settings)


def written(*arguments, output="page.html"):
    """The text of the document that html writes."""
    done = html(*arguments, "-o", output, **WHEN)
    assert done.returncode == 0 and not done.stdout, done
    return (place.path / output).read_text()


def data_in(document):
    (_, letters), = Elements(document).of("script", id="profile")
    return gzip.decompress(base64.b64decode(letters, validate=True))


def hash_of(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@claim
def its_data_equals_the_export():
    document = written(profile)
    exported = place.plimsoll("export", "--format", "page", profile, "-o", "out.page", **WHEN)
    assert exported.returncode == 0, exported.stderr
    assert data_in(document) == (place.path / "out.page").read_bytes()


@claim
def the_same_profile_gives_the_same_bytes():
    assert written(profile, output="one.html") == written(profile, output="two.html")


@claim
def its_policy_allows_its_own_script_and_style_by_their_hashes_and_nothing_else():
    elements = Elements(written(profile))
    (_, style), = elements.of("style")
    scripts = [text for attributes, text in elements.of("script") if "type" not in attributes]
    assert len(scripts) == 1 and [link["rel"] for link, _ in elements.of("link")] == ["icon"]
    (policy, _), = elements.of("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy["content"] == POLICY.format(script=hash_of(scripts[0]), style=hash_of(style)), policy
    before = [attributes for name, attributes, _ in elements.found[: elements.found.index(["style", {}, style])]]
    assert policy in before, "the policy comes too late"


@claim
def it_loads_nothing_and_has_no_inline_handlers():
    for name, attributes, _ in Elements(written(profile)).found:
        for attribute, value in attributes.items():
            assert (attribute, value) == ("href", "data:,") or attribute not in ("src", "href", "style"), attributes
            assert not attribute.startswith("on"), (name, attributes)


@claim
def script_and_style_are_embedded_unchanged():
    document = written(profile)
    for name in ("page.js", "page.css"):
        assert (SOURCE / "web/built" / name).read_text() in document, name


@claim
def it_is_named_after_the_profile_and_written_to_the_current_directory():
    there = place.path / "there"
    there.mkdir()
    moved = there / "app.plim"
    moved.write_bytes(profile.read_bytes())
    done = html(moved)
    assert done.returncode == 0 and (place.path / "app.html").exists(), done
    for words in ("wrote app.html (", "needs no network", "xdg-open app.html"):
        assert words in done.stderr, done.stderr
    done = html(profile, moved)
    assert done.returncode == 0 and (place.path / "app.diff.html").exists(), done
    assert not list(there.glob("*.html"))


@claim
def only_its_owner_can_read_it_as_with_a_profile():
    (place.path / "mine.html").write_text("anybody's")
    (place.path / "mine.html").chmod(0o644)
    written(profile, output="mine.html")
    written(profile, output="new.html")
    for name in ("mine.html", "new.html", profile.name):
        assert (place.path / name).stat().st_mode & 0o777 == 0o600, name
    assert not list(place.path.glob("*.tmp"))


@claim
def a_dash_writes_to_stdout():
    done = html(profile, "-o", "-", **WHEN)
    assert done.returncode == 0 and done.stdout == written(profile) and not done.stderr, done.stderr


@claim
def a_profile_is_never_overwritten():
    before = profile.read_bytes()
    done = html(profile, "-o", profile)
    assert done.returncode == 2 and "is a profile; choose another name for the page" in done.stderr, done
    assert profile.read_bytes() == before


@claim
def a_failed_write_is_reported_and_keeps_the_old_file():
    (place.path / "old.html").write_text("old")
    done = html(profile, "-o", "nowhere/page.html")
    assert done.returncode == 1 and "cannot write nowhere/page.html: No such file or directory" in done.stderr, done
    done = html(profile, "-o", "/dev/full")
    assert done.returncode == 1 and "cannot write /dev/full: No space left on device" in done.stderr, done
    done = html("nowhere.plim", "-o", "old.html")
    assert done.returncode == 1 and (place.path / "old.html").read_text() == "old", done
    assert not list(place.path.glob("*.tmp"))


@claim
def it_contains_the_selected_part_only():
    head = head_of(data_in(written("--focus", "keep_more", "--metric", "calls", "--no-source", profile)))
    assert head["extent"]["selection"] == "stacks matching keep_more" and head["page"]["metric"] == "calls", head["page"]
    assert head["sources"] == [] and head["page"]["live"] is False
    assert head["page"]["title"].endswith("grow"), head["page"]


@claim
def since_and_until_choose_the_first_view_and_the_whole_run_is_included():
    recorded = place.plimsoll("run", "-q", "--exact", "-o", "phases.plim", "--", BUILD / "tests/export/phases")
    assert recorded.returncode == 0, recorded.stderr
    whole = head_of(data_in(written("phases.plim")))
    early, late = (whole["snapshots"][i]["time_s"] for i in (0, -1))
    for times, wanted in (([], (None, None)), ([f"--since={early}s"], (early, None)),
                          ([f"--until={late}s"], (None, late)),
                          ([f"--since={early + 0.001}s", f"--until={late}s"], (early, late))):
        part = head_of(data_in(written(*times, "phases.plim")))
        assert (part["page"]["since_s"], part["page"]["until_s"]) == wanted, (times, part["page"])
        assert all(part[key] == whole[key] for key in ("extent", "totals", "leaks", "snapshots")), times
    for times in (["--since", "1000s"], ["--since", "2s", "--until", "1s"]):
        done = html(*times, "phases.plim", "-o", "never.html")
        assert done.returncode == 2 and "--since" in done.stderr and not (place.path / "never.html").exists(), done


@claim
def source_lines_are_included_by_default():
    sources = head_of(data_in(written(profile)))["sources"]
    assert any("keep_more" in line or "malloc" in line for source in sources for line in source["lines"]), sources


@claim
def two_profiles_are_written_as_a_difference():
    later = place.record("later.plim", lines=30)
    head = head_of(data_in(written(profile, later)))
    assert head["extent"]["difference"] and head["diff"]["after"]["subject"] == "later.plim", head["diff"]


if __name__ == "__main__":
    with place:
        sys.exit(main())
