"""Memory that the system says is free."""

from __future__ import annotations

import pytest

from dimtensor.cost import memory

_GB = 10**9


def test_files_that_a_container_caches_are_free_memory(tmp_path):
    (tmp_path / "memory.max").write_text(f"{8 * _GB}\n")
    (tmp_path / "memory.current").write_text(f"{7 * _GB}\n")
    (tmp_path / "memory.stat").write_text(
        f"anon {2 * _GB}\nfile {5 * _GB}\nactive_file {_GB}\ninactive_file {4 * _GB}\n"
    )
    assert memory._of_container(tmp_path) == 6 * _GB


def test_a_container_without_limit_says_nothing(tmp_path):
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.stat").write_text("active_file 0\ninactive_file 0\n")
    with pytest.raises(ValueError, match="max"):
        memory._of_container(tmp_path)
