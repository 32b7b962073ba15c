"""Every public name has a docstring, and the examples in them are true."""

import doctest
import inspect
import unittest

import shoal
import shoal._core
import shoal._errors
import shoal._plan
import shoal._train
import shoal.onnx_backend

MODULES = [shoal, shoal._core, shoal._errors, shoal._plan, shoal._train, shoal.onnx_backend]


def public_members(kind):
    return {name: value for name, value in vars(kind).items() if not name.startswith("_")}


class Docs(unittest.TestCase):
    def test_examples_are_true(self):
        for module in MODULES:
            with self.subTest(module.__name__):
                result = doctest.testmod(module)
                self.assertEqual(result.failed, 0)

    def test_every_public_name_is_documented(self):
        for name in shoal.__all__:
            value = getattr(shoal, name)
            if not (inspect.isclass(value) or inspect.isroutine(value)):
                continue
            self.assertTrue(inspect.getdoc(value), name)
            if inspect.isclass(value) and value.__module__ == "shoal._core":
                for member, what in public_members(value).items():
                    self.assertTrue(inspect.getdoc(what), f"{name}.{member}")

    def test_the_main_classes_have_examples(self):
        examples = [shoal, shoal.Session, shoal.Model, shoal.Graph, shoal.Dataset]
        examples += [shoal.plan, shoal.load, shoal.save, shoal.train, shoal.evaluate]
        for value in examples:
            self.assertIn(">>>", inspect.getdoc(value), value.__name__)


if __name__ == "__main__":
    unittest.main()
