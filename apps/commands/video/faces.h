// shoal faces: its settings, and the rows, JSON fields and sentences of its results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/base/text/setting.h"
#include "shoal/video/faces/evaluation/evaluation.h"
#include "shoal/video/faces/recognition/cascade.h"
#include "shoal/video/faces/recognition/database.h"
#include "shoal/video/faces/recognition/recogniser.h"

namespace shoal::faces {

struct FaceSettings {
  double threshold = FaceDatabase::kUsualThreshold;  // squared distance; of a new database
  double score = 0.6;
  double agreement = 0.99;  // of early answers
  uint64_t exits = 2, lessons = 1000, burst = 1, seed = 1;

  CascadeOptions cascade() const;
};

// By name: of the networks; of a new database; of exits, which are trained; of the pictures for
// measuring all of it.
SettingList network_settings(FaceSettings& settings);
SettingList database_settings(FaceSettings& settings);
SettingList exit_settings(FaceSettings& settings);
SettingList picture_settings(FaceSettings& settings);

// The people of a database, as rows.
std::vector<Facts> people_rows(const FaceDatabase& database);
Json to_json(const FaceDatabase& database);

// A face in an image, and its person.
Json to_json(const std::string& image, const FoundFace& face, const FaceAnswer& answer);
std::string text_of(const std::string& image, const FoundFace& face, const FaceAnswer& answer);

// The results of the exits of a cascade, with their final thresholds.
Json to_json(const CascadeFigures& figures, const std::vector<double>& thresholds);

Json to_json(const Identification& result);
// Pairs, at a threshold and at the best one. REQUIRES: there is one.
Json to_json(const std::vector<FacePair>& pairs, double threshold);

}  // namespace shoal::faces
