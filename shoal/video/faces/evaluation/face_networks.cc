#include "shoal/video/faces/evaluation/face_networks.h"

#include <string_view>
#include <utility>

#include "shoal/base/files/file.h"
#include "shoal/base/math/hash.h"
#include "shoal/base/text/printable.h"

namespace shoal::faces {

Result<FaceNetworks> FaceNetworks::open(std::unique_ptr<Device> device, const Model& embedding,
                                        const Model* detector, uint64_t exits) {
  FaceNetworks all;
  all.device_ = std::move(device);
  SHOAL_ASSIGN(all.embedder_, Embedder::open(embedding, *all.device_, {.exits = exits}));
  if (detector != nullptr) {
    SHOAL_ASSIGN(all.detector_, detect::Detector::open(*detector, *all.device_));
  }
  return all;
}

FaceReader FaceNetworks::reader(float least_score) {
  return {detector_ ? &*detector_ : nullptr, &*embedder_, least_score};
}

Result<uint64_t> number_of(const std::filesystem::path& file) {
  SHOAL_ASSIGN(const auto mapped, MappedFile::open(file));
  return hash_of(mapped->bytes());
}

Result<uint64_t> number_of(const Model& model, const std::string& name) {
  if (model.has_random_weights()) return uint64_t{0};
  return number_of(std::filesystem::path(name));
}

Status recognise(const FaceReader& reader, Recogniser& recogniser, const Tensor& image,
                 const std::function<void(const FoundFace& face, const FaceAnswer& answer)>& told) {
  SHOAL_ASSIGN(const auto found, reader.faces(image));
  for (const FoundFace& face : found) {
    SHOAL_ASSIGN(const FaceAnswer answer, recogniser.who(face.image));
    told(face, answer);
  }
  return {};
}

Result<FaceDatabase> load_database(const std::filesystem::path& file, uint64_t number) {
  SHOAL_ASSIGN(FaceDatabase database, load_database(file));
  if (number == database.model()) return database;
  return invalid(file.string() + " has embeddings of another network");
}

Result<std::vector<NamedPair>> read_pairs(const std::filesystem::path& file) {
  SHOAL_ASSIGN(const auto mapped, MappedFile::open(file));
  return parse_pairs(std::string_view(reinterpret_cast<const char*>(mapped->bytes().data()),
                                      mapped->bytes().size()));
}

Result<FaceDatabase> new_database(uint64_t number, double threshold) {
  FaceDatabase database(number);
  SHOAL_TRY(database.set_threshold(threshold));
  return database;
}

Status enrol_pictures(const std::filesystem::path& file, uint64_t number, double threshold,
                      const FaceReader& reader, const std::string& name,
                      const std::vector<std::string>& pictures) {
  SHOAL_ASSIGN(FaceDatabase database, std::filesystem::exists(file)
                                          ? load_database(file, number)
                                          : new_database(number, threshold));
  for (const std::string& picture : pictures) {
    SHOAL_ASSIGN(const Embedding embedding, reader.embedding_of(picture));
    SHOAL_TRY(database.enrol(name, embedding));
  }
  return save(database, file);
}

Status forget_person(const std::filesystem::path& file, const std::string& name) {
  SHOAL_ASSIGN(FaceDatabase database, load_database(file));
  if (!database.forget(name)) {
    return Status(Code::kNotFound, file.string() + " does not know " + printable(name));
  }
  return save(database, file);
}

}  // namespace shoal::faces
