#include "shoal/video/faces/evaluation/enrolment.h"

#include "shoal/base/text/printable.h"
#include "shoal/video/faces/evaluation/face_networks.h"

namespace shoal::faces {

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
