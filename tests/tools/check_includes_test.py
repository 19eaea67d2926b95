#!/usr/bin/env python3
"""check_includes.py must see each kind of violation, and nothing else."""
import pathlib
import tempfile
import unittest

import check_includes


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        for name in ("ir/base/error.hpp", "ir/graph/graph.hpp", "ir/xml/reader.hpp", "ops/defs/relu.hpp",
                     "runtime/api/core.hpp", "plugins/cpu/plan.hpp", "samples/common/arguments.hpp"):
            self.write(name, "")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self, name, text):
        self.write(name, text)
        found = check_includes.violations(self.root)
        (self.root / name).unlink()
        return found

    def refused(self, name, text, reason):
        found = self.check(name, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(reason, found[0])
        self.assertTrue(found[0].startswith(name + ":"), found[0])

    def test_accepts_what_the_table_allows(self):
        for name, text in (("ir/graph/a.cpp", '#include "ir/base/error.hpp"\n#include <vector>\n'),
                           ("ir/graph/a.cpp", "#include <terroir/shape.hpp>\n"),
                           ("ops/defs/a.cpp", '#include "ir/graph/graph.hpp"\n'),
                           ("ir/xml/a.cpp", "#include <pugixml.hpp>\n"),
                           ("runtime/api/a.cpp", '#include <terroir/core.hpp>\n#include "ir/xml/reader.hpp"\n'),
                           ("plugins/cpu/simd/a.cpp", "#include <immintrin.h>\n"),
                           ("samples/hello/main.cpp", '#include <CLI/CLI.hpp>\n#include "common/arguments.hpp"\n'),
                           ("tests/unit/a.cpp", '#include "plugins/cpu/plan.hpp"\n#include <gtest/gtest.h>\n')):
            self.assertEqual(self.check(name, text), [], (name, text))

    def test_refuses_a_higher_floor(self):
        self.refused("ir/base/a.cpp", '#include "ir/graph/graph.hpp"\n', "ir/base may not include ir/graph")
        self.refused("ir/xml/a.cpp", '#include "ops/defs/relu.hpp"\n', "ir/xml may not include ops/defs")
        self.refused("ops/defs/a.cpp", '#include "ir/xml/reader.hpp"\n', "ops/defs may not include ir/xml")
        self.refused("plugins/cpu/a.cpp", '#include "runtime/api/core.hpp"\n', "may not include runtime/api")
        self.refused("plugins/interpreter/a.cpp", '#include "plugins/cpu/plan.hpp"\n', "may not include plugins/cpu")

    def test_refuses_third_parties_in_other_rooms(self):
        self.refused("ir/graph/a.cpp", "#include <pugixml.hpp>\n", "only ir/xml")
        self.refused("plugins/cpu/a.cpp", "#include <tbb/task_arena.h>\n", "only runtime/parallel")
        self.refused("ops/defs/a.cpp", "#include <xsimd/xsimd.hpp>\n", "only plugins/cpu/simd")
        self.refused("runtime/api/a.cpp", "#include <dlfcn.h>\n", "only runtime/extension")
        self.refused("ir/base/a.cpp", "#include <boost/any.hpp>\n", "neither the standard library")

    def test_keeps_public_headers_where_they_belong(self):
        self.refused("ops/defs/a.cpp", "#include <terroir/core.hpp>\n", "only the value headers")
        self.refused("runtime/include/terroir/a.hpp", '#include "ir/base/error.hpp"\n', "may not include ir/base")
        self.refused("samples/hello/main.cpp", '#include "ir/base/error.hpp"\n', "installed headers only")

    def test_refuses_paths_that_are_not_from_the_root(self):
        self.refused("ir/graph/a.cpp", '#include "graph.hpp"\n', "does not start with a room")
        self.refused("ir/graph/a.cpp", '#include "ir/base/missing.hpp"\n', "does not exist")
        self.refused("ir/unknown/a.cpp", "", "in no room")


if __name__ == "__main__":
    unittest.main()
