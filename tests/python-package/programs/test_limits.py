# SPDX-License-Identifier: MIT
"""test_limits - what pytest runs in the tests of the plugin. The names say what must become of each test."""

import unittest

import pytest

kept = []


@pytest.mark.plimsoll(max_peak="8 MiB", max_allocated="8M", max_calls=1000, no_leaks=True)
def test_keeps_all():
    buffer = bytearray(6 << 20)
    del buffer


@pytest.mark.plimsoll(max_peak="5 MiB", no_leaks=True)
def test_breaks_peak():
    buffer = bytearray(6 << 20)
    del buffer


@pytest.mark.plimsoll(no_leaks=True)
def test_leaks():
    kept.extend(bytes(2000) for _ in range(100))


@pytest.mark.plimsoll(max_never_freed="1 MiB")
def test_leaks_within_its_limit():
    kept.extend(bytes(2000) for _ in range(100))


@pytest.mark.plimsoll(max_calls=5, max_allocated="1 KiB")
def test_calls_too_often():
    for _ in range(50):
        bytes(1000)


@pytest.mark.plimsoll(no_leaks=True)
def test_prints_a_lot():
    print("x" * 100_000)


@pytest.mark.plimsoll(no_leaks=True)
def test_makes_a_cycle():
    cycle = [bytearray(100_000)]
    cycle.append(cycle)


@pytest.mark.xfail(strict=True)
@pytest.mark.plimsoll(no_leaks=True)
def test_leaks_as_expected():
    kept.append(bytes(200_000))  # so large that it is a sample in every sampled run


@pytest.mark.plimsoll(max_peak="1 MiB")
class TestOfClass:
    def test_has_the_limit_of_its_class(self):
        bytearray(2 << 20)

    @pytest.mark.plimsoll(max_peak="3 MiB")
    def test_has_its_own_limit(self):
        bytearray(2 << 20)


class TestOfUnittest(unittest.TestCase):
    @pytest.mark.plimsoll(max_peak="1 MiB")
    def test_in_unittest_breaks_peak(self):
        bytearray(2 << 20)


def test_without_limits():
    kept.append(bytes(5000))
