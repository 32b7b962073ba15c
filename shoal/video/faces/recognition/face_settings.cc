#include "shoal/video/faces/recognition/face_settings.h"

namespace shoal::faces {

CascadeOptions FaceSettings::cascade() const {
  CascadeOptions options{.lessons = lessons};
  options.wanted.precision = agreement;
  return options;
}

SettingList network_settings(FaceSettings& s) {
  return {Setting("score", s.score, "The least score of a face").in(0, 1),
          Setting("exits", s.exits, "Exits of the embedding, which answer early").in(0, 8)};
}

SettingList database_settings(FaceSettings& s) {
  return {Setting("threshold", s.threshold,
                  "The squared distance up to which a face is somebody's; of a new file")
              .in(0, 4)};
}

SettingList exit_settings(FaceSettings& s) {
  return {
      Setting("lessons", s.lessons, "Faces from which exits learn how far to be trusted"),
      Setting("agreement", s.agreement,
              "Of early answers with those of the whole network, that lessons must show")
          .in(0.5, 0.9999),
  };
}

SettingList picture_settings(FaceSettings& s) {
  return {Setting("burst", s.burst, "Frames of each picture, each moved a little").in(1, 1000),
          Setting("seed", s.seed, "Of the order of pictures")};
}

}  // namespace shoal::faces
