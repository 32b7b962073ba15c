// The people of a file: enrolled by pictures, and forgotten.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/faces/evaluation/evaluation.h"
#include "shoal/video/faces/recognition/database.h"

namespace shoal::faces {

// Nobody, with embeddings of the network of this number. Fails as FaceDatabase::set_threshold().
Result<FaceDatabase> new_database(uint64_t number, double threshold);

// Enrols a person by the main faces of pictures. Where there is no file, there is one afterwards,
// with this threshold. kInvalidArgument where its embeddings are of a network of another number;
// otherwise fails as the reader and the database do, and changes nothing.
Status enrol_pictures(const std::filesystem::path& file, uint64_t number, double threshold,
                      const FaceReader& reader, const std::string& name,
                      const std::vector<std::string>& pictures);

// kNotFound where there is no such person, and as the file fails.
Status forget_person(const std::filesystem::path& file, const std::string& name);

}  // namespace shoal::faces
