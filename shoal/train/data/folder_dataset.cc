// Data sets of image files, one an example.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

#include "shoal/base/files/file.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/train/data/dataset_formats.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;

struct Entry {
  fs::path path;
  int64_t label = 0;
};

class FolderDataset : public Dataset {
 public:
  explicit FolderDataset(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  size_t size() const override { return entries_.size(); }
  Result<Example> at(size_t index) const override {
    SHOAL_ASSIGN(Tensor image, read_image(entries_[index].path));
    return Example{std::move(image), entries_[index].label};
  }
  std::string place(size_t index) const override { return entries_[index].path.string(); }

 private:
  std::vector<Entry> entries_;
};

// Whether a name stays in the folder it is looked up in. Links inside it are its owner's business.
bool is_inside(const fs::path& name) {
  return !name.empty() && name.is_relative() && std::ranges::find(name, "..") == name.end();
}

// labels.txt is a file from outside: a line without a class, or with a file elsewhere, stops the
// reading, with its number.
Result<std::vector<Entry>> read_label_file(const fs::path& folder) {
  const fs::path path = folder / "labels.txt";
  std::ifstream file(path);
  std::vector<Entry> entries;
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    const size_t space = line.find_first_of(" \t");
    if (line.empty()) continue;
    int64_t label = -1;
    if (space != line.npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), label);
    }
    if (label < 0) {
      return Status(Code::kCorrupt, path.string() + ": line " + std::to_string(number) +
                                        " is not 'file class-number'");
    }
    const fs::path name = line.substr(0, space);
    if (!is_inside(name)) {
      return Status(Code::kCorrupt, path.string() + ": line " + std::to_string(number) +
                                        " names a file outside of this folder");
    }
    entries.push_back({folder / name, label});
  }
  return entries;
}

// False for what cannot be looked at, too.
bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Classes and seeds are reproducible, as folders are listed in order.
Result<std::vector<Entry>> read_class_folders(const fs::path& folder) {
  std::vector<Entry> entries;
  int64_t label = 0;
  SHOAL_ASSIGN(const std::vector<fs::path> children, list_folder(folder));
  for (const fs::path& child : children) {
    // Other files, such as a README, are no class.
    if (!is_folder(child)) continue;
    SHOAL_ASSIGN(const std::vector<fs::path> images, list_folder(child));
    for (const fs::path& image : images) entries.push_back({image, label});
    ++label;
  }
  return entries;
}

// The folder of a split, empty if there is none.
fs::path folder_of(const fs::path& folder, Split split) {
  if (split != Split::kTraining) {
    for (const char* name : {"test", "val"}) {
      if (is_folder(folder / name)) return folder / name;
    }
  }
  if (split == Split::kHeldOut) return {};
  return is_folder(folder / "train") ? folder / "train" : folder;
}

}  // namespace

Opened open_folder(const fs::path& folder, Split split) {
  const fs::path part = folder_of(folder, split);
  if (part.empty()) {
    return Status(Code::kNotFound, "neither test nor val in " + folder.string());
  }
  std::vector<Entry> entries;
  std::error_code ignored;
  if (fs::is_regular_file(part / "labels.txt", ignored)) {
    SHOAL_ASSIGN(entries, read_label_file(part));
  } else {
    SHOAL_ASSIGN(entries, read_class_folders(part));
  }
  if (entries.empty()) {
    return Status(Code::kNotFound, "neither labels.txt nor class folders in " + part.string());
  }
  return std::unique_ptr<Dataset>(std::make_unique<FolderDataset>(std::move(entries)));
}

}  // namespace shoal::data
