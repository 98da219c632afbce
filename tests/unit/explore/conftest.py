"""A workbench about the built-in sample, made once."""

import pytest
from support.workbench import Client, make_run, opened

import palaver as pv


@pytest.fixture(scope="session")
def corpus():
    return pv.sample(120)


@pytest.fixture(scope="session")
def run(corpus, tmp_path_factory):
    model = pv.Acts(n_sweeps=30, n_chains=2, random_state=1).fit(corpus)
    return make_run(tmp_path_factory.mktemp("explore") / "run", model, corpus)


@pytest.fixture(scope="session")
def workbench(run):
    found = opened(run)
    yield found
    found.close()


@pytest.fixture(scope="session")
def client(workbench):
    from palaver.explore.serve import running

    with running(workbench) as address:
        yield Client(address)
