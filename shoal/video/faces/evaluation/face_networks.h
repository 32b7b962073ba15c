// FaceNetworks: the detector and the embedding of faces, on one device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/video/detect/detector.h"
#include "shoal/video/faces/evaluation/evaluation.h"
#include "shoal/video/faces/recognition/database.h"
#include "shoal/video/faces/recognition/embedder.h"
#include "shoal/video/faces/recognition/recogniser.h"

namespace shoal::faces {

// Thread-compatible.
class FaceNetworks {
 public:
  // `detector` is null if an image is an aligned face. Fails as the networks do.
  static Result<FaceNetworks> open(std::unique_ptr<Device> device, const Model& embedding,
                                   const Model* detector, uint64_t exits);

  // REQUIRES: this outlives it, and stays where it is.
  FaceReader reader(float least_score);
  const Embedder& embedder() const { return *embedder_; }

 private:
  std::unique_ptr<Device> device_;
  std::optional<detect::Detector> detector_;
  std::optional<Embedder> embedder_;
};

// The number of the network in a file, by which databases know it.
Result<uint64_t> number_of(const std::filesystem::path& file);
// That of a model of this name; 0 for one without a file: its weights are random.
Result<uint64_t> number_of(const Model& model, const std::string& name);

// Recognises all faces in an image: `told` is called with each as soon as it is known. Fails as the
// reader and the recogniser do.
Status recognise(const FaceReader& reader, Recogniser& recogniser, const Tensor& image,
                 const std::function<void(const FoundFace& face, const FaceAnswer& answer)>& told);

// A database whose embeddings are of this network; otherwise kInvalidArgument.
Result<FaceDatabase> load_database(const std::filesystem::path& file, uint64_t number);

// As parse_pairs().
Result<std::vector<NamedPair>> read_pairs(const std::filesystem::path& file);

// An empty database for the network of this number. Fails as FaceDatabase::set_threshold().
Result<FaceDatabase> new_database(uint64_t number, double threshold);

// Enrols a person by the main faces of pictures, in a new file with this threshold if there is
// none. kInvalidArgument if its embeddings are of another network; otherwise fails as the reader
// and the database do, and changes nothing.
Status enrol_pictures(const std::filesystem::path& file, uint64_t number, double threshold,
                      const FaceReader& reader, const std::string& name,
                      const std::vector<std::string>& pictures);

// kNotFound if there is no such person; fails as the file does.
Status forget_person(const std::filesystem::path& file, const std::string& name);

}  // namespace shoal::faces
