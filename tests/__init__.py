"""The tests. None needs the stub files that gradio makes of its components at each import, which take over a second."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


class _WithoutStubs(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gradio.component_meta":
            return None
        sys.meta_path.remove(self)
        found = find_spec(fullname)
        if found is not None and found.loader is not None:
            run = found.loader.exec_module

            def run_and_change(module: ModuleType) -> None:
                run(module)
                vars(module)["create_or_modify_pyi"] = lambda *_: None

            vars(found.loader)["exec_module"] = run_and_change
        return found


sys.meta_path.insert(0, _WithoutStubs())
