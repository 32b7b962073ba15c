#!/usr/bin/python3
"""Planted cases for judges.py."""

import numpy as np
from judges import ap50, average_precision, detections, hits, overlaps, suppress, top1, verification

UNIT = np.array([0.0, 0, 1, 1])
AWAY = np.array([5.0, 5, 6, 6])


def near(value, wanted):
    assert abs(value - wanted) < 1e-6, (value, wanted)


def test_overlap_of_half_shifted_squares_is_a_third():
    near(overlaps(UNIT[None], UNIT[None])[0, 0], 1)
    near(overlaps(UNIT[None], UNIT[None] + [0.5, 0, 0.5, 0])[0, 0], 1 / 3)
    near(overlaps(UNIT[None], AWAY[None])[0, 0], 0)


def test_the_better_of_two_boxes_suppresses_the_other():
    boxes = np.array([UNIT, UNIT + 0.1, AWAY])
    assert suppress(boxes, np.array([0.5, 0.9, 0.1]), 0.5).tolist() == [1, 2]
    assert suppress(boxes, np.array([0.5, 0.9, 0.1]), 0.9).tolist() == [1, 0, 2]


def test_classes_do_not_suppress_each_other():
    found = detections(np.array([UNIT, UNIT]), np.array([[0.9, 0], [0, 0.8]]))
    assert [(c, s) for c, s, _ in found] == [(0, 0.9), (1, 0.8)]
    assert len(detections(np.array([UNIT]), np.array([[0.0005]]))) == 0


def test_a_true_box_is_met_once():
    assert hits([UNIT, UNIT, AWAY], np.array([UNIT]), 0.5) == [True, False, False]
    assert hits([UNIT], np.zeros((0, 4)), 0.5) == [False]


def test_average_precision_is_read_at_101_recalls():
    near(average_precision([0.9], [True], 1), 1)
    # Recall 0.5 is reached: 51 of 101 places.
    near(average_precision([0.9], [True], 2), 51 / 101)
    # Wrong, then right: precision 1/2 everywhere.
    near(average_precision([0.9, 0.8], [False, True], 1), 0.5)
    # The order is that of the scores.
    near(average_precision([0.8, 0.9], [False, True], 1), 1)


def test_ap50_is_the_mean_over_classes_that_occur():
    truth = [[(0, UNIT), (1, AWAY)]]
    near(ap50([[(0, 0.9, UNIT), (1, 0.9, AWAY), (2, 0.9, UNIT)]], truth), 100)
    near(ap50([[(0, 0.9, UNIT)]], truth), 50)
    near(ap50([[(0, 0.9, UNIT), (1, 0.9, AWAY + 2)]], truth), 50)
    near(ap50([[]], truth), 0)


def test_pairs_are_told_by_their_cosine():
    a = np.array([[1.0, 0], [2, 0], [1, 0]])
    b = np.array([[3.0, 0], [0, 1], [1, 1]])
    near(verification(a, b, np.array([True, False, False]), 0.5), 200 / 3)
    near(verification(a, b, np.array([True, False, False]), 0.8), 100)


def test_top1_counts_the_highest():
    near(top1(np.array([[0, 1], [1, 0.5]]), np.array([1, 1])), 50)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
print("ok")
