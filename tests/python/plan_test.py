"""shoal.plan: predictions for clusters that are not there."""

import unittest

import shoal


class Plans(unittest.TestCase):
    def test_a_plan_says_who_does_what(self):
        made = shoal.plan("zoo:squeezenet", workers=3, device="pi3", link="gigabit")
        self.assertEqual(len(made.workers), 3)
        self.assertAlmostEqual(made.speedup, made.single_seconds / made.seconds)
        self.assertLessEqual(made.seconds, made.single_seconds)
        self.assertEqual(made.alternatives[0], (made.kind, made.seconds))
        self.assertTrue(all(w.memory_bytes >= 0 for w in made.workers))
        used = {worker for segment in made.segments for worker in segment.workers}
        self.assertTrue(used <= {0, 1, 2})
        self.assertIn(made.segments[0].split, made.text)

    def test_one_worker_has_nothing_to_share(self):
        made = shoal.plan("zoo:lenet5", workers=1)
        self.assertEqual(made.speedup, 1)
        self.assertEqual(len(made.segments), 1)

    def test_a_plan_for_larger_inputs_takes_longer(self):
        graph = shoal.load("zoo:lenet5").graph()
        of_graph, of_name = shoal.plan(graph, workers=2), shoal.plan("zoo:lenet5", workers=2)
        self.assertEqual(of_graph, of_name)
        slower = shoal.plan("zoo:lenet5", workers=2, device="pi3")
        self.assertGreater(slower.single_seconds, of_name.single_seconds)

    def test_surviving_a_loss_keeps_its_promise(self):
        self.assertEqual(shoal.plan("zoo:lenet5", workers=3, survive=1).survives, 1)

    def test_excluded_workers_have_nothing_to_do(self):
        made = shoal.plan("zoo:squeezenet", workers=3, device="pi3", exclude=[1])
        self.assertEqual(made.workers[1].compute_seconds, 0)

    def test_questions_without_an_answer_are_refused(self):
        for options in (
            {"workers": 0},
            {"workers": 10**6},
            {"survive": 3},
            {"survive": -1},
            {"workers": 1, "survive": 1},
            {"workers": 2, "exclude": [2]},
            {"workers": 2, "exclude": [-1]},
            {"workers": 1, "exclude": [0]},
        ):
            with self.subTest(options), self.assertRaises(shoal.InvalidArgument):
                shoal.plan("zoo:lenet5", **options)

    def test_an_unknown_device_or_link_names_those_there_are(self):
        for options, known in (({"device": "pi9"}, "pi4"), ({"link": "pigeon"}, "gigabit")):
            with self.assertRaises(shoal.InvalidArgument) as caught:
                shoal.plan("zoo:lenet5", **options)
            self.assertIn(known, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
