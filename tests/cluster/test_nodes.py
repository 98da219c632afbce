"""A cluster of two nodes, each a raylet of its own, that loses one of them."""

import numpy as np
import pytest

import palaver as pv
from palaver.encoding import Encoded, encode
from palaver.parallel import ray as executors

ray = pytest.importorskip("ray", reason="the extra ray is not installed")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    ray.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_a_machine_leaves_the_cluster(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("palaver.encoding.shards.SMALLEST", 2000)
    monkeypatch.setattr(executors, "PATIENCE", 5.0)
    encode(pv.sample(60)).write(tmp_path)
    data = Encoded.open(tmp_path)
    model = pv.M4(n_classes=3, sampler="parallel", n_sweeps=8, n_chains=2, random_state=3)
    here = model.fit(data)
    before, trace = here.transitions_, here.trace_
    second = cluster.add_node(num_cpus=2)

    def strike(sweep, chains):
        if sweep == 3:
            cluster.remove_node(second)

    with pv.RayExecutor(workers=4, address=cluster.address) as executor:
        there = model.fit(data, executor=executor, callbacks=[strike])
        assert len(executor._actors) < 4, "no worker was on the machine that left"
    np.testing.assert_array_equal(there.transitions_, before)
    assert there.trace_.equals(trace)
