"""Addresses of Ray clusters: refused at once if they are none, soon if nobody answers."""

import socket
import time

import pytest

from palaver.errors import WorkersError
from palaver.parallel.cluster import check_address


@pytest.mark.parametrize("address", ["garbage::", "10.0.0.1", "http://x:1", "x:99999", "", "a b:1"])
def test_what_is_no_address_is_refused_at_once(address):
    start = time.monotonic()
    with pytest.raises(WorkersError, match=r"is no address.*host:port, ray://host:port or auto"):
        check_address(address)
    assert time.monotonic() - start < 1


def test_an_address_at_which_nobody_answers_is_refused_soon():
    start = time.monotonic()
    with pytest.raises(WorkersError, match=r"did not answer on port 1 in \d+ tries within 2 sec"):
        check_address("127.0.0.1:1", patience=2)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "localhost:{}"])
def test_an_address_that_answers_is_taken(form):
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_address(form.format(server.getsockname()[1]), patience=2)
    check_address("auto")
