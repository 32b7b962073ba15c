// Faces, people and how well they are told apart, for scripts and for people.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/video/faces/evaluation/evaluation.h"
#include "shoal/video/faces/recognition/recogniser.h"

namespace shoal::faces {

// The people of a database, as rows.
std::vector<Facts> people_rows(const FaceDatabase& database);
Json to_json(const FaceDatabase& database);

// A face in an image, and who it is.
Json to_json(const std::string& image, const FoundFace& face, const FaceAnswer& answer);
std::string text_of(const std::string& image, const FoundFace& face, const FaceAnswer& answer);

// What the exits of a cascade did, with the thresholds that they had in the end.
Json to_json(const CascadeFigures& figures, const std::vector<double>& thresholds);

Json to_json(const Identification& result);
// Pairs, at a threshold and at the best one. REQUIRES: there is one.
Json to_json(const std::vector<FacePair>& pairs, double threshold);

}  // namespace shoal::faces
