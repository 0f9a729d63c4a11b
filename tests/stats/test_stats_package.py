"""Every public name is there, whichever module was loaded first."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys

import audit.stats


def test_every_public_name_is_importable_and_documented() -> None:
    assert set(audit.stats.__all__) == set(audit.stats._HOME)
    for name in audit.stats.__all__:
        value = getattr(audit.stats, name)
        assert value.__name__ == name
        assert inspect.getdoc(value)
    assert dir(audit.stats) == sorted(audit.stats.__all__)


def test_no_module_hides_a_public_name() -> None:
    modules = {module.name for module in pkgutil.iter_modules(audit.stats.__path__)}
    assert not modules & set(audit.stats.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(audit.stats, "welch_bootstrap")


def test_the_package_alone_loads_no_numpy() -> None:
    code = "import sys, audit.stats; print('numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]


def test_no_statistic_loads_a_heavy_package() -> None:
    code = (
        "import sys\n"
        "import audit.stats as s\n"
        "[getattr(s, n) for n in s.__all__]\n"
        "s.holm([0.04, 0.01]); s.exact_bootstrap([0, 1, 2], kind='bca')\n"
        "s.sign_flip_p_value([1, 2])\n"
        "s.two_level_bootstrap([[0, 1], [1, 1]], [[1, 1], [0, 1]], samples=1)\n"
        "heavy = ('statsmodels', 'scipy', 'pandas')\n"
        "print(*[m for m in heavy if m in sys.modules], 'end')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["end"]
